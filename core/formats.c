/*
 * formats.c - formats by their type, for those who need nothing else of a file: tenon/formats.h.
 */
#include "tenon/formats.h"

#include "registry.h"

#include <inttypes.h>
#include <stdlib.h>

int32_t tn_registry_open_format(tn_engine *engine, uint32_t type, tn_entry **entry, const tn_format **format,
                                void **self, tn_error *err) {
    char number[16];
    const void *table = NULL;
    *format = NULL;
    snprintf(number, sizeof number, "%" PRIu32, type);
    TN_TRY(tn_registry_find(engine, "type", number, entry, err));
    TN_TRY(tn_entry_open(engine, *entry, TN_FORMAT_1, &table, self, err));
    *format = table;
    return TN_OK;
}

int32_t tn_engine_format(tn_engine *engine, uint32_t type, tn_format_use *out, tn_error *err) {
    tn_entry *entry = NULL;
    *out = (tn_format_use){0};
    int32_t code = tn_registry_open_format(engine, type, &entry, &out->format, &out->self, err);
    if (code == TN_E_NOT_FOUND && !entry) {
        char number[16];
        snprintf(number, sizeof number, "%" PRIu32, type);
        const char *note = tn_engine_note(engine, "type", number), *name = tn_engine_type_name(engine, type);
        const char *about = note ? note : name; /* a note begins with the name */
        TN_FAIL(err, TN_E_FORMAT_UNKNOWN, "no installed plugin is for tensor type %s",
                about ? about : number);
    }
    TN_TRY(code);
    out->plugin = tn_entry_info(entry);
    return TN_OK;
}

typedef struct type_walk {
    void (*each)(void *context, uint32_t type);
    void *context;
} type_walk;

static void walk_type(void *context, const char *value, tn_entry *entry) {
    const type_walk *walk = context;
    (void)entry;
    walk->each(walk->context, (uint32_t)strtoul(value, NULL, 10)); /* the manifest's reader has checked it */
}

void tn_engine_each_type(tn_engine *engine, void (*each)(void *context, uint32_t type), void *context) {
    type_walk walk = {each, context};
    tn_registry_each(engine, "type", walk_type, &walk);
}

/* ---- check --------------------------------------------------------------------------------------------- */

/* Bytes that one call of a worker looks at, about. */
enum { PIECE_BYTES = 1 << 20 };

typedef struct piece_faults {
    uint64_t bad, first;
} piece_faults;

typedef struct check_work {
    const tn_format_use *use;
    const unsigned char *data;
    uint64_t blocks, piece_blocks;
    piece_faults *pieces;
} check_work;

static void check_piece(void *arg, uint64_t index, uint32_t worker) {
    const check_work *work = arg;
    const tn_format *format = work->use->format;
    uint64_t at = index * work->piece_blocks, left = work->blocks - at, bad = 0;
    uint64_t end = at + (left < work->piece_blocks ? left : work->piece_blocks);
    piece_faults *faults = &work->pieces[index];
    (void)worker;
    while (at < end &&
           format->check(work->use->self, work->data + at * format->block_bytes, end - at, &bad) != TN_OK) {
        if (!faults->bad++) { faults->first = at + bad; }
        at += bad + 1;
    }
}

int32_t tn_tensor_check(tn_engine *engine, const tn_gguf_tensor *tensor, tn_tensor_faults *out,
                        tn_error *err) {
    tn_format_use use;
    *out = (tn_tensor_faults){0};
    TN_TRY(tn_engine_format(engine, tensor->type, &use, err));
    const tn_format *format = use.format;
    if (!format->check) {
        TN_FAIL(err, TN_E_FORMAT_REFUSED, "tensor %s: %s (%s) cannot check its blocks", tensor->name,
                format->name, use.plugin->id);
    }
    uint64_t blocks = tensor->size / format->block_bytes, piece = PIECE_BYTES / format->block_bytes + 1;
    uint64_t pieces = blocks / piece + (blocks % piece != 0);
    check_work work = {&use, tensor->data, blocks, piece, calloc(pieces ? pieces : 1, sizeof(piece_faults))};
    if (!work.pieces) { TN_FAIL(err, TN_E_MEMORY, "no memory to check tensor %s", tensor->name); }
    const tn_host *host = tn_engine_host(engine);
    host->parallel_for(host, pieces, check_piece, &work);
    out->blocks = blocks;
    for (uint64_t i = 0; i < pieces; i++) {
        if (!out->bad && work.pieces[i].bad) { out->first = work.pieces[i].first; }
        out->bad += work.pieces[i].bad;
    }
    free(work.pieces);
    return TN_OK;
}
