/* f16_kernels.h - the kernels of F16, by instruction set; f16.c lists them in the format's table. */
#ifndef TENON_F16_KERNELS_H
#define TENON_F16_KERNELS_H

#include "format_plugin.h"

extern const tn_format_kernel f16_gemv_scalar, f16_unpack_scalar, f16_store_scalar, f16_blend_scalar;
#if defined(__x86_64__)
void f16_decode_avx2(const void *blocks, uint64_t count, float *out);
extern const tn_format_kernel f16_gemv_avx2, f16_unpack_avx2, f16_store_avx2, f16_blend_avx2;
extern const tn_format_kernel f16_gemv_avx512, f16_unpack_avx512, f16_store_avx512, f16_blend_avx512;
#endif

#endif
