/*
 * token_made.c - see token_made.h.
 */
#include "token_made.h"

#include <stdlib.h>

/* ---- host --------------------------------------------------------------------------------------------- */

static void *host_alloc(const tn_host *host, uint64_t size, uint64_t align) {
    test_host *t = (test_host *)host;
    void *memory = NULL;
    if (++t->calls >= t->fail_at && t->fail_at) { return NULL; }
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size) != 0) { return NULL; }
    t->out++;
    return memory;
}

static void host_free(const tn_host *host, void *memory) {
    if (memory) { ((test_host *)host)->out--; }
    free(memory);
}

void test_host_init(test_host *t) {
    static const uint32_t sizes[] = {TN_STRUCTS(TN_STRUCT_SIZEOF)};
    *t = (test_host){.host = {.struct_size = sizeof(tn_host),
                              .abi_major = TN_ABI_MAJOR,
                              .abi_minor = TN_ABI_MINOR,
                              .struct_count = TN_STRUCT_COUNT,
                              .struct_sizes = sizes,
                              .alloc = host_alloc,
                              .free = host_free}};
}

/* ---- report ------------------------------------------------------------------------------------------- */

static void report_add(const tn_report *report, const tn_reason *reason) {
    test_report *r = report->context;
    if (r->count < 16) {
        r->code[r->count] = reason->code;
        snprintf(r->subject[r->count], sizeof r->subject[0], "%s", reason->subject);
        snprintf(r->text[r->count], sizeof r->text[0], "%s | %s", reason->found, reason->wanted);
    }
    r->count++;
}

void test_report_init(test_report *r) {
    *r = (test_report){.report = {.struct_size = sizeof(tn_report), .context = r, .add = report_add}};
}

/* ---- made-up metadata --------------------------------------------------------------------------------- */

struct test_entry {
    char *key;
    tn_kv kv;
};

static int32_t meta_find(const tn_meta *meta, const char *key, tn_kv *out) {
    const test_meta *m = meta->context;
    for (uint32_t i = 0; i < m->count; i++) {
        if (strcmp(m->entries[i].key, key) == 0) {
            *out = m->entries[i].kv;
            return TN_OK;
        }
    }
    return TN_E_NOT_FOUND;
}

void test_meta_init(test_meta *m) {
    *m = (test_meta){.meta = {.struct_size = sizeof(tn_meta), .context = m, .find = meta_find}};
}

void test_meta_remove(test_meta *m, const char *key) {
    for (uint32_t i = 0; i < m->count; i++) {
        if (strcmp(m->entries[i].key, key) == 0) {
            free(m->entries[i].key);
            free((void *)m->entries[i].kv.data);
            m->entries[i] = m->entries[--m->count];
            return;
        }
    }
}

void test_meta_free(test_meta *m) {
    while (m->count) { test_meta_remove(m, m->entries[0].key); }
    free(m->entries);
    m->entries = NULL;
}

void test_meta_raw(test_meta *m, const char *key, const tn_kv *kv) {
    test_meta_remove(m, key);
    m->entries = realloc(m->entries, (m->count + 1) * sizeof *m->entries);
    struct test_entry *e = &m->entries[m->count++];
    e->key = strdup(key);
    e->kv = *kv;
    e->kv.struct_size = sizeof(tn_kv);
    void *copy = malloc(kv->size + 1);
    if (kv->size) { memcpy(copy, kv->data, kv->size); }
    e->kv.data = copy;
}

void test_meta_string(test_meta *m, const char *key, const char *value) {
    uint64_t size = strlen(value);
    test_meta_raw(m, key, &(tn_kv){.type = TN_KV_STRING, .count = size, .size = size, .data = value});
}

void test_meta_u32(test_meta *m, const char *key, uint32_t value) {
    test_meta_raw(m, key, &(tn_kv){.type = TN_KV_U32, .count = 1, .size = 4, .data = &value});
}

void test_meta_bool(test_meta *m, const char *key, int value) {
    unsigned char byte = value != 0;
    test_meta_raw(m, key, &(tn_kv){.type = TN_KV_BOOL, .count = 1, .size = 1, .data = &byte});
}

void test_meta_strings(test_meta *m, const char *key, uint64_t count, const char *const *values) {
    uint64_t size = 0, at = 0;
    for (uint64_t i = 0; i < count; i++) { size += 8 + strlen(values[i]); }
    unsigned char *data = malloc(size + 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length = strlen(values[i]);
        memcpy(data + at, &length, 8);
        memcpy(data + at + 8, values[i], length);
        at += 8 + length;
    }
    test_meta_raw(
        m, key,
        &(tn_kv){
            .type = TN_KV_ARRAY, .element_type = TN_KV_STRING, .count = count, .size = size, .data = data});
    free(data);
}

void test_meta_i32s(test_meta *m, const char *key, uint64_t count, const int32_t *values) {
    test_meta_raw(m, key,
                  &(tn_kv){.type = TN_KV_ARRAY,
                           .element_type = TN_KV_I32,
                           .count = count,
                           .size = count * 4,
                           .data = values});
}

void test_meta_f32s(test_meta *m, const char *key, uint64_t count, const float *values) {
    test_meta_raw(m, key,
                  &(tn_kv){.type = TN_KV_ARRAY,
                           .element_type = TN_KV_F32,
                           .count = count,
                           .size = count * 4,
                           .data = values});
}

/* ---- made-up vocabularies ----------------------------------------------------------------------------- */

enum { MADE_MAX = 512 };

void test_meta_bpe(test_meta *m, const char *pre, uint64_t count, const char *const *texts,
                   const int32_t *types, uint64_t merge_count, const char *const *merges) {
    static char bytes[256][5];
    const char *all[MADE_MAX];
    int32_t kinds[MADE_MAX];
    uint32_t other = 0x100;
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174 ? b : other++;
        int n = 0;
        if (c >= 0x80) { bytes[b][n++] = (char)(0xc0 | c >> 6); }
        bytes[b][n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
        bytes[b][n] = 0;
        all[b] = bytes[b];
        kinds[b] = TN_TOKEN_NORMAL;
    }
    for (uint64_t i = 0; i < count; i++) {
        all[256 + i] = texts[i];
        kinds[256 + i] = types[i];
    }
    test_meta_init(m);
    test_meta_string(m, "tokenizer.ggml.model", "gpt2");
    test_meta_string(m, "tokenizer.ggml.pre", pre);
    test_meta_strings(m, "tokenizer.ggml.tokens", 256 + count, all);
    test_meta_i32s(m, "tokenizer.ggml.token_type", 256 + count, kinds);
    test_meta_strings(m, "tokenizer.ggml.merges", merge_count, merges);
}

void test_meta_spm(test_meta *m, uint64_t count, const char *const *texts, const int32_t *types,
                   const float *scores) {
    static char bytes[256][8];
    const char *all[MADE_MAX] = {"<unk>", "<s>", "</s>"};
    int32_t kinds[MADE_MAX] = {TN_TOKEN_UNKNOWN, TN_TOKEN_CONTROL, TN_TOKEN_CONTROL};
    float values[MADE_MAX] = {0};
    for (uint32_t b = 0; b < 256; b++) {
        snprintf(bytes[b], sizeof bytes[b], "<0x%02X>", b);
        all[3 + b] = bytes[b];
        kinds[3 + b] = TN_TOKEN_BYTE;
    }
    for (uint64_t i = 0; i < count; i++) {
        all[259 + i] = texts[i];
        kinds[259 + i] = types[i];
        values[259 + i] = scores[i];
    }
    test_meta_init(m);
    test_meta_string(m, "tokenizer.ggml.model", "llama");
    test_meta_strings(m, "tokenizer.ggml.tokens", 259 + count, all);
    test_meta_i32s(m, "tokenizer.ggml.token_type", 259 + count, kinds);
    test_meta_f32s(m, "tokenizer.ggml.scores", 259 + count, values);
}

void test_meta_wordpiece(test_meta *m, uint64_t count, const char *const *texts, const int32_t *types) {
    enum { FIRST = 5 };
    const char *all[MADE_MAX] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    int32_t kinds[MADE_MAX];
    for (uint64_t i = 0; i < FIRST; i++) { kinds[i] = TN_TOKEN_CONTROL; }
    for (uint64_t i = 0; i < count; i++) {
        all[FIRST + i] = texts[i];
        kinds[FIRST + i] = types[i];
    }
    test_meta_init(m);
    test_meta_string(m, "tokenizer.ggml.model", "bert");
    test_meta_strings(m, "tokenizer.ggml.tokens", FIRST + count, all);
    test_meta_i32s(m, "tokenizer.ggml.token_type", FIRST + count, kinds);
    test_meta_u32(m, "tokenizer.ggml.padding_token_id", 0);
    test_meta_u32(m, "tokenizer.ggml.unknown_token_id", 1);
    test_meta_u32(m, "tokenizer.ggml.cls_token_id", 2);
    test_meta_u32(m, "tokenizer.ggml.seperator_token_id", 3);
    test_meta_u32(m, "tokenizer.ggml.mask_token_id", 4);
}

void test_meta_utf8(test_meta *m, const char *pre, uint64_t count, const char *const *texts,
                    const int32_t *types, uint64_t merge_count, const char *const *merges) {
    static char bytes[256][8];
    const char *all[MADE_MAX] = {"<pad>", "<eos>", "<bos>"};
    int32_t kinds[MADE_MAX] = {TN_TOKEN_CONTROL, TN_TOKEN_CONTROL, TN_TOKEN_CONTROL};
    for (uint32_t b = 0; b < 256; b++) {
        snprintf(bytes[b], sizeof bytes[b], "<0x%02X>", b);
        all[3 + b] = bytes[b];
        kinds[3 + b] = TN_TOKEN_BYTE;
    }
    for (uint64_t i = 0; i < count; i++) {
        all[259 + i] = texts[i];
        kinds[259 + i] = types[i];
    }
    test_meta_init(m);
    test_meta_string(m, "tokenizer.ggml.model", "gpt2");
    test_meta_string(m, "tokenizer.ggml.pre", pre);
    test_meta_strings(m, "tokenizer.ggml.tokens", 259 + count, all);
    test_meta_i32s(m, "tokenizer.ggml.token_type", 259 + count, kinds);
    test_meta_strings(m, "tokenizer.ggml.merges", merge_count, merges);
    test_meta_u32(m, "tokenizer.ggml.bos_token_id", 2);
}

/* ---- random text ------------------------------------------------------------------------------------- */

uint64_t test_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t random_character(uint64_t *state) {
    static const uint32_t favourites[] = {
        ' ',    ' ',    ' ',    '\n',  '\n',  '\r',   '\t',   '\'',   '\'',   '/',    '.',     '!',
        '-',    '_',    '$',    '`',   '1',   '2',    '9',    's',    't',    'r',    'e',     'v',
        'l',    'd',    'm',    'S',   'T',   'L',    'a',    'b',    'A',    'B',    0x17f,   0xe9,
        0xc9,   0x301,  0x323,  0x308, 0x660, 0x2160, 0xbd,   0x1c5,  0x2b0,  0x5d0,  0x4e2d,  0x3042,
        0xac00, 0x1161, 0x11a8, 0xa0,  0x85,  0x2028, 0x3000, 0x200b, 0x200d, 0xfe0f, 0x1f600, 0x20ac,
        0xb,    0xc,    0x94d,  0x915, 0xe33, 0x0,    0x7f,   0x2018, 0xad};
    uint64_t r = test_random(state);
    if (r % 8) { return favourites[(r >> 8) % (sizeof favourites / sizeof *favourites)]; }
    uint32_t limit = r & 8 ? 0x3000 : r & 16 ? 0x110000 : 0x250, c = (uint32_t)((r >> 16) % limit);
    return c >= 0xd800 && c < 0xe000 ? ' ' : c;
}

uint64_t test_random_text(uint64_t *state, char *out, uint64_t capacity) {
    uint64_t size = 0, wanted = test_random(state) % 64;
    for (uint64_t i = 0; i < wanted && size + 4 <= capacity; i++) {
        uint32_t c = random_character(state);
        if (c < 0x80) {
            out[size++] = (char)c;
            continue;
        }
        uint32_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        out[size] = (char)(0xf00u >> n | c >> 6 * (n - 1));
        for (uint32_t k = 1; k < n; k++) { out[size + k] = (char)(0x80 | (c >> 6 * (n - 1 - k) & 0x3f)); }
        size += n;
    }
    return size;
}
