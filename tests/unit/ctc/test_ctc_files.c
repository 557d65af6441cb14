/*
 * test_ctc_files.c - tests/data/ocr/refused: models with one fault each, refused with the code and the words that their
 * maker asks for; and the alphabet of the sound one.
 */
#include "fit_rig.h"
#include "support.h"
#include "tenon/ctc.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void expect_refusal(const char *file, const char *code, char *words) {
    char name[256], *rest = NULL;
    rig_result result;
    snprintf(name, sizeof name, "ocr/refused/%s", file);
    rig_fit(rig_data(name), &(tn_model_options){.backend = "reference"}, &result);
    cr_expect_str_eq(tn_code_text(tn_fit_code(result.fit)), code, "%s: %s, expected %s", file,
                     tn_code_text(tn_fit_code(result.fit)), code);
    for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        cr_expect(strstr(result.text, word), "%s: no \"%s\" in:\n%s", file, word, result.text);
    }
    cr_expect(tn_fit_alphabet(result.fit) || strcmp(code, "ok") != 0, "%s", file);
    rig_end(&result);
}

Test(ctc_files, every_fault) {
    char *list = tn_test_data("ocr/refused/refused.txt"), line[512];
    FILE *file = fopen(list, "r");
    cr_assert(file, "%s", list);
    int count = 0;
    for (; fgets(line, sizeof line, file); count++) {
        char name[128], code[64];
        int words = 0;
        cr_assert(sscanf(line, "%127s %63s%n", name, code, &words) == 2, "%s", line);
        expect_refusal(name, code, line + words);
    }
    cr_assert(count > 25, "%d files", count);
    fclose(file);
    free(list);
}

Test(ctc_files, alphabet) {
    rig_result result;
    rig_fit(rig_data("ocr/refused/sound.gguf"), &(tn_model_options){.backend = "reference"}, &result);
    const tn_alphabet *a = tn_fit_alphabet(result.fit);
    cr_assert(a && a->size == 3 && a->blank == 0 && a->bigram_weight == 0.5);
    cr_expect(a->entries[0].size == 0 && a->entries[2].size == 2 &&
              memcmp(a->entries[2].data, "\xc3\xa9", 2) == 0);
    const tn_facts *facts = tn_fit_facts(result.fit);
    cr_assert(facts && facts->kind == TN_ARCH_RECOGNISER && facts->width == 4 && facts->context == 4096);
    cr_expect(!facts->needs_tokenizer && !tn_fit_vocab(result.fit) && tn_fit_kv_bytes(result.fit) == 0);
    rig_end(&result);
}

/* Each purpose but its own is refused, with what would work. */
Test(ctc_files, purposes) {
    for (uint32_t purpose = TN_PURPOSE_GENERATE; purpose <= TN_PURPOSE_RECOGNISE; purpose++) {
        rig_result result;
        tn_model_options options = {.backend = "reference", .purpose = purpose};
        rig_fit(rig_data("ocr/refused/sound.gguf"), &options, &result);
        int own = purpose == TN_PURPOSE_RECOGNISE;
        cr_expect_eq(tn_fit_code(result.fit), own ? TN_OK : TN_E_PARAM_UNSUPPORTED, "%s", result.text);
        cr_expect(own || strstr(result.text, "tenon ocr"), "%s", result.text);
        rig_end(&result);
    }
}
