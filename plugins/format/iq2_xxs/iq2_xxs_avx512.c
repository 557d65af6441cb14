/* iq2_xxs_avx512.c - kernels of IQ2_XXS for AVX-512 VNNI. */
#include "iq2_xxs_look_up.h"

TN_GEMV_KERNEL(iq2_xxs_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq2_xxs gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq2_xxs_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "iq2_xxs unpack p8 avx512vnni", unpack);
