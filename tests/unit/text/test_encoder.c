/* Texts that come in pieces: the ids are those of the whole, for every vocabulary at hand and wherever it is cut. */
#include "made_codec.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static uint64_t any(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* ---- ids of a text in pieces ------------------------------------------------------------------------ */

typedef struct {
    int32_t *ids;
    uint64_t count, capacity;
} ids_list;

static void take(ids_list *list, const int32_t *ids, uint64_t count) {
    if (list->count + count > list->capacity) {
        list->capacity = 2 * (list->count + count);
        list->ids = realloc(list->ids, list->capacity * sizeof *ids);
    }
    if (count) { memcpy(list->ids + list->count, ids, count * sizeof *ids); }
    list->count += count;
}

/* Pushes the text in pieces of at most `longest` bytes; *early: ids that were out before the end. */
static void push_all(tn_encoder *encoder, const char *text, uint64_t size, uint64_t longest, ids_list *out,
                     uint64_t *early) {
    tn_error error = TN_ERROR_INIT;
    const int32_t *ids;
    uint64_t count;
    out->count = 0;
    for (uint64_t at = 0; at < size;) {
        uint64_t n = any(longest + 1);
        if (n > size - at) { n = size - at; }
        cr_assert(eq(i32, tn_encoder_push(encoder, text + at, n, &ids, &count, &error), TN_OK), "%s",
                  error.text);
        take(out, ids, count);
        at += n;
    }
    *early = out->count;
    cr_assert(eq(i32, tn_encoder_finish(encoder, &ids, &count, &error), TN_OK), "%s", error.text);
    take(out, ids, count);
}

static void expect_same(const char *name, const int32_t *ids, uint64_t count, const int32_t *wanted,
                        uint64_t wanted_count, const char *text, uint64_t size) {
    uint64_t i = 0;
    while (i < count && i < wanted_count && ids[i] == wanted[i]) { i++; }
    cr_assert(i == count && i == wanted_count,
              "%s: id %llu of %llu is %d, of %llu %d was expected; the text (%llu bytes): %.200s", name,
              (unsigned long long)i, (unsigned long long)count, i < count ? ids[i] : -1,
              (unsigned long long)wanted_count, i < wanted_count ? wanted[i] : -1, (unsigned long long)size,
              text);
}

static void check_pieces(const tn_text_codec *codec, const char *name, const char *text, uint64_t size,
                         uint32_t flags) {
    static const uint64_t longest[] = {1, 3, 40, 3000};
    tn_error error = TN_ERROR_INIT;
    tn_encoder *encoder;
    const tn_codec_text whole = {.text = text, .size = size, .flags = flags, .threads = 1};
    ids_list list = {0};
    int32_t *wanted;
    uint64_t count, early;
    cr_assert(eq(i32, tn_codec_encode_text(codec, &whole, &wanted, NULL, &count, &error), TN_OK), "%s",
              error.text);
    cr_assert(eq(i32, tn_encoder_create(codec, flags, 1, &encoder, &error), TN_OK), "%s", error.text);
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) { /* the same one: it is as new each time */
        push_all(encoder, text, size, longest[i], &list, &early);
        expect_same(name, list.ids, list.count, wanted, count, text, size);
    }
    tn_encoder_free(encoder);
    free(list.ids);
    free(wanted);
}

/* ---- texts ------------------------------------------------------------------------------------------ */

/* One scrap: words, blanks, digits, marks, other scripts, bytes that are no UTF-8, or the text of some entry. */
static uint64_t add_scrap(const tn_text_codec *codec, uint32_t vocabulary, char *out) {
    static const char *const scraps[] = {" the",
                                         "Hello",
                                         "  ",
                                         "\n",
                                         "\n\n",
                                         "\r\n",
                                         "\t",
                                         "123",
                                         "4567",
                                         "'s",
                                         "'LL",
                                         "...",
                                         "e\xcc\x81",
                                         "\xcc\x81",
                                         "\xe4\xbd\xa0\xe5\xa5\xbd",
                                         "\xe2\x96\x81",
                                         "\xf0\x9f\x98\x80",
                                         "\xc2\xa0",
                                         "\xe3\x80\x80",
                                         "\xff",
                                         "\xf0\x9f",
                                         "\xe2\x80",
                                         "\xd0\x9f\xd1\x80\xd0\xb8",
                                         "<",
                                         "<|",
                                         "|>",
                                         "im_end",
                                         "[",
                                         "]",
                                         "a",
                                         "A",
                                         ".",
                                         "/*",
                                         "_x",
                                         "\xed\x95\x9c",
                                         "\xe0\xb8\x81\xe0\xb8\xb3"};
    enum { COUNT = sizeof scraps / sizeof *scraps };
    uint64_t pick = any(COUNT + 6);
    if (pick < COUNT || vocabulary == 0) {
        const char *scrap = scraps[pick % COUNT];
        memcpy(out, scrap, strlen(scrap));
        return strlen(scrap);
    }
    int64_t n = tn_codec_piece(codec, (int32_t)any(vocabulary), 0, out, 64);
    uint64_t size = n < 0 ? 0 : n > 64 ? 64 : (uint64_t)n;
    return pick & 1 ? size : any(size + 1);
}

static uint64_t add_control(const tn_text_codec *codec, const int32_t *controls, uint64_t count, char *out) {
    if (count == 0) { return 0; }
    int64_t n = tn_codec_piece(codec, controls[any(count)], 0, out, 64);
    uint64_t size = n < 0 ? 0 : n > 64 ? 64 : (uint64_t)n;
    return any(3) ? size : any(size + 1);
}

static uint64_t make_text(const tn_text_codec *codec, const int32_t *controls, uint64_t control_count,
                          char *out, uint64_t size) {
    tn_vocab vocab;
    uint64_t done = 0;
    tn_codec_vocab(codec, &vocab);
    while (done + 64 < size) {
        done += any(12) ? add_scrap(codec, vocab.size, out + done)
                        : add_control(codec, controls, control_count, out + done);
        if (any(40) == 0 && done > 0) { /* runs, which families treat in their own ways */
            char c = out[done - 1];
            for (uint64_t n = any(60); n > 0 && done + 64 < size; n--) { out[done++] = c; }
        }
    }
    return done;
}

/* ---- real vocabularies ------------------------------------------------------------------------------ */

static uint64_t find_controls(const tn_text_codec *codec, int32_t *out, uint64_t capacity) {
    tn_vocab vocab;
    uint64_t count = 0;
    tn_codec_vocab(codec, &vocab);
    for (uint32_t id = 0; id < vocab.size && count < capacity; id++) {
        uint32_t kind = tn_codec_kind(codec, (int32_t)id);
        if (kind == TN_TOKEN_CONTROL || kind == TN_TOKEN_USER_DEFINED) { out[count++] = (int32_t)id; }
    }
    return count;
}

/* Texts long enough to be cut and given to several threads. */
static void check_threads(const tn_text_codec *codec, const char *name, const int32_t *controls,
                          uint64_t control_count) {
    enum { SIZE = 400000 };
    tn_error error = TN_ERROR_INIT;
    char *text = malloc(SIZE);
    uint64_t size = make_text(codec, controls, control_count, text, SIZE), counts[2];
    for (uint32_t flags = 0; flags <= (TN_ENCODE_ADD | TN_ENCODE_SPECIAL); flags += 3) {
        int32_t *ids[2];
        for (uint32_t i = 0; i < 2; i++) {
            const tn_codec_text call = {.text = text, .size = size, .flags = flags, .threads = i ? 4 : 1};
            int32_t code = tn_codec_encode_text(codec, &call, &ids[i], NULL, &counts[i], &error);
            cr_assert(eq(i32, code, TN_OK), "%s", error.text);
        }
        expect_same(name, ids[1], counts[1], ids[0], counts[0], text, size);
        free(ids[0]);
        free(ids[1]);
    }
    free(text);
}

static void check_codec(const tn_text_codec *codec, const char *name) {
    enum { SIZE = 3000, ROUNDS = 24 };
    char text[SIZE];
    int32_t controls[4096];
    uint64_t control_count = find_controls(codec, controls, 4096);
    state = 88172645463325252u;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t size = make_text(codec, controls, control_count, text, 64 + any(SIZE - 64));
        check_pieces(codec, name, text, size, round % 4);
    }
    check_pieces(codec, name, "", 0, TN_ENCODE_ADD);
    check_threads(codec, name, controls, control_count);
}

static void check_file(const char *path, const char *name) {
    tn_error error = TN_ERROR_INIT;
    tn_engine *engine;
    tn_gguf *file;
    tn_text_codec *codec;
    char *plugins = tn_test_build("lib/tenon/plugins");
    const char *const dirs[] = {plugins};
    const tn_engine_options options = {.plugin_dirs = dirs, .plugin_dir_count = 1, .threads = 2};
    cr_assert(eq(i32, tn_engine_create(&options, &engine, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_open(path, NULL, &file, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_codec_open(engine, file, NULL, &codec, &error), TN_OK), "%s", error.text);
    check_codec(codec, name);
    tn_codec_close(codec);
    tn_gguf_close(file);
    tn_engine_destroy(engine);
    free(plugins);
}

static void check_shared(const char *name) {
    char part[256];
    snprintf(part, sizeof part, "tokenizer/vocabs/%s.gguf", name);
    char *path = tn_test_shared(part);
    int there = tn_test_exists(path);
    if (there) { check_file(path, name); }
    free(path);
    if (!there) { cr_skip_test("no %s", part); }
}

#define VOCABULARY(test, name)                                                                               \
    Test(encoder, test, .timeout = 120) {                                                                    \
        check_shared(name);                                                                                  \
    }
VOCABULARY(bert_bge, "ggml-vocab-bert-bge")
VOCABULARY(falcon, "ggml-vocab-falcon")
VOCABULARY(gpt_2, "ggml-vocab-gpt-2")
VOCABULARY(gpt_neox, "ggml-vocab-gpt-neox")
VOCABULARY(llama_bpe, "ggml-vocab-llama-bpe")
VOCABULARY(llama_spm, "ggml-vocab-llama-spm")
VOCABULARY(mpt, "ggml-vocab-mpt")
VOCABULARY(phi_3, "ggml-vocab-phi-3")
VOCABULARY(qwen2, "ggml-vocab-qwen2")
VOCABULARY(starcoder, "ggml-vocab-starcoder")
VOCABULARY(smollm2, "vocab-smollm2")

Test(encoder, own_models, .timeout = 120) {
    static const char *const names[] = {"models/llama.gguf", "models/llama3-ropefreqs.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = tn_test_data(names[i]);
        check_file(path, names[i]);
        free(path);
    }
}

/* ---- a tokenizer of the tests' own ------------------------------------------------------------------ */

Test(encoder, ids_leave_as_soon_as_the_family_can_cut) {
    tn_text_codec codec = made_codec(&made_table, sizeof(tn_encode), 1);
    tn_error error = TN_ERROR_INIT;
    tn_encoder *encoder;
    const int32_t *ids;
    uint64_t count;
    cr_assert(eq(i32, tn_encoder_create(&codec, TN_ENCODE_ADD, 1, &encoder, &error), TN_OK));
    static const struct {
        const char *text;
        uint64_t count;
    } steps[] = {{"ab", 0}, {"c", 0}, {" ", 2}, {"d", 0}, {" e", 2}, {"", 0}, {" f g", 4}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *text = steps[i].text;
        cr_expect(eq(i32, tn_encoder_push(encoder, text, strlen(text), &ids, &count, &error), TN_OK));
        cr_expect(eq(u64, count, steps[i].count), "step %zu", i);
    }
    cr_expect(eq(i32, tn_encoder_finish(encoder, &ids, &count, &error), TN_OK));
    cr_expect(eq(u64, count, 3)); /* blank, g, EOS */
    tn_encoder_free(encoder);
    tn_encoder_free(NULL);
}

/* A stretch that cannot be cut, byte by byte: the looks for a place to cut may not add up. */
Test(encoder, a_long_stretch_takes_linear_time, .timeout = 30) {
    enum { LONG = 4 << 20 };
    tn_text_codec codec = made_codec(&made_table, sizeof(tn_encode), 1);
    tn_error error = TN_ERROR_INIT;
    tn_encoder *encoder;
    const int32_t *ids;
    uint64_t count, total = 0;
    cr_assert(eq(i32, tn_encoder_create(&codec, 0, 1, &encoder, &error), TN_OK));
    for (int i = 0; i < LONG; i++) {
        cr_assert(eq(i32, tn_encoder_push(encoder, "x", 1, &ids, &count, &error), TN_OK));
        total += count;
    }
    cr_expect(eq(u64, total, 0));
    cr_expect(eq(i32, tn_encoder_finish(encoder, &ids, &count, &error), TN_OK));
    cr_expect(eq(u64, count, 1));
    tn_encoder_free(encoder);
}

Test(encoder, a_fault_is_passed_on) {
    tn_text_codec codec = made_codec(&made_table, sizeof(tn_encode), 1);
    tn_error error = TN_ERROR_INIT;
    tn_encoder *encoder;
    const int32_t *ids;
    uint64_t count;
    cr_assert(eq(i32, tn_encoder_create(&codec, 0, 1, &encoder, &error), TN_OK));
    cr_expect(eq(i32, tn_encoder_push(encoder, " " MADE_FAULT " x", 8, &ids, &count, &error), TN_E_FAILED));
    cr_expect(strstr(error.text, MADE_FAULT) != NULL, "%s", error.text);
    tn_encoder_free(encoder);
}
