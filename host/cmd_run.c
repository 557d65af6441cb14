/*
 * cmd_run.c - tenon run: continues a text.
 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct run {
    const struct options *options;
    tn_model *model;
    const tn_text_codec *codec;
    tn_session *session;
    tn_seq *sequence;
    tn_sampler *sampler;
    tn_stream *stream;
    float *logits;
    int32_t *ids;
    uint64_t id_count;
    uint64_t generated;
    double prompt_time, generate_time;
    const char *stop;
};

static int read_prompt(struct run *run) {
    const struct options *options = run->options;
    char *text = NULL;
    size_t size = 0;
    if (options->prompt && options->file) { return usage_error("run", "-p and -f exclude each other"); }
    if (!options->prompt) {
        int status = read_text(options->file, &text, &size);
        if (status != EXIT_DONE) { return status; }
    }
    tn_error err = TN_ERROR_INIT;
    uint32_t flags = TN_ENCODE_ADD | (options->special ? TN_ENCODE_SPECIAL : 0);
    int32_t code =
        tn_codec_encode(run->codec, text ? text : options->prompt, text ? size : strlen(options->prompt),
                        flags, &run->ids, &run->id_count, &err);
    free(text);
    if (code != TN_OK) { return report_error(&err); }
    if (run->id_count == 0) {
        return usage_error(
            "run", "the prompt has no tokens, and the file asks for no BOS in front: nothing to continue");
    }
    if (run->id_count > tn_model_context(run->model)) {
        return usage_error("run", "the prompt has %llu tokens, the context holds %u (see -c)",
                           (unsigned long long)run->id_count, tn_model_context(run->model));
    }
    return EXIT_DONE;
}

static uint64_t fresh_seed(void) {
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) { seed = (uint64_t)(now_seconds() * 1e9); }
    return seed;
}

static int prepare(struct run *run) {
    const struct options *options = run->options;
    tn_sampler_options sampling = {
        .seed = options->seed_given ? options->seed : fresh_seed(),
        .temperature = options->temperature,
        .top_k = (uint32_t)options->top_k,
        .top_p = options->top_p,
        .min_p = options->min_p,
        .repeat_penalty = options->repeat_penalty,
        .repeat_last_n = (int32_t)options->repeat_last,
    };
    tn_error err = TN_ERROR_INIT;
    uint32_t width = tn_model_output_width(run->model);
    if (tn_session_create(run->model, NULL, &run->session, &err) != TN_OK ||
        tn_seq_create(run->session, &run->sequence, &err) != TN_OK ||
        tn_sampler_create(&sampling, width, &run->sampler, &err) != TN_OK ||
        tn_stream_create(run->codec, options->special ? 0 : TN_DECODE_SKIP_SPECIAL, 0, &run->stream, &err) !=
            TN_OK) {
        return report_error(&err);
    }
    run->logits = malloc(width * sizeof *run->logits);
    if (!run->logits) {
        tn_fail(&err, TN_E_MEMORY, "not enough memory for %u logits", width);
        return report_error(&err);
    }
    if (options->verbose) { fprintf(stderr, "tenon: seed %llu\n", (unsigned long long)sampling.seed); }
    return EXIT_DONE;
}

/* Feeds ids and leaves the logits after the last one. A ^C is no failure: it becomes the reason for stopping.
 */
static int feed(struct run *run, const int32_t *ids, uint32_t count, double *time) {
    tn_error err = TN_ERROR_INIT;
    double start = now_seconds();
    tn_feed next = {run->sequence, ids, count, TN_WANT_LAST, run->logits};
    int32_t code = tn_session_run(run->session, &next, 1, &err);
    *time += now_seconds() - start;
    if (code == TN_E_CANCELLED && interrupted()) {
        run->stop = "interrupt";
        return EXIT_DONE;
    }
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static int show(struct run *run, int32_t id) {
    tn_error err = TN_ERROR_INIT;
    const char *text;
    uint64_t size;
    if (tn_stream_push(run->stream, id, &text, &size, &err) != TN_OK) { return report_error(&err); }
    if (size && (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0)) {
        perror("tenon: standard output");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int generate(struct run *run) {
    tn_error err = TN_ERROR_INIT;
    int status = EXIT_DONE;
    int64_t wanted = run->options->count;
    while (!run->stop && status == EXIT_DONE) {
        if (wanted >= 0 && run->generated >= (uint64_t)wanted) {
            run->stop = "length";
            break;
        }
        int32_t id;
        double start = now_seconds();
        if (tn_sampler_pick(run->sampler, run->logits, &id, &err) != TN_OK) { return report_error(&err); }
        tn_sampler_accept(run->sampler, id);
        run->generate_time += now_seconds() - start;
        run->generated++;
        if (!run->options->ignore_eos && tn_codec_ends(run->codec, id)) {
            run->stop = "eos";
            break;
        }
        status = show(run, id);
        if (status == EXIT_DONE && interrupted()) { run->stop = "interrupt"; }
        if (tn_seq_length(run->sequence) >= tn_model_context(run->model)) { run->stop = "context"; }
        if (status == EXIT_DONE && !run->stop && (wanted < 0 || run->generated < (uint64_t)wanted)) {
            status = feed(run, &id, 1, &run->generate_time);
        }
    }
    const char *rest;
    uint64_t size;
    tn_stream_flush(run->stream, &rest, &size);
    fwrite(rest, 1, size, stdout);
    return status;
}

static double rate(uint64_t count, double time) {
    return time > 0 ? (double)count / time : 0;
}

static void print_statistics(const struct run *run) {
    uint32_t held = tn_seq_length(run->sequence);
    uint64_t read = held < run->id_count ? held : run->id_count;
    if (fflush(stdout) == 0 && !run->options->quiet) {
        fprintf(
            stderr,
            "\nprompt: %llu tokens, %.3f s, %.1f tokens/s; generated: %llu tokens, %.3f s, %.1f tokens/s; stop: %s\n",
            (unsigned long long)read, run->prompt_time, rate(read, run->prompt_time),
            (unsigned long long)run->generated, run->generate_time, rate(run->generated, run->generate_time),
            run->stop);
    }
}

static int continue_text(struct run *run) {
    int status = read_prompt(run);
    if (status != EXIT_DONE) { return status; }
    status = prepare(run);
    if (status != EXIT_DONE) { return status; }
    interrupt_session(run->session);
    for (uint64_t i = 0; i < run->id_count; i++) { tn_sampler_accept(run->sampler, run->ids[i]); }
    status = feed(run, run->ids, (uint32_t)run->id_count, &run->prompt_time);
    if (status == EXIT_DONE && !run->stop) { status = generate(run); }
    interrupt_session(NULL);
    if (status != EXIT_DONE) { return status; }
    print_statistics(run);
    return interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

int cmd_run(struct options *options) {
    struct run run = {.options = options};
    tn_engine *engine = NULL;
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = load_model(engine, options, true, &run.model); }
    if (status == EXIT_DONE) {
        run.codec = tn_model_codec(run.model);
        if (!run.codec || tn_model_output_kind(run.model) != TN_OUTPUT_LOGITS) {
            status =
                usage_error("run", "%s: the model does not continue texts (it has no tokenizer or no logits)",
                            options->model);
        } else {
            status = continue_text(&run);
        }
    }
    free(run.ids);
    free(run.logits);
    tn_stream_free(run.stream);
    tn_sampler_free(run.sampler);
    tn_session_destroy(run.session);
    tn_model_close(run.model);
    tn_engine_destroy(engine);
    return status;
}
