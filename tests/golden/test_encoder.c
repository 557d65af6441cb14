/*
 * test_encoder.c - encoders and embeddings, through libtenon as a program would use it: hidden states, pooled vectors
 * and scores against those that were computed in float64 by another program (tests/data/golden); a text in company
 * against the same text alone, bit for bit. On the reference and on the cpu backend with each instruction set.
 */
#include "golden_file.h"
#include "golden_place.h"
#include "tenon/embedding.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>

static const char *const models[] = {"bert-mean", "bert-cls", "bert-rerank", "nomic-bert"};
#define MODELS (sizeof models / sizeof *models)

static golden_place all_places[MODELS * GOLDEN_PLACES];

static struct criterion_test_params every_place(void) {
    for (size_t i = 0; i < MODELS * GOLDEN_PLACES; i++) {
        all_places[i] = golden_places[i % GOLDEN_PLACES];
        snprintf(all_places[i].name, sizeof all_places[i].name, "%s", models[i / GOLDEN_PLACES]);
    }
    return cr_make_param_array(golden_place, all_places, MODELS * GOLDEN_PLACES);
}

/* ---- loading */

static tn_model *load(tn_engine *engine, const char *path, const char *backend, uint32_t purpose) {
    tn_error err = TN_ERROR_INIT;
    tn_model *model = NULL;
    tn_model_options options = {
        .backend = backend, .cache_type = "F32", .no_tokenizer = 1, .purpose = purpose};
    int32_t code = tn_model_load(engine, path, &options, &model, NULL, &err);
    cr_assert(code == TN_OK, "%s: %s", path, err.text);
    return model;
}

static tn_embedder *embedder_for(tn_model *model, tn_embedder_options options) {
    tn_error err = TN_ERROR_INIT;
    tn_embedder *embedder = NULL;
    int32_t code = tn_embedder_create(model, &options, &embedder, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    return embedder;
}

static void run(tn_embedder *embedder, const tn_embed_text *texts, uint64_t count) {
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_embedder_run(embedder, texts, count, &err);
    cr_assert(code == TN_OK, "%s", err.text);
}

/* ---- against goldens */

static void near(const char *what, const float *got, const float *wanted, uint32_t count, double tolerance) {
    double worst = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - wanted[i]);
        if (!(error <= worst)) {
            worst = error;
            at = i;
        }
    }
    cr_assert(worst <= tolerance, "%s: number %u is %.9g, expected %.9g: off by %.3g, at most %.3g", what, at,
              got[at], wanted[at], worst, tolerance);
}

/* The prompt's vectors by one way of pooling. */
static float *embed_prompt(tn_engine *engine, const golden *g, const char *backend, uint32_t purpose,
                           uint32_t pooling) {
    tn_model *model = load(engine, g->model, backend, purpose);
    tn_embedder *embedder = embedder_for(model, (tn_embedder_options){.pooling = pooling});
    uint32_t rows = pooling == TN_POOLING_NONE ? g->rows : 1;
    float *out = malloc((size_t)rows * tn_model_output_width(model) * sizeof *out);
    run(embedder, &(tn_embed_text){.ids = g->prompt, .count = g->prompt_count, .out = out}, 1);
    tn_embedder_free(embedder);
    tn_model_close(model);
    return out;
}

ParameterizedTestParameters(encoder, golden_values) {
    return every_place();
}

ParameterizedTest(golden_place *p, encoder, golden_values) {
    golden g;
    golden_open(&g, p->name);
    tn_engine *engine = golden_engine_if(p->isa, p->threads);
    float *hidden = embed_prompt(engine, &g, p->backend, TN_PURPOSE_EMBED, TN_POOLING_NONE);
    near("hidden states", hidden, g.logits, g.rows * g.width, g.tolerance_f32);
    bool ranks = strcmp(p->name, "bert-rerank") == 0;
    float *pooled =
        embed_prompt(engine, &g, p->backend, ranks ? TN_PURPOSE_RANK : TN_PURPOSE_EMBED, TN_POOLING_OF_FILE);
    near("pooled", pooled, g.pooled, g.pooled_width, g.tolerance_f32);
    free(pooled);
    pooled = embed_prompt(engine, &g, p->backend, TN_PURPOSE_EMBED, TN_POOLING_LAST);
    cr_assert(memcmp(pooled, hidden + (size_t)(g.rows - 1) * g.width, g.width * sizeof *pooled) == 0,
              "the last row differs");
    free(hidden);
    free(pooled);
    tn_engine_destroy(engine);
    golden_close(&g);
}

/* ---- in company */

enum { COMPANY = 24 };

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Texts of 1 to `most` tokens, most of them short, each with room for its rows. */
static void make_texts(const tn_model *model, uint32_t most, tn_embed_text *texts) {
    uint32_t state = 7, vocab = tn_model_vocab_size(model), width = tn_model_output_width(model);
    for (uint32_t i = 0; i < COMPANY; i++) {
        uint32_t count = 1 + next_random(&state) % (i % 5 ? most / 6 : most);
        if (i == 0) { count = most; }
        int32_t *ids = malloc(count * sizeof *ids);
        for (uint32_t k = 0; k < count; k++) { ids[k] = (int32_t)(next_random(&state) % vocab); }
        texts[i] =
            (tn_embed_text){.ids = ids, .count = count, .out = malloc((size_t)count * width * sizeof(float))};
    }
}

static void free_texts(tn_embed_text *texts) {
    for (uint32_t i = 0; i < COMPANY; i++) {
        free((int32_t *)texts[i].ids);
        free(texts[i].out);
    }
}

/* All at once, by several sizes of steps, equals each alone, in every bit. */
static void check_company(tn_model *model, uint32_t pooling, const char *what) {
    static const tn_embedder_options sizes[] = {{0, 0, 0}, {0, 1, 3}};
    tn_embed_text texts[COMPANY];
    uint32_t width = tn_model_output_width(model), most = tn_model_context(model);
    float *wanted[COMPANY];
    make_texts(model, most < 100 ? most : 100, texts);
    tn_embedder *alone = embedder_for(model, (tn_embedder_options){.pooling = pooling, .texts = 1});
    for (uint32_t i = 0; i < COMPANY; i++) {
        size_t size = (size_t)(pooling == TN_POOLING_NONE ? texts[i].count : 1) * width * sizeof(float);
        run(alone, &texts[i], 1);
        wanted[i] = malloc(size);
        memcpy(wanted[i], texts[i].out, size);
    }
    tn_embedder_free(alone);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        tn_embedder_options options = sizes[s];
        options.pooling = pooling;
        tn_embedder *embedder = embedder_for(model, options);
        run(embedder, texts, COMPANY);
        for (uint32_t i = 0; i < COMPANY; i++) {
            size_t size = (size_t)(pooling == TN_POOLING_NONE ? texts[i].count : 1) * width * sizeof(float);
            cr_assert(memcmp(wanted[i], texts[i].out, size) == 0,
                      "%s, steps of %u rows: text %u of %u tokens differs", what, options.step_rows, i,
                      texts[i].count);
        }
        tn_embedder_free(embedder);
    }
    for (uint32_t i = 0; i < COMPANY; i++) { free(wanted[i]); }
    free_texts(texts);
}

ParameterizedTestParameters(encoder, company_changes_nothing) {
    return every_place();
}

ParameterizedTest(golden_place *p, encoder, company_changes_nothing) {
    golden g;
    golden_open(&g, p->name);
    tn_engine *engine = golden_engine_if(p->isa, p->threads);
    tn_model *model = load(engine, g.model, p->backend, TN_PURPOSE_EMBED);
    check_company(model, TN_POOLING_MEAN, "mean");
    check_company(model, TN_POOLING_NONE, "none");
    check_company(model, TN_POOLING_LAST, "last");
    tn_model_close(model);
    if (strcmp(p->name, "bert-rerank") == 0) {
        model = load(engine, g.model, p->backend, TN_PURPOSE_RANK);
        check_company(model, TN_POOLING_RANK, "rank");
        tn_model_close(model);
    }
    tn_engine_destroy(engine);
    golden_close(&g);
}

/* ---- decoders */

/* The output matrix times the embedding of a decoder is its row of logits. */
Test(encoder, a_decoder_gives_what_its_output_matrix_reads) {
    golden g;
    golden_open(&g, "llama");
    tn_engine *engine = tn_test_engine("", 2);
    tn_model *model = load(engine, g.model, "cpu", TN_PURPOSE_EMBED);
    tn_embedder *embedder = embedder_for(model, (tn_embedder_options){.pooling = TN_POOLING_OF_FILE});
    cr_assert(tn_embedder_pooling(embedder) == TN_POOLING_LAST);
    uint32_t width = tn_model_output_width(model);
    float *vector = malloc(width * sizeof *vector), *logits = malloc(g.width * sizeof *logits);
    run(embedder, &(tn_embed_text){.ids = g.prompt, .count = g.prompt_count, .out = vector}, 1);
    const tn_gguf_tensor *output = tn_gguf_tensor_find(tn_model_file(model), "output.weight");
    cr_assert(output && output->type == 0 && output->size == (uint64_t)width * g.width * sizeof(float));
    for (uint32_t i = 0; i < g.width; i++) {
        double sum = 0;
        for (uint32_t c = 0; c < width; c++) {
            float weight;
            memcpy(&weight, (const char *)output->data + ((size_t)i * width + c) * sizeof weight,
                   sizeof weight);
            sum += (double)weight * vector[c];
        }
        logits[i] = (float)sum;
    }
    near("logits", logits, g.logits + (size_t)(g.rows - 1) * g.width, g.width, g.tolerance_f32);
    tn_embedder_free(embedder);
    check_company(model, TN_POOLING_LAST, "decoder, last");
    check_company(model, TN_POOLING_MEAN, "decoder, mean");
    free(vector);
    free(logits);
    tn_model_close(model);
    tn_engine_destroy(engine);
    golden_close(&g);
}

/* ---- faults */

static void expect_fault(int32_t code, const tn_error *err, int32_t wanted, const char *words) {
    cr_assert(code == wanted && err->code == wanted, "code %d, its error says %d; expected %d (%s)", code,
              err->code, wanted, err->text);
    cr_assert(strstr(err->text, words), "\"%s\" lacks \"%s\"", err->text, words);
}

Test(encoder, texts_that_cannot_be_embedded) {
    golden g;
    golden_open(&g, "bert-mean");
    tn_engine *engine = tn_test_engine("", 1);
    tn_model *model = load(engine, g.model, "cpu", TN_PURPOSE_EMBED);
    tn_embedder *embedder = embedder_for(model, (tn_embedder_options){.pooling = TN_POOLING_OF_FILE});
    float out[3][64];
    int32_t ids[129] = {0};
    tn_embed_text texts[3] = {{ids, 3, out[0]}, {ids, 129, out[1]}, {ids, 5, out[2]}};
    tn_error err = TN_ERROR_INIT;
    expect_fault(tn_embedder_run(embedder, texts, 3, &err), &err, TN_E_CONTEXT, "text 1 has 129 tokens");
    texts[1].count = 0;
    expect_fault(tn_embedder_run(embedder, texts, 3, &err), &err, TN_E_INPUT, "text 1 has no tokens");
    texts[1].count = 128;
    ids[100] = -1;
    expect_fault(tn_embedder_run(embedder, texts, 3, &err), &err, TN_E_INPUT, "id -1");
    ids[100] = 0; /* and after a failure it goes on */
    run(embedder, texts, 3);
    tn_session_cancel(tn_embedder_session(embedder));
    expect_fault(tn_embedder_run(embedder, texts, 3, &err), &err, TN_E_CANCELLED, "cancelled");
    run(embedder, texts, 3);
    tn_embedder_free(embedder);
    tn_model_close(model);
    tn_engine_destroy(engine);
    golden_close(&g);
}

Test(encoder, a_purpose_that_a_model_does_not_serve) {
    static const struct {
        const char *name;
        uint32_t purpose;
        int32_t code;
        const char *words;
    } cases[] = {{"bert-mean", TN_PURPOSE_RANK, TN_E_TENSOR_MISSING, "cls.output.weight"},
                 {"nomic-bert", TN_PURPOSE_RANK, TN_E_TENSOR_MISSING, "cls.output.weight"},
                 {"llama", TN_PURPOSE_RANK, TN_E_TENSOR_MISSING, "cls.output.weight"},
                 {"bert-mean", TN_PURPOSE_GENERATE, TN_E_PARAM_UNSUPPORTED, "encoder"}};
    tn_engine *engine = tn_test_engine("", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        golden g;
        golden_open(&g, cases[i].name);
        tn_error err = TN_ERROR_INIT;
        tn_model *model = NULL;
        tn_model_options options = {.no_tokenizer = 1, .purpose = cases[i].purpose};
        int32_t code = tn_model_load(engine, g.model, &options, &model, NULL, &err);
        expect_fault(code, &err, cases[i].code, cases[i].words);
        golden_close(&g);
    }
    tn_engine_destroy(engine);
}

Test(encoder, pooling_and_purpose_must_agree) {
    golden g;
    golden_open(&g, "bert-rerank");
    tn_engine *engine = tn_test_engine("", 1);
    for (uint32_t purpose = TN_PURPOSE_EMBED; purpose <= TN_PURPOSE_RANK; purpose++) {
        bool ranks = purpose == TN_PURPOSE_RANK;
        tn_error err = TN_ERROR_INIT;
        tn_model *model = load(engine, g.model, "cpu", purpose);
        tn_embedder *embedder;
        tn_embedder_options wrong = {.pooling = ranks ? TN_POOLING_MEAN : TN_POOLING_RANK};
        int32_t code = tn_embedder_create(model, &wrong, &embedder, &err);
        expect_fault(code, &err, TN_E_INPUT, ranks ? "TN_PURPOSE_EMBED" : "TN_PURPOSE_RANK");
        wrong.pooling = 9;
        expect_fault(tn_embedder_create(model, &wrong, &embedder, &err), &err, TN_E_INPUT, "pooling is 9");
        tn_model_close(model);
    }
    tn_engine_destroy(engine);
    golden_close(&g);
}
