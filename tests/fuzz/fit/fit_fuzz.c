/*
 * fit_fuzz.c - bytes as a GGUF file, through open and fit with the plugins of this build. Whatever comes in:
 * an answer, no crash, no hang, no memory by an unchecked number.
 */
#include "tenon/model.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tn_engine *engine;

static void destroy_engine(void) {
    tn_engine_destroy(engine);
}

static tn_engine *get_engine(void) {
    static const char *const folders[] = {FIT_FUZZ_PLUGINS};
    tn_engine_options options = {.plugin_dirs = folders, .plugin_dir_count = 1, .threads = 1};
    tn_error err = TN_ERROR_INIT;
    if (engine) { return engine; }
    if (tn_engine_create(&options, &engine, &err) != TN_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    atexit(destroy_engine);
    return engine;
}

/* A refusal has reasons, each with a sentence; a fit has none. */
static void look_at(const tn_fit *fit) {
    char text[512];
    uint32_t count = tn_fit_reason_count(fit);
    if ((tn_fit_code(fit) == TN_OK) != (count == 0)) { abort(); }
    for (uint32_t i = 0; i < count; i++) {
        if (!tn_fit_reason_text(tn_fit_reason_at(fit, i), text, sizeof text)) { abort(); }
    }
    for (uint32_t i = 0; i < tn_fit_node_count(fit); i++) {
        if (!tn_fit_node_at(fit, i)->name[0]) { abort(); }
    }
}

static void try_fit(const char *path) {
    tn_model_options options = {.backend = "reference"};
    tn_error opened = TN_ERROR_INIT, err = TN_ERROR_INIT;
    tn_gguf *file = NULL;
    tn_fit *fit = NULL;
    opened.code = tn_gguf_open(path, tn_engine_types(get_engine()), &file, &opened);
    if (tn_fit_run(get_engine(), file, &opened, &options, &fit, &err) == TN_OK) { look_at(fit); }
    tn_fit_free(fit);
    tn_gguf_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memfd_create("fit_fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) { abort(); }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    try_fit(path);
    close(fd);
    return 0;
}
