/* iq2_xxs_avx2.c - kernels of IQ2_XXS for AVX2. */
#include "iq2_xxs_look_up.h"

TN_GEMV_KERNEL(iq2_xxs_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq2_xxs gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq2_xxs_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq2_xxs unpack p8 avx2",
                 unpack);
