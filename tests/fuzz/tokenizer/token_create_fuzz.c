/*
 * token_create_fuzz.c - vocabularies made of any bytes. The input is read as a program that puts keys of any
 * type and length; whatever is accepted is then used on the rest of the input.
 */
#include "token_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct reader {
    const uint8_t *data;
    size_t size;
} reader;

static uint8_t next(reader *r) {
    if (!r->size) { return 0; }
    r->size--;
    return *r->data++;
}

static const char *const keys[] = {
    "tokens",        "token_type",       "scores",           "merges",
    "pre",           "bos_token_id",     "eos_token_id",     "unknown_token_id",
    "eot_token_id",  "mask_token_id",    "add_bos_token",    "add_eos_token",
    "add_sep_token", "add_space_prefix", "padding_token_id", "seperator_token_id"};

enum { VALUE_MAX = 4096 };

/* An array of strings: each a length of 4 bits and as many bytes. */
static void put_strings(reader *r, test_meta *m, const char *key, uint32_t count) {
    unsigned char value[VALUE_MAX];
    tn_kv kv = {.type = TN_KV_ARRAY, .element_type = TN_KV_STRING, .data = value};
    while (count-- && kv.size + 24 <= sizeof value) {
        uint64_t length = next(r) & 15;
        memcpy(value + kv.size, &length, 8);
        kv.size += 8;
        for (uint64_t i = 0; i < length; i++) { value[kv.size++] = next(r); }
        kv.count++;
    }
    test_meta_raw(m, key, &kv);
}

static void put_numbers(reader *r, test_meta *m, const char *key, uint32_t type, int array, uint32_t count) {
    unsigned char value[VALUE_MAX] = {0};
    uint32_t width = tn_kv_width(type);
    tn_kv kv = {.type = array ? TN_KV_ARRAY : type, .element_type = array ? type : 0, .data = value};
    kv.count = array ? count : 1;
    kv.size = kv.count * width;
    for (uint64_t i = 0; i < kv.count; i++) {
        value[i * width] = next(r);
        if (value[i * width] & 0x80) { /* all bytes: a float, or a number far outside */
            for (uint32_t k = 0; k < width; k++) { value[i * width + k] = next(r); }
        }
    }
    test_meta_raw(m, key, &kv);
}

static void put_key(reader *r, test_meta *m) {
    static const char *const names[] = {"gpt-2",   "llama-bpe", "qwen2",  "gpt-4o",    "falcon",
                                        "kimi-k2", "gemma4",    "mmbert", "whitespace"};
    char key[64];
    uint8_t what = next(r), shape = next(r);
    snprintf(key, sizeof key, "tokenizer.ggml.%s", keys[what & 15]);
    uint32_t type = shape % 13, count = next(r);
    if (what & 0x80) {
        test_meta_string(m, key, names[count % (sizeof names / sizeof *names)]);
    } else if (type == TN_KV_STRING) {
        put_strings(r, m, key, count);
    } else if (type != TN_KV_ARRAY) {
        put_numbers(r, m, key, type, what >> 4 & 1, count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    reader r = {data, size};
    test_host host;
    test_meta meta;
    test_report report;
    void *tokenizer = NULL;
    test_host_init(&host);
    test_report_init(&report);
    test_meta_init(&meta);
    uint8_t first = next(&r);
    const fuzz_family *family = &fuzz_families[first & 8 ? 2 : first & 1];
    for (uint32_t i = first >> 4; i-- > 0;) { put_key(&r, &meta); }
    host.fail_at = first & 2 ? next(&r) : 0;
    int32_t code = family->create(&host.host, &meta.meta, &report.report, &tokenizer, NULL);
    host.fail_at = 0;
    if (code == TN_OK) {
        fuzz_use(family, &host, tokenizer, (const char *)r.data, r.size, first >> 2 & 3);
        family->destroy(&host.host, tokenizer);
    }
    if (host.out || (code != TN_OK && code != TN_E_MEMORY && !report.count)) { __builtin_trap(); }
    test_meta_free(&meta);
    return 0;
}
