/* iq3_s_avx2.c - kernels of IQ3_S for AVX2. */
#include "iq3_s_look_up.h"

TN_GEMV_KERNEL(iq3_s_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq3_s gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq3_s_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq3_s unpack p8 avx2",
                 unpack);
