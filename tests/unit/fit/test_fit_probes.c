/* Fit of what only the probe plugins have: companions of a format, learned positions, a model without
 * tokenizer. */
#include "fit_rig.h"

#include <criterion/criterion.h>
#include <string.h>

static const tn_model_options reference = {.backend = "reference"};

static void expect(const rig_probe *probe, const tn_model_options *options, int32_t code, const char *words) {
    rig_result result;
    rig_fit(rig_make_probe(probe), options, &result);
    cr_expect_eq(tn_fit_code(result.fit), code, "%s, expected %s:\n%s", tn_code_text(tn_fit_code(result.fit)),
                 tn_code_text(code), result.text);
    cr_expect(strstr(result.text, words), "no \"%s\" in:\n%s", words, result.text);
    cr_expect_leq(tn_fit_total(result.fit), 1, "%s", result.text);
    rig_end(&result);
}

Test(fit_probes, companions) {
    expect(&(rig_probe){RIG_SCALED, 64, 1, 2, 0}, &reference, TN_OK, "");
    expect(&(rig_probe){RIG_SCALED, 64, 1, 2, 1}, &reference, TN_OK, "");
    expect(&(rig_probe){RIG_SCALED, 64, 0, 0, 0}, &reference, TN_E_TENSOR_MISSING, "turn.scale");
    expect(&(rig_probe){RIG_SCALED, 64, 3, 2, 0}, &reference, TN_E_TENSOR_SHAPE, "turn.scale: [3]");
    expect(&(rig_probe){RIG_HIDDEN, 64, 1, 2, 0}, &reference, TN_E_TENSOR_UNREAD, "turn.scale");
}

Test(fit_probes, companions_count_as_read) {
    rig_result result;
    uint64_t tensors, read;
    rig_fit(rig_make_probe(&(rig_probe){RIG_SCALED, 64, 1, 2, 1}), &reference, &result);
    tn_fit_audit(result.fit, &tensors, &read);
    cr_expect_eq(tensors, 4);
    cr_expect_eq(read, 4, "%d of 4", (int)read);
    cr_expect_str_eq(tn_fit_node_at(result.fit, 1)->types, "PROBE");
    rig_end(&result);
}

/* A step has ids, or frames for the first port. */
Test(fit_probes, frames) {
    expect(&(rig_probe){.graph = RIG_MIXED, .context = 64}, &reference, TN_E_GRAPH, "ids and frames");
    expect(&(rig_probe){.graph = RIG_PORTED, .context = 64}, &reference, TN_E_GRAPH, "frames with port 1");
    expect(&(rig_probe){.graph = RIG_SPELLED, .context = 64}, &reference, TN_E_PARAM_MISSING,
           "probe.ctc.alphabet: absent");
}

/* The table of positions has 64 rows, whatever the file or the user says. */
Test(fit_probes, learned_positions) {
    tn_model_options more = {.backend = "reference", .context = 65},
                     less = {.backend = "reference", .context = 64};
    expect(&(rig_probe){.graph = RIG_POOLED, .context = 64}, &reference, TN_OK, "");
    expect(&(rig_probe){.graph = RIG_POOLED, .context = 64}, &more, TN_E_PARAM_INVALID,
           "at most 64; the model has learned");
    expect(&(rig_probe){.graph = RIG_POOLED, .context = 512}, &reference, TN_E_PARAM_INVALID, "context: 512");
    expect(&(rig_probe){.graph = RIG_POOLED, .context = 512}, &less, TN_OK, "");
}

Test(fit_probes, two_kinds_of_layers_in_the_cache) {
    rig_result result;
    rig_fit(rig_make_probe(&(rig_probe){.graph = RIG_WINDOWED, .context = 256}), &reference, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "%s", result.text);
    cr_expect_eq(tn_fit_kv_bytes(result.fit), 2 * 2 * 16 * 2,
                 "two layers, keys and values, 16 numbers of 2 bytes");
    cr_expect_null(tn_fit_vocab(result.fit));
    rig_end(&result);
}

/* Without a cache the type of one is nobody's business. */
Test(fit_probes, cache_type_without_a_cache) {
    tn_model_options options = {.backend = "reference", .cache_type = "q9_9"};
    expect(&(rig_probe){.graph = RIG_HIDDEN, .context = 64}, &options, TN_OK, "");
    expect(&(rig_probe){.graph = RIG_WINDOWED, .context = 64}, &options, TN_E_FORMAT_UNKNOWN,
           "cache type: q9_9");
}
