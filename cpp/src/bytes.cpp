// The tables of bytes for a set that differs from the others in nothing else (see tables.cpp for the rules).
#include "bytes.hpp"

namespace hingeline::HINGELINE_ISA {

extern const ByteTables byte_tables;
const ByteTables byte_tables = {byte_table<float>(), byte_table<double>()};

}  // namespace hingeline::HINGELINE_ISA
