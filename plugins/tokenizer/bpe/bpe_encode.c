/*
 * bpe_encode.c - text to ids: made well-formed, cut at special entries, composed where the rules ask for it,
 * cut into words, each word merged.
 */
#include "bpe_raw.h"
#include "bpe_words.h"
#include "token_ids.h"
#include "token_plain.h"
#include "token_utf8.h"
#include "unicode_nfc.h"
#include "unicode_tables.h"

/* One call of encode. */
typedef struct encoder {
    const tn_bpe *bpe;
    tn_encode *call;
    tn_scratch clean, ranges, raw;
    tn_nfc_room nfc;
    tn_bpe_words words;
} encoder;

static int32_t encode_stretch(encoder *e, const unsigned char *text, uint64_t size, tn_error *err) {
    if ((e->bpe->rules->flags & TN_RULES_NFC) && tn_nfc(&e->nfc, &text, &size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory to compose a text of %llu bytes", (unsigned long long)size);
    }
    uint32_t flags = e->bpe->rules->flags, bytes_of_first;
    if ((flags & TN_RULES_RAW) && tn_raw_prepare(e->bpe, &e->raw, &text, &size) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a text of %llu bytes", (unsigned long long)size);
    }
    e->words.end = text + size;
    tn_cutter cutter;
    const unsigned char *begin = NULL, *end;
    tn_cutter_begin(&cutter, e->bpe->rules, text, size);
    while ((end = tn_cutter_next(&cutter, &begin))) {
        if ((flags & TN_RULES_NO_WHITE) && (tn_unicode_look(begin, &bytes_of_first) & TN_SPACE)) { continue; }
        TN_TRY(tn_bpe_words_put(&e->words, begin, (uint64_t)(end - begin), err));
    }
    return tn_bpe_words_end(&e->words, err);
}

/* Ends and begins of plain ranges up to `before` in the text move by `grown` bytes. */
static void move_ranges(tn_partition *p, uint64_t *ranges, uint64_t *done, uint64_t before, uint64_t grown) {
    for (; *done < 2 * p->plain.count && p->plain.ranges[*done] <= before; ++*done) {
        ranges[*done] = p->plain.ranges[*done] + grown;
    }
}

/* Copies a text so that each byte which is not part of a well-formed character is U+FFFD, three bytes. */
static int32_t make_well_formed(encoder *e, tn_partition *p) {
    uint64_t sound = tn_utf8_sound(p->text, p->size);
    if (sound == p->size) { return TN_OK; }
    unsigned char *out = tn_scratch_get(&e->clean, p->size, 3);
    uint64_t *ranges = tn_scratch_get(&e->ranges, p->plain.count, 2 * sizeof *ranges);
    if (!out || !ranges) { return TN_E_MEMORY; }
    uint64_t count = 0, done = 0;
    for (uint64_t at = 0; at < p->size;) {
        sound = tn_utf8_sound(p->text + at, p->size - at);
        memcpy(out + count, p->text + at, sound);
        move_ranges(p, ranges, &done, at + sound, count - at);
        count += sound;
        at += sound;
        if (at < p->size) {
            count += tn_utf8_write(out + count, 0xfffd);
            at++;
        }
    }
    move_ranges(p, ranges, &done, UINT64_MAX, count - p->size);
    p->text = out;
    p->size = count;
    p->plain.ranges = ranges;
    return TN_OK;
}

static int32_t encode_text(encoder *e, tn_error *err) {
    tn_partition parts = tn_partition_of(&e->bpe->vocabulary.specials, e->call);
    if (make_well_formed(e, &parts) != TN_OK) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a text of %llu bytes", (unsigned long long)parts.size);
    }
    while (parts.at < parts.size) {
        tn_stretch stretch = tn_partition_next(&parts);
        TN_TRY(encode_stretch(e, parts.text + stretch.begin, stretch.end - stretch.begin, err));
        if (stretch.id >= 0) { tn_ids_add(e->call, stretch.id); }
    }
    return TN_OK;
}

int32_t tn_bpe_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err) {
    const tn_host *host = self;
    const tn_bpe *bpe = tokenizer;
    TN_TRY(tn_bpe_make_merges((tn_bpe *)(uintptr_t)tokenizer, err)); /* its lock makes it const to callers */
    const tn_scratch empty = {.host = host};
    encoder e; /* most of it is room for words: not cleared */
    e.bpe = e.words.bpe = bpe;
    e.call = e.words.call = call;
    e.words.count = e.words.fresh_count = e.words.known_count = 0;
    memset(e.words.last, 0, sizeof e.words.last);
    e.words.merged.scratch = e.clean = e.ranges = e.raw = empty;
    e.nfc = (tn_nfc_room){empty, empty, empty};
    TN_TRY(tn_ids_begin(call, &bpe->vocabulary.facts, err));
    int32_t code = encode_text(&e, err);
    tn_scratch_free(&e.words.merged.scratch);
    tn_scratch_free(&e.clean);
    tn_scratch_free(&e.ranges);
    tn_scratch_free(&e.raw);
    tn_nfc_free(&e.nfc);
    return code == TN_OK ? tn_ids_end(call, &bpe->vocabulary.facts, err) : code;
}
