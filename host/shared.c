/*
 * shared.c - what every command does: open an engine, load a model, read a text, tell what went wrong.
 */
#include "commands.h"

#include "tenon/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int report_error(const tn_error *err) {
    fputs("tenon: ", stderr);
    print_clean(*err->text ? err->text : tn_code_text(err->code), stderr);
    fputc('\n', stderr);
    return tn_code_status(err->code);
}

static void on_log(void *context, int32_t level, const char *text) {
    const struct options *options = context;
    int32_t least = options->verbose ? TN_LOG_DEBUG : options->quiet ? TN_LOG_ERROR : TN_LOG_WARN;
    if (level < least) { return; }
    fputs("tenon: ", stderr);
    print_clean(text, stderr);
    fputc('\n', stderr);
}

int open_engine(const struct options *options, tn_engine **out) {
    tn_engine_options wanted = {
        .plugin_dirs = options->plugin_dirs.at,
        .plugin_dir_count = (uint32_t)options->plugin_dirs.count,
        .threads = (uint32_t)options->threads,
        .log = on_log,
        .log_context = (void *)options,
    };
    tn_error err = TN_ERROR_INIT;
    if (tn_engine_create(&wanted, out, &err) != TN_OK) { return report_error(&err); }
    if (options->cache && tn_engine_type_number(*out, options->cache) < 0) {
        fprintf(stderr, "tenon: --kv %s: no tensor type is called that (f16 and f32 are)\n", options->cache);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static uint32_t on_progress(void *context, uint64_t done, uint64_t total) {
    struct progress *progress = context; /* or NULL */
    if (progress && now_seconds() - progress->start > 0.5) {
        progress_show(progress, done, total, "reading weights: %3.0f %%", 100 * (double)done / (double)total);
    }
    return interrupted();
}

tn_model_options model_options(const struct options *options) {
    return (tn_model_options){
        .backend = options->backend,
        .context = (uint32_t)options->context,
        .cache_type = options->cache,
        .purpose = options->purpose,
        .progress = on_progress,
        .adapters = options->adapters,
        .adapter_count = options->adapter_count,
    };
}

void print_reasons(const tn_fit *fit, FILE *out) {
    for (uint32_t i = 0; i < tn_fit_reason_count(fit); i++) {
        char text[4096];
        const tn_fit_reason *reason = tn_fit_reason_at(fit, i);
        tn_fit_reason_text(reason, text, sizeof text);
        fprintf(out, "  %s: ", tn_code_text(reason->code));
        print_clean(text, out);
        fputc('\n', out);
    }
}

int load_model(tn_engine *engine, const struct options *options, bool need_tokenizer, tn_model **out) {
    tn_error err = TN_ERROR_INIT;
    tn_model_options wanted = model_options(options);
    wanted.no_tokenizer = !need_tokenizer;
    struct progress progress;
    progress_begin(&progress, options);
    wanted.progress_context = &progress;
    tn_fit *fit = NULL;
    int32_t code = tn_model_load(engine, options->model, &wanted, out, &fit, &err);
    progress_end(&progress);
    int status = EXIT_DONE;
    if (code != TN_OK && fit && tn_fit_code(fit) != TN_OK) {
        fprintf(stderr, "tenon: %s is refused:\n", options->model);
        print_reasons(fit, stderr);
        status = tn_code_status(tn_fit_code(fit));
    } else if (code == TN_E_CANCELLED && interrupted()) {
        status = EXIT_INTERRUPTED;
    } else if (code != TN_OK) {
        status = report_error(&err);
    } else if (tn_model_frame_width(*out) && options->purpose != TN_PURPOSE_RECOGNISE) {
        status = usage_error(options->command, "%s reads frames, not text: see tenon ocr", options->model);
    }
    tn_fit_free(fit);
    return status;
}

int open_fit(tn_engine *engine, const struct options *options, tn_gguf **file, tn_fit **fit) {
    tn_error opened = TN_ERROR_INIT, err = TN_ERROR_INIT;
    int32_t code = tn_gguf_open(options->model, tn_engine_types(engine), file, &opened);
    if (code != TN_OK && tn_code_status(code) != EXIT_REFUSED) { return report_error(&opened); }
    tn_model_options wanted = model_options(options);
    if (tn_fit_run(engine, *file, code == TN_OK ? NULL : &opened, &wanted, fit, &err) != TN_OK) {
        return report_error(&err);
    }
    return EXIT_DONE;
}

int fit_status(const tn_fit *fit) {
    return tn_code_status(tn_fit_code(fit));
}

enum { TEXT_MOST = 1 << 30 };

static int grow(char **text, size_t *capacity, const char *name) {
    size_t wanted = *capacity ? 2 * *capacity : 65536;
    if (wanted > TEXT_MOST) {
        fprintf(stderr, "tenon: %s: a text of more than %d bytes\n", name, TEXT_MOST / 2);
        return EXIT_USAGE;
    }
    char *more = realloc(*text, wanted);
    if (!more) {
        fprintf(stderr, "tenon: %s: not enough memory for %zu bytes\n", name, wanted);
        return EXIT_FAILED;
    }
    *text = more;
    *capacity = wanted;
    return EXIT_DONE;
}

int read_text(const char *path, char **text, size_t *size) {
    const char *name = path ? path : "standard input";
    FILE *file = path ? fopen(path, "rb") : stdin;
    size_t capacity = 0;
    int status = EXIT_DONE;
    *text = NULL;
    *size = 0;
    if (!file) {
        fprintf(stderr, "tenon: %s: %s\n", name, strerror(errno));
        return EXIT_FAILED;
    }
    do {
        if (*size + 1 >= capacity && (status = grow(text, &capacity, name)) != EXIT_DONE) { break; }
        *size += fread(*text + *size, 1, capacity - *size - 1, file);
    } while (!feof(file) && !ferror(file) && !interrupted());
    if (status == EXIT_DONE && interrupted()) {
        status = EXIT_INTERRUPTED;
    } else if (status == EXIT_DONE && ferror(file)) {
        fprintf(stderr, "tenon: %s: %s\n", name, strerror(errno));
        status = EXIT_FAILED;
    }
    if (path) { fclose(file); }
    if (status != EXIT_DONE) {
        free(*text);
        *text = NULL;
        return status;
    }
    (*text)[*size] = 0;
    return EXIT_DONE;
}

int parse_ids(const struct options *options, int32_t **out, uint64_t *count) {
    int32_t *ids =
        malloc((strlen(options->ids) / 2 + 1) * sizeof *ids); /* an id takes a digit and a separator */
    *out = ids;
    *count = 0;
    if (!ids) {
        fprintf(stderr, "tenon: --ids: not enough memory\n");
        return EXIT_FAILED;
    }
    for (const char *at = options->ids;;) {
        at += strspn(at, ", \t\r\n");
        if (!*at) { break; }
        char *end;
        errno = 0;
        long long id = strtoll(at, &end, 10);
        if (end == at || errno || id < 0 || id > INT32_MAX || !strchr(", \t\r\n", *end)) {
            return usage_error(options->command, "--ids: \"%.20s\" is no token id", at);
        }
        ids[(*count)++] = (int32_t)id;
        at = end;
    }
    return *count ? EXIT_DONE : usage_error(options->command, "--ids: the list is empty");
}

int read_tokens(const struct options *options, const tn_model *model, int32_t **ids, uint64_t *count) {
    if (options->ids) { return parse_ids(options, ids, count); }
    const tn_text_codec *codec = tn_model_codec(model);
    tn_error err = TN_ERROR_INIT;
    if (!codec) { return usage_error(options->command, "%s has no tokenizer: give --ids", options->model); }
    if (tn_codec_encode(codec, options->prompt, strlen(options->prompt), TN_ENCODE_ADD | TN_ENCODE_SPECIAL,
                        ids, count, &err) != TN_OK) {
        return report_error(&err);
    }
    return *count ? EXIT_DONE : usage_error(options->command, "the text has no tokens");
}

int can_write(const char *path) {
    tn_error err = TN_ERROR_INIT;
    return tn_part_check(path, &err) == TN_OK ? EXIT_DONE : report_error(&err);
}

bool same_place(const char *a, const char *b) {
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int finish_output(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) { return status; }
    if (status == EXIT_DONE) {
        fprintf(stderr, "tenon: standard output: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    return status;
}
