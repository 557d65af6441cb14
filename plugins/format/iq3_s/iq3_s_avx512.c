/* iq3_s_avx512.c - kernels of IQ3_S for AVX-512 VNNI. */
#include "iq3_s_look_up.h"

TN_GEMV_KERNEL(iq3_s_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq3_s gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq3_s_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "iq3_s unpack p8 avx512vnni", unpack);
