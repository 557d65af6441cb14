/* iq4_xs_kernels.h - the kernels of IQ4_XS, by instruction set; iq4_xs.c lists them in the format's table. */
#ifndef TENON_IQ4_XS_KERNELS_H
#define TENON_IQ4_XS_KERNELS_H

#include "blocks.h"
#include "table16_values.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ4_XS_SHAPE ((tn_shape){256, 136, 32, 0})

/*
 * 256 columns in 136 bytes: d (binary16), the upper two bits of eight sub-scales (16 bits), their lower four
 * (32 bits), then for each 32 columns 16 bytes with codes i (low nibble) and i + 16. w = d * (sub-scale of
 * 32 columns - 32) * table[code].
 */
static inline void iq4_xs_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    float d = tn_load_half(block);
    uint32_t upper = tn_load_u16(block + 2), lower = (uint32_t)tn_load_i32(block + 4);
    (void)minimums;
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t sub = (lower >> 4 * g & 15) | (upper >> 2 * g & 3) << 4;
        scales[g] = d * (float)((int32_t)sub - 32);
        tn_table_nibbles(tn_iq4_values, block + 8 + 16 * g, 16, codes + 32 * g);
    }
}

extern const tn_format_kernel iq4_xs_gemv_scalar, iq4_xs_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq4_xs_gemv_avx2, iq4_xs_unpack_avx2;
extern const tn_format_kernel iq4_xs_gemv_avx512, iq4_xs_unpack_avx512;
#endif

#endif
