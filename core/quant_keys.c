/*
 * quant_keys.c - the new files as a writer is told of them: the metadata with the few entries that change, and
 * which tensor goes into which shard.
 */
#include "quant_plan.h"

#include "checked.h"
#include "gguf_file.h"

#include <inttypes.h>
#include <stdlib.h>

/* Version of the layout of quantised blocks that all files of today have. */
enum { QUANTIZATION_VERSION = 2, SHARDS_MOST = 65535 };

#define FILE_TYPE_KEY "general.file_type"

/* ---- metadata ------------------------------------------------------------------------------------------ */

/* An entry that is put whether or not the source has it. */
typedef struct change {
    const char *key;
    int drop; /* 1: the new file has none */
    tn_kv value;
    uint32_t number; /* what value.data points to */
} change;

typedef struct changes {
    change at[8];
    uint32_t count;
} changes;

static change *add_change(changes *all, const char *key) {
    change *made = &all->at[all->count++];
    *made = (change){.key = key, .value.struct_size = sizeof(tn_kv)};
    return made;
}

static void change_number(changes *all, const char *key, uint32_t number) {
    change *made = add_change(all, key);
    made->number = number;
    made->value.type = TN_KV_U32;
    made->value.count = 1;
    made->value.size = sizeof made->number;
    made->value.data = &made->number;
}

static void change_text(changes *all, const char *key, const char *text) {
    change *made = add_change(all, key);
    made->value.type = TN_KV_STRING;
    made->value.count = made->value.size = strlen(text);
    made->value.data = text;
}

/* What only matters where it is not 0 or empty is not put then. */
static void change_importance(changes *all, const tn_quantize_plan *plan) {
    const tn_imatrix *matrix = &plan->importance;
    change_text(all, "quantize.imatrix.file", plan->importance_path);
    if (matrix->dataset_count) { change_text(all, "quantize.imatrix.dataset", matrix->datasets[0]); }
    change_number(all, "quantize.imatrix.entries_count", (uint32_t)matrix->names.count);
    if (matrix->chunk_count) { change_number(all, "quantize.imatrix.chunks_count", matrix->chunk_count); }
}

static void find_changes(const tn_quantize_plan *plan, changes *out) {
    *out = (changes){0};
    if (!plan->mix) { return; }
    int64_t number = plan->mix->files[plan->file_type].number;
    if (number >= 0) {
        change_number(out, FILE_TYPE_KEY, (uint32_t)number);
    } else {
        add_change(out, FILE_TYPE_KEY)->drop = 1;
    }
    change_number(out, "general.quantization_version", QUANTIZATION_VERSION);
    if (plan->importance_path) { change_importance(out, plan); }
}

/* What a source says of its own shards. */
static int is_split_key(const char *key) {
    return strcmp(key, "split.no") == 0 || strcmp(key, "split.count") == 0 ||
           strcmp(key, "split.tensors.count") == 0;
}

/* Those of the source in their order, changed ones in their place, new ones behind. */
static int32_t put_keys(const tn_quantize_plan *plan, tn_gguf_writer *writer, tn_error *err) {
    changes all;
    unsigned put = 0;
    find_changes(plan, &all);
    for (uint64_t i = 0; i < tn_gguf_kv_count(plan->file); i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        const char *key = tn_gguf_kv_at(plan->file, i, &kv);
        uint32_t c = 0;
        while (c < all.count && strcmp(all.at[c].key, key) != 0) { c++; }
        put |= 1u << c;
        if (is_split_key(key) || (c < all.count && all.at[c].drop)) { continue; }
        TN_TRY(tn_gguf_writer_put(writer, key, c < all.count ? &all.at[c].value : &kv, err));
    }
    for (uint32_t c = 0; c < all.count; c++) {
        if (put >> c & 1 || all.at[c].drop) { continue; }
        TN_TRY(tn_gguf_writer_put(writer, all.at[c].key, &all.at[c].value, err));
    }
    return TN_OK;
}

static int32_t put_split_key(tn_gguf_writer *writer, const char *key, uint32_t type, uint32_t size,
                             uint64_t value, tn_error *err) {
    const tn_kv kv = {.struct_size = sizeof kv, .type = type, .count = 1, .size = size, .data = &value};
    return tn_gguf_writer_put(writer, key, &kv, err);
}

static uint64_t written_tensors(const tn_quantize_plan *plan) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < plan->count; i++) { count += plan->tensors[i].what != TN_QUANTIZE_FOLDED; }
    return count;
}

static int32_t put_split_keys(const tn_quantize_plan *plan, uint32_t shard, tn_gguf_writer *writer,
                              tn_error *err) {
    if (plan->shard_count == 1) { return TN_OK; }
    TN_TRY(put_split_key(writer, "split.no", TN_KV_U16, 2, shard, err));
    TN_TRY(put_split_key(writer, "split.count", TN_KV_U16, 2, plan->shard_count, err));
    return put_split_key(writer, "split.tensors.count", TN_KV_I32, 4, written_tensors(plan), err);
}

/* The first shard has the metadata; the others need only what their reader does before it knows the first. */
static int32_t put_metadata(const tn_quantize_plan *plan, uint32_t shard, tn_gguf_writer *writer,
                            tn_error *err) {
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(plan->file);
    if (shard == 0) {
        TN_TRY(put_keys(plan, writer, err));
    } else if (meta->find(meta, TN_ALIGNMENT_KEY, &kv) == TN_OK) {
        TN_TRY(tn_gguf_writer_put(writer, TN_ALIGNMENT_KEY, &kv, err));
    }
    return put_split_keys(plan, shard, writer, err);
}

int32_t tn_plan_describe(const tn_quantize_plan *plan, uint32_t shard, tn_gguf_writer *writer,
                         tn_error *err) {
    TN_TRY(put_metadata(plan, shard, writer, err));
    for (uint64_t i = 0; i < plan->count; i++) {
        const tn_quantize_tensor *tensor = &plan->tensors[i];
        const tn_gguf_tensor *source = tensor->source;
        if (tensor->what == TN_QUANTIZE_FOLDED || tensor->shard != shard) { continue; }
        TN_TRY(tn_gguf_writer_declare(writer, source->name, tensor->type, source->dim_count, source->dims,
                                      tensor->size, err));
    }
    return TN_OK;
}

/* ---- shards -------------------------------------------------------------------------------------------- */

static int32_t measure(const tn_quantize_plan *plan, uint32_t shard, int with_tensors, uint64_t *out,
                       tn_error *err) {
    tn_gguf_writer *writer;
    TN_TRY(tn_gguf_writer_create(NULL, &writer, err));
    int32_t code =
        with_tensors ? tn_plan_describe(plan, shard, writer, err) : put_metadata(plan, shard, writer, err);
    *out = tn_gguf_writer_size(writer);
    tn_gguf_writer_abandon(writer);
    return code;
}

/* Bytes that a tensor adds to a file, at most: its record and its padded data. */
static uint64_t share_of(const tn_quantize_plan *plan, const tn_quantize_tensor *tensor) {
    uint64_t alignment = tn_gguf_alignment(plan->file), size;
    uint64_t record =
        strlen(tensor->source->name) + 2 * sizeof(uint32_t) + (2 + tensor->source->dim_count) * 8ull;
    if (!tn_align_u64(tensor->size, alignment, &size) || !tn_add_u64(size, record, &size)) {
        return UINT64_MAX;
    }
    return size;
}

/* A new shard begins where the next tensor would make one too large, or one too many. */
static int32_t split(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err) {
    uint64_t first, other, size, most = options->split_size ? options->split_size : UINT64_MAX;
    uint32_t most_tensors = options->split_tensors ? options->split_tensors : UINT32_MAX;
    plan->shard_count = SHARDS_MOST; /* for the keys: their size does not depend on it */
    TN_TRY(measure(plan, 0, 0, &first, err));
    TN_TRY(measure(plan, 1, 0, &other, err));
    uint64_t held = first;
    uint32_t shard = 0, tensors = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        tn_quantize_tensor *tensor = &plan->tensors[i];
        if (tensor->what == TN_QUANTIZE_FOLDED) { continue; }
        uint64_t share = share_of(plan, tensor);
        if (tensors && (tensors == most_tensors || !tn_add_u64(held, share, &size) || size > most)) {
            held = other;
            tensors = 0;
            if (++shard == SHARDS_MOST) {
                TN_FAIL(err, TN_E_INPUT, "shards of this size would be more than %d", SHARDS_MOST);
            }
        }
        held = tn_add_u64(held, share, &size) ? size : UINT64_MAX;
        tensors++;
        tensor->shard = shard;
    }
    plan->shard_count = shard + 1;
    return TN_OK;
}

static void keep_split(tn_quantize_plan *plan) {
    plan->shard_count = tn_gguf_file_count(plan->file);
    for (uint64_t i = 0; i < plan->count; i++) { plan->tensors[i].shard = plan->tensors[i].source->file; }
}

int32_t tn_plan_shards(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err) {
    int limited = options->split_size || options->split_tensors;
    if (options->keep_split && limited) {
        TN_FAIL(err, TN_E_INPUT, "shards as they are and shards of a certain size cannot both be had");
    }
    plan->shard_count = 1;
    if (options->keep_split) { keep_split(plan); }
    if (limited) { TN_TRY(split(plan, options, err)); }
    plan->as_shards = options->as_shards;
    plan->shard_sizes = calloc(plan->shard_count, sizeof *plan->shard_sizes);
    if (!plan->shard_sizes) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for %" PRIu32 " shards", plan->shard_count);
    }
    for (uint32_t i = 0; i < plan->shard_count; i++) {
        TN_TRY(measure(plan, i, 1, &plan->shard_sizes[i], err));
    }
    return TN_OK;
}
