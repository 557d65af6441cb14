/*
 * importance.c - importance matrices from the outside: made, merged, written, told about.
 */
#include "importance_state.h"

#include "checked.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

int32_t tn_importance_create(uint32_t chunk_size, tn_importance **out, tn_error *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) { TN_FAIL(err, TN_E_MEMORY, "no memory for an importance matrix"); }
    (*out)->total.chunk_size = chunk_size;
    return TN_OK;
}

void tn_importance_free(tn_importance *importance) {
    if (!importance) { return; }
    tn_imatrix_free(&importance->total);
    tn_arena_release(&importance->arena);
    free(importance);
}

int32_t tn_importance_dataset(tn_importance *importance, const char *name, tn_error *err) {
    return tn_imatrix_add_dataset(&importance->total, name, strlen(name), err);
}

int32_t tn_importance_tokens(tn_importance *importance, uint64_t tokens, tn_error *err) {
    tn_imatrix *total = &importance->total;
    uint64_t sum, chunks;
    if (!tn_add_u64(importance->tokens, tokens, &sum) || !tn_add_u64(sum, total->chunk_size - 1, &chunks) ||
        chunks / total->chunk_size > UINT32_MAX) {
        TN_FAIL(err, TN_E_RANGE, "more chunks of %" PRIu32 " tokens than a file can count",
                total->chunk_size);
    }
    importance->tokens = sum;
    total->chunk_count = (uint32_t)(chunks / total->chunk_size);
    return TN_OK;
}

/* ---- entries of two runs become one ---------------------------------------------------------------------- */

static int32_t wrong_shape(const char *name, const tn_imatrix_entry *entry, uint64_t columns,
                           uint64_t experts, tn_error *err) {
    TN_FAIL(err, TN_E_INPUT,
            "%s: %" PRIu64 " columns of %" PRIu64 " experts are known, %" PRIu64 " of %" PRIu64
            " were expected",
            name, entry->columns, entry->experts, columns, experts);
}

/* One row of numbers for all experts, as the older form has it, becomes a row for each with the same count. */
static int32_t cut_into_experts(tn_imatrix_entry *entry, uint64_t columns, uint64_t experts, tn_error *err) {
    uint64_t sums = columns * experts, all;
    double *numbers = tn_add_u64(sums, experts, &all) ? calloc(all, sizeof *numbers) : NULL;
    if (!numbers) { TN_FAIL(err, TN_E_MEMORY, "no memory for the counts of %" PRIu64 " experts", experts); }
    memcpy(numbers, entry->sums, sums * sizeof *numbers);
    for (uint64_t x = 0; x < experts; x++) { numbers[sums + x] = entry->counts[0]; }
    free(entry->sums);
    *entry =
        (tn_imatrix_entry){columns, experts, numbers, numbers + sums}; /* one piece, as tn_imatrix_add() */
    return TN_OK;
}

static int is_row_of(const tn_imatrix_entry *entry, uint64_t columns, uint64_t experts) {
    uint64_t all;
    return entry->experts == 1 && tn_mul_u64(columns, experts, &all) && entry->columns == all;
}

int32_t tn_importance_entry(tn_importance *importance, const char *name, uint64_t columns, uint64_t experts,
                            uint64_t *number, tn_error *err) {
    tn_imatrix *total = &importance->total;
    tn_imatrix_entry *entry = tn_imatrix_find(total, name);
    if (!entry) { TN_TRY(tn_imatrix_add(total, name, strlen(name), columns, experts, &entry, err)); }
    *number = (uint64_t)(entry - total->entries);
    if (entry->columns == columns && entry->experts == experts) { return TN_OK; }
    if (is_row_of(entry, columns, experts)) { return cut_into_experts(entry, columns, experts, err); }
    return wrong_shape(name, entry, columns, experts, err);
}

/* Finds the place for an entry of a file: one that knows no experts takes the shape that is there. */
static int32_t place_for(tn_importance *importance, const char *name, tn_imatrix_entry *from,
                         uint64_t *number, tn_error *err) {
    const tn_imatrix_entry *there = tn_imatrix_find(&importance->total, name);
    if (there && there->experts != from->experts && is_row_of(from, there->columns, there->experts)) {
        TN_TRY(cut_into_experts(from, there->columns, there->experts, err));
    }
    return tn_importance_entry(importance, name, from->columns, from->experts, number, err);
}

/* Adds `scale` times what a file has. */
static int32_t add_entries(tn_importance *importance, tn_imatrix *file, double scale, tn_error *err) {
    for (uint64_t i = 0; i < file->names.count; i++) {
        tn_imatrix_entry *from = &file->entries[i];
        uint64_t number;
        TN_TRY(place_for(importance, file->names.at[i], from, &number, err));
        tn_imatrix_entry *to = &importance->total.entries[number];
        for (uint64_t x = 0; x < from->experts; x++) {
            to->counts[x] = tn_importance_final(to->counts[x] + scale * from->counts[x]);
        }
        for (uint64_t c = 0; c < from->columns * from->experts; c++) {
            to->sums[c] = tn_importance_final(to->sums[c] + scale * from->sums[c]);
        }
    }
    return TN_OK;
}

/* Chunks of a file; where it does not say, the most that an entry has. */
static uint64_t chunks_of(const tn_imatrix *file) {
    double most = 0;
    if (file->chunk_count || !file->older) { return file->chunk_count; }
    for (uint64_t i = 0; i < file->names.count; i++) { most = fmax(most, file->entries[i].counts[0]); }
    return (uint64_t)most;
}

static int32_t add_file(tn_importance *importance, tn_imatrix *file, tn_error *err) {
    tn_imatrix *total = &importance->total;
    if (!total->chunk_size) { total->chunk_size = file->chunk_size ? file->chunk_size : TN_IMPORTANCE_CHUNK; }
    uint32_t size = file->chunk_size ? file->chunk_size : total->chunk_size;
    importance->unsized += !file->chunk_size;
    TN_TRY(add_entries(importance, file, file->older ? size : 1, err));
    for (uint64_t i = 0; i < file->dataset_count; i++) {
        TN_TRY(tn_importance_dataset(importance, file->datasets[i], err));
    }
    uint64_t tokens;
    if (!tn_mul_u64(chunks_of(file), size, &tokens)) { tokens = UINT64_MAX; }
    return tn_importance_tokens(importance, tokens, err);
}

int32_t tn_importance_merge(tn_importance *importance, const char *path, tn_error *err) {
    tn_imatrix file = {0};
    tn_error fault = TN_ERROR_INIT;
    TN_TRY(tn_imatrix_read(path, &file, err));
    int32_t code = add_file(importance, &file, &fault);
    tn_imatrix_free(&file);
    if (code != TN_OK) { TN_FAIL(err, code, "%s: %s", path, fault.text); }
    return TN_OK;
}

/* ---- what is known --------------------------------------------------------------------------------------- */

int32_t tn_importance_write(const tn_importance *importance, const char *path, tn_error *err) {
    if (!importance->total.names.count) { TN_FAIL(err, TN_E_INPUT, "%s: there is nothing to write", path); }
    return tn_imatrix_write(&importance->total, path, err);
}

uint64_t tn_importance_count(const tn_importance *importance) {
    return importance->total.names.count;
}

uint32_t tn_importance_unsized(const tn_importance *importance) {
    return importance->unsized;
}

uint32_t tn_importance_chunks(const tn_importance *importance) {
    return importance->total.chunk_count;
}

uint32_t tn_importance_chunk_size(const tn_importance *importance) {
    return importance->total.chunk_size;
}

/* The largest of a row of sums over their mean; 0 if all are 0. */
static double spread_of(const double *sums, uint64_t columns) {
    double most = 0, all = 0;
    for (uint64_t c = 0; c < columns; c++) {
        most = fmax(most, sums[c]);
        all += sums[c];
    }
    return all > 0 ? most / (all / (double)columns) : 0;
}

void tn_importance_at(const tn_importance *importance, uint64_t i, tn_importance_row *out) {
    const tn_imatrix_entry *entry = &importance->total.entries[i];
    *out = (tn_importance_row){.name = importance->total.names.at[i],
                               .columns = entry->columns,
                               .experts = entry->experts,
                               .least = entry->counts[0],
                               .most = entry->counts[0]};
    for (uint64_t x = 0; x < entry->experts; x++) {
        out->least = fmin(out->least, entry->counts[x]);
        out->most = fmax(out->most, entry->counts[x]);
        out->unseen += entry->counts[x] == 0;
        out->spread = fmax(out->spread, spread_of(entry->sums + x * entry->columns, entry->columns));
    }
}
