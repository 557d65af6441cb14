/*
 * cmd_tokenize.c - tenon tokenize: a text of any length to ids; or JSON lines, each a text of its own.
 */
#include "base64.h"
#include "token_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are encoded at once: enough for all threads to have parts of their own. */
enum { BLOCK_LEAST = 1 << 20, BLOCK_MOST = 16 << 20, BLOCK_PER_THREAD = 1 << 19, PIECE_ROOM = 256 };

struct tokenize {
    const struct options *options;
    const tn_text_codec *codec;
    tn_encoder *encoder;
    uint64_t count;
    bool first;  /* nothing was written yet */
    FILE *kept;  /* the ids once more, where pieces follow them */
    char *piece; /* room for the bytes of one id */
    size_t capacity;
};

static uint32_t flags_of(bool special, bool add) {
    return (special ? TN_ENCODE_SPECIAL : 0) | (add ? TN_ENCODE_ADD : 0);
}

static int no_memory(void) {
    fputs("tenon: not enough memory\n", stderr);
    return EXIT_FAILED;
}

/* ---- pieces ----------------------------------------------------------------------------------------- */

/* The bytes of an id into t->piece. */
static int read_piece(struct tokenize *t, int32_t id, size_t *size) {
    int64_t n = tn_codec_piece(t->codec, id, 0, t->piece, t->capacity);
    if (n > 0 && (uint64_t)n > t->capacity) {
        char *piece = realloc(t->piece, (size_t)n);
        if (!piece) { return no_memory(); }
        t->piece = piece;
        t->capacity = (size_t)n;
        n = tn_codec_piece(t->codec, id, 0, t->piece, t->capacity);
    }
    *size = n > 0 ? (size_t)n : 0;
    return EXIT_DONE;
}

/* What can be read, as it is; quotes, backslashes and control characters with a backslash, stray bytes as \xHH. */
static void put_quoted(const char *text, size_t size) {
    static const char escaped[] = "\n\r\t\\'", letters[] = "nrt\\'";
    putchar('\'');
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((const unsigned char *)text + i, size - i);
        unsigned char byte = (unsigned char)text[i];
        const char *known = length == 1 && byte ? strchr(escaped, byte) : NULL;
        bool control =
            byte < 0x20 || byte == 0x7f || (length == 2 && byte == 0xc2 && (text[i + 1] & 0xe0) == 0x80);
        if (known) {
            printf("\\%c", letters[known - escaped]);
        } else if (length && !control) {
            fwrite(text + i, 1, length, stdout);
        } else {
            length = 1;
            printf("\\x%02x", byte);
        }
        i += length;
    }
    putchar('\'');
}

static int put_pieces(struct tokenize *t, const int32_t *ids, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        size_t size;
        int status = read_piece(t, ids[i], &size);
        if (status != EXIT_DONE) { return status; }
        printf("%6" PRId32 " -> ", ids[i]);
        put_quoted(t->piece, size);
        putchar('\n');
    }
    return EXIT_DONE;
}

/* A string; where that is no UTF-8, the bytes as numbers. */
static void put_json_piece(const char *piece, size_t size) {
    json_t *value = json_stringn(piece, size);
    for (size_t i = 0; value == NULL && i < size; i++) {
        printf("%c%d", i ? ',' : '[', (unsigned char)piece[i]);
        if (i + 1 == size) { putchar(']'); }
    }
    if (value) { json_dumpf(value, stdout, JSON_ENCODE_ANY); }
    json_decref(value);
}

/* The ids were kept in a file, so that memory does not grow with the text. */
static int put_json_pieces(struct tokenize *t) {
    int32_t id;
    size_t size;
    fputs("],\"pieces\":[", stdout);
    rewind(t->kept);
    for (uint64_t i = 0; i < t->count && fread(&id, sizeof id, 1, t->kept) == 1; i++) {
        int status = read_piece(t, id, &size);
        if (status != EXIT_DONE) { return status; }
        if (i) { putchar(','); }
        put_json_piece(t->piece, size);
    }
    if (!ferror(t->kept)) { return EXIT_DONE; }
    perror("tenon: temporary file");
    return EXIT_FAILED;
}

/* ---- one text --------------------------------------------------------------------------------------- */

static int put(struct tokenize *t, const int32_t *ids, uint64_t count) {
    if (count == 0) { return EXIT_DONE; }
    t->count += count;
    if (!t->options->json && t->options->pieces) { return put_pieces(t, ids, count); }
    put_ids(ids, count, t->options->json ? "," : "\n", &t->first);
    if (!t->kept || fwrite(ids, sizeof *ids, count, t->kept) == count) { return EXIT_DONE; }
    perror("tenon: temporary file");
    return EXIT_FAILED;
}

static int push(struct tokenize *t, const char *bytes, size_t size) {
    tn_error err = TN_ERROR_INIT;
    const int32_t *ids;
    uint64_t count;
    if (tn_encoder_push(t->encoder, bytes, size, &ids, &count, &err) != TN_OK) { return report_error(&err); }
    return put(t, ids, count);
}

static int finish(struct tokenize *t) {
    tn_error err = TN_ERROR_INIT;
    const int32_t *ids;
    uint64_t count;
    if (tn_encoder_finish(t->encoder, &ids, &count, &err) != TN_OK) { return report_error(&err); }
    int status = put(t, ids, count);
    if (status == EXIT_DONE && t->kept) { status = put_json_pieces(t); }
    if (t->options->json) {
        printf("],\"count\":%" PRIu64 "}\n", t->count);
    } else if (!t->first) {
        putchar('\n');
    }
    return status;
}

static size_t block_size(uint32_t threads) {
    uint64_t wanted = (uint64_t)threads * BLOCK_PER_THREAD;
    return wanted < BLOCK_LEAST ? BLOCK_LEAST : wanted > BLOCK_MOST ? BLOCK_MOST : (size_t)wanted;
}

static int push_input(struct tokenize *t, struct byte_input *in, uint32_t threads) {
    for (;;) {
        const char *bytes;
        size_t size;
        int status = byte_input_block(in, block_size(threads), &bytes, &size);
        if (status != EXIT_DONE || size == 0) { return status; }
        status = push(t, bytes, size);
        if (status != EXIT_DONE) { return status; }
    }
}

static int tokenize_text(struct tokenize *t, struct byte_input *in, uint32_t threads) {
    const struct options *options = t->options;
    tn_error err = TN_ERROR_INIT;
    if (options->json && options->pieces && !(t->kept = tmpfile())) {
        perror("tenon: temporary file");
        return EXIT_FAILED;
    }
    if (tn_encoder_create(t->codec, flags_of(options->special, !options->no_add), 0, &t->encoder, &err) !=
        TN_OK) {
        return report_error(&err);
    }
    t->first = true;
    t->capacity = PIECE_ROOM;
    if (!(t->piece = malloc(t->capacity))) { return no_memory(); }
    if (options->json) { fputs("{\"ids\":[", stdout); }
    int status = options->argument_count ? push(t, options->arguments[0], strlen(options->arguments[0]))
                                         : push_input(t, in, threads);
    return status == EXIT_DONE ? finish(t) : status;
}

/* ---- JSON lines ------------------------------------------------------------------------------------- */

static const char *const keys[] = {"text", "text_b64", "pair", "special", "add", NULL};

static int32_t get_string(const json_t *question, const char *key, const char **text, uint64_t *size,
                          tn_error *err) {
    const json_t *value = json_object_get(question, key);
    if (!value) { return TN_OK; }
    if (!json_is_string(value)) { TN_FAIL(err, TN_E_INPUT, "\"%s\": expected a string", key); }
    *text = json_string_value(value);
    *size = json_string_length(value);
    return TN_OK;
}

/* The text, or what text_b64 stands for, which is to be freed. */
static int32_t get_text(const json_t *question, tn_codec_text *text, char **decoded, tn_error *err) {
    const char *coded = NULL;
    uint64_t coded_size = 0;
    TN_TRY(get_string(question, "text", &text->text, &text->size, err));
    TN_TRY(get_string(question, "text_b64", &coded, &coded_size, err));
    if (!text->text == !coded) { TN_FAIL(err, TN_E_INPUT, "expected \"text\" or \"text_b64\""); }
    if (!coded) { return TN_OK; }
    size_t size, bad;
    *decoded = base64_decode(coded, coded_size, &size, &bad);
    if (bad) { TN_FAIL(err, TN_E_INPUT, "\"text_b64\": no base64 at character %zu", bad); }
    if (!*decoded) { TN_FAIL(err, TN_E_MEMORY, "not enough memory for %" PRIu64 " characters", coded_size); }
    text->text = *decoded;
    text->size = size;
    return TN_OK;
}

static int32_t read_question(const struct options *options, const json_t *question, tn_codec_text *text,
                             char **decoded, tn_error *err) {
    bool special = options->special, add = !options->no_add;
    TN_TRY(check_keys(question, keys, err));
    TN_TRY(get_text(question, text, decoded, err));
    TN_TRY(get_string(question, "pair", &text->pair, &text->pair_size, err));
    TN_TRY(get_flag(question, "special", &special, err));
    TN_TRY(get_flag(question, "add", &add, err));
    text->flags = flags_of(special, add);
    return TN_OK;
}

static void put_types(const uint8_t *types, uint64_t count) {
    fputs(",\"types\":[", stdout);
    for (uint64_t i = 0; i < count; i++) {
        if (i) { putchar(','); }
        putchar('0' + types[i] % 10);
    }
    putchar(']');
}

static int32_t answer(void *context, const json_t *question, tn_error *err) {
    const struct tokenize *t = context;
    tn_codec_text text = {0};
    char *decoded = NULL;
    int32_t *ids = NULL;
    uint8_t *types = NULL;
    uint64_t count;
    bool first = true;
    int32_t code = read_question(t->options, question, &text, &decoded, err);
    if (code == TN_OK) {
        code = tn_codec_encode_text(t->codec, &text, &ids, text.pair ? &types : NULL, &count, err);
    }
    if (code == TN_OK) {
        fputs("{\"ids\":[", stdout);
        put_ids(ids, count, ",", &first);
        putchar(']');
        if (types) { put_types(types, count); }
        putchar('}');
    }
    free(decoded);
    free(ids);
    free(types);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static int check_options(const struct options *options) {
    if (options->argument_count > 1) {
        return usage_error("tokenize", "%d texts, expected one (quote it)", options->argument_count);
    }
    if (options->argument_count && (options->file || options->jsonl)) {
        return usage_error("tokenize", "a text and %s exclude each other", options->file ? "-f" : "--jsonl");
    }
    if (options->as_ids && options->pieces) {
        return usage_error("tokenize", "--ids and --pieces exclude each other");
    }
    if (options->jsonl && (options->json || options->pieces || options->as_ids)) {
        return usage_error("tokenize", "--jsonl has a form of its own: no --ids, --pieces, --json");
    }
    return EXIT_DONE;
}

int cmd_tokenize(struct options *options) {
    struct token_source source = {0};
    struct tokenize t = {.options = options};
    struct byte_input in = {0};
    int status = check_options(options);
    if (status == EXIT_DONE && !options->argument_count) { status = byte_input_open(options->file, &in); }
    if (status == EXIT_DONE) { status = token_source_open(options, &source); }
    t.codec = source.codec;
    if (status == EXIT_DONE) {
        status = options->jsonl ? answer_lines(&in, answer, &t)
                                : tokenize_text(&t, &in, tn_engine_threads(source.engine));
    }
    status = finish_output(status);
    if (t.kept) { fclose(t.kept); }
    free(t.piece);
    tn_encoder_free(t.encoder);
    byte_input_close(&in);
    token_source_close(&source);
    return status;
}
