/*
 * azmx_ocr.c - azmx-ocr: frames of a line of text to symbols of an alphabet, a linear head read by ctc.
 *
 *     logits = W frame + b, one row a frame
 *
 * docs/arch-azmx-ocr.md defines the file. Core reads what belongs to every ctc output: alphabet, blank, weight of bigrams.
 */
#include "tenon/build.h"
#include "tenon/plugin.h"

typedef struct azmx_ocr {
    uint32_t features, symbols, context;
    tn_matrix output;
    uint32_t bigrams;
} azmx_ocr;

/* A file with other keys of this prefix asks for something else. */
static const char *const keys[] = {"features_length", "context_length", "ctc.alphabet", "ctc.blank_index",
                                   "ctc.bigram_weight"};

/* ---- hyperparameters --------------------------------------------------------------------------------- */

static int is_known(const char *key) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i], key) == 0) { return 1; }
    }
    return 0;
}

static void check_keys(tn_params *params) {
    const tn_meta *meta = params->meta;
    size_t prefix = strlen(params->prefix);
    const char *key;
    for (uint64_t i = 0; (key = meta->key(meta, i)) != NULL; i++) {
        if (strncmp(key, params->prefix, prefix) != 0 || key[prefix] != '.') { continue; }
        if (is_known(key + prefix + 1)) { continue; }
        tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, key + prefix + 1, "a key that is not defined",
                       "features_length, context_length, ctc.alphabet, ctc.blank_index, ctc.bigram_weight");
    }
}

/* Entries of the alphabet: core looks at them. */
static uint32_t read_symbols(tn_params *params) {
    tn_kv kv;
    char found[64];
    if (!tn_param_find(params, "ctc.alphabet", &kv)) {
        tn_param_fault(params, TN_E_PARAM_MISSING, "ctc.alphabet", "absent", "an array of strings");
    } else if (kv.type != TN_KV_ARRAY || kv.element_type != TN_KV_STRING) {
        tn_param_wrong_type(params, "ctc.alphabet", &kv, "an array of strings");
    } else if (kv.count < 2 || kv.count > TN_WIDTH_MAX) {
        snprintf(found, sizeof found, "%" PRIu64 " entries", kv.count);
        tn_param_fault(params, TN_E_PARAM_INVALID, "ctc.alphabet", found,
                       "2 to 16777216: the blank and what can be written");
    } else {
        return (uint32_t)kv.count;
    }
    return 0;
}

static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err) {
    const tn_host *host = self;
    (void)vocab_size;
    if (!TN_HAS(meta, key) || !meta->key) {
        TN_FAIL(err, TN_E_PLUGIN_ABI, "this host does not list the keys of a file");
    }
    azmx_ocr *ocr = host->alloc(host, sizeof *ocr, _Alignof(azmx_ocr));
    if (!ocr) { TN_FAIL(err, TN_E_MEMORY, "no memory for the hyperparameters"); }
    memset(ocr, 0, sizeof *ocr);
    tn_params params = tn_params_begin(host, meta, report, name);
    check_keys(&params);
    ocr->features = tn_param_u32(&params, "features_length", 1, TN_WIDTH_MAX);
    ocr->context = tn_param_context(&params);
    ocr->symbols = read_symbols(&params);
    int32_t code = tn_params_end(&params, err);
    if (code != TN_OK) {
        host->free(host, ocr);
        return code;
    }
    facts->kind = TN_ARCH_RECOGNISER;
    facts->width = ocr->features;
    facts->context = ocr->context;
    *config = ocr;
    return TN_OK;
}

/* ---- tensors and graph ------------------------------------------------------------------------------- */

static int32_t tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    azmx_ocr *ocr = config;
    tn_claimer claimer = tn_claimer_begin(self, claims);
    (void)err;
    ocr->output.weight = tn_claim_tensor(&claimer, "output.weight", 0, ocr->features, ocr->symbols, 0,
                                         "features_length, length of ctc.alphabet");
    ocr->output.bias = tn_claim_vector(&claimer, "output.bias", ocr->symbols, "length of ctc.alphabet");
    ocr->bigrams = tn_claim_tensor(&claimer, "ctc_bigram.weight", TN_CLAIM_OPTIONAL, ocr->symbols,
                                   ocr->symbols, 0, "length of ctc.alphabet, twice");
    return TN_OK;
}

static int32_t build(void *self, const void *config, const tn_build *options, const tn_builder *builder,
                     tn_error *err) {
    const azmx_ocr *ocr = config;
    if (options->purpose != TN_PURPOSE_RECOGNISE) {
        TN_FAIL(
            err, TN_E_PARAM_UNSUPPORTED,
            "it reads characters from frames (tenon ocr): it neither continues texts nor makes vectors of them");
    }
    tn_writer w = tn_writer_begin(self, builder);
    uint32_t x = tn_add_input(&w, "frames", 0, ocr->features);
    x = tn_add_rows(&w, "asked", tn_add_linear(&w, "logits", x, ocr->output));
    tn_add_output(&w, "output", x, ocr->bigrams, TN_OUTPUT_CTC);
    return TN_OK;
}

TN_ARCH_PLUGIN("arch.azmx_ocr", "0.1.0", "Apache-2.0", 0, configure, tensors, build);
