/* f32_kernels.h - the kernels of F32, by instruction set; f32.c lists them in the format's table. */
#ifndef TENON_F32_KERNELS_H
#define TENON_F32_KERNELS_H

#include "format_plugin.h"

extern const tn_format_kernel f32_gemv_scalar, f32_unpack_scalar, f32_store_scalar, f32_blend_scalar;
#if defined(__x86_64__)
extern const tn_format_kernel f32_gemv_avx2, f32_blend_avx2;
extern const tn_format_kernel f32_gemv_avx512, f32_blend_avx512;
#endif

#endif
