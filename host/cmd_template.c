/*
 * cmd_template.c - tenon template: a conversation as the prompt that the model would get, and what its template can do.
 */
#include "chat_prompt.h"

#include <stdlib.h>
#include <string.h>

/* A word that no template writes by itself. */
#define MARK "d3b07384"

/* ---- --info: found out by rendering ------------------------------------------------------------------------ */

/* Renders a conversation and looks for MARK. */
static bool mark_comes(struct chat_prompt *prompt, json_t *messages) {
    struct jinja_output out;
    struct jinja_fault fault;
    bool found = false;
    if (messages && chat_prompt_try(prompt, messages, &out, &fault)) {
        found = memmem(out.text, out.size, MARK, strlen(MARK)) != NULL;
        jinja_output_free(&out);
    }
    json_decref(messages);
    return found;
}

static bool takes_system(struct chat_prompt *prompt) {
    return mark_comes(prompt, json_pack("[{s:s, s:s}, {s:s, s:s}]", "role", "system", "content", MARK, "role",
                                        "user", "content", "?"));
}

static bool takes_tools(struct chat_prompt *prompt) {
    json_t *before = json_incref(json_object_get(prompt->given, "tools"));
    chat_prompt_set(prompt, "tools",
                    json_pack("[{s:s, s:{s:s, s:s, s:{s:s, s:{}, s:[]}}}]", "type", "function", "function",
                              "name", MARK, "description", "?", "parameters", "type", "object", "properties",
                              "required"));
    bool found = mark_comes(prompt, json_pack("[{s:s, s:s}]", "role", "user", "content", "?"));
    chat_prompt_set(prompt, "tools", before);
    return found;
}

/* Thinking of earlier answers is shown, or there is a switch for it. */
static json_t *thinking(struct chat_prompt *prompt) {
    static const char *const names[] = {"enable_thinking", "thinking", "reasoning_effort", "thinking_budget"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (jinja_uses(prompt->template, names[i])) { return json_string(names[i]); }
    }
    return json_boolean(
        mark_comes(prompt, json_pack("[{s:s, s:s}, {s:s, s:s, s:s}]", "role", "user", "content", "?", "role",
                                     "assistant", "content", "!", "reasoning_content", MARK)));
}

/* The names of all templates of the file; the one without a name is the default. */
static json_t *template_names(const tn_gguf *file) {
    static const char key[] = "tokenizer.chat_template";
    json_t *names = json_array();
    for (uint64_t i = 0; i < tn_gguf_kv_count(file); i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        const char *name = tn_gguf_kv_at(file, i, &kv);
        if (strncmp(name, key, strlen(key)) != 0 || kv.type != TN_KV_STRING) { continue; }
        name += strlen(key);
        if (*name == '.') {
            json_array_append_new(names, text_json(name + 1, strlen(name + 1)));
        } else if (!*name) {
            json_array_append_new(names, json_string("default"));
        }
    }
    return names;
}

static bool has_named(const tn_gguf *file) {
    json_t *names = template_names(file);
    bool some = json_array_size(names) > 0;
    json_decref(names);
    return some;
}

static int print_info(const struct options *options, const tn_gguf *file, const tn_text_codec *codec,
                      struct chat_prompt *prompt) {
    json_t *report = json_object();
    json_object_set_new(report, "templates", template_names(file));
    set_text(report, "template", prompt->name);
    set_count(report, "bytes", prompt->source_size);
    json_object_set_new(report, "system", json_boolean(takes_system(prompt)));
    json_object_set_new(report, "tools", json_boolean(takes_tools(prompt)));
    json_object_set_new(report, "thinking", thinking(prompt));
    int32_t end = codec ? chat_prompt_end(prompt, codec) : -1;
    if (end >= 0) {
        char piece[256];
        int64_t size = tn_codec_piece(codec, end, 0, piece, sizeof piece);
        json_object_set_new(report, "turn_ends_with", text_json(piece, (size_t)(size < 256 ? size : 256)));
    }
    if (interrupted()) { /* what was rendered was cut short, and tells nothing */
        json_decref(report);
        return EXIT_INTERRUPTED;
    }
    finish_report(options, report);
    return EXIT_DONE;
}

/* ---- the prompt --------------------------------------------------------------------------------------------- */

static int print_prompt(struct chat_prompt *prompt, const json_t *messages) {
    struct jinja_output out;
    int status = chat_prompt_render(prompt, messages, &out);
    if (status == EXIT_DONE) {
        fwrite(out.text, 1, out.size, stdout);
        jinja_output_free(&out);
    }
    return status;
}

static int use_template(const struct options *options, const tn_gguf *file, const tn_text_codec *codec) {
    struct chat_prompt prompt = {0};
    json_t *messages = NULL, *tools = NULL;
    int status = options->messages ? read_messages(options->messages, &messages, &tools) : EXIT_DONE;
    if (status == EXIT_DONE) { status = chat_prompt_open(options, file, codec, tools, &prompt); }
    if (status == EXIT_DONE && !prompt.template) {
        fprintf(stderr, "tenon: %s: the file has no chat template%s; --template FILE gives one\n",
                options->model,
                has_named(file) ? " without a name (see `tenon info --meta` for --template-name)" : "");
        status = EXIT_FAILED;
    } else if (status == EXIT_DONE) {
        status = options->template_info ? print_info(options, file, codec, &prompt)
                                        : print_prompt(&prompt, messages);
    }
    json_decref(messages);
    chat_prompt_close(&prompt);
    return status;
}

int cmd_template(struct options *options) {
    tn_engine *engine = NULL;
    tn_gguf *file = NULL;
    tn_text_codec *codec = NULL;
    tn_error err = TN_ERROR_INIT, none = TN_ERROR_INIT;
    if (!options->template_info && !options->messages) {
        return usage_error("template", "--messages FILE is missing: the conversation to render (or --info)");
    }
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE && tn_gguf_open(options->model, tn_engine_types(engine), &file, &err) != TN_OK) {
        status = report_error(&err);
    }
    if (status == EXIT_DONE) { /* without a tokenizer here the file's keys must do */
        tn_codec_open(engine, file, NULL, &codec, &none);
        status = use_template(options, file, codec);
    }
    tn_codec_close(codec);
    tn_gguf_close(file);
    tn_engine_destroy(engine);
    return status;
}
