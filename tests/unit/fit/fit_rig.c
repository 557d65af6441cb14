/* fit_rig.c - see fit_rig.h. */
#include "fit_rig.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *environment(const char *name) {
    const char *value = getenv(name);
    cr_assert_not_null(value, "%s is not set: run this through ctest", name);
    return value;
}

static tn_engine *engine;

static void destroy_engine(void) {
    tn_engine_destroy(engine);
}

tn_engine *rig_engine(void) {
    if (!engine) {
        static char own[4096], probes[4096];
        const char *folders[] = {own, probes};
        tn_engine_options options = {.plugin_dirs = folders, .plugin_dir_count = 2, .threads = 2};
        tn_error err = TN_ERROR_INIT;
        snprintf(own, sizeof own, "%s/lib/tenon/plugins", environment("TENON_TEST_BUILD"));
        snprintf(probes, sizeof probes, "%s/tests/probes", environment("TENON_TEST_BUILD"));
        cr_assert_eq(tn_engine_create(&options, &engine, &err), TN_OK, "%s", err.text);
        atexit(destroy_engine);
    }
    return engine;
}

const char *rig_data(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", environment("TENON_TEST_DATA"), name);
    return path;
}

double rig_cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int rig_timed(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
    return 0;
#else
    return 1;
#endif
}

/* ---- edited copies ---------------------------------------------------------------------------------- */

static char folder[] = "fit_rig_XXXXXX", made[64];

static void remove_made(void) {
    unlink(made);
    rmdir(folder);
}

static const char *new_path(void) {
    if (!made[0]) {
        cr_assert_not_null(mkdtemp(folder));
        snprintf(made, sizeof made, "%s/made.gguf", folder);
        atexit(remove_made);
    }
    return made;
}

static int listed(const char *const *names, const char *name) {
    for (; names && *names; names++) {
        if (strcmp(*names, name) == 0) { return 1; }
    }
    return 0;
}

static void put(tn_gguf_writer *writer, const char *key, const tn_kv *kv) {
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_gguf_writer_put(writer, key, kv, &err), TN_OK, "%s", err.text);
}

static void put_number(tn_gguf_writer *writer, const char *key, uint32_t number) {
    put(writer, key,
        &(tn_kv){.struct_size = sizeof(tn_kv), .type = TN_KV_U32, .count = 1, .size = 4, .data = &number});
}

/* 1 if the edit sets this key. */
static int replaced(const rig_edit *edit, const char *key) {
    for (size_t i = 0; i < sizeof edit->numbers / sizeof *edit->numbers && edit->numbers[i].key; i++) {
        if (strcmp(key, edit->numbers[i].key) == 0) { return 1; }
    }
    return (edit->key && strcmp(key, edit->key) == 0) ||
           (edit->number_key && strcmp(key, edit->number_key) == 0);
}

static void put_metadata(const rig_edit *edit, const tn_gguf *from, tn_gguf_writer *writer) {
    for (uint64_t i = 0; i < tn_gguf_kv_count(from); i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        const char *key = tn_gguf_kv_at(from, i, &kv);
        if (!replaced(edit, key) && !listed(edit->drop_keys, key)) { put(writer, key, &kv); }
    }
    if (edit->key) {
        size_t size = strlen(edit->text);
        tn_kv kv = {
            .struct_size = sizeof kv, .type = TN_KV_STRING, .count = size, .size = size, .data = edit->text};
        put(writer, edit->key, &kv);
    }
    if (edit->number_key) { put_number(writer, edit->number_key, edit->number); }
    for (size_t i = 0; i < sizeof edit->numbers / sizeof *edit->numbers && edit->numbers[i].key; i++) {
        put_number(writer, edit->numbers[i].key, edit->numbers[i].number);
    }
}

static int kept(const rig_edit *edit, const tn_gguf_tensor *t) {
    return !edit->no_tensors && !listed(edit->drop_tensors, t->name);
}

static void put_tensors(const rig_edit *edit, const tn_gguf *from, tn_gguf_writer *writer) {
    static const uint64_t one[] = {1};
    static const float zero;
    tn_error err = TN_ERROR_INIT;
    uint64_t count = tn_gguf_tensor_count(from);
    for (uint64_t i = 0; i < count; i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(from, i);
        int reshaped = edit->reshape && strcmp(edit->reshape, t->name) == 0;
        int retyped = edit->retype && strcmp(edit->retype, t->name) == 0;
        if (!kept(edit, t)) { continue; }
        int32_t code = tn_gguf_writer_declare(writer, t->name, retyped ? edit->type : t->type,
                                              reshaped ? edit->dim_count : t->dim_count,
                                              reshaped ? edit->dims : t->dims, t->size, &err);
        cr_assert_eq(code, TN_OK, "%s", err.text);
    }
    for (uint32_t i = 0; i < edit->extra; i++) {
        char name[32];
        snprintf(name, sizeof name, "extra.%" PRIu32, i);
        cr_assert_eq(tn_gguf_writer_declare(writer, name, 0, 1, one, sizeof zero, &err), TN_OK, "%s",
                     err.text);
    }
    if (edit->extra_name) {
        cr_assert_eq(tn_gguf_writer_declare(writer, edit->extra_name, 0, 1, one, sizeof zero, &err), TN_OK,
                     "%s", err.text);
    }
    for (uint64_t i = 0; i < count; i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(from, i);
        if (!kept(edit, t)) { continue; }
        cr_assert_eq(tn_gguf_writer_write(writer, t->data, t->size, &err), TN_OK, "%s", err.text);
    }
    for (uint32_t i = 0; i < edit->extra + (edit->extra_name ? 1 : 0); i++) {
        cr_assert_eq(tn_gguf_writer_write(writer, &zero, sizeof zero, &err), TN_OK, "%s", err.text);
    }
}

const char *rig_make(const rig_edit *edit) {
    tn_error err = TN_ERROR_INIT;
    tn_gguf *from = NULL;
    tn_gguf_writer *writer = NULL;
    const char *path = new_path();
    cr_assert_eq(tn_gguf_open(rig_data(edit->source), tn_engine_types(rig_engine()), &from, &err), TN_OK,
                 "%s", err.text);
    cr_assert_eq(tn_gguf_writer_create(path, &writer, &err), TN_OK, "%s", err.text);
    put_metadata(edit, from, writer);
    put_tensors(edit, from, writer);
    cr_assert_eq(tn_gguf_writer_finish(writer, &err), TN_OK, "%s", err.text);
    tn_gguf_close(from);
    return path;
}

/* ---- probes ----------------------------------------------------------------------------------------- */

struct probe_tensor {
    const char *name;
    uint32_t type;
    uint64_t dims[2];
    float value; /* of each number; 0: numbers that differ */
};

static void put_text(tn_gguf_writer *writer, const char *key, const char *text) {
    size_t size = strlen(text);
    put(writer, key,
        &(tn_kv){
            .struct_size = sizeof(tn_kv), .type = TN_KV_STRING, .count = size, .size = size, .data = text});
}

static void put_probe_tensors(tn_gguf_writer *writer, const struct probe_tensor *tensors, uint32_t count) {
    tn_error err = TN_ERROR_INIT;
    for (uint32_t t = 0; t < count; t++) {
        uint64_t size = tensors[t].dims[0] * tensors[t].dims[1] * sizeof(float);
        cr_assert_eq(
            tn_gguf_writer_declare(writer, tensors[t].name, tensors[t].type, 2, tensors[t].dims, size, &err),
            TN_OK, "%s", err.text);
    }
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t i = 0; i < tensors[t].dims[0] * tensors[t].dims[1]; i++) {
            float number =
                tensors[t].value != 0 ? tensors[t].value : (float)((int)(i * 7919 % 101) - 50) / 64.0f;
            cr_assert_eq(tn_gguf_writer_write(writer, &number, sizeof number, &err), TN_OK, "%s", err.text);
        }
    }
}

const char *rig_make_probe(const rig_probe *probe) {
    struct probe_tensor tensors[4] = {{"tokens", 0, {16, 32}, 0}};
    tn_error err = TN_ERROR_INIT;
    tn_gguf_writer *writer = NULL;
    uint32_t count = 1;
    if (probe->graph == RIG_POOLED) { tensors[count++] = (struct probe_tensor){"places", 0, {16, 64}, 0}; }
    if (probe->graph == RIG_SCALED) {
        tensors[count++] = (struct probe_tensor){"turn.weight", 3000, {16, 16}, 0};
    }
    if (probe->scales) {
        tensors[count++] = (struct probe_tensor){"turn.scale", 0, {probe->scales, 1}, probe->scale};
    }
    if (probe->input_scale) { tensors[count++] = (struct probe_tensor){"turn.input_scale", 0, {1, 1}, 1}; }
    cr_assert_eq(tn_gguf_writer_create(new_path(), &writer, &err), TN_OK, "%s", err.text);
    put_text(writer, "general.architecture", "probe");
    put_number(writer, "probe.graph", probe->graph);
    put_number(writer, "probe.context_length", probe->context);
    put_probe_tensors(writer, tensors, count);
    cr_assert_eq(tn_gguf_writer_finish(writer, &err), TN_OK, "%s", err.text);
    return made;
}

/* ---- adapters --------------------------------------------------------------------------------------- */

static uint64_t numbers_of(const uint64_t dims[3]) {
    return dims[0] * dims[1] * dims[2];
}

static void declare_part(tn_gguf_writer *writer, const rig_adapter *adapter, const char *suffix,
                         const uint64_t dims[3]) {
    tn_error err = TN_ERROR_INIT;
    char name[128];
    snprintf(name, sizeof name, "%s%s", adapter->tensor, suffix);
    cr_assert_eq(
        tn_gguf_writer_declare(writer, name, adapter->type, 3, dims, numbers_of(dims) * sizeof(float), &err),
        TN_OK, "%s", err.text);
}

static void write_part(tn_gguf_writer *writer, const rig_adapter *adapter, const char *part,
                       const uint64_t dims[3]) {
    tn_error err = TN_ERROR_INIT;
    int poked = adapter->poked && strcmp(adapter->poked, part) == 0;
    for (uint64_t i = 0; i < numbers_of(dims); i++) {
        float number =
            poked && i == adapter->at ? adapter->number : (float)((int)(i * 7919 % 101) - 50) / 64.0f;
        cr_assert_eq(tn_gguf_writer_write(writer, &number, sizeof number, &err), TN_OK, "%s", err.text);
    }
}

const char *rig_make_adapter(const rig_adapter *adapter) {
    tn_error err = TN_ERROR_INIT;
    tn_gguf_writer *writer = NULL;
    int pair = adapter->b[0] != 0;
    cr_assert_eq(tn_gguf_writer_create(new_path(), &writer, &err), TN_OK, "%s", err.text);
    if (pair) {
        put_text(writer, "general.type", "adapter");
        put_text(writer, "adapter.type", "lora");
    }
    put_text(writer, "general.architecture", adapter->architecture);
    if (adapter->alpha != 0) {
        put(writer, "adapter.lora.alpha",
            &(tn_kv){.struct_size = sizeof(tn_kv),
                     .type = TN_KV_F32,
                     .count = 1,
                     .size = sizeof adapter->alpha,
                     .data = &adapter->alpha});
    }
    declare_part(writer, adapter, pair ? ".lora_a" : "", adapter->a);
    if (pair) { declare_part(writer, adapter, ".lora_b", adapter->b); }
    write_part(writer, adapter, "a", adapter->a);
    if (pair) { write_part(writer, adapter, "b", adapter->b); }
    cr_assert_eq(tn_gguf_writer_finish(writer, &err), TN_OK, "%s", err.text);
    return made;
}

/* ---- fitting ---------------------------------------------------------------------------------------- */

void rig_fit(const char *path, const tn_model_options *options, rig_result *out) {
    tn_error opened = TN_ERROR_INIT, err = TN_ERROR_INIT;
    memset(out, 0, sizeof *out);
    out->opened = tn_gguf_open(path, tn_engine_types(rig_engine()), &out->file, &opened);
    opened.code = out->opened;
    cr_assert_eq(tn_fit_run(rig_engine(), out->file, &opened, options, &out->fit, &err), TN_OK, "%s: %s",
                 path, err.text);
    size_t used = 0;
    for (uint32_t i = 0; i < tn_fit_reason_count(out->fit); i++) {
        const tn_fit_reason *reason = tn_fit_reason_at(out->fit, i);
        char text[2048];
        tn_fit_reason_text(reason, text, sizeof text);
        int n =
            snprintf(out->text + used, sizeof out->text - used, "%s: %s\n", tn_code_text(reason->code), text);
        used += (size_t)n;
        cr_assert(used < sizeof out->text);
    }
}

uint32_t rig_count(const rig_result *result, int32_t code) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < tn_fit_reason_count(result->fit); i++) {
        count += tn_fit_reason_at(result->fit, i)->code == code;
    }
    return count;
}

void rig_end(rig_result *result) {
    tn_fit_free(result->fit);
    tn_gguf_close(result->file);
}
