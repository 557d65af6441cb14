/* q4_k_avx512.c - kernels of Q4_K for AVX-512 VNNI. */
#include "k_gemv_avx512.h"
#include "q4_k_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_k_gemv_avx512(call, 0);
}

static void unpack(const tn_unpack *call) {
    tn_k_unpack_avx512(call, 0);
}

TN_GEMV_KERNEL(q4_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q4_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q4_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 1,
                 "q4_k unpack p8 avx512vnni", unpack);
