/*
 * trust_search.c - collects the plugin folders and pins. Never the working directory, never beside a model.
 */
#include "trust_search.h"

#include "ini_lines.h"
#include "trust.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer configuration is a mistake. */
enum { CONFIG_MOST = 256 << 10 };

static int32_t no_memory(tn_error *err) {
    return tn_fail(err, TN_E_MEMORY, "no memory for the list of plugin folders");
}

/* ---- the list --------------------------------------------------------------------------------------- */

/* `why` is NULL for a folder to look in. */
static int32_t add(tn_search *search, const char *path, size_t size, const char *origin, const tn_error *why,
                   tn_error *err) {
    tn_search_path *more = reallocarray(search->paths, (size_t)search->path_count + 1, sizeof *search->paths);
    if (!more) { return no_memory(err); }
    search->paths = more;
    tn_search_path *at = &search->paths[search->path_count++];
    *at = (tn_search_path){.path = strndup(path, size), .origin = origin, .fault = why ? why->code : TN_OK};
    if (why) { at->fault_text = strdup(why->text); }
    return at->path && (!why || at->fault_text) ? TN_OK : no_memory(err);
}

static int32_t add_pin(tn_search *search, const char *id, tn_error *err) {
    char **more = reallocarray(search->pins, (size_t)search->pin_count + 1, sizeof *search->pins);
    if (!more) { return no_memory(err); }
    search->pins = more;
    search->pins[search->pin_count++] = strdup(id);
    return search->pins[search->pin_count - 1] ? TN_OK : no_memory(err);
}

void tn_search_free(tn_search *search) {
    for (uint32_t i = 0; i < search->path_count; i++) {
        free(search->paths[i].path);
        free(search->paths[i].fault_text);
    }
    for (uint32_t i = 0; i < search->pin_count; i++) { free(search->pins[i]); }
    free(search->paths);
    free(search->pins);
    free(search->own);
    *search = (tn_search){0};
}

/* ---- environment ------------------------------------------------------------------------------------ */

static int32_t add_environment(tn_search *search, tn_error *err) {
    const char *at = secure_getenv("TENON_PLUGIN_PATH");
    while (at && *at) {
        size_t size = strcspn(at, ":");
        tn_error why = TN_ERROR_INIT;
        if (size && *at != '/') {
            tn_fail(&why, TN_E_PLUGIN_UNTRUSTED, "TENON_PLUGIN_PATH: %.*s is no absolute path",
                    (int)(size < 200 ? size : 200), at);
        }
        if (size) { TN_TRY(add(search, at, size, "TENON_PLUGIN_PATH", why.code ? &why : NULL, err)); }
        at += size + (at[size] == ':');
    }
    return TN_OK;
}

/* ---- configuration ---------------------------------------------------------------------------------- */

char *tn_user_folder(const char *variable, const char *fallback) {
    const char *folder = secure_getenv(variable), *home = secure_getenv("HOME");
    char *out = NULL;
    int made = -1;
    if (folder && *folder == '/') {
        made = asprintf(&out, "%s/tenon", folder);
    } else if (home && *home == '/') {
        made = asprintf(&out, "%s/%s/tenon", home, fallback);
    }
    return made < 0 ? NULL : out;
}

static int32_t config_entry(void *context, const char *section, const char *name, const char *value,
                            tn_error *err) {
    if (strcmp(section, "plugins") != 0 || (strcmp(name, "path") != 0 && strcmp(name, "pin") != 0)) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "[%s] %s: the only keys are path and pin in [plugins]", section,
                name);
    }
    if (strcmp(name, "pin") == 0) { return add_pin(context, value, err); }
    if (*value != '/') { TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "path = %s: must be absolute", value); }
    return add(context, value, strlen(value), "config", NULL, err);
}

static int32_t read_config(tn_search *search, const tn_folder *folder, tn_error *err) {
    char path[PATH_MAX], *text;
    size_t size;
    TN_TRY(tn_file_read(folder, "config.ini", CONFIG_MOST, &text, &size, err));
    snprintf(path, sizeof path, "%s/config.ini", folder->path);
    tn_ini ini = {path, text, size, config_entry, search, TN_E_PLUGIN_MANIFEST};
    int32_t code = tn_ini_read(&ini, err);
    free(text);
    return code;
}

/* A configuration that is missing is none; one that is not to be trusted, or wrong, is listed with its fault.
 */
static int32_t add_config(tn_search *search, tn_error *err) {
    char *user = tn_user_folder("XDG_CONFIG_HOME", ".config");
    tn_folder folder = {.fd = -1};
    tn_error why = TN_ERROR_INIT;
    if (!user) { return TN_OK; }
    int32_t code = tn_folder_open(user, &folder, &why);
    if (code == TN_OK) { code = read_config(search, &folder, &why); }
    tn_folder_close(&folder);
    if (code == TN_E_MEMORY) {
        code = tn_fail(err, code, "%s", why.text);
    } else if (code == TN_OK || code == TN_E_NOT_FOUND) {
        code = TN_OK;
    } else {
        code = add(search, user, strlen(user), "config", &why, err);
    }
    free(user);
    return code;
}

/* ---- the install's own ------------------------------------------------------------------------------ */

/* The file that this code was loaded from: libtenon, or the program that it is linked into. The linker knows
 * the program by argv[0], which is anybody's word, so that one comes from /proc. */
static char *own_file(void) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((const void *)&tn_search_find, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) {
        return NULL;
    }
    return realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", NULL);
}

/* Beside libtenon; or, for a program that holds libtenon's code, in the library folder next to its own. */
static int32_t add_own(tn_search *search, tn_error *err) {
    static const char *const places[] = {"tenon/plugins", "../lib/tenon/plugins",
                                         "../" TENON_LIBDIR "/tenon/plugins"};
    char *file = own_file();
    if (!file) { return TN_OK; }
    *strrchr(file, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !search->own; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", file, places[i]) < (int)sizeof path) {
            search->own = realpath(path, NULL);
        }
    }
    free(file);
    return search->own ? add(search, search->own, strlen(search->own), "install", NULL, err) : TN_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static int32_t find_all(const tn_engine_options *options, tn_search *out, tn_error *err) {
    for (uint32_t i = 0; i < options->plugin_dir_count; i++) {
        const char *path = options->plugin_dirs[i];
        TN_TRY(add(out, path, strlen(path), "--plugin-dir", NULL, err));
        out->paths[out->path_count - 1].must = 1;
    }
    for (uint32_t i = 0; i < options->pin_count; i++) { TN_TRY(add_pin(out, options->pins[i], err)); }
    TN_TRY(add_environment(out, err));
    TN_TRY(add_config(out, err));
    return add_own(out, err);
}

int32_t tn_search_find(const tn_engine_options *options, tn_search *out, tn_error *err) {
    *out = (tn_search){0};
    int32_t code = find_all(options, out, err);
    if (code != TN_OK) { tn_search_free(out); }
    return code;
}
