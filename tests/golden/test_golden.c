/*
 * test_golden.c - the fixture models, through libtenon as a program would use it, against logits that were
 * computed in float64 by another program (tests/data/golden). The prompt at once and in pieces; greedy from
 * the cache; caches of f32 and f16; on the reference and on the cpu backend with each instruction set.
 */
#include "golden_file.h"
#include "golden_place.h"
#include "tenon/model.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const char *const models[] = {
    /* the published families: fixtures of tests/data/README.md */
    "llama", "alias-mistral", "alias-azmx", "llama3-ropefreqs", "mistral-gqa", "llama-bias-linear",
    "llama-yarn", "mixtral", "qwen2", "qwen3", "qwen2moe", "qwen3moe", "gemma", "gemma2", "gemma3", "phi3",
    "phi3-longrope", "phi3-longrope.short-context", "phi2", "stablelm", "stablelm-parallel", "gpt2",
    "falcon-7b-style", "falcon-40b-style", "gptneox", "gptneox-sequential", "gpt-oss",
    /* with adapters: tests/tools/fixtures/make_adapters.py */
    "llama-lora", "llama-lora-two", "llama-lora-tokens", "gemma-lora-tied", "mixtral-lora",
    "mixtral-lora-two", "gpt-oss-lora", "smollm3-control", "smollm3-control-layers"};
/* Their relatives: tests/tools/fixtures. */
static const char *const relatives[] = {"arcee",
                                        "baichuan",
                                        "codeshell",
                                        "cohere2",
                                        "command-r",
                                        "command-r-qknorm",
                                        "ernie4_5",
                                        "exaone",
                                        "exaone4",
                                        "exaone4-window",
                                        "glm4",
                                        "granite",
                                        "granitemoe",
                                        "granitemoe-shared",
                                        "hunyuan-dense",
                                        "hunyuan-dense-alpha",
                                        "internlm2",
                                        "minicpm",
                                        "minicpm-defaults",
                                        "nemotron",
                                        "olmo",
                                        "olmo-clamp",
                                        "olmo2",
                                        "olmo2-window",
                                        "olmoe",
                                        "orion",
                                        "qwen",
                                        "seed_oss",
                                        "smollm3",
                                        "starcoder",
                                        "starcoder2",
                                        "xverse"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Under a sanitizer, which slows everything down, the relatives run in two places only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 3 };
#else
enum { STEP = 1 };
#endif

static golden_place all[(COUNT(models) + COUNT(relatives)) * GOLDEN_PLACES];

static size_t add_places(size_t count, const char *model, size_t step) {
    for (size_t i = 0; i < GOLDEN_PLACES; i += step) {
        all[count] = golden_places[i];
        snprintf(all[count++].name, sizeof all->name, "%s", model);
    }
    return count;
}

ParameterizedTestParameters(golden, fixture) {
    size_t count = 0;
    for (size_t i = 0; i < COUNT(models); i++) { count = add_places(count, models[i], 1); }
    for (size_t i = 0; i < COUNT(relatives); i++) { count = add_places(count, relatives[i], STEP); }
    return cr_make_param_array(golden_place, all, count);
}

/* ---- loading */

static tn_model *load(tn_engine *engine, const golden *g, const golden_place *p, const char *cache_type) {
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    tn_model_options options = {.backend = p->backend,
                                .context = g->context,
                                .cache_type = cache_type,
                                .no_tokenizer = 1,
                                .adapters = g->adapters,
                                .adapter_count = g->adapter_count};
    int32_t code = tn_model_load(engine, g->model, &options, &model, NULL, &err);
    if (code == TN_E_PLUGIN_MISSING || code == TN_E_NOT_FOUND) {
        tn_engine_destroy(engine);
        cr_skip_test("%s: %s", p->backend, err.text);
    }
    cr_assert(code == TN_OK, "%s: %s", g->model, err.text);
    cr_assert(tn_model_output_width(model) == g->width);
    return model;
}

/* ---- running */

static void run(tn_session *session, tn_seq *sequence, const int32_t *ids, uint32_t count, uint32_t want,
                float *out) {
    tn_error err = TN_ERROR_INIT;
    tn_feed feed = {.sequence = sequence, .ids = ids, .count = count, .want = want, .out = out};
    int32_t code = tn_session_run(session, &feed, 1, &err);
    cr_assert(code == TN_OK, "%s", err.text);
}

/* Where weights are quantised and activations rounded to 8 bit, what counts is the root mean square. */
static void near_rms(const golden *g, const float *got, const char *where) {
    double sum = 0;
    for (uint32_t i = 0; i < g->rows * g->width; i++) {
        double error = (double)got[i] - g->logits[i];
        sum += error * error;
    }
    double rms = sqrt(sum / (g->rows * g->width));
    cr_assert(rms <= g->tolerance_q8_rms, "%s: off by %.3g (root mean square), at most %.3g", where, rms,
              g->tolerance_q8_rms);
}

static void near(const golden *g, const float *got, double tolerance, const char *where) {
    double worst = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->rows * g->width; i++) {
        double error = fabs((double)got[i] - g->logits[i]);
        if (!(error <= worst)) {
            worst = error;
            at = i;
        }
    }
    cr_assert(worst <= tolerance, "%s: position %u id %u is %.9g, expected %.9g: off by %.3g, at most %.3g",
              where, at / g->width, at % g->width, got[at], g->logits[at], worst, tolerance);
}

/* The whole prompt in one call, then in calls of 1, 7 and the rest, then in steps of at most 5 rows. */
static void check_prompt(tn_model *model, const golden *g, bool rounds, double tolerance) {
    static const struct { uint32_t first, second, step_rows; } cuts[] = {{0, 0, 0}, {1, 7, 0}, {0, 0, 5}};
    size_t size = (size_t)g->rows * g->width * sizeof(float);
    float *whole = malloc(size), *got = malloc(size);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        tn_error err = TN_ERROR_INIT;
        tn_session *session;
        tn_seq *sequence;
        tn_session_options options = {.step_rows = cuts[i].step_rows};
        cr_assert(tn_session_create(model, &options, &session, &err) == TN_OK, "%s", err.text);
        cr_assert(tn_seq_create(session, &sequence, &err) == TN_OK, "%s", err.text);
        uint32_t from = 0, counts[3] = {cuts[i].first, cuts[i].second, 0};
        counts[2] = g->rows - counts[0] - counts[1];
        for (int k = 0; k < 3; from += counts[k++]) {
            if (!counts[k]) { continue; }
            run(session, sequence, g->prompt + from, counts[k], TN_WANT_ALL, got + (size_t)from * g->width);
        }
        cr_assert(tn_seq_length(sequence) == g->rows);
        const char *where = i == 0 ? "at once" : i == 1 ? "1, 7, rest" : "steps of 5";
        if (rounds) {
            near_rms(g, got, where);
        } else {
            near(g, got, tolerance, where);
        }
        if (i == 0) { memcpy(whole, got, size); }
        cr_assert(memcmp(whole, got, size) == 0, "%s and the prompt at once differ in bits", where);
        tn_session_destroy(session);
    }
    free(whole);
    free(got);
}

/* Three sequences in one call: their rows share steps, and each result is that of the sequence alone, to the bit. */
static void check_company(tn_model *model, const golden *g) {
    static const struct { uint32_t from, count; } parts[] = {{0, 40}, {0, 13}, {5, 16}};
    enum { PARTS = sizeof parts / sizeof *parts };
    tn_error err = TN_ERROR_INIT;
    tn_session *session;
    tn_session_options options = {.sequences = PARTS, .step_rows = 24};
    tn_feed feeds[PARTS];
    float *together[PARTS], *alone = malloc((size_t)g->rows * g->width * sizeof *alone);
    cr_assert(tn_session_create(model, &options, &session, &err) == TN_OK, "%s", err.text);
    for (uint32_t i = 0; i < PARTS; i++) {
        uint32_t count = parts[i].from + parts[i].count < g->rows ? parts[i].count : g->rows - parts[i].from;
        together[i] = malloc((size_t)count * g->width * sizeof(float));
        feeds[i] = (tn_feed){
            .ids = g->prompt + parts[i].from, .count = count, .want = TN_WANT_ALL, .out = together[i]};
        cr_assert(tn_seq_create(session, &feeds[i].sequence, &err) == TN_OK, "%s", err.text);
    }
    cr_assert(tn_session_run(session, feeds, PARTS, &err) == TN_OK, "%s", err.text);
    for (uint32_t i = 0; i < PARTS; i++) {
        cr_assert(tn_seq_truncate(feeds[i].sequence, 0, &err) == TN_OK, "%s", err.text);
        run(session, feeds[i].sequence, feeds[i].ids, feeds[i].count, TN_WANT_ALL, alone);
        cr_assert(memcmp(alone, together[i], (size_t)feeds[i].count * g->width * sizeof *alone) == 0,
                  "sequence %u alone and in company differ in bits", i);
        free(together[i]);
    }
    free(alone);
    tn_session_destroy(session);
}

static int32_t best(const float *logits, uint32_t width) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < width; i++) { at = logits[i] > logits[at] ? i : at; }
    return (int32_t)at;
}

static void check_greedy(tn_model *model, const golden *g) {
    tn_error err = TN_ERROR_INIT;
    tn_session *session;
    tn_seq *sequence;
    float *logits = malloc(g->width * sizeof *logits);
    cr_assert(tn_session_create(model, NULL, &session, &err) == TN_OK, "%s", err.text);
    cr_assert(tn_seq_create(session, &sequence, &err) == TN_OK, "%s", err.text);
    run(session, sequence, g->prompt, g->prompt_count, TN_WANT_LAST, logits);
    for (uint32_t i = 0; i < g->greedy_count; i++) {
        int32_t id = best(logits, g->width);
        cr_assert(id == g->greedy[i], "greedy id %u is %d, expected %d", i, id, g->greedy[i]);
        run(session, sequence, &id, 1, TN_WANT_LAST, logits);
    }
    free(logits);
    tn_session_destroy(session);
}

ParameterizedTest(golden_place *p, golden, fixture) {
    static const char *const caches[] = {"F32", "F16"};
    golden g;
    golden_open(&g, p->name);
    tn_engine *engine = golden_engine_if(p->isa, p->threads);
    for (int i = 0; i < 2; i++) {
        tn_model *model = load(engine, &g, p, caches[i]);
        bool rounds = g.tolerance_q8_rms > 0 && strcmp(p->backend, "cpu") == 0;
        check_prompt(model, &g, rounds, i == 0 ? g.tolerance_f32 : g.tolerance_f16);
        check_greedy(model, &g);
        if (i == 0) { check_company(model, &g); }
        tn_model_close(model);
    }
    tn_engine_destroy(engine);
    golden_close(&g);
}
