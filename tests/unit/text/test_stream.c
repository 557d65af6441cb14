/* Streams over a tokenizer of the test's own: ids are entries of a small table. */
#include "codec.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static char long_piece[1001];
static const char *const pieces[] = {"<s>", " Hi", "\xf0\x9f", "\x98\x80", "", long_piece};
enum { START, HI, FIRST_HALF, SECOND_HALF, NOTHING, LONG, VOCAB };

static int64_t piece(void *self, const void *tokenizer, int32_t id, uint32_t flags, char *out,
                     uint64_t capacity) {
    (void)self, (void)tokenizer;
    if (id < 0 || id >= VOCAB) { return -1; }
    if (id == START && flags & TN_DECODE_SKIP_SPECIAL) { return 0; }
    size_t size = strlen(pieces[id]);
    memcpy(out, pieces[id], size < capacity ? size : capacity);
    return (int64_t)size;
}

static uint32_t leading(void *self, const void *tokenizer, int32_t first_id) {
    (void)self, (void)tokenizer;
    return first_id == HI;
}

static const tn_tokenizer table = {.struct_size = sizeof table, .piece = piece, .leading = leading};
static const tn_text_codec codec = {.table = &table, .vocab = {.size = VOCAB}};

static tn_stream *create(uint32_t flags, uint32_t at_start) {
    tn_error error = TN_ERROR_INIT;
    tn_stream *stream;
    cr_assert(eq(i32, tn_stream_create(&codec, flags, at_start, &stream, &error), TN_OK), "%s", error.text);
    return stream;
}

static void expect(tn_stream *stream, int32_t id, const char *wanted) {
    tn_error error = TN_ERROR_INIT;
    const char *text;
    uint64_t size;
    cr_assert(eq(i32, tn_stream_push(stream, id, &text, &size, &error), TN_OK), "%s", error.text);
    cr_expect(size == strlen(wanted) && memcmp(text, wanted, size) == 0,
              "id %d: \"%.*s\", \"%s\" was expected", id, (int)size, text, wanted);
}

static void expect_flush(tn_stream *stream, const char *wanted) {
    const char *text;
    uint64_t size;
    tn_stream_flush(stream, &text, &size);
    cr_expect(size == strlen(wanted) && memcmp(text, wanted, size) == 0, "\"%.*s\"", (int)size, text);
}

Test(stream, characters_come_whole_and_what_is_left_as_one_replacement) {
    tn_stream *stream = create(0, 0);
    expect(stream, FIRST_HALF, "");
    expect(stream, NOTHING, "");
    expect(stream, SECOND_HALF, "\xf0\x9f\x98\x80");
    expect(stream, FIRST_HALF, "");
    expect(stream, HI, "\xef\xbf\xbd Hi");
    expect(stream, SECOND_HALF, "\xef\xbf\xbd\xef\xbf\xbd");
    expect_flush(stream, "");
    expect(stream, FIRST_HALF, "");
    expect_flush(stream, "\xef\xbf\xbd");
    expect_flush(stream, "");
    expect(stream, HI, " Hi");
    tn_stream_free(stream);
    tn_stream_free(NULL);
}

Test(stream, the_leading_space_goes_only_where_a_text_begins) {
    tn_stream *stream = create(0, 1);
    expect(stream, HI, "Hi");
    expect(stream, HI, " Hi");
    tn_stream_free(stream);
    stream = create(0, 0);
    expect(stream, HI, " Hi");
    tn_stream_free(stream);
    stream = create(TN_DECODE_SKIP_SPECIAL, 1); /* as decode() does: only the very first id */
    expect(stream, START, "");
    expect(stream, HI, " Hi");
    tn_stream_free(stream);
    stream = create(0, 1);
    expect_flush(stream, "");
    expect(stream, HI, " Hi");
    tn_stream_free(stream);
}

Test(stream, bytes_come_as_they_are) {
    memset(long_piece, 'x', sizeof long_piece - 1);
    tn_stream *stream = create(TN_STREAM_BYTES | TN_DECODE_SKIP_SPECIAL, 1);
    expect(stream, HI, "Hi");
    expect(stream, START, "");
    expect(stream, FIRST_HALF, "\xf0\x9f");
    expect(stream, HI, " Hi");
    expect(stream, LONG, long_piece);
    expect(stream, SECOND_HALF, "\x98\x80");
    expect_flush(stream, "");
    tn_stream_free(stream);
}

Test(stream, a_piece_of_any_length_passes) {
    memset(long_piece, 'x', sizeof long_piece - 1);
    tn_stream *stream = create(0, 0);
    expect(stream, FIRST_HALF, "");
    char wanted[sizeof long_piece + 3];
    snprintf(wanted, sizeof wanted, "\xef\xbf\xbd%s", long_piece);
    expect(stream, LONG, wanted);
    expect(stream, HI, " Hi");
    tn_stream_free(stream);
}

Test(stream, an_id_outside_the_vocabulary_is_refused_and_changes_nothing) {
    tn_stream *stream = create(0, 1);
    const int32_t bad[] = {-1, VOCAB, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tn_error error = TN_ERROR_INIT;
        const char *text;
        uint64_t size;
        cr_expect(eq(i32, tn_stream_push(stream, bad[i], &text, &size, &error), TN_E_INPUT));
        cr_expect(strstr(error.text, "vocabulary of 6") != NULL, "%s", error.text);
        cr_expect(eq(u64, size, 0));
    }
    expect(stream, HI, "Hi");
    tn_stream_free(stream);
}
