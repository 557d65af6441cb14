/*
 * cmd_detokenize.c - tenon detokenize: ids to the bytes they stand for, of any number; or JSON lines.
 */
#include "base64.h"
#include "token_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 * 1024 };

/* Numbers out of text that comes in blocks, and where in it they are. */
struct id_reader {
    const char *name; /* of the input */
    tn_stream *stream;
    uint64_t place, number; /* bytes read; ids read */
    uint64_t value;
    bool inside; /* a number has begun */
    bool comma;  /* one has come since the last number */
};

static uint32_t decode_flags(bool skip) {
    return TN_STREAM_BYTES | (skip ? TN_DECODE_SKIP_SPECIAL : 0);
}

/* ---- ids as text ------------------------------------------------------------------------------------ */

static int end_number(struct id_reader *reader) {
    tn_error err = TN_ERROR_INIT;
    const char *text;
    uint64_t size;
    if (!reader->inside) { return EXIT_DONE; }
    reader->inside = reader->comma = false;
    reader->number++;
    if (tn_stream_push(reader->stream, (int32_t)reader->value, &text, &size, &err) != TN_OK) {
        fprintf(stderr, "tenon: %s: number %" PRIu64 ", up to byte %" PRIu64 ": %s\n", reader->name,
                reader->number, reader->place, err.text);
        return tn_code_status(err.code);
    }
    fwrite(text, 1, size, stdout);
    return EXIT_DONE;
}

static int bad_byte(const struct id_reader *reader, unsigned char byte) {
    char shown[8];
    snprintf(shown, sizeof shown, byte > 0x20 && byte < 0x7f ? "\"%c\"" : "0x%02x", byte);
    fprintf(stderr, "tenon: %s: byte %" PRIu64 ": %s, expected token ids, separated by blanks or commas\n",
            reader->name, reader->place + 1, shown);
    return EXIT_USAGE;
}

/* A comma stands behind a number; one may end the ids. */
static int take_comma(struct id_reader *reader) {
    if (reader->comma || reader->number == 0) {
        fprintf(stderr, "tenon: %s: byte %" PRIu64 ": a comma without a token id before it\n", reader->name,
                reader->place + 1);
        return EXIT_USAGE;
    }
    reader->comma = true;
    return EXIT_DONE;
}

static int read_ids(struct id_reader *reader, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= '0' && byte <= '9') {
            reader->value = (reader->inside ? reader->value * 10 : 0) + (byte - '0');
            reader->inside = true;
            if (reader->value > INT32_MAX) {
                fprintf(stderr, "tenon: %s: byte %" PRIu64 ": a number above %d, expected token ids\n",
                        reader->name, reader->place + 1, INT32_MAX);
                return EXIT_USAGE;
            }
        } else if (byte == ',' || byte == ' ' || (byte >= '\t' && byte <= '\r')) {
            int status = end_number(reader);
            if (status == EXIT_DONE && byte == ',') { status = take_comma(reader); }
            if (status != EXIT_DONE) { return status; }
        } else {
            return bad_byte(reader, byte);
        }
        reader->place++;
    }
    return ferror(stdout) ? EXIT_FAILED : EXIT_DONE;
}

static int read_arguments(struct id_reader *reader, const struct options *options) {
    for (int i = 0; i < options->argument_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "argument %d", i + 1);
        reader->name = name;
        reader->place = 0;
        int status = read_ids(reader, options->arguments[i], strlen(options->arguments[i]));
        if (status == EXIT_DONE) { status = end_number(reader); }
        if (status != EXIT_DONE) { return status; }
    }
    return EXIT_DONE;
}

static int read_input(struct id_reader *reader, struct byte_input *in) {
    reader->name = in->name;
    for (;;) {
        const char *bytes;
        size_t size;
        int status = byte_input_block(in, BLOCK, &bytes, &size);
        if (status == EXIT_DONE && size == 0) { return end_number(reader); }
        if (status == EXIT_DONE) { status = read_ids(reader, bytes, size); }
        if (status != EXIT_DONE) { return status; }
    }
}

static int detokenize_ids(const struct options *options, const tn_text_codec *codec, struct byte_input *in) {
    struct id_reader reader = {0};
    tn_error err = TN_ERROR_INIT;
    if (tn_stream_create(codec, decode_flags(options->skip_special), 1, &reader.stream, &err) != TN_OK) {
        return report_error(&err);
    }
    int status = options->argument_count ? read_arguments(&reader, options) : read_input(&reader, in);
    tn_stream_free(reader.stream);
    return status;
}

/* ---- JSON lines ------------------------------------------------------------------------------------- */

struct detokenize {
    const struct options *options;
    const tn_text_codec *codec;
};

static const char *const keys[] = {"ids", "skip_special", NULL};

/* Decodes through a stream, so that a bad id can be named with its place. */
static int32_t decode_array(const tn_text_codec *codec, const json_t *list, bool skip, FILE *out,
                            tn_error *err) {
    tn_stream *stream;
    int32_t code = tn_stream_create(codec, decode_flags(skip), 1, &stream, err);
    for (size_t i = 0; code == TN_OK && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t id = json_integer_value(item);
        const char *text;
        uint64_t size;
        if (!json_is_integer(item) || id < INT32_MIN || id > INT32_MAX) {
            code = tn_fail(err, TN_E_INPUT, "\"ids\", number %zu: expected a token id", i + 1);
        } else if ((code = tn_stream_push(stream, (int32_t)id, &text, &size, err)) == TN_OK) {
            fwrite(text, 1, size, out);
        } else if (code == TN_E_INPUT) {
            tn_error inner = *err;
            code = tn_fail(err, code, "\"ids\", number %zu: %s", i + 1, inner.text);
        }
    }
    tn_stream_free(stream);
    return code;
}

static int32_t put_text(const char *text, size_t size, tn_error *err) {
    json_t *object = json_object(), *value = json_stringn(text, size); /* NULL if that is no UTF-8 */
    const char *key = "text";
    if (!value) {
        char *coded = base64_encode(text, size);
        value = coded ? json_string(coded) : NULL;
        key = "text_b64";
        free(coded);
    }
    int bad = json_object_set_new(object, key, value);
    if (!bad) { json_dumpf(object, stdout, JSON_COMPACT); }
    json_decref(object);
    if (bad) { TN_FAIL(err, TN_E_MEMORY, "not enough memory for a text of %zu bytes", size); }
    return TN_OK;
}

static int32_t answer(void *context, const json_t *question, tn_error *err) {
    const struct detokenize *d = context;
    const json_t *list = json_object_get(question, "ids");
    bool skip = d->options->skip_special;
    char *text = NULL;
    size_t size = 0;
    TN_TRY(check_keys(question, keys, err));
    TN_TRY(get_flag(question, "skip_special", &skip, err));
    if (!json_is_array(list)) { TN_FAIL(err, TN_E_INPUT, "\"ids\": expected an array of token ids"); }
    FILE *memory = open_memstream(&text, &size);
    if (!memory) { TN_FAIL(err, TN_E_MEMORY, "not enough memory for a text"); }
    int32_t code = decode_array(d->codec, list, skip, memory, err);
    int lost = fclose(memory);
    if (code == TN_OK && lost) { code = tn_fail(err, TN_E_MEMORY, "not enough memory for a text"); }
    if (code == TN_OK) { code = put_text(text, size, err); }
    free(text);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------ */

int cmd_detokenize(struct options *options) {
    struct token_source source = {0};
    struct byte_input in = {0};
    int status = EXIT_DONE;
    options->threads = 1;
    if (options->argument_count && (options->file || options->jsonl)) {
        return usage_error("detokenize", "ids and %s exclude each other", options->file ? "-f" : "--jsonl");
    }
    if (!options->argument_count) { status = byte_input_open(options->file, &in); }
    if (status == EXIT_DONE) { status = token_source_open(options, &source); }
    struct detokenize d = {options, source.codec};
    if (status == EXIT_DONE) {
        status = options->jsonl ? answer_lines(&in, answer, &d) : detokenize_ids(options, source.codec, &in);
    }
    status = finish_output(status);
    byte_input_close(&in);
    token_source_close(&source);
    return status;
}
