/* iq2_xs_avx512.c - kernels of IQ2_XS for AVX-512 VNNI. */
#include "iq2_xs_kernels.h"
#include "iq_lookup_avx512.h"

TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    return tn_load_eights(a + 66, b + 66);
}

TN_INLINE void open_one(const uint8_t *block, __m512i *w) {
    __m256i codes = _mm512_cvtepi16_epi8(_mm512_srli_epi16(_mm512_loadu_si512(block + 2), 9));
    tn_iq2_look_up(tn_iq2_xs_codebook, block, iq2_xs_index, tn_iq_even_signs(codes), w);
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    open_one(a, w);
    open_one(b, w + 4);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 74, TN_IQ_GROUPS_16_APART, 0.125f, open_two, tn_iq_order_entries, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 74, TN_IQ_GROUPS_16_APART, 0.125f, open_two, tn_iq_restore_entries, open_subs);
}

TN_GEMV_KERNEL(iq2_xs_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq2_xs gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq2_xs_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "iq2_xs unpack p8 avx512vnni", unpack);
