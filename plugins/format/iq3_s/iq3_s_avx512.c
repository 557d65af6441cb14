/* iq3_s_avx512.c - kernels of IQ3_S for AVX-512 VNNI. */
#include "iq3_s_kernels.h"
#include "iq_lookup_avx512.h"

/* Nibbles to the upper halves of bytes. */
TN_INLINE __m128i open_subs(const uint8_t *a, const uint8_t *b) {
    return _mm_set_epi64x((long long)_pdep_u64(tn_load_u32(b + 106), 0xf0f0f0f0f0f0f0f0),
                          (long long)_pdep_u64(tn_load_u32(a + 106), 0xf0f0f0f0f0f0f0f0));
}

TN_INLINE void open_one(const uint8_t *block, __m512i *w) {
    __m256i signs = _mm256_loadu_si256((const void *)(block + 74));
    tn_iq3_look_up(tn_iq3_s_codebook, block, iq3_s_index, signs, w);
}

TN_INLINE void open_two(const uint8_t *a, const uint8_t *b, __m512i *w) {
    open_one(a, w);
    open_one(b, w + 4);
}

static void gemv(const tn_gemv *call) {
    tn_iq_gemv_avx512(call, 110, TN_IQ_GROUPS_32, 1, open_two, tn_iq_order_entries, open_subs);
}

static void unpack(const tn_unpack *call) {
    tn_iq_unpack_avx512(call, 110, TN_IQ_GROUPS_32, 1, open_two, tn_iq_restore_entries, open_subs);
}

TN_GEMV_KERNEL(iq3_s_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq3_s gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq3_s_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "iq3_s unpack p8 avx512vnni", unpack);
