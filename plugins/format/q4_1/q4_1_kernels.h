/* q4_1_kernels.h - the layout of Q4_1, and its kernels and encoders by instruction set, which q4_1.c lists. */
#ifndef TENON_Q4_1_KERNELS_H
#define TENON_Q4_1_KERNELS_H

#include "blocks.h"
#include "run_encode.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define Q4_1_SHAPE ((tn_shape){32, 20, 32, 1})

/*

 * 32 columns in 20 bytes: d, m (binary16), 16 bytes with codes i (low nibble) and i + 16; w = d * code + m.
 */
static inline void q4_1_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    minimums[0] = tn_load_half(block + 2);
    for (uint32_t i = 0; i < 16; i++) {
        codes[i] = (int8_t)(block[4 + i] & 15);
        codes[i + 16] = (int8_t)(block[4 + i] >> 4);
    }
}

tn_run_encode q4_1_encode_scalar;
extern const tn_format_kernel q4_1_gemv_scalar, q4_1_unpack_scalar;
#if defined(__x86_64__)
tn_run_encode q4_1_encode_avx2;
extern const tn_format_kernel q4_1_gemv_avx2, q4_1_unpack_avx2;
extern const tn_format_kernel q4_1_gemv_avx512, q4_1_unpack_avx512;
#endif

#endif
