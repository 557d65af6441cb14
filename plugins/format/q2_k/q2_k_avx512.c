/* q2_k_avx512.c - kernels of Q2_K for AVX-512 VNNI. */
#include "planes_avx512.h"
#include "q2_k_kernels.h"

TN_INLINE void open_heads(const tn_row_group *rows, tn_plane_heads16 *heads) {
    __m512i both = tn_words16(rows, 80); /* d and dmin */
    heads->d = tn_lower_halves(both);
    heads->m =
        _mm512_mul_ps(tn_upper_halves(both), _mm512_set1_ps(-1.0f / 16)); /* exact: minimums lie four up */
    tn_transpose16(rows, 0, heads->subs);
}

static __attribute__((noinline)) void gemv_many(const tn_gemv *call) {
    tn_planes_gemv_many_avx512(call, Q2_K_PLANES, open_heads);
}

static void gemv(const tn_gemv *call) {
    if (call->act_rows == 1) {
        tn_planes_gemv_one_avx512(call, Q2_K_PLANES, open_heads);
    } else {
        gemv_many(call);
    }
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_avx512(call, Q2_K_PLANES, q2_k_open_head);
}

TN_GEMV_KERNEL(q2_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q2_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q2_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P16, 16, 1,
                 "q2_k unpack p16 avx512vnni", unpack);
