/*
 * spm_encode.c - text to ids: cut at special entries; in each stretch spaces become U+2581, then characters
 * are merged, the entry of the highest score first.
 */
#include "spm.h"
#include "token_ids.h"
#include "token_merge.h"

/* One call of encode. */
typedef struct encoder {
    const tn_spm *spm;
    tn_encode *call;
    tn_word word;
    tn_scratch spaced;
} encoder;

/* Symbols are ids; a character is looked up only once it is known that it stays. */
static tn_pair pair_of(const void *family, uint32_t left, uint32_t right, const unsigned char *text,
                       uint32_t size) {
    (void)left, (void)right;
    const tn_spm *spm = family;
    uint32_t id = tn_words_find(&spm->vocabulary.words, text, size);
    return id == TN_WORD_NONE ? (tn_pair){TN_RANK_NONE, 0} : (tn_pair){spm->ranks[id], id};
}

/* Bytes of the character at the start, going by the lead byte alone; anything else is a character of one
 * byte. */
static uint64_t character_size(const unsigned char *at, const unsigned char *end) {
    static const unsigned char sizes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    uint64_t size = sizes[*at >> 4], left = (uint64_t)(end - at);
    return size < left ? size : left;
}

static int is_space(const unsigned char *at, const unsigned char *end) {
    return end - at >= TN_SPM_SPACE_SIZE && memcmp(at, TN_SPM_SPACE, TN_SPM_SPACE_SIZE) == 0;
}

/* A character that is no entry becomes bytes; without entries for these it is unknown. */
static void add_symbol(encoder *e, uint32_t id, const unsigned char *text, uint32_t size) {
    if (id == TN_WORD_NONE) { id = tn_words_find(&e->spm->vocabulary.words, text, size); }
    if (id != TN_WORD_NONE) {
        tn_ids_add(e->call, (int32_t)id);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        int32_t byte = e->spm->bytes[text[i]];
        tn_ids_add(e->call, byte >= 0 ? byte : e->spm->vocabulary.facts.unknown);
    }
}

/* Where the word that begins at `at` ends: at the first space behind something else. */
static const unsigned char *word_end(const tn_spm *spm, const unsigned char *at, const unsigned char *end) {
    if (!spm->spaces_lead) { return end; }
    int began = 0;
    for (; at < end; at += character_size(at, end)) {
        int space = is_space(at, end);
        if (space && began) { break; }
        began |= !space;
    }
    return at;
}

static int32_t encode_word(encoder *e, const unsigned char *text, uint64_t size, tn_error *err) {
    tn_word *word = &e->word;
    if (size >= UINT32_MAX) {
        TN_FAIL(err, TN_E_INPUT, "a word of %llu bytes; at most 4294967294", (unsigned long long)size);
    }
    if (tn_word_reserve(word, (uint32_t)size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a word of %llu bytes", (unsigned long long)size);
    }
    word->text = text;
    word->count = 0;
    for (uint64_t at = 0; at < size; at += character_size(text + at, text + size)) {
        word->start[word->count] = (uint32_t)at;
        word->symbol[word->count++] = TN_WORD_NONE;
    }
    word->start[word->count] = (uint32_t)size;
    tn_word_merge(word, pair_of, e->spm);
    for (uint32_t i = 0; i < word->count; i++) {
        add_symbol(e, word->symbol[i], text + word->start[i], word->start[i + 1] - word->start[i]);
    }
    return TN_OK;
}

static uint64_t put_space(unsigned char *out) {
    memcpy(out, TN_SPM_SPACE, TN_SPM_SPACE_SIZE);
    return TN_SPM_SPACE_SIZE;
}

static int32_t encode_stretch(encoder *e, const unsigned char *text, uint64_t size, tn_error *err) {
    if (!size) { return TN_OK; }
    unsigned char *spaced =
        size < UINT64_MAX ? tn_scratch_get(&e->spaced, size + 1, TN_SPM_SPACE_SIZE) : NULL;
    if (!spaced) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a text of %llu bytes", (unsigned long long)size);
    }
    uint64_t count = e->spm->vocabulary.space_prefix ? put_space(spaced) : 0;
    for (uint64_t i = 0; i < size; i++) {
        if (text[i] == ' ') {
            count += put_space(spaced + count);
        } else {
            spaced[count++] = text[i];
        }
    }
    const unsigned char *at = spaced, *end = spaced + count;
    while (at < end) {
        const unsigned char *next = word_end(e->spm, at, end);
        TN_TRY(encode_word(e, at, (uint64_t)(next - at), err));
        at = next;
    }
    return TN_OK;
}

static int32_t encode_text(encoder *e, tn_error *err) {
    const unsigned char *text = (const unsigned char *)e->call->text;
    for (uint64_t at = 0, size = e->call->text_size; at < size;) {
        tn_stretch stretch = tn_specials_next(&e->spm->vocabulary.specials, text, size, at,
                                              (e->call->flags & TN_ENCODE_SPECIAL) != 0);
        TN_TRY(encode_stretch(e, text + stretch.begin, stretch.end - stretch.begin, err));
        if (stretch.id >= 0) { tn_ids_add(e->call, stretch.id); }
        at = stretch.next;
    }
    return TN_OK;
}

int32_t tn_spm_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err) {
    const tn_host *host = self;
    const tn_spm *spm = tokenizer;
    encoder e = {.spm = spm, .call = call, .word.scratch.host = host, .spaced.host = host};
    tn_ids_begin(call, &spm->vocabulary.facts);
    int32_t code = encode_text(&e, err);
    tn_scratch_free(&e.word.scratch);
    tn_scratch_free(&e.spaced);
    return code == TN_OK ? tn_ids_end(call, &spm->vocabulary.facts, err) : code;
}
