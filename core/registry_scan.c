/*
 * registry_scan.c - reads the manifests of all plugin folders. No library is opened here; of each one only
 * what the folder says of it (kind of file, owner, mode) is looked at.
 */
#include "engine_state.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A folder with more manifests is no plugin folder. */
enum { MANIFESTS_MOST = 4096 };

static int32_t no_memory(tn_error *err) {
    return tn_fail(err, TN_E_MEMORY, "no memory for the registry of plugins");
}

/* ---- one entry -------------------------------------------------------------------------------------- */

static tn_entry *new_entry(tn_engine *engine, uint32_t place) {
    tn_entry *entry = calloc(1, sizeof *entry);
    tn_entry **more = reallocarray(engine->entries, (size_t)engine->entry_count + 1, sizeof *more);
    if (more) { engine->entries = more; }
    if (!entry || !more) {
        free(entry);
        return NULL;
    }
    *entry = (tn_entry){.engine = engine, .place = place, .library.fd = -1};
    engine->entries[engine->entry_count++] = entry;
    return entry;
}

static uint32_t is_pinned(const tn_engine *engine, const char *id) {
    for (uint32_t i = 0; i < engine->search.pin_count; i++) {
        if (strcmp(engine->search.pins[i], id) == 0) { return 1; }
    }
    return 0;
}

/* What others see of it; a fault's text moves into the entry. */
static int32_t publish(tn_entry *entry, const tn_error *why, tn_error *err) {
    const tn_manifest *m = &entry->manifest;
    entry->fault_text = strdup(why->text);
    if (!entry->fault_text) { return no_memory(err); }
    entry->info = (tn_plugin_info){.id = m->id,
                                   .kind = m->kind,
                                   .version = m->version,
                                   .license = m->license,
                                   .manifest = entry->manifest_path,
                                   .library = entry->library_path ? entry->library_path : "",
                                   .origin = entry->engine->places[entry->place].origin,
                                   .sha256 = m->sha256,
                                   .isa = m->isa,
                                   .abi_major = m->abi_major,
                                   .abi_min_minor = m->abi_min_minor,
                                   .interfaces = m->interfaces,
                                   .interface_count = m->interface_count,
                                   .claim_count = m->claim_count,
                                   .claims = m->claims,
                                   .pinned = is_pinned(entry->engine, m->id),
                                   .fault = why->code,
                                   .fault_text = entry->fault_text};
    return TN_OK;
}

int32_t tn_manifest_judge(const tn_engine *engine, const tn_manifest *manifest, const char *path,
                          tn_error *err) {
    char lacking[TN_ISA_TEXT_SIZE];
    if (manifest->kind_number == TN_KIND_NOTES) { return TN_OK; }
    TN_TRY(tn_abi_check(path, manifest->abi_major, manifest->abi_min_minor, err));
    if (!(manifest->isa_bits & ~engine->isa)) { return TN_OK; }
    tn_isa_text(manifest->isa_bits & ~engine->isa, lacking);
    TN_FAIL(err, TN_E_PLUGIN_ISA, "%s needs %s, this process may use: %s", path, lacking, engine->isa_text);
}

static int32_t judge(const tn_entry *entry, const tn_folder *folder, tn_error *err) {
    const tn_manifest *m = &entry->manifest;
    if (m->kind_number != TN_KIND_NOTES) {
        int32_t code = tn_file_check(folder, m->library, err);
        if (code == TN_E_NOT_FOUND) {
            TN_FAIL(err, TN_E_PLUGIN_MISSING, "%s: its library %s is not there", entry->manifest_path,
                    m->library);
        }
        TN_TRY(code);
    }
    return tn_manifest_judge(entry->engine, m, entry->manifest_path, err);
}

static int32_t read_manifest(tn_entry *entry, const tn_folder *folder, const char *name, tn_error *err) {
    char *text;
    size_t size;
    TN_TRY(tn_file_read(folder, name, TN_MANIFEST_MOST, &text, &size, err));
    int32_t code = tn_manifest_parse(entry->manifest_path, text, size, &entry->manifest, err);
    free(text);
    TN_TRY(code);
    if (*entry->manifest.library &&
        asprintf(&entry->library_path, "%s/%s", folder->path, entry->manifest.library) < 0) {
        entry->library_path = NULL;
        return no_memory(err);
    }
    return judge(entry, folder, err);
}

static int32_t add_manifest(tn_engine *engine, uint32_t place, const char *name, tn_error *err) {
    const tn_folder *folder = &engine->places[place].folder;
    tn_error why = TN_ERROR_INIT;
    tn_entry *entry = new_entry(engine, place);
    if (!entry) { return no_memory(err); }
    if (asprintf(&entry->manifest_path, "%s/%s", folder->path, name) < 0) {
        entry->manifest_path = NULL;
        return no_memory(err);
    }
    entry->manifest = tn_manifest_empty;
    if (read_manifest(entry, folder, name, &why) == TN_E_MEMORY) { TN_FAIL(err, why.code, "%s", why.text); }
    if (why.code) {
        int32_t level = why.code == TN_E_PLUGIN_ISA ? TN_LOG_DEBUG : TN_LOG_WARN;
        tn_engine_log(engine, level, "%s", why.text);
    }
    return publish(entry, &why, err);
}

/* ---- folders ---------------------------------------------------------------------------------------- */

/* A place that is not to be trusted is an entry of its own, so that a list of plugins can say why. */
static int32_t add_refused(tn_engine *engine, uint32_t place, const char *path, const tn_error *why,
                           tn_error *err) {
    tn_entry *entry = new_entry(engine, place);
    if (!entry || !(entry->manifest_path = strdup(path))) { return no_memory(err); }
    entry->manifest = tn_manifest_empty;
    tn_engine_log(engine, TN_LOG_WARN, "%s", why->text);
    return publish(entry, why, err);
}

static int is_manifest(const char *name) {
    size_t size = strlen(name);
    return name[0] != '.' && size > 4 && strcmp(name + size - 4, ".ini") == 0;
}

static int32_t read_folder(tn_engine *engine, uint32_t place, tn_error *err) {
    const tn_folder *folder = &engine->places[place].folder;
    uint32_t count = 0;
    int32_t code = TN_OK;
    int fd = dup(folder->fd);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        code = tn_fail(err, TN_E_IO, "%s: %s", folder->path, strerror(errno));
        if (fd >= 0) { close(fd); }
        return code;
    }
    for (struct dirent *e; code == TN_OK && (e = readdir(dir));) {
        if (!is_manifest(e->d_name)) { continue; }
        code = ++count > MANIFESTS_MOST ? tn_fail(err, TN_E_PLUGIN_UNTRUSTED, "%s: more than %d manifests",
                                                  folder->path, MANIFESTS_MOST)
                                        : add_manifest(engine, place, e->d_name, err);
    }
    closedir(dir);
    return code;
}

static int seen_before(const tn_engine *engine, uint32_t place) {
    for (uint32_t i = 0; i < place; i++) {
        const tn_folder *other = &engine->places[i].folder;
        if (other->fd >= 0 && strcmp(other->path, engine->places[place].folder.path) == 0) { return 1; }
    }
    return 0;
}

static int32_t add_place(tn_engine *engine, uint32_t place, tn_error *err) {
    const tn_search_path *from = &engine->search.paths[place];
    tn_place_in *at = &engine->places[place];
    tn_error why = TN_ERROR_INIT;
    if (from->fault != TN_OK) {
        tn_fail(&why, from->fault, "%s", from->fault_text);
        return add_refused(engine, place, from->path, &why, err);
    }
    int32_t code = tn_folder_open(from->path, &at->folder, &why);
    if (code == TN_OK && seen_before(engine, place)) {
        tn_folder_close(&at->folder); /* the same folder twice is one */
        return TN_OK;
    }
    if (code == TN_OK) {
        at->own = engine->search.own && strcmp(engine->search.own, at->folder.path) == 0;
        return read_folder(engine, place, err);
    }
    if (code == TN_E_MEMORY || (code == TN_E_NOT_FOUND && from->must)) { TN_FAIL(err, code, "%s", why.text); }
    if (code == TN_E_NOT_FOUND) {
        tn_engine_log(engine, TN_LOG_DEBUG, "%s", why.text);
        return TN_OK;
    }
    return add_refused(engine, place, at->folder.path ? at->folder.path : from->path, &why, err);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b) {
    const tn_entry *x = *(tn_entry *const *)a, *y = *(tn_entry *const *)b;
    int order = strcmp(x->info.id, y->info.id);
    return order ? order : strcmp(x->info.manifest, y->info.manifest);
}

/* Of two formats with one name: the one that is not the install's, else the one found later. */
static tn_entry *later_format(tn_entry *a, tn_entry *b) {
    int a_own = a->engine->places[a->place].own, b_own = b->engine->places[b->place].own;
    if (a_own != b_own) { return a_own ? b : a; }
    return a->place > b->place ? a : b;
}

static int32_t refuse_name(const tn_entry *first, tn_entry *second, tn_error *err) {
    char *text;
    if (asprintf(&text, "%s: format %s is type %u here and type %u in %s", second->manifest_path,
                 second->manifest.type_name, second->manifest.type, first->manifest.type,
                 first->manifest_path) < 0) {
        return no_memory(err);
    }
    free(second->fault_text);
    second->fault_text = text;
    second->info.fault = TN_E_PLUGIN_DUPLICATE;
    second->info.fault_text = text;
    tn_engine_log(second->engine, TN_LOG_WARN, "%s", text);
    return TN_OK;
}

/* People name types: a name stands for one number, or a model would be made of another type than was asked for. */
static int32_t refuse_shared_names(tn_engine *engine, tn_error *err) {
    for (uint32_t i = 0; i < engine->entry_count; i++) {
        for (uint32_t k = i + 1; k < engine->entry_count; k++) {
            tn_entry *a = engine->entries[i], *b = engine->entries[k];
            const tn_manifest *x = &a->manifest, *y = &b->manifest;
            if (x->kind_number != TN_KIND_FORMAT || y->kind_number != TN_KIND_FORMAT || a->info.fault ||
                b->info.fault || x->type == y->type || strcasecmp(x->type_name, y->type_name) != 0) {
                continue;
            }
            tn_entry *second = later_format(a, b);
            TN_TRY(refuse_name(second == a ? b : a, second, err));
        }
    }
    return TN_OK;
}

int32_t tn_registry_scan(tn_engine *engine, tn_error *err) {
    engine->places = calloc((size_t)engine->search.path_count + 1, sizeof *engine->places);
    if (!engine->places) { return no_memory(err); }
    for (uint32_t i = 0; i < engine->search.path_count; i++) {
        engine->places[i] = (tn_place_in){.folder.fd = -1, .origin = engine->search.paths[i].origin};
        engine->place_count = i + 1;
        TN_TRY(add_place(engine, i, err));
    }
    if (engine->entry_count) { qsort(engine->entries, engine->entry_count, sizeof *engine->entries, by_id); }
    return refuse_shared_names(engine, err);
}

static void free_entry(tn_entry *entry) {
    if (entry->open && entry->proof.plugin->close) { entry->proof.plugin->close(entry->proof.self); }
    for (tn_opened *next, *at = entry->tables; at; at = next) {
        next = at->next;
        free(at->table);
        free(at);
    }
    tn_manifest_free(&entry->manifest);
    free(entry->manifest_path);
    free(entry->library_path);
    free(entry->fault_text);
    free(entry);
}

void tn_registry_free(tn_engine *engine) {
    for (uint32_t i = 0; i < engine->entry_count; i++) { free_entry(engine->entries[i]); }
    for (uint32_t i = 0; i < engine->place_count; i++) { tn_folder_close(&engine->places[i].folder); }
    free(engine->entries);
    free(engine->places);
}
