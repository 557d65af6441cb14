/*
 * token_io.c - see token_io.h.
 */
#include "token_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- the tokenizer ---------------------------------------------------------------------------------- */

static int open_file(const struct options *options, struct token_source *out) {
    tn_error err = TN_ERROR_INIT;
    if (tn_gguf_open(options->model, NULL, &out->file, &err) != TN_OK) { return report_error(&err); }
    if (tn_codec_open(out->engine, out->file, NULL, &out->codec, &err) == TN_OK) { return EXIT_DONE; }
    tn_error inner = err; /* which names keys of the file, not the file */
    tn_fail(&err, inner.code, "%s: %s", options->model, inner.text);
    return report_error(&err);
}

/* Neither tensor types nor the cache's type matter here. */
int token_source_open(struct options *options, struct token_source *out) {
    static char buffer[64 * 1024];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    *out = (struct token_source){0};
    options->cache = NULL;
    int status = open_engine(options, &out->engine);
    return status == EXIT_DONE ? open_file(options, out) : status;
}

void token_source_close(struct token_source *source) {
    tn_codec_close(source->codec);
    tn_gguf_close(source->file);
    tn_engine_destroy(source->engine);
}

/* ---- ids -------------------------------------------------------------------------------------------- */

/* Digits of a number at `out`, at most 11 characters; returns the place behind them. */
static char *put_number(char *out, int32_t value) {
    char digits[12];
    size_t count = 0;
    uint32_t rest = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    if (value < 0) { *out++ = '-'; }
    do { digits[count++] = (char)('0' + rest % 10); } while (rest /= 10);
    while (count) { *out++ = digits[--count]; }
    return out;
}

void put_ids(const int32_t *ids, uint64_t count, const char *between, bool *first) {
    char text[4096], *end = text;
    for (uint64_t i = 0; i < count; i++) {
        if (end - text > (long)sizeof text - 16) {
            fwrite(text, 1, (size_t)(end - text), stdout);
            end = text;
        }
        if (!*first) { *end++ = *between; }
        *first = false;
        end = put_number(end, ids[i]);
    }
    fwrite(text, 1, (size_t)(end - text), stdout);
}

/* ---- JSON lines ------------------------------------------------------------------------------------- */

int32_t get_flag(const json_t *object, const char *key, bool *value, tn_error *err) {
    const json_t *member = json_object_get(object, key);
    if (!member) { return TN_OK; }
    if (!json_is_boolean(member)) { TN_FAIL(err, TN_E_INPUT, "\"%s\": expected true or false", key); }
    *value = json_is_true(member);
    return TN_OK;
}

int32_t check_keys(const json_t *object, const char *const *keys, tn_error *err) {
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)object, key, value) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0) { i++; }
        if (!keys[i]) { TN_FAIL(err, TN_E_INPUT, "unknown key \"%s\"", key); }
    }
    return TN_OK;
}

static int32_t answer_line(const char *line, size_t size, line_answer answer, void *context, tn_error *err) {
    json_error_t fault;
    json_t *question = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    if (!question) { TN_FAIL(err, TN_E_INPUT, "byte %d: %s", fault.position, fault.text); }
    int32_t code = json_is_object(question) ? answer(context, question, err)
                                            : tn_fail(err, TN_E_INPUT, "an array, expected an object");
    json_decref(question);
    return code;
}

static void put_fault(uint64_t number, const tn_error *err) {
    json_t *object = json_object();
    char text[1100];
    snprintf(text, sizeof text, "line %llu: %s", (unsigned long long)number, err->text);
    set_text(object, "error", text);
    json_dumpf(object, stdout, JSON_COMPACT);
    json_decref(object);
}

int answer_lines(struct byte_input *in, line_answer answer, void *context) {
    bool bad = false;
    for (uint64_t number = 1;; number++) {
        const char *line;
        size_t size;
        tn_error err = TN_ERROR_INIT;
        int status = byte_input_line(in, &line, &size);
        if (status != EXIT_DONE) { return status; }
        if (!line) { return bad ? EXIT_USAGE : EXIT_DONE; }
        if (answer_line(line, size, answer, context, &err) != TN_OK) {
            bad = true;
            put_fault(number, &err);
        }
        fputc('\n', stdout);
    }
}
