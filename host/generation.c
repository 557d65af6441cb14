/*
 * generation.c - see generation.h.
 */
#include "generation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t fresh_seed(void) {
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) { seed = (uint64_t)(now_seconds() * 1e9); }
    return seed;
}

int generation_open(struct options *options, tn_model *model, struct generation *out) {
    tn_error err = TN_ERROR_INIT;
    *out = (struct generation){.options = options, .model = model, .codec = tn_model_codec(model), .end = -1};
    if (!out->codec || tn_model_output_kind(model) != TN_OUTPUT_LOGITS) {
        return usage_error(options->command,
                           "%s: the model does not continue texts (it has no tokenizer or no logits)",
                           options->model);
    }
    if (tn_session_create(model, NULL, &out->session, &err) != TN_OK ||
        tn_seq_create(out->session, &out->sequence, &err) != TN_OK) {
        return report_error(&err);
    }
    uint32_t width = tn_model_output_width(model);
    out->logits = malloc(width * sizeof *out->logits);
    if (!out->logits) {
        tn_fail(&err, TN_E_MEMORY, "not enough memory for %u logits", width);
        return report_error(&err);
    }
    if (!options->seed_given) { options->seed = fresh_seed(); }
    if (options->verbose) { fprintf(stderr, "tenon: seed %llu\n", (unsigned long long)options->seed); }
    return EXIT_DONE;
}

/* Frees what is made for each answer. */
static void forget_answer(struct generation *g) {
    tn_sampler_free(g->sampler);
    tn_stops_free(g->stops);
    tn_stream_free(g->stream);
    g->sampler = NULL;
    g->stops = NULL;
    g->stream = NULL;
}

void generation_close(struct generation *g) {
    forget_answer(g);
    free(g->logits);
    free(g->held);
    tn_session_destroy(g->session);
}

/* ---- feeding --------------------------------------------------------------------------------------------- */

static int hold(struct generation *g, const int32_t *ids, uint64_t count) {
    if (g->held_count + count > g->held_room) {
        uint64_t room = g->held_room + count + 1024;
        int32_t *more = realloc(g->held, room * sizeof *more);
        if (!more) {
            fprintf(stderr, "tenon: not enough memory for %llu ids\n", (unsigned long long)room);
            return EXIT_FAILED;
        }
        g->held = more;
        g->held_room = room;
    }
    memcpy(g->held + g->held_count, ids, count * sizeof *ids);
    g->held_count += count;
    return EXIT_DONE;
}

/* Feeds ids and leaves the logits after the last one. A ^C is no failure: it becomes the reason for stopping. */
static int feed(struct generation *g, const int32_t *ids, uint64_t count, double *time) {
    tn_error err = TN_ERROR_INIT;
    double start = now_seconds();
    tn_feed next = {.sequence = g->sequence,
                    .ids = ids,
                    .count = (uint32_t)count,
                    .want = TN_WANT_LAST,
                    .out = g->logits};
    int32_t code = tn_session_run(g->session, &next, 1, &err);
    if (code == TN_E_CANCELLED && !interrupted()) { /* left over from a ^C that came after the last answer */
        code = tn_session_run(g->session, &next, 1, &err);
    }
    *time += now_seconds() - start;
    if (code == TN_E_CANCELLED && interrupted()) {
        g->stop = "interrupt";
        return EXIT_DONE;
    }
    return code == TN_OK ? hold(g, ids, count) : report_error(&err);
}

/* The prompt: what the sequence holds from an earlier one is kept as far as it is the same. */
static int feed_prompt(struct generation *g, const int32_t *ids, uint64_t count) {
    tn_error err = TN_ERROR_INIT;
    uint64_t same = 0;
    while (same < g->held_count && same + 1 < count && g->held[same] == ids[same]) { same++; }
    if (tn_seq_truncate(g->sequence, (uint32_t)same, &err) != TN_OK) { return report_error(&err); }
    g->held_count = same;
    g->prompt_count = count - same;
    return feed(g, ids + same, count - same, &g->prompt_time);
}

int generation_print(void *context, const char *text, uint64_t size) {
    (void)context;
    if (fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0) { return EXIT_DONE; }
    perror("tenon: standard output");
    return EXIT_FAILED;
}

/* ---- an answer ------------------------------------------------------------------------------------------- */

static int show(struct generation *g, const char *text, uint64_t size, generation_sink *sink, void *context) {
    tn_error err = TN_ERROR_INIT;
    const char *shown;
    uint64_t shown_size;
    if (tn_stops_push(g->stops, text, size, &shown, &shown_size, &err) != TN_OK) {
        return report_error(&err);
    }
    if (tn_stops_matched(g->stops) >= 0) { g->stop = "stop"; }
    return shown_size ? sink(context, shown, shown_size) : EXIT_DONE;
}

/* What was held back when the answer ended. */
static int show_rest(struct generation *g, generation_sink *sink, void *context) {
    const char *text, *shown;
    uint64_t size;
    const char *stop = g->stop;
    tn_stream_flush(g->stream, &text, &size);
    int status = show(g, text, size, sink, context);
    if (stop) { g->stop = stop; }
    tn_stops_flush(g->stops, &shown, &size);
    return status == EXIT_DONE && size ? sink(context, shown, size) : status;
}

static bool ends(const struct generation *g, int32_t id) {
    return !g->options->ignore_eos && (id == g->end || tn_codec_ends(g->codec, id));
}

/* Picks the next id and shows it, or sets the reason for stopping. */
static int step(struct generation *g, int32_t *id, generation_sink *sink, void *context) {
    tn_error err = TN_ERROR_INIT;
    const char *text;
    uint64_t size;
    double start = now_seconds();
    if (tn_sampler_pick(g->sampler, g->logits, id, &err) != TN_OK) { return report_error(&err); }
    tn_sampler_accept(g->sampler, *id);
    g->generate_time += now_seconds() - start;
    g->generated++;
    if (ends(g, *id)) {
        g->stop = "eos";
        return EXIT_DONE;
    }
    if (tn_stream_push(g->stream, *id, &text, &size, &err) != TN_OK) { return report_error(&err); }
    return show(g, text, size, sink, context);
}

static int generate(struct generation *g, generation_sink *sink, void *context) {
    int64_t most = g->options->count;
    int status = EXIT_DONE;
    int32_t id;
    while (!g->stop && status == EXIT_DONE) {
        if (most >= 0 && g->generated >= (uint64_t)most) {
            g->stop = "length";
            break;
        }
        status = step(g, &id, sink, context);
        if (status != EXIT_DONE || g->stop) { break; }
        if (interrupted()) {
            g->stop = "interrupt";
        } else if (tn_seq_length(g->sequence) >= tn_model_context(g->model)) {
            g->stop = "context";
        } else if (most < 0 || g->generated < (uint64_t)most) {
            status = feed(g, &id, 1, &g->generate_time);
        }
    }
    return status == EXIT_DONE ? show_rest(g, sink, context) : status;
}

/* What picks, shows and stops, as the options now say; the sampler knows the prompt. */
static int prepare_answer(struct generation *g, const int32_t *ids, uint64_t count) {
    const struct options *options = g->options;
    const tn_sampler_options sampling = {
        .seed = options->seed,
        .temperature = options->temperature,
        .top_k = (uint32_t)options->top_k,
        .top_p = options->top_p,
        .min_p = options->min_p,
        .repeat_penalty = options->repeat_penalty,
        .repeat_last_n = (int32_t)options->repeat_last,
    };
    uint32_t flags = options->special ? 0 : TN_DECODE_SKIP_SPECIAL;
    tn_error err = TN_ERROR_INIT;
    forget_answer(g);
    if (tn_sampler_create(&sampling, tn_model_output_width(g->model), &g->sampler, &err) != TN_OK ||
        tn_stops_create(options->stops.at, NULL, options->stops.count, &g->stops, &err) != TN_OK ||
        tn_stream_create(g->codec, flags, 0, &g->stream, &err) != TN_OK) {
        return report_error(&err);
    }
    g->options->seed++;
    for (uint64_t i = 0; i < count; i++) { tn_sampler_accept(g->sampler, ids[i]); }
    return EXIT_DONE;
}

int generation_answer(struct generation *g, const int32_t *ids, uint64_t count, generation_sink *sink,
                      void *context) {
    g->prompt_count = g->generated = 0;
    g->prompt_time = g->generate_time = 0;
    g->stop = NULL;
    int status = prepare_answer(g, ids, count);
    interrupt_session(g->session);
    if (status == EXIT_DONE) { status = feed_prompt(g, ids, count); }
    if (status == EXIT_DONE && !g->stop) { status = generate(g, sink, context); }
    interrupt_session(NULL);
    return status;
}

static double rate(uint64_t count, double time) {
    return time > 0 ? (double)count / time : 0;
}

void generation_report(const struct generation *g) {
    fprintf(
        stderr,
        "\nprompt: %llu tokens, %.3f s, %.1f tokens/s; generated: %llu tokens, %.3f s, %.1f tokens/s; stop: %s\n",
        (unsigned long long)g->prompt_count, g->prompt_time, rate(g->prompt_count, g->prompt_time),
        (unsigned long long)g->generated, g->generate_time, rate(g->generated, g->generate_time), g->stop);
}
