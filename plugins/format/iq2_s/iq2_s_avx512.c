/* iq2_s_avx512.c - kernels of IQ2_S for AVX-512 VNNI. */
#include "iq2_s_look_up.h"

TN_GEMV_KERNEL(iq2_s_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq2_s gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq2_s_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "iq2_s unpack p8 avx512vnni", unpack);
