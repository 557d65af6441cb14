/*
 * adapter_fuzz.c - bytes as an adapter of models that are sound: as a low-rank adapter and as a control vector. Whatever
 * comes in: an answer, no crash, no hang, no memory by an unchecked number.
 */
#include "tenon/model.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tn_engine *engine;
/* One dense, one with experts. */
static tn_gguf *models[2];

static void end(void) {
    for (int i = 0; i < 2; i++) { tn_gguf_close(models[i]); }
    tn_engine_destroy(engine);
}

static void begin(void) {
    static const char *const folders[] = {ADAPTER_FUZZ_PLUGINS};
    tn_engine_options options = {.plugin_dirs = folders, .plugin_dir_count = 1, .threads = 1};
    tn_error err = TN_ERROR_INIT;
    if (tn_engine_create(&options, &engine, &err) != TN_OK ||
        tn_gguf_open(ADAPTER_FUZZ_MODELS "/llama.gguf", tn_engine_types(engine), &models[0], &err) != TN_OK ||
        tn_gguf_open(ADAPTER_FUZZ_MODELS "/mixtral.gguf", tn_engine_types(engine), &models[1], &err) !=
            TN_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    atexit(end);
}

/* An adapter that fits is in the graph; one that does not is refused with a reason. */
static void try_as(const tn_gguf *model, uint32_t kind, const char *path) {
    const tn_adapter adapter = {.kind = kind, .path = path, .scale = 1};
    tn_model_options options = {.backend = "reference", .adapters = &adapter, .adapter_count = 1};
    tn_error err = TN_ERROR_INIT;
    tn_fit *fit = NULL;
    if (tn_fit_run(engine, model, NULL, &options, &fit, &err) != TN_OK) { return; }
    if ((tn_fit_code(fit) == TN_OK) != (tn_fit_reason_count(fit) == 0)) { abort(); }
    tn_fit_free(fit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    if (!engine) { begin(); }
    int fd = memfd_create("adapter_fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) { abort(); }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int i = 0; i < 2; i++) {
        try_as(models[i], TN_ADAPTER_LORA, path);
        try_as(models[i], TN_ADAPTER_CONTROL_VECTOR, path);
    }
    close(fd);
    return 0;
}
