/*
 * cmd_trace.c - tenon trace: what every value of the graph holds, or all numbers of one. Who writes an architecture
 * compares with another program here, from the top, until the first difference.
 */
#include "commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_ROWS = 512 };

/* One value, while it goes by. */
struct seen {
    tn_model_value value;
    char name[300];
    uint64_t rows, count, nan;
    double sum, largest; /* largest: of the greatest magnitude */
};

struct trace {
    const struct options *options;
    tn_model *model;
    struct seen *values; /* in the order of the graph */
    uint32_t value_count;
    tn_capture *captures;
    uint32_t capture_count;
    struct array_file *file; /* of --op */
    int status;              /* of writing to it */
};

/* ---- what goes by ------------------------------------------------------------------------------------ */

static void take(void *context, uint32_t number, uint32_t row, const float *data, uint32_t width) {
    struct trace *trace = context;
    struct seen *seen = &trace->values[number - 1];
    (void)row;
    seen->rows++;
    seen->count += width;
    for (uint32_t i = 0; i < width; i++) {
        if (isnan(data[i])) {
            seen->nan++;
            continue;
        }
        seen->sum += data[i];
        if (fabs((double)data[i]) > fabs(seen->largest)) { seen->largest = data[i]; }
    }
}

/* Of --op: also the numbers themselves. */
static void take_all(void *context, uint32_t number, uint32_t row, const float *data, uint32_t width) {
    struct trace *trace = context;
    take(context, number, row, data, width);
    if (trace->file) {
        if (trace->status == EXIT_DONE) { trace->status = array_file_write(trace->file, data, 1); }
        return;
    }
    for (uint32_t i = 0; i < width; i++) { printf("%s%.9g", i ? " " : "", (double)data[i]); }
    putchar('\n');
}

/* ---- what to watch ----------------------------------------------------------------------------------- */

/* Results of a split are called NAME:0, NAME:1, ... */
static int describe(struct trace *trace) {
    tn_error err = TN_ERROR_INIT;
    trace->value_count = tn_model_value_count(trace->model);
    trace->values = calloc(trace->value_count, sizeof *trace->values);
    trace->captures = calloc(trace->value_count, sizeof *trace->captures);
    if (!trace->values || !trace->captures) {
        tn_fail(&err, TN_E_MEMORY, "no memory for %" PRIu32 " values", trace->value_count);
        return report_error(&err);
    }
    for (uint32_t i = 0; i < trace->value_count; i++) {
        struct seen *seen = &trace->values[i];
        if (tn_model_value_at(trace->model, i + 1, &seen->value, &err) != TN_OK) {
            return report_error(&err);
        }
        if (seen->value.parts > 1) {
            snprintf(seen->name, sizeof seen->name, "%.256s:%" PRIu32, seen->value.name, seen->value.part);
        } else {
            snprintf(seen->name, sizeof seen->name, "%.256s", seen->value.name);
        }
    }
    return EXIT_DONE;
}

static void watch(struct trace *trace, uint32_t i,
                  void (*taker)(void *, uint32_t, uint32_t, const float *, uint32_t)) {
    trace->captures[trace->capture_count++] =
        (tn_capture){.struct_size = sizeof(tn_capture), .value = i + 1, .context = trace, .take = taker};
}

/* The value that --op names; value_count if there is none. */
static uint32_t find(const struct trace *trace, const char *name) {
    uint32_t i = 0;
    while (i < trace->value_count && strcmp(trace->values[i].name, name) != 0) { i++; }
    return i;
}

static int choose(struct trace *trace) {
    const struct options *options = trace->options;
    if (!options->op) {
        for (uint32_t i = 0; i < trace->value_count; i++) {
            if (trace->values[i].value.kind == TN_VALUE_FLOAT) { watch(trace, i, take); }
        }
        return EXIT_DONE;
    }
    uint32_t i = find(trace, options->op);
    if (i == trace->value_count) {
        return usage_error("trace", "--op %s: no value has that name (without --op all are listed)",
                           options->op);
    }
    if (trace->values[i].value.kind != TN_VALUE_FLOAT) {
        return usage_error("trace", "--op %s: a choice of experts, not numbers", options->op);
    }
    watch(trace, i, take_all);
    return options->out ? array_file_create(options, trace->values[i].value.width, &trace->file) : EXIT_DONE;
}

/* ---- the run ----------------------------------------------------------------------------------------- */

static int run_tokens(struct trace *trace, const int32_t *ids, uint64_t count) {
    tn_session *session = NULL;
    tn_error err = TN_ERROR_INIT;
    if (count > tn_model_context(trace->model)) {
        return usage_error("trace", "%" PRIu64 " tokens, the context holds %" PRIu32 " (see -c)", count,
                           tn_model_context(trace->model));
    }
    bool encoder = tn_model_facts(trace->model)->kind == TN_ARCH_ENCODER; /* its texts lie whole in a step */
    tn_session_options wanted = {.step_rows = encoder || count < STEP_ROWS ? (uint32_t)count : STEP_ROWS,
                                 .captures = trace->captures,
                                 .capture_count = trace->capture_count};
    tn_seq *sequence = NULL;
    float *out = malloc((size_t)count * tn_model_output_width(trace->model) * sizeof *out);
    int32_t code =
        out ? TN_OK : tn_fail(&err, TN_E_MEMORY, "no memory for the results of %" PRIu64 " tokens", count);
    if (code == TN_OK) { code = tn_session_create(trace->model, &wanted, &session, &err); }
    if (code == TN_OK) { code = tn_seq_create(session, &sequence, &err); }
    if (code == TN_OK) {
        interrupt_session(session);
        tn_feed feed = {sequence, ids, (uint32_t)count, TN_WANT_ALL, out, NULL};
        code = tn_session_run(session, &feed, 1, &err);
        interrupt_session(NULL);
    }
    tn_session_destroy(session);
    free(out);
    if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
    return code == TN_OK ? trace->status : report_error(&err);
}

/* ---- the list ---------------------------------------------------------------------------------------- */

static double mean(const struct seen *seen) {
    uint64_t numbers = seen->count - seen->nan;
    return numbers ? seen->sum / (double)numbers : 0;
}

static void report_list(const struct trace *trace) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < trace->value_count; i++) {
        const struct seen *seen = &trace->values[i];
        json_t *row = json_object();
        json_object_set_new(row, "name", text_json(seen->name, strlen(seen->name)));
        json_object_set_new(row, "op", json_string(seen->value.op));
        json_object_set_new(row, "width", json_integer(seen->value.width));
        if (seen->value.kind == TN_VALUE_FLOAT) {
            json_object_set_new(row, "rows", json_integer((json_int_t)seen->rows));
            json_object_set_new(row, "mean", json_real(mean(seen)));
            json_object_set_new(row, "largest", json_real(seen->largest));
            json_object_set_new(row, "nan", json_integer((json_int_t)seen->nan));
        }
        json_array_append_new(list, row);
    }
    json_t *report = json_object();
    json_object_set_new(report, "values", list);
    finish_report(trace->options, report);
}

static void print_list(const struct trace *trace) {
    printf("%-36s %-8s %13s %13s %13s %6s\n", "value", "op", "shape", "mean", "largest", "NaN");
    for (uint32_t i = 0; i < trace->value_count; i++) {
        const struct seen *seen = &trace->values[i];
        char shape[48];
        print_clean(seen->name, stdout);
        for (size_t pad = strlen(seen->name); pad < 36; pad++) { putchar(' '); }
        if (seen->value.kind != TN_VALUE_FLOAT) {
            printf(" %-8s  a choice of %" PRIu32 " experts a row\n", seen->value.op, seen->value.width);
            continue;
        }
        snprintf(shape, sizeof shape, "%" PRIu64 "x%" PRIu32, seen->rows, seen->value.width);
        printf(" %-8s %13s %13.6g %13.6g %6" PRIu64 "\n", seen->value.op, shape, mean(seen), seen->largest,
               seen->nan);
    }
}

static int finish(struct trace *trace) {
    if (trace->file) {
        int status = array_file_finish(trace->file);
        trace->file = NULL;
        return status;
    }
    if (trace->options->op) { return EXIT_DONE; }
    if (trace->options->json) {
        report_list(trace);
    } else {
        print_list(trace);
    }
    return EXIT_DONE;
}

int cmd_trace(struct options *options) {
    struct trace trace = {.options = options};
    tn_engine *engine = NULL;
    int32_t *ids = NULL;
    uint64_t count = 0;
    if (!options->ids == !options->prompt) { return usage_error("trace", "give either --ids or -p"); }
    if (options->out && !options->op) { return usage_error("trace", "-o goes with --op"); }
    if (options->json && options->op) {
        return usage_error("trace", "--json lists all values, without --op");
    }
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = load_model(engine, options, options->prompt != NULL, &trace.model); }
    if (status == EXIT_DONE) { status = describe(&trace); }
    if (status == EXIT_DONE) { status = read_tokens(options, trace.model, &ids, &count); }
    if (status == EXIT_DONE) { status = choose(&trace); }
    if (status == EXIT_DONE) { status = run_tokens(&trace, ids, count); }
    if (status == EXIT_DONE) { status = finish(&trace); }
    array_file_abandon(trace.file);
    free(trace.captures);
    free(trace.values);
    free(ids);
    tn_model_close(trace.model);
    tn_engine_destroy(engine);
    return status;
}
