/* Tokenizers of files through the installed plugins: found by name, refused by name, and used. */
#include "support.h"
#include "tenon/model.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static tn_engine *engine;

static void start_engine(void) {
    tn_error error = TN_ERROR_INIT;
    char *plugins = tn_test_build("lib/tenon/plugins");
    const char *const dirs[] = {plugins};
    const tn_engine_options options = {.plugin_dirs = dirs, .plugin_dir_count = 1, .threads = 1};
    cr_assert(eq(i32, tn_engine_create(&options, &engine, &error), TN_OK), "%s", error.text);
    free(plugins);
}

static void stop_engine(void) {
    tn_engine_destroy(engine);
}

TestSuite(codec, .init = start_engine, .fini = stop_engine, .timeout = 60);

static tn_gguf *open_file(const char *name) {
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    char *path = tn_test_data(name);
    cr_assert(eq(i32, tn_gguf_open(path, NULL, &file, &error), TN_OK), "%s", error.text);
    free(path);
    return file;
}

/* The reasons that were handed over: how many, and the first one's code and subject. */
typedef struct {
    int count;
    int32_t code;
    char subject[128];
} reasons;

static void add_reason(const tn_report *report, const tn_reason *reason) {
    reasons *all = report->context;
    if (all->count++ == 0) {
        all->code = reason->code;
        snprintf(all->subject, sizeof all->subject, "%s", reason->subject);
    }
}

static void expect_refused(const tn_gguf *file, int32_t code, const char *words) {
    for (int reported = 0; reported < 2; reported++) {
        reasons all = {0};
        const tn_report report = {.struct_size = sizeof report, .context = &all, .add = add_reason};
        tn_error error = TN_ERROR_INIT;
        tn_text_codec *codec;
        cr_expect(eq(i32, tn_codec_open(engine, file, reported ? &report : NULL, &codec, &error), code), "%s",
                  error.text);
        cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
        cr_expect(codec == NULL);
        if (!reported) { continue; }
        cr_expect(eq(i32, all.code, code));
        cr_expect(all.count > 0 && strstr(all.subject, "tokenizer.ggml.") != NULL, "%s", all.subject);
    }
}

Test(codec, an_unknown_family_is_named_with_the_installed_ones) {
    tn_gguf *file = open_file("refused/tokenizer-model-bloomish.gguf");
    expect_refused(file, TN_E_TOKENIZER_UNKNOWN, "bloomish");
    expect_refused(file, TN_E_TOKENIZER_UNKNOWN, "gpt2");
    expect_refused(file, TN_E_TOKENIZER_UNKNOWN, "llama");
    tn_gguf_close(file);
}

Test(codec, the_reason_of_the_family_is_passed_on) {
    tn_gguf *file = open_file("refused/tokenizer-pre-unknown.gguf");
    expect_refused(file, TN_E_TOKENIZER_PRE, "not-a-real-pre");
    tn_gguf_close(file);
}

/* Writes a file whose only key is tokenizer.ggml.model, unless `value` is NULL, and expects a refusal. */
static void expect_model_refused(const tn_kv *value, const char *words) {
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "a.gguf");
    tn_error error = TN_ERROR_INIT;
    tn_gguf_writer *writer;
    tn_gguf *file;
    cr_assert(eq(i32, tn_gguf_writer_create(path, &writer, &error), TN_OK), "%s", error.text);
    if (value) {
        cr_assert(eq(i32, tn_gguf_writer_put(writer, "tokenizer.ggml.model", value, &error), TN_OK));
    }
    cr_assert(eq(i32, tn_gguf_writer_finish(writer, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_open(path, NULL, &file, &error), TN_OK), "%s", error.text);
    expect_refused(file, TN_E_TOKENIZER_UNKNOWN, words);
    tn_gguf_close(file);
    free(path);
    tn_test_folder_remove(folder);
}

static tn_kv string_of(const char *data, size_t size) {
    return (tn_kv){
        .struct_size = sizeof(tn_kv), .type = TN_KV_STRING, .count = size, .size = size, .data = data};
}

Test(codec, a_key_that_is_missing_or_no_name_is_refused) {
    char *longest = calloc(1, 300);
    memset(longest, 'x', 299);
    tn_kv number = {.struct_size = sizeof number, .type = TN_KV_U32, .count = 1, .size = 4, .data = "\1\0\0"};
    tn_kv empty = string_of("", 0), cut = string_of("gpt2\0x", 6), large = string_of(longest, 299);
    expect_model_refused(NULL, "tokenizer.ggml.model: no such key");
    expect_model_refused(&number, "a value that is no string");
    expect_model_refused(&empty, "a string that is no name");
    expect_model_refused(&cut, "a string that is no name");
    expect_model_refused(&large, "a string that is no name");
    free(longest);
}

/* ---- use -------------------------------------------------------------------------------------------- */

static tn_text_codec *open_codec(const tn_gguf *file) {
    tn_error error = TN_ERROR_INIT;
    tn_text_codec *codec;
    cr_assert(eq(i32, tn_codec_open(engine, file, NULL, &codec, &error), TN_OK), "%s", error.text);
    return codec;
}

/* Ids back to text, all at once and through a stream. */
static void expect_text(const tn_text_codec *codec, const int32_t *ids, uint64_t count, const char *wanted) {
    tn_error error = TN_ERROR_INIT;
    char *text, streamed[4096];
    uint64_t size, done = 0, piece_size;
    const char *piece;
    cr_assert(eq(i32, tn_codec_decode(codec, ids, count, 0, &text, &size, &error), TN_OK), "%s", error.text);
    cr_expect(eq(str, text, (char *)wanted));
    cr_expect(eq(u64, size, strlen(wanted)));
    free(text);
    tn_stream *stream;
    cr_assert(eq(i32, tn_stream_create(codec, 0, 1, &stream, &error), TN_OK), "%s", error.text);
    for (uint64_t i = 0; i < count; i++) {
        cr_assert(eq(i32, tn_stream_push(stream, ids[i], &piece, &piece_size, &error), TN_OK), "%s",
                  error.text);
        memcpy(streamed + done, piece, piece_size);
        done += piece_size;
    }
    tn_stream_flush(stream, &piece, &piece_size);
    streamed[done] = 0;
    cr_expect(eq(u64, piece_size, 0));
    cr_expect(eq(str, streamed, (char *)wanted));
    tn_stream_free(stream);
}

static void expect_round_trip(const char *name) {
    static const char *const texts[] = {"", "a", " a", "Hello world! \xf0\x9f\x98\x80 caf\xc3\xa9\n\n  x\t7"};
    tn_gguf *file = open_file(name);
    tn_text_codec *codec = open_codec(file);
    tn_vocab vocab;
    tn_codec_vocab(codec, &vocab);
    cr_expect(vocab.size > 0 && vocab.struct_size == sizeof vocab, "%s: %u", name, vocab.size);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tn_error error = TN_ERROR_INIT;
        int32_t *ids;
        uint64_t count;
        int32_t code = tn_codec_encode(codec, texts[i], strlen(texts[i]), 0, &ids, &count, &error);
        cr_assert(eq(i32, code, TN_OK), "%s", error.text);
        expect_text(codec, ids, count, texts[i]);
        free(ids);
    }
    cr_expect(vocab.eos < 0 || tn_codec_ends(codec, vocab.eos) == 1);
    cr_expect(eq(i32, tn_codec_find(codec, "no such entry of any vocabulary", 31), -1));
    tn_codec_close(codec);
    tn_gguf_close(file);
}

Test(codec, text_comes_back_whole_from_both_families) {
    expect_round_trip("models/llama.gguf");
    expect_round_trip("models/llama3-ropefreqs.gguf");
    tn_codec_close(NULL);
}

Test(codec, an_id_outside_the_vocabulary_is_refused) {
    tn_gguf *file = open_file("models/llama.gguf");
    tn_text_codec *codec = open_codec(file);
    tn_error error = TN_ERROR_INIT;
    const int32_t ids[] = {1, -1, 1 << 30};
    for (uint64_t i = 1; i < 3; i++) {
        char *text;
        uint64_t size;
        cr_expect(eq(i32, tn_codec_decode(codec, &ids[i], 1, 0, &text, &size, &error), TN_E_INPUT));
        cr_expect(text == NULL && size == 0);
    }
    tn_codec_close(codec);
    tn_gguf_close(file);
}
