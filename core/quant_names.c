/*
 * quant_names.c - what the user of a quantiser names: a file type, types for output and embedding, and types for
 * whatever an expression matches.
 */
#include "quant_plan.h"

#include "engine_state.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- file types ---------------------------------------------------------------------------------------- */

static int is_written(tn_engine *engine, const char *type) {
    tn_format_use use;
    int64_t number = tn_engine_type_number(engine, type);
    return number >= 0 && tn_engine_format(engine, (uint32_t)number, &use, NULL) == TN_OK &&
           use.format->encode;
}

static void visit_written(tn_engine *engine, const tn_mixes *mixes, tn_file_type_visit *visit,
                          void *context) {
    for (uint32_t m = 0; m < mixes->count; m++) {
        for (uint32_t i = 0; i < mixes->at[m].file_count; i++) {
            const tn_mix_file *file = &mixes->at[m].files[i];
            if (is_written(engine, file->base)) { visit(context, file->name, file->base); }
        }
    }
}

int32_t tn_quantize_file_types(tn_engine *engine, tn_file_type_visit *visit, void *context, tn_error *err) {
    tn_mixes mixes = {0};
    TN_TRY(tn_mixes_read(engine, &mixes, err));
    visit_written(engine, &mixes, visit, context);
    tn_mixes_free(&mixes);
    return TN_OK;
}

struct name_list {
    char text[512];
    size_t size;
};

static void append_name(void *context, const char *name, const char *base) {
    struct name_list *list = context;
    (void)base;
    int n = snprintf(list->text + list->size, sizeof list->text - list->size, ", %s", name);
    list->size += n > 0 && (size_t)n < sizeof list->text - list->size ? (size_t)n : 0;
}

static int32_t unknown_file_type(const tn_quantize_plan *plan, const char *type, tn_error *err) {
    struct name_list list = {.text = "COPY", .size = 4};
    visit_written(plan->engine, &plan->mixes, append_name, &list);
    TN_FAIL(err, TN_E_INPUT, "no file type is called %.40s; there are: %s%s", type, list.text,
            plan->mixes.count ? "" : " (no mix file is installed)");
}

int32_t tn_plan_find_mix(tn_quantize_plan *plan, const char *type, tn_error *err) {
    if (strcasecmp(type, "COPY") == 0) { return TN_OK; }
    TN_TRY(tn_mixes_read(plan->engine, &plan->mixes, err));
    plan->mix = tn_mixes_find(&plan->mixes, type, &plan->file_type);
    return plan->mix ? TN_OK : unknown_file_type(plan, type, err);
}

/* ---- types --------------------------------------------------------------------------------------------- */

int32_t tn_plan_block(void *context, const char *type, uint32_t *out, tn_error *err) {
    const tn_quantize_plan *plan = context;
    const tn_gguf_types *types = tn_engine_types(plan->engine);
    int64_t number = tn_engine_type_number(plan->engine, type);
    uint32_t bytes;
    if (number < 0) {
        TN_FAIL(err, TN_E_FORMAT_UNKNOWN, "no installed plugin knows the tensor type %s", type);
    }
    if (types->find(types->context, (uint32_t)number, out, &bytes)) { return TN_OK; }
    tn_format_use use; /* says why not */
    int32_t code = tn_engine_format(plan->engine, (uint32_t)number, &use, err);
    return code != TN_OK
               ? code
               : tn_fail(err, TN_E_FORMAT_UNKNOWN, "no installed plugin is for tensor type %s", type);
}

/* The registry's spelling of a type that was asked for as `option`; NULL stays NULL. */
static int32_t find_type(const tn_quantize_plan *plan, const char *option, const char *name, const char **out,
                         tn_error *err) {
    *out = NULL;
    if (!name) { return TN_OK; }
    int64_t number = tn_engine_type_number(plan->engine, name);
    if (number < 0) { TN_FAIL(err, TN_E_INPUT, "%s: no tensor type is called %.40s", option, name); }
    *out = tn_engine_type_name(plan->engine, (uint32_t)number);
    return TN_OK;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static int32_t add_rule(tn_quantize_plan *plan, const tn_type_rule *rule, tn_error *err) {
    tn_named_type *named = &plan->rules[plan->rule_count];
    char label[160], why[128];
    snprintf(label, sizeof label, "tensors like \"%.100s\"", rule->pattern);
    TN_TRY(find_type(plan, label, rule->type ? rule->type : "", &named->type, err));
    int failed = regcomp(&named->regex, rule->pattern, REG_EXTENDED | REG_NOSUB);
    if (failed) {
        regerror(failed, &named->regex, why, sizeof why);
        TN_FAIL(err, TN_E_INPUT, "\"%.200s\" is no POSIX extended regular expression: %s", rule->pattern,
                why);
    }
    named->pattern = rule->pattern;
    plan->rule_count++;
    return TN_OK;
}

int32_t tn_plan_read_rules(tn_quantize_plan *plan, const tn_quantize_options *options, tn_error *err) {
    plan->rules = calloc((size_t)options->rule_count + 1, sizeof *plan->rules);
    if (!plan->rules) { TN_FAIL(err, TN_E_MEMORY, "no memory for %u rules", options->rule_count); }
    for (uint32_t i = 0; i < options->rule_count; i++) { TN_TRY(add_rule(plan, &options->rules[i], err)); }
    TN_TRY(find_type(plan, "output", options->output_type, &plan->output_type, err));
    return find_type(plan, "embedding", options->embedding_type, &plan->embedding_type, err);
}

void tn_plan_free_rules(tn_quantize_plan *plan) {
    for (uint32_t i = 0; i < plan->rule_count; i++) { regfree(&plan->rules[i].regex); }
    free(plan->rules);
}

/* What names a tensor comes before what names its kind. An embedding that is the output too is first of all an
 * embedding. */
const char *tn_plan_override(void *context, const tn_gguf_tensor *tensor, const tn_mix_pick *pick) {
    tn_quantize_plan *plan = context;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        if (regexec(&plan->rules[i].regex, tensor->name, 0, NULL, 0) == 0) {
            plan->rules[i].used = 1;
            return plan->rules[i].type;
        }
    }
    if (pick->role == TN_MIX_EMBEDDING && plan->embedding_type) {
        plan->embedding_used = 1;
        return plan->embedding_type;
    }
    if (pick->is_output && plan->output_type) { plan->output_used = 1; }
    return pick->is_output ? plan->output_type : NULL;
}

static void warn_of_kind(const tn_quantize_plan *plan, const char *kind, const char *type, int used) {
    if (!type || used) { return; }
    tn_engine_log(
        plan->engine, TN_LOG_WARN,
        "the type %s for the %s is of no use: there is no such tensor that is converted, or another "
        "choice for it came first",
        type, kind);
}

void tn_plan_warn_of_rules(const tn_quantize_plan *plan) {
    warn_of_kind(plan, "output", plan->output_type, plan->output_used);
    warn_of_kind(plan, "token embedding", plan->embedding_type, plan->embedding_used);
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i].used) { continue; }
        tn_engine_log(
            plan->engine, TN_LOG_WARN,
            "\"%.200s\" = %s is of no use: it matches no tensor that is converted, or others came first",
            plan->rules[i].pattern, plan->rules[i].type);
    }
}
