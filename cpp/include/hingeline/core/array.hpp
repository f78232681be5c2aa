// Array: std::vector with signed positions and sizes, so that indices of the core need no conversion.
//
// It is a std::vector in every other respect: it converts to one without a copy and is made from one.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "hingeline/core/index.hpp"

namespace hingeline {

template <class T, class Allocator = std::allocator<T>> class Array : public std::vector<T, Allocator> {
    using Base = std::vector<T, Allocator>;

  public:
    using Base::Base;
    using Base::operator=;  // a list is assigned in place
    Array() = default;
    Array(const Base& other) : Base(other) {}
    Array(Base&& other) noexcept : Base(std::move(other)) {}

    T& operator[](Index i) { return this->data()[i]; }
    const T& operator[](Index i) const { return this->data()[i]; }
    Index size() const { return static_cast<Index>(Base::size()); }
    Index capacity() const { return static_cast<Index>(Base::capacity()); }
};

}  // namespace hingeline
