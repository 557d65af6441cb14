/*
 * token_wordpiece_peer_test.c - ids and segments against Hugging Face's tokenizers, on every character that both
 * know, random and hostile text, with every setting of the normaliser (token_wordpiece_peer.py makes the cases).
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The metadata of a file with two keys over it. */
typedef struct settings {
    tn_meta meta;
    const tn_meta *file;
    unsigned char lowercase, strip;
} settings;

static int32_t find_setting(const tn_meta *meta, const char *key, tn_kv *out) {
    const settings *s = meta->context;
    const unsigned char *value = strcmp(key, "tokenizer.ggml.normalizer.lowercase") == 0       ? &s->lowercase
                                 : strcmp(key, "tokenizer.ggml.normalizer.strip_accents") == 0 ? &s->strip
                                                                                               : NULL;
    if (!value) { return s->file->find(s->file, key, out); }
    *out = (tn_kv){.struct_size = sizeof *out, .type = TN_KV_BOOL, .count = 1, .size = 1, .data = value};
    return TN_OK;
}

static int same(const json_t *wanted, const int32_t *ids, const uint8_t *types, uint64_t count) {
    if (json_array_size(wanted) != count) { return 0; }
    for (uint64_t i = 0; i < count; i++) {
        json_int_t number = json_integer_value(json_array_get(wanted, i));
        if (number != (ids ? ids[i] : types[i])) { return 0; }
    }
    return 1;
}

static void show(const char *line, const int32_t *ids, uint64_t count) {
    fprintf(stderr, "%.1500s\n  got:", line);
    for (uint64_t i = 0; i < count && i < 60; i++) { fprintf(stderr, " %d", ids[i]); }
    fprintf(stderr, "\n");
}

/* Returns 1 for a difference. */
static int differs(const test_tokenizer *t, const json_t *one, const char *line, uint32_t flags) {
    const json_t *text = json_object_get(one, "text"), *pair = json_object_get(one, "pair");
    tn_error err = TN_ERROR_INIT;
    tn_encode call = {.struct_size = sizeof call, .flags = flags};
    call.text = json_string_value(text);
    call.text_size = json_string_length(text);
    call.pair = pair ? json_string_value(pair) : NULL;
    call.pair_size = pair ? json_string_length(pair) : 0;
    call.capacity = call.text_size + call.pair_size + 3;
    call.ids = malloc(call.capacity * sizeof *call.ids);
    call.types = malloc(call.capacity);
    int32_t code = t->table->encode((void *)&t->host.host, t->tokenizer, &call, &err);
    cr_assert_eq(code, TN_OK, "%d %s", code, err.text);
    int adds = (flags & TN_ENCODE_ADD) != 0;
    int bad = !same(json_object_get(one, adds ? "added" : "ids"), call.ids, NULL, call.count) ||
              (adds && !same(json_object_get(one, "types"), NULL, call.types, call.count));
    if (bad) { show(line, call.ids, call.count); }
    free(call.ids);
    free(call.types);
    return bad;
}

static void make_cases(const char *vocabulary, const char *cases) {
    char command[8192];
    snprintf(command, sizeof command, "python3 '%s' '%s' '%s'", getenv("TENON_TEST_PEER"), vocabulary, cases);
    int status = system(command);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 127 || code == 77) { cr_skip_test("no python3 with the package tokenizers"); }
    cr_assert_eq(code, 0, "%s: status %d", command, code);
}

Test(token_wordpiece_peer, same_ids) {
    char path[4096], folder[] = "/tmp/tenon-peer-XXXXXX", cases[64];
    if (!test_path("TENON_TEST_SHARED", "tokenizer/vocabs/ggml-vocab-bert-bge.gguf", path, sizeof path)) {
        cr_skip_test("no tokenizer/vocabs/ggml-vocab-bert-bge.gguf");
    }
    cr_assert(mkdtemp(folder));
    snprintf(cases, sizeof cases, "%s/cases.jsonl", folder);
    make_cases(path, cases);
    test_tokenizer file, t[4];
    test_tokenizer_open(&file, path);
    for (int i = 0; i < 4; i++) {
        settings s = {.file = tn_gguf_meta(file.file), .lowercase = i & 1, .strip = i >> 1 & 1};
        s.meta = (tn_meta){.struct_size = sizeof s.meta, .context = &s, .find = find_setting};
        test_tokenizer_make(&t[i], "tokenizer.wordpiece", &s.meta);
    }
    FILE *lines = fopen(cases, "r");
    char *line = NULL;
    size_t room = 0, checked = 0, bad = 0;
    while (getline(&line, &room, lines) > 0 && bad < 10) {
        json_t *one = json_loads(line, JSON_ALLOW_NUL, NULL);
        int which = json_is_true(json_object_get(one, "lowercase")) |
                    json_is_true(json_object_get(one, "strip")) << 1;
        uint32_t special = json_is_true(json_object_get(one, "special")) ? TN_ENCODE_SPECIAL : 0;
        bad += (size_t)differs(&t[which], one, line, special);
        bad += (size_t)differs(&t[which], one, line, special | TN_ENCODE_ADD);
        checked++;
        json_decref(one);
    }
    cr_expect_eq(bad, 0, "%zu differences", bad);
    cr_expect(checked > 12000 || bad, "%zu cases", checked);
    free(line);
    fclose(lines);
    unlink(cases);
    rmdir(folder);
    for (int i = 0; i < 4; i++) { test_tokenizer_close(&t[i]); }
    test_tokenizer_close(&file);
}
