/*
 * chat_commands.c - /help and its like: one table, a function each.
 */
#include "cmd_chat.h"

#include "tenon/part.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chat_action {
    const char *name, *operand, *help;
    int (*run)(struct chat *chat, const char *argument);
};

static int complain(const char *format, const char *what) {
    fputs("tenon: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static int32_t write_messages(const struct chat *chat, const char *path, tn_error *err) {
    tn_part *part;
    char *text = json_dumps(chat->messages, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (!text) { TN_FAIL(err, TN_E_MEMORY, "not enough memory for the conversation as JSON"); }
    int32_t code = tn_part_create(path, &part, err);
    if (code == TN_OK) { code = tn_part_write(part, text, strlen(text), err); }
    if (code == TN_OK) { code = tn_part_write(part, "\n", 1, err); }
    free(text);
    if (code == TN_OK) { return tn_part_finish(part, err); }
    tn_part_abandon(part);
    return code;
}

static int on_save_over(struct chat *chat, const char *path) {
    tn_error err = TN_ERROR_INIT;
    if (!*path) { return complain("/save%s: the name of a file is missing", ""); }
    if (write_messages(chat, path, &err) != TN_OK) { return report_error(&err); }
    chat_own_file(chat, path);
    return EXIT_DONE;
}

static bool owns_file(const struct chat *chat, const char *path) {
    size_t i;
    json_t *file;
    json_array_foreach (chat->files, i, file) {
        if (same_place(path, json_string_value(file))) { return true; }
    }
    return false;
}

static int on_save(struct chat *chat, const char *path) {
    if (access(path, F_OK) == 0 && !owns_file(chat, path)) {
        return complain("/save: %s is there already (/save! FILE replaces it)", path);
    }
    return on_save_over(chat, path);
}

static int on_load(struct chat *chat, const char *path) {
    json_t *messages, *tools;
    if (!*path) { return complain("/load%s: the name of a file is missing", ""); }
    int status = read_messages(path, &messages, &tools);
    if (status != EXIT_DONE) { return status; }
    status = chat_prompt_tools(chat->options, tn_model_file(chat->g.model), tools, &chat->prompt);
    if (status != EXIT_DONE) {
        json_decref(messages);
        return status;
    }
    chat->g.end = chat_prompt_end(&chat->prompt, chat->g.codec);
    json_decref(chat->messages);
    chat->messages = messages;
    json_array_clear(chat->files);
    chat_own_file(chat, path);
    return EXIT_DONE;
}

/* ---- the conversation ------------------------------------------------------------------------------------------ */

static int on_clear(struct chat *chat, const char *argument) {
    (void)argument;
    json_t *system = json_incref(chat_system(chat));
    json_array_clear(chat->messages);
    json_array_clear(chat->files);
    if (system) { json_array_append_new(chat->messages, system); }
    return EXIT_DONE;
}

static int on_system(struct chat *chat, const char *text) {
    chat_set_system(chat, text);
    return EXIT_DONE;
}

static int on_undo(struct chat *chat, const char *argument) {
    (void)argument;
    return chat_undo(chat) ? EXIT_DONE : complain("/undo: %s", "there is nothing to take back");
}

static int on_retry(struct chat *chat, const char *argument) {
    (void)argument;
    int64_t last = chat_last(chat, "user");
    if (last < 0) { return complain("/retry: %s", "nothing was asked yet"); }
    json_t *before = json_copy(chat->messages);
    chat_cut(chat, (size_t)last + 1);
    int status = chat_answer(chat);
    if (status != EXIT_DONE) {
        json_decref(chat->messages);
        chat->messages = json_incref(before);
    }
    json_decref(before);
    return status;
}

static int on_bye(struct chat *chat, const char *argument) {
    (void)argument;
    chat->done = true;
    return EXIT_DONE;
}

/* ---- settings --------------------------------------------------------------------------------------------------- */

/* A copy that lives as long as the chat; NULL: no memory. */
static const char *keep_text(struct chat *chat, const char *text) {
    json_t *kept = json_string_nocheck(text);
    return json_array_append_new(chat->texts, kept) == 0 ? json_string_value(kept) : NULL;
}

static int set_option(struct chat *chat, const char *name, const char *text) {
    const char *kept = keep_text(chat, text);
    return kept ? option_change(chat->options, name, kept) : complain("/set %s: not enough memory", name);
}

static int set_named(struct chat *chat, const char *name, const char *value) {
    if (option_can_change(name)) { return set_option(chat, name, value); }
    if (jinja_uses(chat->prompt.template, name)) {
        return chat_prompt_read(&chat->prompt, chat->options->command, "/set", name, value);
    }
    return complain("/set %s: neither an option of a conversation (see /show) nor a variable of the template",
                    name);
}

/* NAME VALUE or NAME=VALUE */
static int on_set(struct chat *chat, const char *argument) {
    size_t size = strcspn(argument, " \t\n=");
    const char *value = argument + size + strspn(argument + size, " \t");
    if (*value == '=') { value += 1 + strspn(value + 1, " \t"); }
    if (!size) { return complain("/set: expected NAME VALUE%s", ", such as temp 0.5"); }
    char *name = strndup(argument, size);
    if (!name) { return complain("/set: %s", "not enough memory"); }
    int status = set_named(chat, name, value);
    free(name);
    return status;
}

/* Texts that may have anything in them, as JSON. */
static json_t *list_value(const struct text_list *list) {
    json_t *texts = json_array();
    for (uint64_t i = 0; i < list->count; i++) {
        json_array_append_new(texts, text_json(list->at[i], strlen(list->at[i])));
    }
    char *shown = json_dumps(texts, 0);
    json_t *value = shown ? json_string(shown) : NULL;
    free(shown);
    json_decref(texts);
    return value;
}

static int on_show(struct chat *chat, const char *argument) {
    (void)argument;
    json_t *report = json_object();
    set_text(report, "model", chat->options->model);
    set_text(report, "template", chat->prompt.name);
    set_count(report, "messages", json_array_size(chat->messages));
    set_count(report, "tokens in the cache", chat->g.held_count);
    set_count(report, "context", tn_model_context(chat->g.model));
    struct option_value option;
    for (size_t at = 0; option_value_at(chat->options, &at, &option);) {
        json_object_set_new(report, option.name,
                            option.list ? list_value(option.list) : json_string(option.text));
    }
    if (chat_system(chat)) {
        json_object_set(report, "system", json_object_get(chat_system(chat), "content"));
    }
    print_report(report, stdout);
    json_decref(report);
    return EXIT_DONE;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static int on_help(struct chat *chat, const char *argument);

static const struct chat_action actions[] = {
    {"help", "", "this list", on_help},
    {"clear", "", "begin a new conversation; the system message stays", on_clear},
    {"save", "FILE",
     "write the conversation to FILE, as JSON: a new file, or one it was read from or written to", on_save},
    {"save!", "FILE", "the same, and replace whatever FILE is", on_save_over},
    {"load", "FILE", "go on with a conversation from FILE", on_load},
    {"system", "TEXT", "set the system message; without TEXT there is none", on_system},
    {"show", "", "the model, the options that /set changes, how full the context is", on_show},
    {"set", "NAME VALUE", "change an option (see /show), or a variable of the template (VALUE is JSON)",
     on_set},
    {"undo", "", "take the last message and its answer back", on_undo},
    {"retry", "", "have the last message answered again", on_retry},
    {"bye", "", "end (as ^D does)", on_bye},
};

static int on_help(struct chat *chat, const char *argument) {
    (void)chat, (void)argument;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        char name[32];
        snprintf(name, sizeof name, "/%s %s", actions[i].name, actions[i].operand);
        printf("%-18s %s\n", name, actions[i].help);
    }
    puts(
        "A line that ends in \\ goes on in the next one; \"\"\" begins and ends a message of several lines; // begins a "
        "message with a slash. ^C stops an answer.");
    return EXIT_DONE;
}

int chat_command(struct chat *chat, const char *line) {
    size_t size = strcspn(line + 1, " \t\n");
    const char *argument = line + 1 + size;
    while (isspace((unsigned char)*argument)) { argument++; }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strlen(actions[i].name) == size && memcmp(actions[i].name, line + 1, size) == 0) {
            return actions[i].run(chat, argument);
        }
    }
    fputs("tenon: no command is called ", stderr);
    print_clean(line, stderr);
    fputs("; /help lists them, // begins a message with a slash\n", stderr);
    return EXIT_USAGE;
}
