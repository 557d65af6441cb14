/* bf16_kernels.h - the kernels of BF16, by instruction set; bf16.c lists them in the format's table. */
#ifndef TENON_BF16_KERNELS_H
#define TENON_BF16_KERNELS_H

#include "format_plugin.h"

extern const tn_format_kernel bf16_gemv_scalar, bf16_unpack_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel bf16_gemv_avx2, bf16_unpack_avx2;
extern const tn_format_kernel bf16_gemv_avx512, bf16_unpack_avx512;
#endif

#endif
