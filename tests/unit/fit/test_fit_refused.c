/*
 * Every file under tests/data/refused: refused with a code that belongs to the stage where its fault lies,
 * with the words that its maker asks for, in a few milliseconds; the controls fit.
 */
#include "fit_rig.h"

#include <criterion/criterion.h>
#include <jansson.h>

struct stage {
    const char *name;
    int32_t from, to; /* codes */
};

static const struct stage stages[] = {
    {"container", TN_E_FILE_DAMAGED, TN_E_FILE_SPLIT},
    {"architecture", TN_E_ARCH_UNKNOWN, TN_E_ARCH_REFUSED},
    {"architecture", TN_E_PARAM_MISSING, TN_E_PARAM_MISSING},
    {"tensor type", TN_E_FORMAT_UNKNOWN, TN_E_FORMAT_REFUSED},
    {"tokenizer", TN_E_TOKENIZER_UNKNOWN, TN_E_TOKENIZER_INVALID},
    {"tensors", TN_E_TENSOR_MISSING, TN_E_TENSOR_SHAPE},
    {"hyperparameters", TN_E_PARAM_MISSING, TN_E_PARAM_UNSUPPORTED},
};

static int code_fits(const char *stage, int32_t code) {
    int fits = 0;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        fits |= strcmp(stages[i].name, stage) == 0 && code >= stages[i].from && code <= stages[i].to;
    }
    return fits;
}

static void expect_words(const json_t *entry, const char *file, const char *text) {
    size_t i;
    json_t *word;
    json_array_foreach (json_object_get(entry, "should_mention"), i, word) {
        cr_expect(strstr(text, json_string_value(word)), "%s: no \"%s\" in:\n%s", file,
                  json_string_value(word), text);
    }
}

static void expect_refusal(const json_t *entry, const char *file, const rig_result *result) {
    const char *stage = json_string_value(json_object_get(entry, "stage"));
    int32_t code = tn_fit_code(result->fit);
    cr_expect(code_fits(stage, code), "%s: %s does not fit the stage \"%s\":\n%s", file, tn_code_text(code),
              stage, result->text);
    cr_expect_eq(tn_code_status(code), 3);
    expect_words(entry, file, result->text);
}

static void expect_fit(const char *file, const rig_result *result) {
    uint64_t tensors, read;
    tn_fit_audit(result->fit, &tensors, &read);
    cr_expect_eq(tn_fit_code(result->fit), TN_OK, "%s:\n%s", file, result->text);
    cr_expect(tensors > 0 && tensors == read, "%s: %zu of %zu tensors read", file, (size_t)read,
              (size_t)tensors);
    cr_expect(tn_fit_node_count(result->fit) > 0 && tn_fit_facts(result->fit) && tn_fit_vocab(result->fit));
    for (uint32_t i = 0; i < tn_fit_node_count(result->fit); i++) {
        const tn_fit_node *node = tn_fit_node_at(result->fit, i);
        cr_expect_str_eq(node->plugin, "backend.reference", "%s: %s", file, node->name);
    }
}

Test(fit_refused, every_file) {
    json_error_t fault;
    json_t *list = json_load_file(rig_data("refused/refused.json"), 0, &fault), *entry;
    size_t i;
    cr_assert_not_null(list, "%s", fault.text);
    cr_assert(json_array_size(list) > 40);
    json_array_foreach (list, i, entry) {
        tn_model_options options = {.backend = "reference"};
        rig_result result;
        char name[256];
        const char *file = json_string_value(json_object_get(entry, "file"));
        snprintf(name, sizeof name, "refused/%s", file);
        double before = rig_cpu_ms();
        rig_fit(rig_data(name), &options, &result);
        double took = rig_cpu_ms() - before;
        if (json_is_true(json_object_get(entry, "valid"))) {
            expect_fit(file, &result);
        } else {
            expect_refusal(entry, file, &result);
            if (rig_timed() && i > 2) { cr_expect(took < 50, "%s: refused after %.1f ms", file, took); }
        }
        rig_end(&result);
    }
    json_decref(list);
}

/* The models of the golden tests fit on every backend that is installed, with all of their tensors read. */
Test(fit_refused, fixtures_fit) {
    static const char *const names[] = {
        "llama",      "alias-mistral", "alias-azmx", "llama3-ropefreqs", "llama-bias-linear",
        "llama-yarn", "mistral-gqa"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_model_options options = {.backend = "reference"};
        rig_result result;
        char name[256];
        snprintf(name, sizeof name, "models/%s.gguf", names[i]);
        rig_fit(rig_data(name), &options, &result);
        expect_fit(names[i], &result);
        rig_end(&result);
    }
}
