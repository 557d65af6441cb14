/* iq2_xs_avx512.c - kernels of IQ2_XS for AVX-512 VNNI. */
#include "iq2_xs_look_up.h"

TN_GEMV_KERNEL(iq2_xs_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq2_xs gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq2_xs_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "iq2_xs unpack p8 avx512vnni", unpack);
