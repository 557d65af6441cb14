/*
 * cmd_quantize.c - tenon quantize: a model file made from another one, its tensors in other types.
 */
#include "commands.h"

#include "tenon/quantize.h"

#include <stdlib.h>
#include <string.h>

struct quantize {
    const struct options *options;
    tn_engine *engine;
    tn_gguf *file;
    tn_type_rule *rules;
    char *rule_text; /* what the rules point to */
    size_t rule_count;
    tn_quantize_plan *plan;
    double seconds;
};

/* ---- types for some tensors ---------------------------------------------------------------------------- */

static int no_memory(void) {
    fprintf(stderr, "tenon: not enough memory\n");
    return EXIT_FAILED;
}

/* REGEX=TYPE, cut at the last "=", which no name of a type has. */
static int add_rule(struct quantize *run, char *text, const char *from, unsigned line) {
    char *cut = strrchr(text, '=');
    if (!cut || cut == text || !cut[1]) {
        return line ? usage_error("quantize", "%s:%u: \"%s\" is not REGEX=TYPE", from, line, text)
                    : usage_error("quantize", "%s: \"%s\" is not REGEX=TYPE", from, text);
    }
    tn_type_rule *rules = realloc(run->rules, (run->rule_count + 1) * sizeof *rules);
    if (!rules) { return no_memory(); }
    *cut = 0;
    run->rules = rules;
    rules[run->rule_count++] = (tn_type_rule){text, cut + 1};
    return EXIT_DONE;
}

static char *trimmed(char *text) {
    text += strspn(text, " \t\r");
    for (size_t size = strlen(text); size && strchr(" \t\r", text[size - 1]);) { text[--size] = 0; }
    return text;
}

static int add_lines(struct quantize *run, char *text, const char *path) {
    unsigned number = 0;
    int status = EXIT_DONE;
    for (char *next, *line = text; status == EXIT_DONE && line; line = next) {
        next = strchr(line, '\n');
        if (next) { *next++ = 0; }
        number++;
        line = trimmed(line);
        if (*line && *line != '#') { status = add_rule(run, line, path, number); }
    }
    return status;
}

/* The command line's come before the file's. */
static int read_rules(struct quantize *run) {
    const struct options *options = run->options;
    char *text = NULL;
    size_t size = 0, used = 0;
    if (options->tensor_type_file) {
        int status = read_text(options->tensor_type_file, &text, &size);
        if (status != EXIT_DONE) { return status; }
        if (strlen(text) != size) {
            free(text);
            return usage_error("quantize", "%s: a NUL byte", options->tensor_type_file);
        }
    }
    for (uint64_t i = 0; i < options->tensor_types.count; i++) {
        used += strlen(options->tensor_types.at[i]) + 1;
    }
    run->rule_text = malloc(used + size + 1);
    if (!run->rule_text) {
        free(text);
        return no_memory();
    }
    int status = EXIT_DONE;
    char *at = run->rule_text;
    for (uint64_t i = 0; status == EXIT_DONE && i < options->tensor_types.count; i++) {
        size_t length = strlen(options->tensor_types.at[i]) + 1;
        memcpy(at, options->tensor_types.at[i], length);
        status = add_rule(run, at, "--tensor-type", 0);
        at += length;
    }
    if (text) { memcpy(at, text, size + 1); }
    free(text);
    if (status == EXIT_DONE && options->tensor_type_file) {
        status = add_lines(run, at, options->tensor_type_file);
    }
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int on_step(void *context, uint64_t done, uint64_t total) {
    struct progress *progress = context;
    double spent = now_seconds() - progress->start, part = total ? (double)done / (double)total : 1;
    progress_show(progress, done, total, "%3.0f %%  %.1f of %.1f MB, %.1f MB/s", 100 * part,
                  (double)done / 1e6, (double)total / 1e6, spent > 0 ? (double)done / spent / 1e6 : 0);
    return interrupted();
}

static int write_files(struct quantize *run) {
    const struct options *options = run->options;
    tn_error err = TN_ERROR_INIT;
    struct progress progress;
    progress_begin(&progress, options);
    const tn_quantize_progress steps = {on_step, &progress};
    int32_t code = tn_quantize_write(run->plan, options->out, options->force, &steps, &err);
    progress_end(&progress);
    run->seconds = now_seconds() - progress.start;
    if (code == TN_E_CANCELLED && interrupted()) {
        fputs("tenon: interrupted: nothing was written\n", stderr);
        return EXIT_INTERRUPTED;
    }
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

/* ---- report: one object ------------------------------------------------------------------------------- */

static json_t *tensor_json(const tn_quantize_tensor *tensor) {
    json_t *row = json_object();
    set_text(row, "name", tensor->source->name);
    set_text(row, "from", tensor->from);
    set_text(row, "to", tensor->what == TN_QUANTIZE_FOLDED ? "-" : tensor->to);
    set_count(row, "bytes", tensor->size);
    json_object_set_new(row, "importance", json_boolean(tensor->importance));
    if (tensor->wanted) { set_text(row, "rather_than", tensor->wanted); }
    if (*tensor->reason) { set_text(row, "why", tensor->reason); }
    return row;
}

/* The row of `list` whose members are those of `key`, with its count one more; added at the end if it is new. */
static void count_row(json_t *list, json_t *key) {
    size_t i;
    json_t *row;
    json_array_foreach (list, i, row) {
        json_t *rest = json_copy(row);
        json_int_t tensors = json_integer_value(json_object_get(rest, "tensors"));
        json_object_del(rest, "tensors");
        bool same = json_equal(rest, key);
        json_decref(rest);
        if (same) {
            json_object_set_new(row, "tensors", json_integer(tensors + 1));
            json_decref(key);
            return;
        }
    }
    set_count(key, "tensors", 1);
    json_array_append_new(list, key);
}

static json_t *groups_json(const tn_quantize_plan *plan,
                           json_t *(*key_of)(const tn_quantize_tensor *tensor)) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < tn_quantize_count(plan); i++) {
        json_t *key = key_of(tn_quantize_at(plan, i));
        if (key) { count_row(list, key); }
    }
    return list;
}

static json_t *why_key(const tn_quantize_tensor *tensor, uint32_t what) {
    if (tensor->what != what) { return NULL; }
    json_t *key = json_object();
    set_text(key, "why", tensor->reason);
    return key;
}

static json_t *left_key(const tn_quantize_tensor *tensor) {
    return why_key(tensor, TN_QUANTIZE_LEFT);
}

static json_t *folded_key(const tn_quantize_tensor *tensor) {
    return why_key(tensor, TN_QUANTIZE_FOLDED);
}

static json_t *fallback_key(const tn_quantize_tensor *tensor) {
    char why[80];
    if (!tensor->wanted) { return NULL; }
    json_t *key = json_object();
    snprintf(why, sizeof why, "their rows are not a multiple of %u", tensor->wanted_block);
    set_text(key, "type", tensor->to);
    set_text(key, "rather_than", tensor->wanted);
    set_text(key, "why", why);
    return key;
}

static json_t *type_key(const tn_quantize_tensor *tensor) {
    if (tensor->what == TN_QUANTIZE_FOLDED) { return NULL; }
    json_t *key = json_object();
    set_text(key, "type", tensor->to);
    return key;
}

static uint64_t count_what(const tn_quantize_plan *plan, uint32_t what) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < tn_quantize_count(plan); i++) { count += tn_quantize_at(plan, i)->what == what; }
    return count;
}

static void set_importance(json_t *report, const tn_quantize_plan *plan) {
    json_t *lacking = json_array();
    uint64_t used = 0;
    for (uint64_t i = 0; i < tn_quantize_count(plan); i++) {
        const tn_quantize_tensor *tensor = tn_quantize_at(plan, i);
        used += tensor->importance;
        if (tensor->lacks) {
            json_array_append_new(lacking, text_json(tensor->source->name, strlen(tensor->source->name)));
        }
    }
    set_count(report, "importance_entries", tn_quantize_importance(plan));
    set_count(report, "importance_used", used);
    json_object_set_new(report, "without_importance", lacking);
}

/* Bits of a weight, all tensors together. */
static json_t *bits_json(uint64_t bytes, uint64_t weights) {
    return json_real(weights ? 8.0 * (double)bytes / (double)weights : 0);
}

static void set_sizes(json_t *report, const struct quantize *run) {
    const tn_quantize_plan *plan = run->plan;
    uint64_t before = 0, after = 0, weights = 0, bytes = 0;
    for (uint64_t i = 0; i < tn_quantize_count(plan); i++) {
        const tn_quantize_tensor *tensor = tn_quantize_at(plan, i);
        before += tensor->old_size;
        after += tensor->size;
        weights += tensor->what == TN_QUANTIZE_FOLDED ? 0 : tensor->source->elements;
    }
    for (uint32_t i = 0; i < tn_quantize_shards(plan); i++) { bytes += tn_quantize_shard_size(plan, i); }
    set_count(report, "bytes_before", tn_gguf_size(run->file));
    set_count(report, "bytes_after", bytes);
    set_count(report, "tensor_bytes_before", before);
    set_count(report, "tensor_bytes_after", after);
    json_object_set_new(report, "bits_per_weight_before", bits_json(before, weights));
    json_object_set_new(report, "bits_per_weight_after", bits_json(after, weights));
}

static json_t *shards_json(const struct quantize *run) {
    json_t *list = json_array();
    for (uint32_t i = 0; run->options->out && i < tn_quantize_shards(run->plan); i++) {
        char *path = tn_quantize_path(run->plan, run->options->out, i);
        json_t *row = json_object();
        set_text(row, "file", path ? path : run->options->out);
        set_count(row, "bytes", tn_quantize_shard_size(run->plan, i));
        json_array_append_new(list, row);
        free(path);
    }
    return list;
}

static json_t *report_json(const struct quantize *run) {
    const struct options *options = run->options;
    json_t *report = json_object(), *tensors = json_array();
    set_text(report, "input", options->input);
    set_text(report, "type", options->type);
    json_object_set_new(report, "written", json_boolean(!options->dry_run));
    json_object_set_new(report, "files", shards_json(run));
    set_count(report, "tensors", tn_quantize_count(run->plan));
    set_count(report, "converted", count_what(run->plan, TN_QUANTIZE_CONVERTED));
    set_count(report, "left", count_what(run->plan, TN_QUANTIZE_LEFT));
    set_count(report, "folded", count_what(run->plan, TN_QUANTIZE_FOLDED));
    json_object_set_new(report, "types", groups_json(run->plan, type_key));
    json_object_set_new(report, "fallbacks", groups_json(run->plan, fallback_key));
    json_object_set_new(report, "left_because", groups_json(run->plan, left_key));
    json_object_set_new(report, "folded_because", groups_json(run->plan, folded_key));
    if (options->importance) { set_importance(report, run->plan); }
    set_sizes(report, run);
    set_count(report, "buffer_bytes", tn_quantize_memory(run->plan));
    if (!options->dry_run) { json_object_set_new(report, "seconds", json_real(run->seconds)); }
    for (uint64_t i = 0; i < tn_quantize_count(run->plan); i++) {
        json_array_append_new(tensors, tensor_json(tn_quantize_at(run->plan, i)));
    }
    json_object_set_new(report, "each", tensors);
    return report;
}

/* ---- report: sentences from it ------------------------------------------------------------------------ */

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static long long count_of(const json_t *object, const char *key) {
    return (long long)json_integer_value(json_object_get(object, key));
}

static double real_of(const json_t *object, const char *key) {
    return json_real_value(json_object_get(object, key));
}

static void print_types(const json_t *report) {
    size_t i;
    const json_t *row;
    json_array_foreach (json_object_get(report, "types"), i, row) {
        printf("%s%lld %s", i ? ", " : "types: ", count_of(row, "tensors"), text_of(row, "type"));
    }
    putchar('\n');
}

/* "25 are Q5_0 rather than Q4_K: their rows are not a multiple of 256" */
static void print_fallback(const json_t *row) {
    static const char many[] = "their ";
    long long count = count_of(row, "tensors");
    const char *why = text_of(row, "why");
    bool one = count == 1 && strncmp(why, many, sizeof many - 1) == 0;
    printf("  %lld %s %s rather than %s: %s%s\n", count, count == 1 ? "is" : "are", text_of(row, "type"),
           text_of(row, "rather_than"), one ? "its " : "", one ? why + sizeof many - 1 : why);
}

static void print_why(const json_t *rows, const char *what) {
    size_t i;
    const json_t *row;
    json_array_foreach (rows, i, row) {
        long long count = count_of(row, "tensors");
        printf("  %lld %s %s: %s\n", count, count == 1 ? "is" : "are", what, text_of(row, "why"));
    }
}

static void print_groups(const json_t *report) {
    size_t i;
    const json_t *row;
    json_array_foreach (json_object_get(report, "fallbacks"), i, row) { print_fallback(row); }
    print_why(json_object_get(report, "left_because"), "left");
    print_why(json_object_get(report, "folded_because"), "not written");
}

enum { NAMES_SHOWN = 5 };

static void print_importance(const json_t *report) {
    const json_t *lacking = json_object_get(report, "without_importance");
    size_t count = json_array_size(lacking);
    if (!lacking) { return; }
    printf("importance: %lld entries, used for %lld tensors", count_of(report, "importance_entries"),
           count_of(report, "importance_used"));
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        printf("%s", i ? ", " : "; none for ");
        print_clean(json_string_value(json_array_get(lacking, i)), stdout);
    }
    if (count > NAMES_SHOWN) { printf(" and %zu more", count - NAMES_SHOWN); }
    putchar('\n');
}

/* With -v, so not among what is reported. */
static void print_each(const json_t *report) {
    size_t i;
    const json_t *row;
    json_array_foreach (json_object_get(report, "each"), i, row) {
        fprintf(stderr, "  %-6s %-8s %12lld  ", text_of(row, "from"), text_of(row, "to"),
                count_of(row, "bytes"));
        print_clean(text_of(row, "name"), stderr);
        fputc('\n', stderr);
    }
}

static void print_sentences(const json_t *report, bool each) {
    size_t i;
    const json_t *row;
    bool written = json_is_true(json_object_get(report, "written"));
    if (each) { print_each(report); }
    long long converted = count_of(report, "converted");
    if (converted) {
        printf("%lld tensor%s %sconverted, %lld left as they were\n", converted, converted == 1 ? "" : "s",
               written ? "" : "would be ", count_of(report, "left"));
    } else {
        printf("%lld tensors, all as they were\n", count_of(report, "left"));
    }
    if (converted || json_array_size(json_object_get(report, "fallbacks"))) { print_groups(report); }
    print_types(report);
    print_importance(report);
    json_array_foreach (json_object_get(report, "files"), i, row) {
        printf("%s ", written ? "written:" : "would be written:");
        print_clean(text_of(row, "file"), stdout);
        printf(", %lld bytes\n", count_of(row, "bytes"));
    }
    double before = (double)count_of(report, "bytes_before"), after = (double)count_of(report, "bytes_after");
    printf("size: %.0f bytes (%.1f MB) before, %.0f (%.1f MB, %.1f %%) after\n", before, before / 1e6, after,
           after / 1e6, before > 0 ? 100 * after / before : 0);
    printf("bits per weight: %.4f before, %.4f after\n", real_of(report, "bits_per_weight_before"),
           real_of(report, "bits_per_weight_after"));
    if (written) { printf("seconds: %.1f\n", real_of(report, "seconds")); }
}

/* ---- --type help --------------------------------------------------------------------------------------- */

static void list_file_type(void *context, const char *name, const char *base) {
    json_t *row = json_object();
    set_text(row, "name", name);
    set_text(row, "type", base);
    json_array_append_new(context, row);
}

static int list_file_types(const struct options *options) {
    tn_engine *engine = NULL;
    tn_error err = TN_ERROR_INIT;
    json_t *report = json_object(), *rows = json_array();
    list_file_type(rows, "COPY", "as they are");
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE && tn_quantize_file_types(engine, list_file_type, rows, &err) != TN_OK) {
        status = report_error(&err);
    }
    json_object_set_new(report, "file_types", rows);
    if (status == EXIT_DONE && options->json) { print_json(report, stdout); }
    if (status == EXIT_DONE && !options->json) {
        size_t i;
        const json_t *row;
        printf("%-10s %s\n", "FILE TYPE", "MOST TENSORS");
        json_array_foreach (rows, i, row) {
            printf("%-10s %s\n", text_of(row, "name"), text_of(row, "type"));
        }
    }
    json_decref(report);
    tn_engine_destroy(engine);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int check_options(const struct options *options) {
    if (!options->input) { return usage_error("quantize", "which file is to be read? (-i FILE)"); }
    if (!options->type) { return usage_error("quantize", "into which type? (--type TYPE)"); }
    if (!options->out && !options->dry_run) {
        return usage_error("quantize", "where does the new file go? (-o FILE, or --dry-run)");
    }
    if (options->leave_output && options->output_type) {
        return usage_error("quantize", "give either --leave-output or --output-type");
    }
    return EXIT_DONE;
}

static int make_plan(struct quantize *run) {
    const struct options *options = run->options;
    tn_error err = TN_ERROR_INIT;
    if (tn_gguf_open(options->input, tn_engine_types(run->engine), &run->file, &err) != TN_OK) {
        return report_error(&err);
    }
    const tn_quantize_options wanted = {.type = options->type,
                                        .importance = options->importance,
                                        .output_type = options->output_type,
                                        .embedding_type = options->embedding_type,
                                        .rules = run->rules,
                                        .rule_count = (uint32_t)run->rule_count,
                                        .pure = options->pure,
                                        .leave_output = options->leave_output,
                                        .allow_requantize = options->allow_requantize,
                                        .keep_split = options->keep_split,
                                        .split_size = options->split_size,
                                        .split_tensors = (uint32_t)options->split_tensors,
                                        .as_shards = options->as_shards};
    int32_t code = tn_quantize_plan_create(run->engine, run->file, &wanted, &run->plan, &err);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

/* The file with types for some tensors is the only one that the plan does not know. */
static int check_rule_file(const struct quantize *run) {
    const struct options *options = run->options;
    for (uint32_t i = 0; options->tensor_type_file && i < tn_quantize_shards(run->plan); i++) {
        char *path = tn_quantize_path(run->plan, options->out, i);
        if (!path) { return no_memory(); }
        bool same = same_place(path, options->tensor_type_file);
        free(path);
        if (same) { return usage_error("quantize", "--output and --tensor-type-file are the same file"); }
    }
    return EXIT_DONE;
}

/* Also in a dry run, which is to tell what the real one would do. */
static int check_output(const struct quantize *run) {
    const struct options *options = run->options;
    tn_error err = TN_ERROR_INIT;
    if (!options->out) { return EXIT_DONE; }
    int status = check_rule_file(run);
    if (status != EXIT_DONE) { return status; }
    int32_t code = tn_quantize_check(run->plan, options->out, options->force, &err);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static int run_plan(struct options *options) {
    struct quantize run = {.options = options};
    int status = read_rules(&run);
    if (status == EXIT_DONE) { status = open_engine(options, &run.engine); }
    if (status == EXIT_DONE) { status = make_plan(&run); }
    if (status == EXIT_DONE) { status = check_output(&run); }
    if (status == EXIT_DONE && !options->dry_run) { status = write_files(&run); }
    if (status == EXIT_DONE) {
        json_t *report = report_json(&run);
        if (options->json) {
            print_json(report, stdout);
        } else {
            print_sentences(report, options->verbose);
        }
        json_decref(report);
    }
    tn_quantize_plan_free(run.plan);
    tn_gguf_close(run.file);
    tn_engine_destroy(run.engine);
    free(run.rules);
    free(run.rule_text);
    return status;
}

int cmd_quantize(struct options *options) {
    if (options->type && strcmp(options->type, "help") == 0) { return list_file_types(options); }
    int status = check_options(options);
    return status == EXIT_DONE ? run_plan(options) : status;
}

/* ---- split and merge: the same without another type ----------------------------------------------------- */

static int copy_file(const char *command, struct options *options) {
    if (!options->input) { return usage_error(command, "which file is to be read? (-i FILE)"); }
    if (!options->out) { return usage_error(command, "where does the result go? (-o)"); }
    options->type = "COPY";
    return run_plan(options);
}

int cmd_split(struct options *options) {
    if (!options->split_size == !options->split_tensors) {
        return usage_error("split", "give either --max-size or --max-tensors");
    }
    options->as_shards = true;
    return copy_file("split", options);
}

int cmd_merge(struct options *options) {
    return copy_file("merge", options);
}
