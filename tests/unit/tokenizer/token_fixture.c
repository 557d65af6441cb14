/*
 * token_fixture.c - see token_fixture.h.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>

/* ---- plugins -----------------------------------------------------------------------------------------*/

const tn_tokenizer *test_plugin(const char *id) {
    char path[4096];
    const char *build = getenv("TENON_TEST_BUILD");
    snprintf(path, sizeof path, "%s/lib/tenon/plugins/%s.so", build ? build : ".", id);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert(library, "%s", dlerror());
    const tn_plugin *plugin = dlsym(library, TN_PLUGIN_SYMBOL);
    cr_assert(plugin && strcmp(plugin->id, id) == 0);
    return plugin->interface(TN_TOKENIZER_1);
}

const tn_tokenizer *test_plugin_for(const char *model) {
    return test_plugin(strcmp(model, "gpt2") == 0 || strcmp(model, "gemma4") == 0 ? "tokenizer.bpe"
                       : strcmp(model, "bert") == 0                               ? "tokenizer.wordpiece"
                                                                                  : "tokenizer.spm");
}

/* ---- tokenizers --------------------------------------------------------------------------------------- */

static int no_types(const void *context, uint32_t type, uint32_t *block, uint32_t *bytes) {
    (void)context;
    *block = 1;
    *bytes = 4;
    return type == 0; /* F32, which the small fixtures hold */
}

static void create(test_tokenizer *t, const tn_meta *meta) {
    tn_error err = TN_ERROR_INIT;
    test_report report;
    test_report_init(&report);
    int32_t code = t->table->create(&t->host.host, meta, &report.report, &t->tokenizer, &err);
    cr_assert_eq(code, TN_OK, "create: %d %s", code, err.text);
    cr_assert_eq(report.count, 0);
}

void test_tokenizer_open(test_tokenizer *t, const char *path) {
    tn_error err = TN_ERROR_INIT;
    tn_kv model = {.struct_size = sizeof model};
    tn_gguf_types types = {.find = no_types};
    *t = (test_tokenizer){0};
    test_host_init(&t->host);
    int32_t code = tn_gguf_open(path, &types, &t->file, &err);
    cr_assert_eq(code, TN_OK, "%s", err.text);
    const tn_meta *meta = tn_gguf_meta(t->file);
    cr_assert_eq(meta->find(meta, "tokenizer.ggml.model", &model), TN_OK);
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)model.count, (const char *)model.data);
    t->table = test_plugin_for(name);
    create(t, meta);
}

void test_tokenizer_make(test_tokenizer *t, const char *id, const tn_meta *meta) {
    *t = (test_tokenizer){0};
    test_host_init(&t->host);
    t->table = test_plugin(id);
    create(t, meta);
}

void test_tokenizer_close(test_tokenizer *t) {
    t->table->destroy(&t->host.host, t->tokenizer);
    tn_gguf_close(t->file);
    cr_assert_eq(t->host.out, 0, "%llu blocks were not given back", (unsigned long long)t->host.out);
}

int32_t *test_encode(const test_tokenizer *t, const char *text, uint64_t size, uint32_t flags,
                     uint64_t *count) {
    tn_error err = TN_ERROR_INIT;
    tn_encode call = {.struct_size = sizeof call, .flags = flags, .text = text, .text_size = size};
    call.capacity = size + 4;
    call.ids = malloc(call.capacity * sizeof *call.ids);
    int32_t code = t->table->encode((void *)&t->host.host, t->tokenizer, &call, &err);
    if (code == TN_E_RANGE) {
        cr_assert(call.count > call.capacity);
        call.capacity = call.count;
        call.ids = realloc(call.ids, call.capacity * sizeof *call.ids);
        code = t->table->encode((void *)&t->host.host, t->tokenizer, &call, &err);
    }
    cr_assert_eq(code, TN_OK, "encode: %d %s", code, err.text);
    *count = call.count;
    return call.ids;
}

char *test_decode(const test_tokenizer *t, const int32_t *ids, uint64_t count, uint32_t flags,
                  uint64_t *size) {
    tn_error err = TN_ERROR_INIT;
    void *self = (void *)&t->host.host;
    int32_t code = t->table->decode(self, t->tokenizer, ids, count, flags, NULL, 0, size, &err);
    cr_assert(code == TN_OK || code == TN_E_RANGE, "decode: %d %s", code, err.text);
    char *text = malloc(*size + 1);
    code = t->table->decode(self, t->tokenizer, ids, count, flags, text, *size, size, &err);
    cr_assert_eq(code, TN_OK, "decode: %d %s", code, err.text);
    text[*size] = 0;
    return text;
}

/* ---- else --------------------------------------------------------------------------------------------- */

const char *test_path(const char *variable, const char *name, char *out, size_t size) {
    const char *folder = getenv(variable);
    if (!folder) { return NULL; }
    snprintf(out, size, "%s/%s", folder, name);
    FILE *file = fopen(out, "rb");
    if (!file) { return NULL; }
    fclose(file);
    return out;
}
