/*
 * quant_companion.c - some formats bring tensors along that scale the product of a weight. Once the weight has
 * another type nobody would look at them, so the scales are multiplied into the weight; and no tensor that is
 * something else may become one because of its name.
 */
#include "companion.h"
#include "quant_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static tn_quantize_tensor *find_companion(const tn_quantize_plan *plan, const tn_gguf_tensor *tensor,
                                          const tn_companion *companion) {
    char name[TN_COMPANION_NAME];
    const tn_gguf_tensor *found = tn_companion_find(plan->file, tensor->name, companion->suffix, name);
    return found ? &plan->tensors[found - tn_gguf_tensor_at(plan->file, 0)] : NULL;
}

static int32_t read_scales(tn_quantize_plan *plan, const tn_gguf_tensor *tensor, const tn_gguf_tensor *scale,
                           tn_conversion *to, tn_error *err) {
    tn_format_use use;
    uint64_t matrices = tn_matrices(tensor);
    TN_TRY(tn_engine_format(plan->engine, scale->type, &use, err));
    if (scale->elements != 1 && scale->elements != matrices) {
        TN_FAIL(err, TN_E_TENSOR_SHAPE,
                "%s: tensor %s has %" PRIu64 " scales, 1 or one for each of the %" PRIu64
                " matrices of %s was expected",
                tn_plan_source(plan, scale), scale->name, scale->elements, matrices, tensor->name);
    }
    to->scales = calloc(scale->elements, sizeof *to->scales);
    if (!to->scales) { TN_FAIL(err, TN_E_MEMORY, "no memory for the scales of tensor %s", tensor->name); }
    to->scale_count = scale->elements;
    use.format->decode(use.self, scale->data, scale->elements, to->scales);
    for (uint64_t i = 0; i < scale->elements; i++) {
        if (!isfinite(to->scales[i])) {
            TN_FAIL(err, TN_E_FILE_DAMAGED,
                    "%s: tensor %s: number %" PRIu64 " is %g, a finite one was expected",
                    tn_plan_source(plan, scale), scale->name, i, (double)to->scales[i]);
        }
    }
    return TN_OK;
}

static void fold(tn_quantize_tensor *tensor, const char *reason) {
    tensor->what = TN_QUANTIZE_FOLDED;
    tensor->type = tensor->source->type;
    tensor->to = tensor->from;
    tensor->reason = reason;
    tensor->old_size = tensor->source->size;
    tensor->size = 0;
}

int32_t tn_plan_fold(tn_quantize_plan *plan, uint64_t tensor, tn_error *err) {
    tn_conversion *conversion = &plan->conversions[tensor];
    const tn_gguf_tensor *source = plan->tensors[tensor].source;
    const tn_format *format = conversion->from.format;
    for (uint32_t i = 0; i < format->companion_count; i++) {
        const tn_companion *companion = format->companions[i];
        tn_quantize_tensor *found = find_companion(plan, source, companion);
        if (!found && !companion->optional) {
            TN_FAIL(err, TN_E_TENSOR_MISSING, "%s: tensor %s (%s) lacks its companion with %s in its name",
                    tn_plan_source(plan, source), source->name, format->name, companion->suffix);
        }
        if (!found) { continue; }
        bool scale = companion->role == TN_COMPANION_SCALE;
        if (scale) { TN_TRY(read_scales(plan, source, found->source, conversion, err)); }
        fold(found, scale ? "multiplied into the tensor that it scales"
                          : "for activations, which the new type has no place for");
    }
    return TN_OK;
}

int32_t tn_plan_check_companions(const tn_quantize_plan *plan, tn_error *err) {
    for (uint64_t i = 0; i < plan->count; i++) {
        const tn_quantize_tensor *tensor = &plan->tensors[i];
        if (tensor->what != TN_QUANTIZE_CONVERTED) { continue; }
        const tn_format *format = plan->conversions[i].to.format;
        for (uint32_t k = 0; k < format->companion_count; k++) {
            const tn_quantize_tensor *found = find_companion(plan, tensor->source, format->companions[k]);
            if (!found || found->what == TN_QUANTIZE_FOLDED) { continue; }
            TN_FAIL(
                err, TN_E_INPUT,
                "%s: with tensor %s in %s, tensor %s would be taken for a scale of it: it needs another type "
                "(--tensor-type)",
                tn_plan_source(plan, tensor->source), tensor->source->name, format->name,
                found->source->name);
        }
    }
    return TN_OK;
}
