/* iq3_xxs_avx512.c - kernels of IQ3_XXS for AVX-512 VNNI. */
#include "iq3_xxs_kernels.h"
#include "iq_lookup_avx512.h"

/* For each 32 columns the word of signs and scale. */
TN_INLINE __m256i open_words(const uint8_t *block) {
    return _mm256_loadu_si256((const void *)(block + 66));
}

TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    return tn_iq_top_bytes(open_words(a), open_words(b));
}

TN_INLINE void open_one(const uint8_t *block, __m512i *w) {
    tn_iq3_look_up(tn_iq3_xxs_codebook, block, iq3_xxs_index, tn_iq_signs_of_words(open_words(block)), w);
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    open_one(a, w);
    open_one(b, w + 4);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 98, TN_IQ_GROUPS_32, 0.25f, open_two, tn_iq_order_entries, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 98, TN_IQ_GROUPS_32, 0.25f, open_two, tn_iq_restore_entries, open_subs);
}

TN_GEMV_KERNEL(iq3_xxs_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq3_xxs gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq3_xxs_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "iq3_xxs unpack p8 avx512vnni", unpack);
