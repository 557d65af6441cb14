/* nvfp4_kernels.h - the kernels of NVFP4, by instruction set; nvfp4.c lists them in the format's table. */
#ifndef TENON_NVFP4_KERNELS_H
#define TENON_NVFP4_KERNELS_H

#include "blocks.h"
#include "table16_values.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define NVFP4_SHAPE ((tn_shape){64, 36, 16, 0})

/*
 * Half of the UE4M3 number of a scale byte (the E2M1 numbers are doubled): four bits of exponent, three of
 * mantissa, like binary16 further up. 0x7f has no number and counts as 0; else the top bit is not looked at.
 */
static inline float nvfp4_scale(uint8_t byte) {
    return byte == 0x7f ? 0 : tn_float_of_half((uint16_t)((byte & 0x7f) << 7)) * 0x1p7f;
}

#if defined(__F16C__)
#include <immintrin.h>
/* The four of a block. */
static inline __m128 nvfp4_scales(const uint8_t *block) {
    __m128i bytes = _mm_cvtsi32_si128(tn_load_i32(block));
    __m128i none = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    bytes = _mm_and_si128(_mm_andnot_si128(none, bytes), _mm_set1_epi8(0x7f));
    return _mm_mul_ps(_mm_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(bytes), 7)), _mm_set1_ps(0x1p7f));
}
#endif

/*
 * 64 columns in 36 bytes: four scales, then for each 16 columns 8 bytes with codes i (low nibble) and i + 8.
 */
static inline void nvfp4_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    (void)minimums;
    for (uint32_t g = 0; g < 4; g++) {
        scales[g] = nvfp4_scale(block[g]);
        tn_table_nibbles(tn_e2m1_values, block + 4 + 8 * g, 8, codes + 16 * g);
    }
}

extern const tn_format_kernel nvfp4_gemv_scalar, nvfp4_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel nvfp4_gemv_avx2, nvfp4_unpack_avx2;
extern const tn_format_kernel nvfp4_gemv_avx512, nvfp4_unpack_avx512;
#endif

#endif
