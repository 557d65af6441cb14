/*
 * quant_plan.c - decides what becomes of each tensor: by the mix and what the user named, by what is installed,
 * and by the importance data there are.
 */
#include "quant_plan.h"

#include "checked.h"
#include "engine_state.h"
#include "gguf_file.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- options and importance ---------------------------------------------------------------------------- */

/* COPY converts nothing, so nothing that is about converting goes with it. */
static int32_t check_copy(const tn_quantize_options *options, tn_error *err) {
    const char *idle = options->importance       ? "importance data"
                       : options->output_type    ? "a type for the output"
                       : options->embedding_type ? "a type for the embedding"
                       : options->rule_count     ? "types for some tensors"
                       : options->pure           ? "a pure mix"
                       : options->leave_output   ? "an output that is left as it is"
                                                 : NULL;
    if (!idle) { return TN_OK; }
    TN_FAIL(err, TN_E_INPUT, "COPY leaves all tensors as they are: %s makes no sense with it", idle);
}

static int32_t read_importance(tn_quantize_plan *plan, const char *path, tn_error *err) {
    if (!path) { return TN_OK; }
    plan->importance_path = strdup(path);
    if (!plan->importance_path) { TN_FAIL(err, TN_E_MEMORY, "no memory for a plan"); }
    return tn_imatrix_read(path, &plan->importance, err);
}

/* ---- types --------------------------------------------------------------------------------------------- */

const char *tn_plan_source(const tn_quantize_plan *plan, const tn_gguf_tensor *tensor) {
    return tn_path_tail(tn_gguf_path(plan->file, tensor->file));
}

static const char *type_name(const tn_quantize_plan *plan, uint32_t type) {
    const char *name = tn_engine_type_name(plan->engine, type);
    return name ? name : "?";
}

static int32_t choose_types(tn_quantize_plan *plan, const tn_quantize_options *options, tn_mix_pick *picks,
                            tn_error *err) {
    tn_mix_model model;
    const tn_gguf_tensor **tensors = calloc(plan->count + 1, sizeof *tensors);
    if (!tensors) { TN_FAIL(err, TN_E_MEMORY, "no memory for a plan of %" PRIu64 " tensors", plan->count); }
    for (uint64_t i = 0; i < plan->count; i++) { tensors[i] = tn_gguf_tensor_at(plan->file, i); }
    tn_mix_model_read(plan->file, &model);
    model.importance = plan->importance_path != NULL;
    const tn_mix_ask ask = {.mix = plan->mix,
                            .file = plan->file_type,
                            .model = &model,
                            .tensors = tensors,
                            .count = plan->count,
                            .pure = options->pure != 0,
                            .leave_output = options->leave_output != 0,
                            .override = tn_plan_override,
                            .block = tn_plan_block,
                            .context = plan};
    tn_error why = TN_ERROR_INIT;
    int32_t code = tn_mix_choose(&ask, picks, &why);
    free(tensors);
    if (code == TN_OK) { return TN_OK; }
    int about = code == TN_E_FORMAT_REFUSED; /* about a tensor */
    TN_FAIL(err, code, "%s%s%s", about ? tn_path_tail(tn_gguf_path(plan->file, 0)) : "", about ? ": " : "",
            why.text);
}

/* ---- what is left as it is ----------------------------------------------------------------------------- */

/* Bytes up to the next tensor of the shard, or the shard's end: what is copied of a type whose size nobody
 * knows. */
static uint64_t size_up_to_next(const tn_gguf *file, const tn_gguf_tensor *tensor) {
    const tn_gguf_tensor *next = tensor + 1, *end = tn_gguf_tensor_at(file, 0) + tn_gguf_tensor_count(file);
    int has_next = next < end && next->file == tensor->file;
    return (has_next ? next->offset : file->shards[tensor->file].size) - tensor->offset;
}

static void leave(tn_quantize_plan *plan, tn_quantize_tensor *tensor, const char *reason) {
    const tn_gguf_tensor *source = tensor->source;
    tensor->what = TN_QUANTIZE_LEFT;
    tensor->type = source->type;
    tensor->to = tensor->from;
    tensor->reason = reason;
    tensor->size = source->size ? source->size : size_up_to_next(plan->file, source);
    tensor->old_size = tensor->size;
}

/* ---- what is converted --------------------------------------------------------------------------------- */

/* An entry of the right size; NULL where there is none. */
static int32_t find_importance(const tn_quantize_plan *plan, const tn_gguf_tensor *tensor, uint32_t role,
                               const tn_imatrix_entry **out, tn_error *err) {
    const tn_imatrix_entry *entry = tn_imatrix_find(&plan->importance, tensor->name);
    *out = entry;
    if (!entry || tn_imatrix_fits(&plan->importance, entry, tensor->dims[0], tn_matrices(tensor))) {
        return TN_OK;
    }
    *out = NULL;
    if (role == TN_MIX_EMBEDDING) { return TN_OK; } /* gathered as a product's weight, quantised as a table */
    TN_FAIL(err, TN_E_TENSOR_SHAPE,
            "%s: entry %s has %" PRIu64 " x %" PRIu64 " numbers, %" PRIu64 " columns x %" PRIu64
            " matrices were expected: the file belongs to another model",
            tn_path_tail(plan->importance_path), tensor->name, entry->columns, entry->experts,
            tensor->dims[0], tn_matrices(tensor));
}

static int32_t set_importance(const tn_quantize_plan *plan, const tn_mix_pick *pick,
                              tn_quantize_tensor *tensor, tn_conversion *conversion, tn_error *err) {
    uint32_t use = conversion->to.format->importance;
    const tn_gguf_tensor *source = tensor->source;
    TN_TRY(find_importance(plan, source, pick->role, &conversion->importance, err));
    if (!conversion->importance && (pick->needs_importance || use == TN_IMPORTANCE_NEEDED)) {
        if (!plan->importance_path) {
            TN_FAIL(err, TN_E_INPUT,
                    "%s: tensor %s would be %s, which is of no use without importance data (--imatrix)",
                    tn_plan_source(plan, source), source->name, tensor->to);
        }
        TN_FAIL(err, TN_E_INPUT,
                "%s has no entry %s, which would be %s: that is of no use without importance data",
                tn_path_tail(plan->importance_path), source->name, tensor->to);
    }
    if (use == TN_IMPORTANCE_IGNORED) { conversion->importance = NULL; }
    tensor->importance = conversion->importance != NULL;
    tensor->lacks = plan->importance_path && use != TN_IMPORTANCE_IGNORED && !conversion->importance;
    return TN_OK;
}

static int32_t open_formats(tn_quantize_plan *plan, const tn_quantize_tensor *tensor, tn_conversion *out,
                            tn_error *err) {
    tn_error why = TN_ERROR_INIT;
    const char *file = tn_plan_source(plan, tensor->source), *name = tensor->source->name;
    int32_t code = tn_engine_format(plan->engine, tensor->source->type, &out->from, &why);
    if (code == TN_OK) { code = tn_engine_format(plan->engine, tensor->type, &out->to, &why); }
    if (code != TN_OK) { TN_FAIL(err, code, "%s: tensor %s: %s", file, name, why.text); }
    if (!out->from.format->decode) {
        TN_FAIL(err, TN_E_FORMAT_REFUSED, "%s: tensor %s: %s cannot decode %s", file, name,
                out->from.plugin->id, tensor->from);
    }
    if (!out->to.format->encode) {
        TN_FAIL(err, TN_E_FORMAT_REFUSED, "%s: tensor %s: %s does not write %s", file, name,
                out->to.plugin->id, tensor->to);
    }
    return TN_OK;
}

static int32_t convert(tn_quantize_plan *plan, uint64_t i, const tn_mix_pick *pick, tn_error *err) {
    tn_quantize_tensor *tensor = &plan->tensors[i];
    tn_conversion *conversion = &plan->conversions[i];
    const tn_gguf_tensor *source = tensor->source;
    tensor->what = TN_QUANTIZE_CONVERTED;
    tensor->to = pick->type;
    tensor->old_size = source->size;
    TN_TRY(open_formats(plan, tensor, conversion, err));
    TN_TRY(set_importance(plan, pick, tensor, conversion, err));
    const tn_format *format = conversion->to.format;
    if (!tn_mul_u64(source->elements / format->block, format->block_bytes, &tensor->size)) {
        TN_FAIL(err, TN_E_RANGE, "%s: tensor %s would take more than 2^64 bytes",
                tn_plan_source(plan, source), source->name);
    }
    return tn_plan_fold(plan, i, err);
}

/* The file may come from anywhere, so the names of types that a mix chose are numbers here for the first time. */
static int32_t decide(tn_quantize_plan *plan, uint64_t i, const tn_mix_pick *pick, tn_error *err) {
    tn_quantize_tensor *tensor = &plan->tensors[i];
    if (pick->keep) {
        leave(plan, tensor, pick->keep);
        return TN_OK;
    }
    int64_t number = tn_engine_type_number(plan->engine, pick->type);
    if (number < 0) {
        TN_FAIL(err, TN_E_FORMAT_UNKNOWN, "no installed plugin knows the tensor type %s", pick->type);
    }
    if (strcmp(pick->wanted, pick->type) != 0) { /* also if it is of that type already */
        tensor->wanted = pick->wanted;
        tensor->wanted_block = pick->wanted_block;
    }
    if ((uint32_t)number == tensor->source->type) {
        leave(plan, tensor, "of the new type already");
        return TN_OK;
    }
    tensor->type = (uint32_t)number;
    return convert(plan, i, pick, err);
}

static int32_t check_requantized(const tn_quantize_plan *plan, tn_error *err) {
    const tn_quantize_tensor *first = NULL;
    uint64_t count = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        const tn_quantize_tensor *tensor = &plan->tensors[i];
        if (tensor->what != TN_QUANTIZE_CONVERTED ||
            plan->conversions[i].from.format->flags & TN_FORMAT_FLOAT) {
            continue;
        }
        if (!first) { first = tensor; }
        count++;
    }
    if (!first) { return TN_OK; }
    TN_FAIL(
        err, TN_E_INPUT,
        "%s: tensor %s is %s already: %s made of it is worse than if it were made of the original; %" PRIu64
        " tensors are like that (--allow-requantize converts them all the same)",
        tn_plan_source(plan, first->source), first->source->name, first->from, first->to, count);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static void copy_all(tn_quantize_plan *plan) {
    for (uint64_t i = 0; i < plan->count; i++) { leave(plan, &plan->tensors[i], "only copied"); }
}

/* An importance file, say, is no model, and a model's file type would be no good name for it. */
static int32_t check_names(const tn_quantize_plan *plan, tn_error *err) {
    for (uint64_t i = 0; i < plan->count; i++) {
        if (tn_mix_is_about(plan->mix, plan->tensors[i].source->name)) { return TN_OK; }
    }
    TN_FAIL(err, TN_E_TENSOR_MISSING,
            "%s: the file has no tensor that file type %s is about: only COPY makes sense with it",
            tn_path_tail(tn_gguf_path(plan->file, 0)), plan->mix->files[plan->file_type].name);
}

static int32_t decide_all(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err) {
    tn_mix_pick *picks = calloc(plan->count + 1, sizeof *picks);
    if (!picks) { TN_FAIL(err, TN_E_MEMORY, "no memory for a plan of %" PRIu64 " tensors", plan->count); }
    int32_t code = choose_types(plan, options, picks, err);
    for (uint64_t i = 0; code == TN_OK && i < plan->count; i++) {
        if (plan->tensors[i].what != TN_QUANTIZE_FOLDED) { code = decide(plan, i, &picks[i], err); }
    }
    int outputs = 0;
    for (uint64_t i = 0; i < plan->count; i++) { outputs += picks[i].role == TN_MIX_OUTPUT; }
    free(picks);
    if (code == TN_OK && options->leave_output && !outputs) {
        tn_engine_log(plan->engine, TN_LOG_WARN, "there is no output tensor to be left as it is");
    }
    if (code == TN_OK) { code = tn_plan_check_companions(plan, err); }
    if (code == TN_OK && !options->allow_requantize) { code = check_requantized(plan, err); }
    if (code == TN_OK) { tn_plan_warn_of_rules(plan); }
    return code;
}

static int32_t begin(tn_quantize_plan *plan, tn_error *err) {
    plan->tensors = calloc(plan->count + 1, sizeof *plan->tensors);
    plan->conversions = calloc(plan->count + 1, sizeof *plan->conversions);
    if (!plan->tensors || !plan->conversions) {
        TN_FAIL(err, TN_E_MEMORY, "no memory for a plan of %" PRIu64 " tensors", plan->count);
    }
    for (uint64_t i = 0; i < plan->count; i++) {
        const tn_gguf_tensor *source = tn_gguf_tensor_at(plan->file, i);
        plan->tensors[i] =
            (tn_quantize_tensor){.source = source, .from = type_name(plan, source->type), .reason = ""};
    }
    return TN_OK;
}

static int32_t make(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err) {
    TN_TRY(begin(plan, err));
    TN_TRY(tn_plan_find_mix(plan, options->type, err));
    if (!plan->mix) { TN_TRY(check_copy(options, err)); }
    TN_TRY(read_importance(plan, options->importance, err));
    TN_TRY(tn_plan_read_rules(plan, options, err));
    if (plan->mix) {
        TN_TRY(check_names(plan, err));
        TN_TRY(decide_all(plan, options, err));
    } else {
        copy_all(plan);
    }
    return tn_plan_shards(plan, options, err);
}

int32_t tn_quantize_plan_create(tn_engine *engine, const tn_gguf *file, const tn_quantize_options *options,
                                tn_quantize_plan **out, tn_error *err) {
    *out = NULL;
    tn_quantize_plan *plan = calloc(1, sizeof *plan);
    if (!plan) { TN_FAIL(err, TN_E_MEMORY, "no memory for a plan"); }
    plan->engine = engine;
    plan->file = file;
    plan->count = tn_gguf_tensor_count(file);
    int32_t code = make(plan, options, err);
    if (code != TN_OK) {
        tn_quantize_plan_free(plan);
        return code;
    }
    *out = plan;
    return TN_OK;
}

void tn_quantize_plan_free(tn_quantize_plan *plan) {
    if (!plan) { return; }
    for (uint64_t i = 0; plan->conversions && i < plan->count; i++) { free(plan->conversions[i].scales); }
    tn_plan_free_rules(plan);
    tn_mixes_free(&plan->mixes);
    tn_imatrix_free(&plan->importance);
    free(plan->importance_path);
    free(plan->tensors);
    free(plan->conversions);
    free(plan->shard_sizes);
    free(plan);
}

uint64_t tn_quantize_count(const tn_quantize_plan *plan) {
    return plan->count;
}

const tn_quantize_tensor *tn_quantize_at(const tn_quantize_plan *plan, uint64_t i) {
    return &plan->tensors[i];
}

uint32_t tn_quantize_shards(const tn_quantize_plan *plan) {
    return plan->shard_count;
}

uint64_t tn_quantize_shard_size(const tn_quantize_plan *plan, uint32_t shard) {
    return plan->shard_sizes[shard];
}

uint64_t tn_quantize_importance(const tn_quantize_plan *plan) {
    return plan->importance.names.count;
}
