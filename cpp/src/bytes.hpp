// Dot products of bytes; see vector/bytes.hpp. Part of tables.cpp and bytes.cpp: everything has internal linkage.
#pragma once

#include "simd.hpp"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hingeline::HINGELINE_ISA {
namespace {

using Words = IntVec<float>;
constexpr int word_lanes = lanes<float>;

#if HINGELINE_VECTOR_BYTES == 64 && defined(__AVX512VNNI__)
// Four products per lane and instruction, of unsigned by signed bytes: the panel holds z - 128, and
// x.z = x.(z - 128) + 128 sum(x).
constexpr int panel_words = 1;
HL_INLINE Words bias_of(const ByteRow& row) { return splat<Words>(128 * row.sum); }
HL_INLINE void to_panel(Words x, Words (&out)[panel_words]) { out[0] = x ^ static_cast<std::int32_t>(0x80808080u); }
template <int NV> HL_INLINE void add_group(std::uint32_t group, const std::int32_t* line, Words (&acc)[NV]) {
    const __m512i x = _mm512_set1_epi32(static_cast<std::int32_t>(group));
    for (int v = 0; v < NV; ++v)
        acc[v] = (Words)_mm512_dpbusd_epi32((__m512i)acc[v], x, (__m512i)load<Words>(line + v * word_lanes));
}
#else
// Two products per lane and instruction, of 16 bits each.
constexpr int panel_words = 2;
HL_INLINE Words bias_of(const ByteRow&) { return Words{}; }
HL_INLINE void to_panel(Words x, Words (&out)[panel_words]) {
    out[0] = (x & 0xff) | ((x & 0xff00) << 8);
    out[1] = ((x >> 16) & 0xff) | ((x >> 8) & 0xff0000);
}
HL_INLINE Words pair_products(Words a, Words b) {
#if HINGELINE_VECTOR_BYTES == 64 && defined(__AVX512BW__)
    return (Words)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif HINGELINE_VECTOR_BYTES == 32 && defined(__AVX2__)
    return (Words)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif HINGELINE_VECTOR_BYTES == 16 && defined(__SSE2__)
    return (Words)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    return (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16);
#endif
}
template <int NV> HL_INLINE void add_group(std::uint32_t group, const std::int32_t* line, Words (&acc)[NV]) {
    const auto low = static_cast<std::int32_t>((group & 0xff) | ((group & 0xff00) << 8));
    const auto high = static_cast<std::int32_t>(((group >> 16) & 0xff) | ((group >> 8) & 0xff0000));
    const Words x = splat<Words>(low), y = splat<Words>(high);
    for (int v = 0; v < NV; ++v) {
        const std::int32_t* p = line + v * word_lanes;
        acc[v] += pair_products(x, load<Words>(p)) + pair_products(y, load<Words>(p + NV * word_lanes));
    }
}
#endif

template <class T> HL_INLINE void store_scaled(Words x, T scale, T* to) {
#if HINGELINE_VECTOR_BYTES > 0
    if constexpr (sizeof(T) == 4) {
        store(to, static_cast<Vec<T>>(__builtin_convertvector(x, Vec<T>) * scale));
    } else {
        typedef std::int32_t Half __attribute__((vector_size(HINGELINE_VECTOR_BYTES / 2)));
        Half part[2];
        memcpy(part, &x, sizeof(x));
        for (int h = 0; h < 2; ++h)
            store(to + h * lanes<T>, static_cast<Vec<T>>(__builtin_convertvector(part[h], Vec<T>) * scale));
    }
#else
    *to = static_cast<T>(x) * scale;
#endif
}

template <class T, int NV>
void byte_dots(const std::int32_t* panel, const ByteRow* rows, int row_count, T scale, T* tile) {
    constexpr Index line = panel_words * NV * word_lanes;
    for (int r = 0; r < row_count; ++r) {
        const ByteRow row = rows[r];
        Words even[NV] = {}, odd[NV] = {};  // two chains hide the latency of the sums
        Index j = 0;
        for (; j + 2 <= row.count; j += 2) {
            add_group<NV>(row.group[j], panel + row.number[j] * line, even);
            add_group<NV>(row.group[j + 1], panel + row.number[j + 1] * line, odd);
        }
        if (j < row.count) add_group<NV>(row.group[j], panel + row.number[j] * line, even);
        for (int v = 0; v < NV; ++v)
            store_scaled(static_cast<Words>(even[v] + odd[v] + bias_of(row)), scale, tile + (r * NV + v) * word_lanes);
    }
}

// A register of words is as many queries as two registers of doubles.
template <class T> constexpr int byte_vectors = (HINGELINE_VECTOR_BYTES == 64 ? 4 : 2) * lanes<T> / word_lanes;

template <class T>
void byte_dots(const std::int32_t* panel, int vectors, const ByteRow* rows, int row_count, T scale, T* tile) {
    switch (vectors) {
        case 1:
            return byte_dots<T, 1>(panel, rows, row_count, scale, tile);
        case 2:
            return byte_dots<T, 2>(panel, rows, row_count, scale, tile);
        case 3:
            return byte_dots<T, 3>(panel, rows, row_count, scale, tile);
        default:
            return byte_dots<T, 4>(panel, rows, row_count, scale, tile);
    }
}

void byte_pack(const std::uint8_t* const* rows, int vectors, Index groups, std::int32_t* panel) {
    constexpr int W = word_lanes;
    const Index width = vectors * W;
    const auto put = [&](Words x, Index group, int v) HL_LAMBDA_INLINE {
        Words out[panel_words];
        to_panel(x, out);
        for (int w = 0; w < panel_words; ++w) store(panel + (group * panel_words + w) * width + v * W, out[w]);
    };
    for (int v = 0; v < vectors; ++v) {
        const std::uint8_t* const* row = rows + v * W;
        Index g = 0;
        for (; g + W <= groups; g += W) {
            Words block[W];
            for (int i = 0; i < W; ++i) block[i] = load<Words>(row[i] + g * group_features);
            transpose(block);
            for (int i = 0; i < W; ++i) put(block[i], g + i, v);
        }
        for (; g < groups; ++g) {
            std::int32_t word[W];
            for (int i = 0; i < W; ++i) memcpy(word + i, row[i] + g * group_features, sizeof(std::int32_t));
            put(load<Words>(word), g, v);
        }
    }
}

template <class T> constexpr ByteOps<T> byte_table() {
    return {word_lanes, byte_vectors<T>, panel_words, byte_pack, byte_dots<T>};
}

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
