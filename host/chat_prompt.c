/*
 * chat_prompt.c - see chat_prompt.h.
 */
#include "chat_prompt.h"

#include <stdlib.h>
#include <string.h>

#define KEY_TEMPLATE "tokenizer.chat_template"

/* ---- the template's text -------------------------------------------------------------------------------- */

/* 1: there is such a text; 0: no such key; -1: a value that is no text, with the message printed. */
static int find_text(const struct options *options, const tn_gguf *file, const char *key, tn_kv *kv) {
    const tn_meta *meta = tn_gguf_meta(file);
    *kv = (tn_kv){.struct_size = sizeof *kv};
    if (meta->find(meta, key, kv) != TN_OK) { return 0; }
    if (kv->type == TN_KV_STRING) { return 1; }
    fprintf(stderr, "tenon: %s: %s: expected a text\n", options->model, key);
    return -1;
}

static int keep_source(struct chat_prompt *prompt, const char *name, char *text, size_t size) {
    prompt->name = name;
    prompt->source = text;
    prompt->source_size = size;
    return EXIT_DONE;
}

static int copy_source(struct chat_prompt *prompt, const char *name, const tn_kv *kv) {
    char *text = malloc(kv->size + 1);
    if (!text) {
        fprintf(stderr, "tenon: not enough memory for the chat template\n");
        return EXIT_FAILED;
    }
    memcpy(text, kv->data, kv->size);
    text[kv->size] = 0;
    return keep_source(prompt, name, text, kv->size);
}

static int no_such_template(const struct options *options) {
    fprintf(stderr, "tenon: %s: no chat template is called %s; `tenon info --meta` lists what the file has\n",
            options->model, options->template_name);
    return EXIT_FAILED;
}

/* Of the file: the one of a name; with tools the one named for them, if there is one; else the one without a name. */
static int find_source(const struct options *options, const tn_gguf *file, bool tools,
                       struct chat_prompt *prompt) {
    char key[160] = KEY_TEMPLATE;
    const char *name = options->template_name ? options->template_name : tools ? "tool_use" : "default";
    tn_kv kv;
    if (strcmp(name, "default") != 0 &&
        (size_t)snprintf(key, sizeof key, KEY_TEMPLATE ".%s", name) >= sizeof key) {
        return no_such_template(options);
    }
    int found = find_text(options, file, key, &kv);
    if (found == 0 && options->template_name) { return no_such_template(options); }
    if (found == 0 && tools) {
        name = "default";
        found = find_text(options, file, KEY_TEMPLATE, &kv);
    }
    if (found == 0) { return EXIT_DONE; }
    return found > 0 ? copy_source(prompt, name, &kv) : EXIT_FAILED;
}

static int read_source(const struct options *options, const tn_gguf *file, bool tools,
                       struct chat_prompt *prompt) {
    char *text;
    size_t size;
    if (options->template_file && options->template_name) {
        return usage_error(options->command, "--template and --template-name exclude each other");
    }
    if (!options->template_file) { return find_source(options, file, tools, prompt); }
    int status = read_text(options->template_file, &text, &size);
    return status == EXIT_DONE ? keep_source(prompt, options->template_file, text, size) : status;
}

static int template_fault(const struct chat_prompt *prompt, const struct jinja_fault *fault) {
    fputs("tenon: chat template ", stderr);
    print_clean(prompt->name, stderr);
    if (fault->place.line) {
        fprintf(stderr, ": line %u, column %u", fault->place.line, fault->place.column);
    }
    fputs(": ", stderr);
    print_clean(fault->message, stderr);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

/* ---- what it is rendered with ---------------------------------------------------------------------------- */

/* The text of entry `id` of the vocabulary, or NULL. */
static json_t *entry_text(const tn_meta *meta, int64_t id) {
    tn_kv kv = {.struct_size = sizeof kv};
    if (meta->find(meta, "tokenizer.ggml.tokens", &kv) != TN_OK || kv.type != TN_KV_ARRAY ||
        kv.element_type != TN_KV_STRING || id < 0 || (uint64_t)id >= kv.count) {
        return NULL;
    }
    const unsigned char *at = kv.data;
    tn_text text = tn_string_next(&at);
    while (id-- > 0) { text = tn_string_next(&at); }
    return text_json(text.data, text.size);
}

/* The names that templates know special tokens by, and the keys that their ids are under. */
static const struct {
    const char *name, *key;
} specials[] = {
    {"bos_token", "tokenizer.ggml.bos_token_id"},     {"eos_token", "tokenizer.ggml.eos_token_id"},
    {"unk_token", "tokenizer.ggml.unknown_token_id"}, {"sep_token", "tokenizer.ggml.seperator_token_id"},
    {"pad_token", "tokenizer.ggml.padding_token_id"}, {"mask_token", "tokenizer.ggml.mask_token_id"},
};
enum { SPECIALS = sizeof specials / sizeof *specials };

static json_t *special_texts(const tn_gguf *file, const tn_text_codec *codec) {
    const tn_meta *meta = tn_gguf_meta(file);
    tn_vocab vocab = {.bos = -1, .eos = -1, .unknown = -1, .separator = -1, .padding = -1, .mask = -1};
    if (codec) { tn_codec_vocab(codec, &vocab); }
    const int32_t known[SPECIALS] = {vocab.bos,       vocab.eos,     vocab.unknown,
                                     vocab.separator, vocab.padding, vocab.mask};
    json_t *texts = json_object();
    for (size_t i = 0; i < SPECIALS; i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        int64_t id = known[i];
        if (meta->find(meta, specials[i].key, &kv) == TN_OK && !tn_kv_int(&kv, 0, &id)) { id = -1; }
        json_t *text = entry_text(meta, id);
        if (text) { json_object_set_new(texts, specials[i].name, text); }
    }
    return texts;
}

bool chat_prompt_set(struct chat_prompt *prompt, const char *name, json_t *value) {
    bool token = false;
    for (size_t i = 0; i < SPECIALS; i++) { token |= strcmp(specials[i].name, name) == 0; }
    return json_object_set_new(token ? prompt->trusted : prompt->given, name, value) == 0;
}

int chat_prompt_read(struct chat_prompt *prompt, const char *command, const char *option, const char *name,
                     const char *json) {
    json_error_t error;
    if (strcmp(name, "messages") == 0 || strcmp(name, "tools") == 0) {
        return usage_error(command, "%s %s: messages come with --messages, tools with --tools", option, name);
    }
    json_t *value = json_loads(json, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!value) {
        return usage_error(command,
                           "%s %s: the value is no JSON (column %d: %s); texts stand in double quotes",
                           option, name, error.column, error.text);
    }
    if (chat_prompt_set(prompt, name, value)) { return EXIT_DONE; }
    return usage_error(command, "%s %s: the name is no UTF-8", option, name);
}

/* NAME=JSON */
static int read_setting(struct chat_prompt *prompt, const char *command, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        return usage_error(command, "--set %s: expected NAME=JSON, such as enable_thinking=false", text);
    }
    char *name = strndup(text, (size_t)(equals - text));
    if (!name) {
        fputs("tenon: not enough memory for --set\n", stderr);
        return EXIT_FAILED;
    }
    int status = chat_prompt_read(prompt, command, "--set", name, equals + 1);
    free(name);
    return status;
}

static int read_settings(const struct options *options, struct chat_prompt *prompt) {
    int status = EXIT_DONE;
    for (uint64_t i = 0; i < options->settings.count && status == EXIT_DONE; i++) {
        status = read_setting(prompt, options->command, options->settings.at[i]);
    }
    if (status == EXIT_DONE && options->now) {
        prompt->now_fixed = true;
        status = read_time(options->command, options->now, &prompt->now);
    }
    return status;
}

/* Finds and compiles the template; without one in the file there is none then. */
static int find_template(const struct options *options, const tn_gguf *file, bool tools,
                         struct chat_prompt *prompt) {
    struct jinja_fault fault;
    int status = read_source(options, file, tools, prompt);
    if (status != EXIT_DONE || !prompt->source) { return status; }
    prompt->template = jinja_compile(prompt->source, prompt->source_size, &fault);
    if (prompt->template) { return EXIT_DONE; }
    template_fault(prompt, &fault);
    if (!options->template_file) {
        fputs("tenon: --raw runs the model without it, --template FILE with another\n", stderr);
    }
    return EXIT_FAILED;
}

int chat_prompt_open(const struct options *options, const tn_gguf *file, const tn_text_codec *codec,
                     json_t *tools, struct chat_prompt *out) {
    *out = (struct chat_prompt){0};
    int status = EXIT_DONE;
    if (options->tools) {
        json_decref(tools);
        status = read_tools(options->tools, &tools);
    }
    if (status == EXIT_DONE) { status = find_template(options, file, tools != NULL, out); }
    if (status != EXIT_DONE || !out->template) {
        json_decref(tools);
        return status;
    }
    out->trusted = special_texts(file, codec);
    out->given = json_pack("{s:b, s:n}", "add_generation_prompt", 1, "documents");
    json_object_set_new(out->given, "tools", tools ? tools : json_null());
    return read_settings(options, out);
}

int chat_prompt_tools(const struct options *options, const tn_gguf *file, json_t *tools,
                      struct chat_prompt *prompt) {
    struct chat_prompt next = {0};
    if (options->tools) {
        json_decref(tools);
        return EXIT_DONE;
    }
    int status = find_template(options, file, tools != NULL, &next);
    if (status == EXIT_DONE && !next.template) {
        fprintf(stderr, "tenon: %s: the file has a chat template for conversations with tools only\n",
                options->model);
        status = EXIT_FAILED;
    }
    if (status != EXIT_DONE) {
        json_decref(tools);
        free(next.source);
        return status;
    }
    jinja_free(prompt->template);
    free(prompt->source);
    prompt->template = next.template;
    keep_source(prompt, next.name, next.source, next.source_size);
    json_object_set_new(prompt->given, "tools", tools ? tools : json_null());
    return EXIT_DONE;
}

void chat_prompt_close(struct chat_prompt *prompt) {
    jinja_free(prompt->template);
    free(prompt->source);
    json_decref(prompt->trusted);
    json_decref(prompt->given);
    *prompt = (struct chat_prompt){0};
}

/* ---- rendering ------------------------------------------------------------------------------------------- */

bool chat_prompt_try(struct chat_prompt *prompt, const json_t *messages, struct jinja_output *out,
                     struct jinja_fault *fault) {
    json_object_set(prompt->given, "messages", (json_t *)messages);
    static const char *const roles[] = {"system",   "developer", "user",        "assistant", "tool",
                                        "function", "ipython",   "observation", NULL};
    struct jinja_input input = {.given = prompt->given,
                                .trusted = prompt->trusted,
                                .roles = roles,
                                .stopped = interrupted,
                                .now = prompt->now_fixed ? prompt->now : local_seconds()};
    jinja_limits_default(&input.limits);
    bool done = jinja_render(prompt->template, &input, out, fault);
    json_object_del(prompt->given, "messages");
    return done;
}

int chat_prompt_render(struct chat_prompt *prompt, const json_t *messages, struct jinja_output *out) {
    struct jinja_fault fault;
    if (chat_prompt_try(prompt, messages, out, &fault)) { return EXIT_DONE; }
    return fault.kind == JINJA_STOPPED ? EXIT_INTERRUPTED : template_fault(prompt, &fault);
}

/* True if the template has written BOS in front, perhaps behind white space of its own: the text begins with it, none of
 * that was given, and it is that token. */
static int32_t begins_with_bos(const tn_text_codec *codec, const struct jinja_output *rendered, int32_t bos,
                               bool *out, tn_error *err) {
    char piece[256];
    int64_t size = tn_codec_piece(codec, bos, 0, piece, sizeof piece);
    uint64_t begin = strspn(rendered->text, " \t\r\n"), count;
    int32_t *ids;
    *out = false;
    if (size <= 0 || size > (int64_t)sizeof piece || rendered->size - begin < (uint64_t)size ||
        memcmp(rendered->text + begin, piece, (size_t)size) != 0 ||
        (rendered->given_count && rendered->given[0].begin < begin + (uint64_t)size)) {
        return TN_OK;
    }
    tn_codec_text front = {
        .text = rendered->text, .size = begin + (uint64_t)size, .flags = TN_ENCODE_SPECIAL, .threads = 1};
    TN_TRY(tn_codec_encode_text(codec, &front, &ids, NULL, &count, err));
    *out = count > 0 && ids[count - 1] == bos;
    free(ids);
    return TN_OK;
}

/* Puts BOS in front where the file asks for it and the template has not. */
static int32_t add_bos(const tn_text_codec *codec, const struct jinja_output *rendered, int32_t **ids,
                       uint64_t *count, tn_error *err) {
    tn_vocab vocab;
    bool there;
    tn_codec_vocab(codec, &vocab);
    if (!vocab.add_bos) { return TN_OK; }
    TN_TRY(begins_with_bos(codec, rendered, vocab.bos, &there, err));
    if (there) { return TN_OK; }
    int32_t *more = realloc(*ids, (*count + 1) * sizeof *more);
    if (!more) {
        TN_FAIL(err, TN_E_MEMORY, "not enough memory for a prompt of %llu tokens",
                (unsigned long long)*count);
    }
    memmove(more + 1, more, *count * sizeof *more);
    more[0] = vocab.bos;
    *ids = more;
    ++*count;
    return TN_OK;
}

static int encode(const tn_text_codec *codec, const struct jinja_output *rendered, int32_t **ids,
                  uint64_t *count) {
    tn_error err = TN_ERROR_INIT;
    uint64_t *plain = malloc((2 * rendered->given_count + 1) * sizeof *plain);
    if (!plain) {
        tn_fail(&err, TN_E_MEMORY, "not enough memory for a prompt of %zu bytes", rendered->size);
        return report_error(&err);
    }
    for (size_t i = 0; i < rendered->given_count; i++) {
        plain[2 * i] = rendered->given[i].begin;
        plain[2 * i + 1] = rendered->given[i].end;
    }
    tn_codec_text text = {.text = rendered->text,
                          .size = rendered->size,
                          .flags = TN_ENCODE_SPECIAL,
                          .plain = plain,
                          .plain_count = rendered->given_count};
    int32_t code = tn_codec_encode_text(codec, &text, ids, NULL, count, &err);
    if (code == TN_OK) { code = add_bos(codec, rendered, ids, count, &err); }
    free(plain);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

int chat_prompt_encode(struct chat_prompt *prompt, const tn_text_codec *codec, const json_t *messages,
                       int32_t **ids, uint64_t *count) {
    struct jinja_output rendered;
    int status = chat_prompt_render(prompt, messages, &rendered);
    if (status != EXIT_DONE) { return status; }
    status = encode(codec, &rendered, ids, count);
    jinja_output_free(&rendered);
    return status;
}

/* ---- the end of a turn ------------------------------------------------------------------------------------ */

/* What an assistant says in the conversation that is rendered to see what comes behind it. */
#define ANSWER "d3b07384"

/* The first token of a text if it is a control token; white space before it does not count. */
static int32_t first_control(const tn_text_codec *codec, const char *text, size_t size) {
    tn_error err = TN_ERROR_INIT;
    int32_t *ids, id = -1;
    uint64_t count;
    while (size && strchr(" \t\r\n", *text)) { text++, size--; }
    tn_codec_text call = {.text = text, .size = size, .flags = TN_ENCODE_SPECIAL, .threads = 1};
    if (tn_codec_encode_text(codec, &call, &ids, NULL, &count, &err) != TN_OK) { return -1; }
    if (count && tn_codec_kind(codec, ids[0]) == TN_TOKEN_CONTROL) { id = ids[0]; }
    free(ids);
    return id;
}

int32_t chat_prompt_end(struct chat_prompt *prompt, const tn_text_codec *codec) {
    struct jinja_output rendered;
    struct jinja_fault fault; /* a template that does not take this conversation tells nothing */
    int32_t id = -1;
    json_t *messages = json_pack("[{s:s, s:s}, {s:s, s:s}]", "role", "user", "content", "?", "role",
                                 "assistant", "content", ANSWER);
    json_t *asked = json_incref(json_object_get(prompt->given, "add_generation_prompt"));
    json_object_set_new(prompt->given, "add_generation_prompt", json_false());
    if (chat_prompt_try(prompt, messages, &rendered, &fault)) {
        const char *answer = memmem(rendered.text, rendered.size, ANSWER, strlen(ANSWER));
        if (answer) {
            const char *behind = answer + strlen(ANSWER);
            id = first_control(codec, behind, (size_t)(rendered.text + rendered.size - behind));
        }
        jinja_output_free(&rendered);
    }
    json_object_set_new(prompt->given, "add_generation_prompt", asked);
    json_decref(messages);
    return id;
}
