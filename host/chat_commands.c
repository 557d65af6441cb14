/*
 * chat_commands.c - /help and its like: one table, a function each.
 */
#include "cmd_chat.h"

#include "tenon/part.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int on_save(struct chat *chat, const char *path) {
    tn_error err = TN_ERROR_INIT;
    char *text = json_dumps(chat->messages, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    tn_part *part = NULL;
    if (!*path) { return free(text), complain("/save %s: the name of a file is missing", ""); }
    int32_t code = text ? tn_part_create(path, &part, &err) : tn_fail(&err, TN_E_MEMORY, "not enough memory");
    if (code == TN_OK) { code = tn_part_write(part, text, strlen(text), &err); }
    if (code == TN_OK) { code = tn_part_write(part, "\n", 1, &err); }
    if (code == TN_OK) {
        code = tn_part_finish(part, &err);
    } else {
        tn_part_abandon(part);
    }
    free(text);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static int on_load(struct chat *chat, const char *path) {
    json_t *messages, *tools;
    if (!*path) { return complain("/load %s: the name of a file is missing", ""); }
    int status = read_messages(path, &messages, &tools);
    if (status != EXIT_DONE) { return status; }
    json_decref(chat->messages);
    chat->messages = messages;
    if (tools) { chat_prompt_set(&chat->prompt, "tools", tools); }
    return EXIT_DONE;
}

/* ---- the conversation ------------------------------------------------------------------------------------------ */

static int on_clear(struct chat *chat, const char *argument) {
    (void)argument;
    json_t *system = json_incref(chat_system(chat));
    json_array_clear(chat->messages);
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

struct setting {
    const char *name;
    double low, high;
    bool whole;
};
static const struct setting settings[] = {
    {"temp", 0, 1e6, false},
    {"top-k", 0, INT32_MAX, true},
    {"top-p", 0, 1, false},
    {"min-p", 0, 1, false},
    {"repeat-penalty", 1e-6, 1e6, false},
    {"repeat-last-n", -1, INT32_MAX, true},
    {"seed", 0, 9007199254740992, true},
    {"count", -1, INT32_MAX, true},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static double setting_now(const struct chat *chat, size_t i) {
    const tn_sampler_options *s = &chat->g.sampling;
    const double now[SETTINGS] = {
        s->temperature,    s->top_k,         s->top_p,        s->min_p,
        s->repeat_penalty, s->repeat_last_n, (double)s->seed, (double)chat->options->count};
    return now[i];
}

static void change_setting(struct chat *chat, size_t i, double value) {
    tn_sampler_options *s = &chat->g.sampling;
    switch (i) {
    case 0: s->temperature = value; break;
    case 1: s->top_k = (uint32_t)value; break;
    case 2: s->top_p = value; break;
    case 3: s->min_p = value; break;
    case 4: s->repeat_penalty = value; break;
    case 5: s->repeat_last_n = (int32_t)value; break;
    case 6: s->seed = (uint64_t)value; break;
    default: chat->options->count = (int64_t)value; break;
    }
}

static int set_number(struct chat *chat, size_t i, const char *text) {
    const struct setting *setting = &settings[i];
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= setting->low && value <= setting->high) ||
        (setting->whole && value != floor(value))) {
        fprintf(stderr, "tenon: /set %s: expected %s from %g to %g\n", setting->name,
                setting->whole ? "a whole number" : "a number", setting->low, setting->high);
        return EXIT_USAGE;
    }
    change_setting(chat, i, value);
    return EXIT_DONE;
}

/* A variable of the template, as --set. */
static int set_variable(struct chat *chat, const char *name, const char *text) {
    json_error_t error;
    if (!jinja_uses(chat->prompt.template, name)) {
        return complain("/set %s: neither a setting (see /show) nor a variable of the template", name);
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        return complain("/set: the value is no JSON (%s); texts stand in double quotes", error.text);
    }
    chat_prompt_set(&chat->prompt, name, value);
    return EXIT_DONE;
}

static int on_set(struct chat *chat, const char *argument) {
    char name[64];
    size_t size = strcspn(argument, " =");
    if (!size || size >= sizeof name || !argument[size]) {
        return complain("/set: expected NAME VALUE%s", ", such as temp 0.5");
    }
    memcpy(name, argument, size);
    name[size] = 0;
    const char *value = argument + size + strspn(argument + size, " =");
    for (size_t i = 0; i < SETTINGS; i++) {
        if (strcmp(settings[i].name, name) == 0) { return set_number(chat, i, value); }
    }
    return set_variable(chat, name, value);
}

static int on_show(struct chat *chat, const char *argument) {
    (void)argument;
    json_t *report = json_object();
    set_text(report, "model", chat->options->model);
    set_text(report, "template", chat->prompt.name);
    set_count(report, "messages", json_array_size(chat->messages));
    set_count(report, "tokens in the cache", chat->g.held_count);
    set_count(report, "context", tn_model_context(chat->g.model));
    for (size_t i = 0; i < SETTINGS; i++) {
        double now = setting_now(chat, i);
        json_object_set_new(report, settings[i].name,
                            settings[i].whole ? json_integer((json_int_t)now) : json_real(now));
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
    {"save", "FILE", "write the conversation to FILE, as JSON", on_save},
    {"load", "FILE", "go on with a conversation from FILE", on_load},
    {"system", "TEXT", "set the system message; without TEXT there is none", on_system},
    {"show", "", "the model, the settings, how full the context is", on_show},
    {"set", "NAME VALUE", "change a setting (see /show), or a variable of the template (VALUE is JSON)",
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
