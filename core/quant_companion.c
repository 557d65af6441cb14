/*
 * quant_companion.c - some formats bring tensors along that scale the product of a weight. Once the weight has
 * another type nobody would look at them, so the scales are multiplied into the weight.
 */
#include "quant_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tn_gguf_tensor *find_companion(const tn_quantize_plan *plan, const tn_gguf_tensor *tensor,
                                            const char *suffix) {
    static const char end[] = ".weight";
    char name[256];
    size_t size = strlen(tensor->name), cut = sizeof end - 1;
    if (size < cut || strcmp(tensor->name + size - cut, end) != 0) { return NULL; }
    snprintf(name, sizeof name, "%.*s%s", (int)(size - cut), tensor->name, suffix);
    return tn_gguf_tensor_find(plan->file, name);
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

static void fold(tn_quantize_tensor *tensor) {
    tensor->what = TN_QUANTIZE_FOLDED;
    tensor->type = tensor->source->type;
    tensor->to = tensor->from;
    tensor->reason = "";
    tensor->old_size = tensor->source->size;
    tensor->size = 0;
}

int32_t tn_plan_fold(tn_quantize_plan *plan, uint64_t tensor, tn_error *err) {
    tn_conversion *conversion = &plan->conversions[tensor];
    const tn_gguf_tensor *source = plan->tensors[tensor].source;
    const tn_format *format = conversion->from.format;
    for (uint32_t i = 0; i < format->companion_count; i++) {
        const tn_companion *companion = format->companions[i];
        const tn_gguf_tensor *found = find_companion(plan, source, companion->suffix);
        if (!found && !companion->optional) {
            TN_FAIL(err, TN_E_TENSOR_MISSING, "%s: tensor %s (%s) lacks its companion with %s in its name",
                    tn_plan_source(plan, source), source->name, format->name, companion->suffix);
        }
        if (!found) { continue; }
        if (companion->role == TN_COMPANION_SCALE) {
            TN_TRY(read_scales(plan, source, found, conversion, err));
        }
        fold(&plan->tensors[found - tn_gguf_tensor_at(plan->file, 0)]);
    }
    return TN_OK;
}
