/* See broken_rig.h. */
#include "broken_rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS = 64, LIMIT_MS = 10000 };

int rig_faults;
static char *base, *paths[PATHS];
static size_t path_count;

void rig_expect(int holds, const char *format, ...) {
    va_list args;
    if (holds) { return; }
    va_start(args, format);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    rig_faults++;
}

static const char *keep(char *path) {
    if (path_count == PATHS) { exit(99); }
    return paths[path_count++] = path;
}

void rig_begin(void) {
    umask(022);
    base = tn_test_folder();
    const char *cache = keep(tn_test_path(base, "cache")), *config = keep(tn_test_path(base, "config"));
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("XDG_CONFIG_HOME", config, 1);
    unsetenv("TENON_PLUGIN_PATH");
    mkdir(keep(tn_test_path(base, "plugins")), 0755);
}

void rig_end(void) {
    for (size_t i = 0; i < path_count; i++) { free(paths[i]); }
    path_count = 0;
    tn_test_folder_remove(base);
}

const char *rig_folder(void) {
    return paths[2];
}

const char *rig_path(const char *name) {
    return keep(tn_test_path(rig_folder(), name));
}

static char *with_ending(const char *name, const char *ending) {
    char *out;
    if (asprintf(&out, "%s%s", name, ending) < 0) { exit(99); }
    return out;
}

/* A file of the matrix, whole. */
static unsigned char *read_built(const char *name, const char *ending, size_t *size) {
    char *file = with_ending(name, ending), *folder = tn_test_build("tests/broken");
    char *path = tn_test_path(folder, file);
    unsigned char *data = tn_test_read(path, size);
    free(path);
    free(folder);
    free(file);
    return data;
}

static void write_plugin(const char *name, const char *ending, const void *data, size_t size) {
    char *file = with_ending(name, ending);
    const char *path = rig_path(file);
    unlink(path); /* a new file: the old one may be mapped */
    tn_test_write(path, data, size);
    free(file);
}

/* The built manifest of a plugin, with the hash of these bytes. */
static void write_manifest(const char *name, const void *library, size_t library_size) {
    char sha256[TN_SHA256_TEXT];
    size_t size;
    char *manifest = (char *)read_built(name, ".ini", &size);
    tn_sha256(library, library_size, sha256);
    memcpy(strstr(manifest, "sha256 = ") + strlen("sha256 = "), sha256, sizeof sha256 - 1);
    write_plugin(name, ".ini", manifest, size);
    free(manifest);
}

void rig_change(const char *name, size_t at, const void *bytes, size_t count, size_t size) {
    size_t was;
    unsigned char *library = read_built(name, ".so", &was);
    if (count) { memcpy(library + at, bytes, count); }
    if (size > was) { size = was; }
    write_plugin(name, ".so", library, size);
    write_manifest(name, library, size);
    free(library);
}

void rig_poke(const char *name, size_t at, int byte) {
    char *file = with_ending(name, ".so");
    const char *path = rig_path(file);
    size_t size;
    FILE *library = fopen(path, "r+b");
    if (!library || fseek(library, (long)at, SEEK_SET) != 0 || fputc(byte, library) == EOF ||
        fclose(library) != 0) {
        exit(99);
    }
    unsigned char *bytes = tn_test_read(path, &size);
    write_manifest(name, bytes, size);
    free(bytes);
    free(file);
}

void rig_copy(const char *name) {
    rig_change(name, 0, NULL, 0, SIZE_MAX);
}

void rig_passed(const char *name) {
    tn_error err = TN_ERROR_INIT;
    char sha256[TN_SHA256_TEXT];
    size_t size;
    unsigned char *library = read_built(name, ".so", &size);
    tn_sha256(library, size, sha256);
    free(library);
    int32_t code = tn_probe_remember(sha256, &err);
    rig_expect(code == TN_OK, "the cache cannot be written: %s", err.text);
}

tn_engine *rig_engine(const char *second, const char *pin) {
    const char *folders[] = {rig_folder(), second};
    tn_engine_options options = {.plugin_dirs = folders,
                                 .plugin_dir_count = second ? 2 : 1,
                                 .threads = 1,
                                 .pins = &pin,
                                 .pin_count = pin != NULL};
    tn_error err = TN_ERROR_INIT;
    tn_engine *engine;
    if (tn_engine_create(&options, &engine, &err) != TN_OK) {
        fprintf(stderr, "FAILED: tn_engine_create: %s\n", err.text);
        exit(1);
    }
    engine->probe_limit_ms = LIMIT_MS;
    return engine;
}

int32_t rig_open(tn_engine *engine, tn_error *err) {
    const void *table;
    void *self;
    tn_entry *entry;
    *err = (tn_error)TN_ERROR_INIT;
    TN_TRY(tn_registry_find(engine, "type", "250", &entry, err));
    TN_TRY(tn_entry_open(engine, entry, TN_FORMAT_1, &table, &self, err));
    const tn_format *format = table;
    if (format->struct_size != sizeof *format || format->type != 250) {
        TN_FAIL(err, TN_E_BUG, "the table handed out is not that of the plugin");
    }
    return TN_OK;
}

void rig_refused(const char *what, int32_t code, const char *words) {
    tn_engine *engine = rig_engine(NULL, NULL);
    tn_error err;
    int32_t found = rig_open(engine, &err);
    rig_expect(found == code, "%s: %s (%s), expected %s", what, tn_code_text(found), err.text,
               tn_code_text(code));
    rig_expect(strstr(err.text, words) != NULL, "%s: the text is \"%s\", expected \"%s\"", what, err.text,
               words);
    rig_expect(!strchr(err.text, '\n'), "%s: more than one line: %s", what, err.text);
    rig_expect(strstr(err.text, "/plugins/") != NULL, "%s: names no file: %s", what, err.text);
    tn_engine_destroy(engine);
}
