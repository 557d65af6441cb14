/*
 * cmd_run.c - tenon run: answers a message or a conversation through the model's chat template, or continues a text.
 */
#include "chat_prompt.h"
#include "generation.h"

#include <stdlib.h>
#include <string.h>

/* The one message that -p, -f or standard input gives, and perhaps a system message. */
static int read_message(const struct options *options, const struct chat_prompt *prompt, json_t **messages) {
    char *text;
    size_t size;
    int status = read_prompt(options, &text, &size);
    if (status != EXIT_DONE) { return status; }
    *messages = json_array();
    if (options->system) {
        json_array_append_new(*messages, make_message("system", options->system, strlen(options->system)));
    }
    json_array_append_new(*messages, make_message("user", text, size));
    free(text);
    if (!options->quiet) {
        fprintf(
            stderr,
            "tenon: sent as a user's message through the chat template %s; --raw continues the text itself\n",
            prompt->name);
    }
    return EXIT_DONE;
}

static int encode_text(const struct generation *g, int32_t **ids, uint64_t *count) {
    const struct options *options = g->options;
    char *text;
    size_t size;
    tn_error err = TN_ERROR_INIT;
    int status = read_prompt(options, &text, &size);
    if (status != EXIT_DONE) { return status; }
    uint32_t flags = TN_ENCODE_ADD | (options->special ? TN_ENCODE_SPECIAL : 0);
    int32_t code = tn_codec_encode(g->codec, text, size, flags, ids, count, &err);
    free(text);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static bool only_for_templates(const struct options *options) {
    return options->messages || options->system || options->tools || options->settings.count ||
           options->now || options->template_name;
}

static int refuse_messages(const struct options *options) {
    return usage_error(
        "run", options->raw ? "--raw sends no messages: it goes with none of --messages, --system, --tools, "
                              "--set, --now and --template-name"
                            : "the file has no chat template to send messages through: give one with "
                              "--template, or --template-name (see `tenon template --info`)");
}

/* Ids of what is to be continued. */
static int prepare(struct generation *g, int32_t **ids, uint64_t *count) {
    const struct options *options = g->options;
    struct chat_prompt prompt = {0};
    json_t *messages = NULL, *tools = NULL;
    if (options->raw && only_for_templates(options)) { return refuse_messages(options); }
    int status = options->messages ? read_messages(options->messages, &messages, &tools) : EXIT_DONE;
    if (status == EXIT_DONE && !options->raw) {
        status = chat_prompt_open(options, tn_model_file(g->model), g->codec, tools, &prompt);
    }
    if (status == EXIT_DONE && prompt.template) {
        if (!messages) { status = read_message(options, &prompt, &messages); }
        if (status == EXIT_DONE) { status = chat_prompt_encode(&prompt, g->codec, messages, ids, count); }
        if (status == EXIT_DONE) { g->end = chat_prompt_end(&prompt, g->codec); }
    } else if (status == EXIT_DONE) {
        status = only_for_templates(options) ? refuse_messages(options) : encode_text(g, ids, count);
    }
    json_decref(messages);
    chat_prompt_close(&prompt);
    if (status == EXIT_DONE && *count == 0) {
        status = usage_error(
            "run", "the prompt has no tokens, and the file asks for no BOS in front: nothing to continue");
    }
    if (status == EXIT_DONE && *count > tn_model_context(g->model)) {
        status = usage_error("run", "the prompt has %llu tokens, the context holds %u (see -c)",
                             (unsigned long long)*count, tn_model_context(g->model));
    }
    return status;
}

static int answer(struct options *options, tn_model *model) {
    struct generation g;
    int32_t *ids = NULL;
    uint64_t count = 0;
    int status = generation_open(options, model, &g);
    if (status == EXIT_DONE) { status = prepare(&g, &ids, &count); }
    if (status == EXIT_DONE) { status = generation_answer(&g, ids, count, generation_print, NULL); }
    if (status == EXIT_DONE) {
        if (fflush(stdout) == 0 && !options->quiet) { generation_report(&g); }
        if (interrupted()) { status = EXIT_INTERRUPTED; }
    }
    free(ids);
    generation_close(&g);
    return status;
}

int cmd_run(struct options *options) {
    tn_model *model = NULL;
    tn_engine *engine = NULL;
    if (options->messages && (options->prompt || options->file || options->system)) {
        return usage_error("run", "--messages is the whole conversation: without -p, -f and --system");
    }
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = load_model(engine, options, true, &model); }
    if (status == EXIT_DONE) { status = answer(options, model); }
    tn_model_close(model);
    tn_engine_destroy(engine);
    return status;
}
