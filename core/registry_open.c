/*
 * registry_open.c - opens the plugin of an entry, once an engine: file, hash, ELF, a trial in a child process
 * if its bytes are new here, then in this process.
 */
#include "engine_state.h"
#include "probe.h"

#include <stdlib.h>
#include <string.h>

static int32_t try_if_new(tn_entry *entry, tn_error *err) {
    tn_engine *engine = entry->engine;
    const tn_place_in *place = &engine->places[entry->place];
    const char *sha256 = entry->library.sha256;
    if (place->own && tn_probe_is_own(&place->folder, entry->manifest.library, sha256)) { return TN_OK; }
    if (tn_probe_passed_before(sha256)) { return TN_OK; }
    tn_engine_log(engine, TN_LOG_DEBUG, "%s is new here: it is tried in a child process",
                  entry->library_path);
    tn_probe probe = {engine->probe_program, engine->probe_limit_ms, entry->manifest_path};
    TN_TRY(tn_probe_run(&probe, &entry->library, NULL, err));
    tn_error why = TN_ERROR_INIT;
    if (tn_probe_remember(sha256, &why) != TN_OK) {
        tn_engine_log(engine, TN_LOG_DEBUG, "%s will be tried again next time: %s", entry->library_path,
                      why.text);
    }
    return TN_OK;
}

static int32_t open_library(tn_entry *entry, tn_error *err) {
    const tn_folder *folder = &entry->engine->places[entry->place].folder;
    struct stat st;
    int fd;
    if (entry->info.fault != TN_OK) { TN_FAIL(err, entry->info.fault, "%s", entry->info.fault_text); }
    if (entry->manifest.kind_number == TN_KIND_NOTES) {
        TN_FAIL(err, TN_E_PLUGIN_MISSING, "%s: notes have no library", entry->manifest_path);
    }
    TN_TRY(tn_file_open(folder, entry->manifest.library, &fd, &st, err));
    TN_TRY(tn_library_read(entry->library_path, fd, &entry->library, err));
    entry->proof =
        (tn_proof){.manifest = &entry->manifest, .library = &entry->library, .lent = &entry->engine->lent};
    TN_TRY(tn_proof_file(&entry->proof, NULL, err));
    TN_TRY(try_if_new(entry, err));
    return tn_proof_open(&entry->proof, NULL, err);
}

static int32_t hand_out(tn_entry *entry, const char *interface, const void **table, tn_error *err) {
    size_t size = tn_interface_size(interface);
    tn_opened *made = calloc(1, sizeof *made);
    void *copy = malloc(size);
    if (!made || !copy) {
        free(made);
        free(copy);
        TN_FAIL(err, TN_E_MEMORY, "no memory for the interface %s of %s", interface, entry->info.id);
    }
    tn_proof_table(&entry->proof, interface, copy, size);
    *made = (tn_opened){.next = entry->tables, .interface = interface, .table = copy};
    entry->tables = made;
    *table = copy;
    return TN_OK;
}

static int32_t find_interface(tn_entry *entry, const char *interface, const void **table, tn_error *err) {
    for (const tn_opened *at = entry->tables; at; at = at->next) {
        if (strcmp(at->interface, interface) == 0) {
            *table = at->table;
            return TN_OK;
        }
    }
    for (uint32_t i = 0; i < entry->manifest.interface_count; i++) {
        const char *name = entry->manifest.interfaces[i];
        if (strcmp(name, interface) == 0 && tn_interface_size(name)) {
            return hand_out(entry, name, table, err);
        }
    }
    TN_FAIL(err, TN_E_NOT_FOUND, "%s has no interface %s", entry->info.id, interface);
}

int32_t tn_entry_open(tn_engine *engine, tn_entry *entry, const char *interface, const void **table,
                      void **self, tn_error *err) {
    (void)engine; /* an entry knows its own */
    if (!entry->tried) {
        entry->tried = 1;
        entry->result = (tn_error)TN_ERROR_INIT;
        entry->open = open_library(entry, &entry->result) == TN_OK;
        tn_library_close(&entry->library);
    }
    if (!entry->open) { TN_FAIL(err, entry->result.code, "%s", entry->result.text); }
    TN_TRY(find_interface(entry, interface, table, err));
    *self = entry->proof.self;
    return TN_OK;
}
