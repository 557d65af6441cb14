/* iq4_nl_kernels.h - the kernels of IQ4_NL, by instruction set; iq4_nl.c lists them in the format's table. */
#ifndef TENON_IQ4_NL_KERNELS_H
#define TENON_IQ4_NL_KERNELS_H

#include "blocks.h"
#include "table16_values.h"

/* Elements and bytes of a block, columns of a scale, minimums. */
#define IQ4_NL_SHAPE ((tn_shape){32, 18, 32, 0})

/*
 * 32 columns in 18 bytes: d (binary16), 16 bytes with codes i (low nibble) and i + 16; w = d * table[code].
 */
static inline void iq4_nl_open(const uint8_t *block, int8_t *codes, float *scales, float *minimums) {
    scales[0] = tn_load_half(block);
    (void)minimums;
    tn_table_nibbles(tn_iq4_values, block + 2, 16, codes);
}

extern const tn_format_kernel iq4_nl_gemv_scalar, iq4_nl_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel iq4_nl_gemv_avx2, iq4_nl_unpack_avx2;
extern const tn_format_kernel iq4_nl_gemv_avx512, iq4_nl_unpack_avx512;
#endif

#endif
