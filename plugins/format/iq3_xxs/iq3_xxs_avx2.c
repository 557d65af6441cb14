/* iq3_xxs_avx2.c - kernels of IQ3_XXS for AVX2. */
#include "iq3_xxs_look_up.h"

TN_GEMV_KERNEL(iq3_xxs_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq3_xxs gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq3_xxs_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq3_xxs unpack p8 avx2",
                 unpack);
