/*
 * cmd_bench.c - tenon bench: prompt and decode speed, with the names of llama-bench's JSON fields.
 */
#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench {
    const struct options *options;
    tn_engine *engine;
    tn_model *model;
    tn_session *session;
    float *logits;
    int32_t *ids;
};

/* Ids all over the vocabulary; which ones does not matter, only that caches do not see one row all the time.
 */
static void fill_ids(const struct bench *bench, uint32_t count) {
    uint32_t vocab = tn_model_vocab_size(bench->model);
    uint64_t state = 88172645463325252u;
    for (uint32_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bench->ids[i] = (int32_t)((state >> 33) % vocab);
    }
}

/* One run of a test: `count` tokens from an empty cache, at once or one by one. Seconds, or the error. */
static int32_t run_once(const struct bench *bench, uint32_t count, bool one_by_one, double *time,
                        tn_error *err) {
    tn_seq *sequence;
    TN_TRY(tn_seq_create(bench->session, &sequence, err));
    double start = now_seconds();
    int32_t code = TN_OK;
    uint32_t piece = one_by_one ? 1 : count;
    for (uint32_t at = 0; at < count && code == TN_OK; at += piece) {
        tn_feed feed = {.sequence = sequence,
                        .ids = bench->ids + at,
                        .count = piece,
                        .want = TN_WANT_LAST,
                        .out = bench->logits};
        code = tn_session_run(bench->session, &feed, 1, err);
    }
    *time = now_seconds() - start;
    tn_seq_free(sequence);
    return code;
}

static void mean_and_deviation(const double *values, int64_t count, double *mean, double *deviation) {
    double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) { sum += values[i]; }
    *mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) { square += (values[i] - *mean) * (values[i] - *mean); }
    *deviation = count > 1 ? sqrt(square / (double)(count - 1)) : 0;
}

static void set_statistics(json_t *row, const char *unit, const double *values, int64_t count, bool whole) {
    char name[32];
    double mean, deviation;
    mean_and_deviation(values, count, &mean, &deviation);
    json_t *samples = json_array();
    for (int64_t i = 0; i < count; i++) {
        json_array_append_new(samples, whole ? json_integer((json_int_t)values[i]) : json_real(values[i]));
    }
    snprintf(name, sizeof name, "avg_%s", unit);
    json_object_set_new(row, name, whole ? json_integer((json_int_t)mean) : json_real(mean));
    snprintf(name, sizeof name, "stddev_%s", unit);
    json_object_set_new(row, name, whole ? json_integer((json_int_t)deviation) : json_real(deviation));
    snprintf(name, sizeof name, "samples_%s", unit);
    json_object_set_new(row, name, samples);
}

static json_t *cpu_name(void) {
    char line[256], *colon = NULL;
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info)) {
        if (strncmp(line, "model name", 10) == 0 && (colon = strchr(line, ':'))) { break; }
    }
    if (info) { fclose(info); }
    if (!colon) { return json_string("unknown"); }
    line[strcspn(line, "\n")] = 0;
    return text_json(colon + 2, strlen(colon + 2));
}

static json_t *model_name(const struct bench *bench) {
    char text[256], value[128] = "";
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(tn_model_file(bench->model));
    if (meta->find(meta, "general.architecture", &kv) == TN_OK && kv.type == TN_KV_STRING) {
        snprintf(value, sizeof value, "%.*s", (int)kv.count, (const char *)kv.data);
    }
    uint64_t counts[256] = {0};
    uint32_t most = 0;
    for (uint64_t i = 0; i < tn_gguf_tensor_count(tn_model_file(bench->model)); i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(tn_model_file(bench->model), i);
        if (tensor->type < 256) { counts[tensor->type] += tensor->elements; }
    }
    for (uint32_t t = 0; t < 256; t++) { most = counts[t] > counts[most] ? t : most; }
    const char *type = tn_engine_type_name(bench->engine, most);
    snprintf(text, sizeof text, "%s %s", value, type ? type : "?");
    return text_json(text, strlen(text));
}

static json_t *describe(const struct bench *bench, uint32_t prompt, uint32_t gen) {
    const tn_gguf *file = tn_model_file(bench->model);
    uint64_t size = 0, elements = 0;
    for (uint64_t i = 0; i < tn_gguf_tensor_count(file); i++) {
        size += tn_gguf_tensor_at(file, i)->size;
        elements += tn_gguf_tensor_at(file, i)->elements;
    }
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *row = json_object();
    json_object_set_new(row, "build_commit", json_string("tenon"));
    json_object_set_new(row, "build_number", json_integer(0));
    json_object_set_new(row, "tenon_version", json_string(tn_version()));
    json_object_set_new(row, "isa", json_string(tn_engine_isa_text(bench->engine)));
    json_object_set_new(row, "cpu_info", cpu_name());
    json_object_set_new(row, "gpu_info", json_string(""));
    json_object_set_new(row, "backends", json_string(bench->options->backend));
    json_object_set_new(row, "model_filename",
                        text_json(bench->options->model, strlen(bench->options->model)));
    json_object_set_new(row, "model_type", model_name(bench));
    json_object_set_new(row, "model_size", json_integer((json_int_t)size));
    json_object_set_new(row, "model_n_params", json_integer((json_int_t)elements));
    json_object_set_new(row, "n_batch", json_integer(512));
    json_object_set_new(row, "n_ubatch", json_integer(512));
    json_object_set_new(row, "n_threads", json_integer(tn_engine_threads(bench->engine)));
    json_object_set_new(row, "type_k", json_string(bench->options->cache));
    json_object_set_new(row, "type_v", json_string(bench->options->cache));
    json_object_set_new(row, "n_prompt", json_integer(prompt));
    json_object_set_new(row, "n_gen", json_integer(gen));
    json_object_set_new(row, "n_depth", json_integer(0));
    json_object_set_new(row, "test_time", json_string(when));
    return row;
}

/* Runs one test and appends its row. */
static int run_test(const struct bench *bench, uint32_t prompt, uint32_t gen, json_t *out) {
    uint32_t count = prompt + gen;
    int64_t repeats = bench->options->repeats;
    tn_error err = TN_ERROR_INIT;
    if (count == 0) { return EXIT_DONE; }
    double *nanoseconds = calloc((size_t)repeats, sizeof *nanoseconds);
    double *rates = calloc((size_t)repeats, sizeof *rates);
    double time;
    fill_ids(bench, count);
    int32_t code = nanoseconds && rates ? run_once(bench, gen ? 1 : count, gen > 0, &time, &err)
                                        : tn_fail(&err, TN_E_MEMORY, "not enough memory for the samples");
    for (int64_t i = 0; i < repeats && code == TN_OK; i++) {
        code = run_once(bench, count, gen > 0, &time, &err);
        nanoseconds[i] = floor(time * 1e9);
        rates[i] = (double)count / time;
    }
    if (code == TN_OK) {
        json_t *row = describe(bench, prompt, gen);
        set_statistics(row, "ns", nanoseconds, repeats, true);
        set_statistics(row, "ts", rates, repeats, false);
        json_array_append_new(out, row);
    }
    free(nanoseconds);
    free(rates);
    if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static const char *row_text(const json_t *row, const char *key) {
    return json_string_value(json_object_get(row, key));
}

static void print_markdown(const json_t *rows) {
    size_t i;
    const json_t *row;
    puts(
        "| model                          |       size |     params | backend    | threads |            test |"
        "                  t/s |");
    puts(
        "| ------------------------------ | ---------: | ---------: | ---------- | ------: | --------------: |"
        " -------------------: |");
    json_array_foreach (rows, i, row) {
        long long prompt = json_integer_value(json_object_get(row, "n_prompt"));
        long long gen = json_integer_value(json_object_get(row, "n_gen"));
        char test[32], speed[64];
        snprintf(test, sizeof test, "%s%lld", prompt ? "pp" : "tg", prompt ? prompt : gen);
        snprintf(speed, sizeof speed, "%.2f ± %.2f", json_number_value(json_object_get(row, "avg_ts")),
                 json_number_value(json_object_get(row, "stddev_ts")));
        printf("| %-30s | %6.2f MiB | %8.2f M | %-10s | %7lld | %15s | %21s |\n", row_text(row, "model_type"),
               (double)json_integer_value(json_object_get(row, "model_size")) / 1048576.0,
               (double)json_integer_value(json_object_get(row, "model_n_params")) / 1e6,
               row_text(row, "backends"), (long long)json_integer_value(json_object_get(row, "n_threads")),
               test, speed);
    }
}

static int measure(struct bench *bench) {
    const struct options *options = bench->options;
    uint32_t most =
        (uint32_t)(options->prompt_count > options->gen_count ? options->prompt_count : options->gen_count);
    if (most > tn_model_context(bench->model)) {
        return usage_error("bench", "%u tokens, the context holds %u (see -c)", most,
                           tn_model_context(bench->model));
    }
    tn_error err = TN_ERROR_INIT;
    if (tn_session_create(bench->model, NULL, &bench->session, &err) != TN_OK) { return report_error(&err); }
    interrupt_session(bench->session);
    bench->ids = calloc(most ? most : 1, sizeof *bench->ids);
    bench->logits = calloc(tn_model_output_width(bench->model), sizeof *bench->logits);
    if (!bench->ids || !bench->logits) {
        tn_fail(&err, TN_E_MEMORY, "not enough memory");
        return report_error(&err);
    }
    json_t *rows = json_array();
    int status = run_test(bench, (uint32_t)options->prompt_count, 0, rows);
    if (status == EXIT_DONE) { status = run_test(bench, 0, (uint32_t)options->gen_count, rows); }
    if (status == EXIT_DONE && strcmp(options->format, "json") == 0) {
        print_json(rows, stdout);
    } else if (status == EXIT_DONE) {
        print_markdown(rows);
    }
    json_decref(rows);
    return status;
}

int cmd_bench(struct options *options) {
    struct bench bench = {.options = options};
    if (strcmp(options->format, "md") != 0 && strcmp(options->format, "json") != 0) {
        return usage_error("bench", "-o %s: the form is md or json", options->format);
    }
    if (options->prompt_count + options->gen_count == 0) {
        return usage_error("bench", "-p 0 and -n 0 leave nothing to measure");
    }
    int status = open_engine(options, &bench.engine);
    if (status == EXIT_DONE) { status = load_model(bench.engine, options, false, &bench.model); }
    if (status == EXIT_DONE) { status = measure(&bench); }
    interrupt_session(NULL);
    free(bench.ids);
    free(bench.logits);
    tn_session_destroy(bench.session);
    tn_model_close(bench.model);
    tn_engine_destroy(bench.engine);
    return status;
}
