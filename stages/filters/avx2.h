// What the row kernels for AVX2 have in common. x86-64 only, and only for the files *_avx2.cpp.
#pragma once

#include <immintrin.h>

#define CAMPIPE_AVX2 [[gnu::target("avx2")]]  // an attribute cannot be had from a function

namespace campipe::avx2 {

inline bool available() { return __builtin_cpu_supports("avx2") != 0; }

CAMPIPE_AVX2 inline __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

CAMPIPE_AVX2 inline void store(void* to, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }

}  // namespace campipe::avx2
