/*
 * cmd_chat.c - tenon chat: a conversation, turn by turn. The whole of it is rendered by the template each time; what the
 * sequence holds already is not computed again.
 */
#include "cmd_chat.h"

#include <stdlib.h>
#include <string.h>

/* ---- the conversation ---------------------------------------------------------------------------------------- */

static const char *role_at(const struct chat *chat, size_t i) {
    return json_string_value(json_object_get(json_array_get(chat->messages, i), "role"));
}

int64_t chat_last(const struct chat *chat, const char *role) {
    for (size_t i = json_array_size(chat->messages); i-- > 0;) {
        if (strcmp(role_at(chat, i), role) == 0) { return (int64_t)i; }
    }
    return -1;
}

void chat_cut(struct chat *chat, size_t count) {
    while (json_array_size(chat->messages) > count) {
        json_array_remove(chat->messages, json_array_size(chat->messages) - 1);
    }
}

bool chat_undo(struct chat *chat) {
    int64_t last = chat_last(chat, "user");
    if (last >= 0) { chat_cut(chat, (size_t)last); }
    return last >= 0;
}

json_t *chat_system(const struct chat *chat) {
    bool first = json_array_size(chat->messages) && strcmp(role_at(chat, 0), "system") == 0;
    return first ? json_array_get(chat->messages, 0) : NULL;
}

void chat_set_system(struct chat *chat, const char *text) {
    if (chat_system(chat)) { json_array_remove(chat->messages, 0); }
    if (text && *text) {
        json_array_insert_new(chat->messages, 0, make_message("system", text, strlen(text)));
    }
}

void chat_own_file(struct chat *chat, const char *path) {
    json_array_append_new(chat->files, json_string_nocheck(path));
}

/* ---- a turn --------------------------------------------------------------------------------------------------- */

static int keep_and_print(void *context, const char *text, uint64_t size) {
    struct chat *chat = context;
    if (chat->answer_size + size > chat->answer_room) {
        size_t room = 2 * (chat->answer_size + size);
        char *more = realloc(chat->answer, room);
        if (!more) {
            fprintf(stderr, "tenon: not enough memory for an answer of %zu bytes\n", room);
            return EXIT_FAILED;
        }
        chat->answer = more;
        chat->answer_room = room;
    }
    memcpy(chat->answer + chat->answer_size, text, size);
    chat->answer_size += size;
    int status = generation_print(NULL, text, size);
    chat->done |= status != EXIT_DONE;
    return status;
}

static int context_full(const struct chat *chat, uint64_t count) {
    fprintf(
        stderr,
        "tenon: the conversation has %llu tokens and the context holds %u: /undo takes the last exchange back, "
        "/clear all of it, -c gives more room\n",
        (unsigned long long)count, tn_model_context(chat->g.model));
    return EXIT_FAILED;
}

static void tell_stopped(const struct chat *chat) {
    if (chat_input_is_terminal(chat->input)) { fputs("tenon: stopped\n", stderr); }
}

/* What there is to say of how an answer ended. */
static void tell_stop(const struct chat *chat) {
    const char *stop = chat->g.stop;
    if (strcmp(stop, "context") == 0) {
        fprintf(stderr,
                "tenon: the context of %u tokens is full: the answer ends here (/undo, /clear, or -c)\n",
                tn_model_context(chat->g.model));
    } else if (strcmp(stop, "interrupt") == 0) {
        tell_stopped(chat);
    } else if (strcmp(stop, "length") == 0) {
        fprintf(stderr, "tenon: the answer ends after %lld tokens (-n)\n", (long long)chat->options->count);
    }
    if (chat->options->verbose) { generation_report(&chat->g); }
}

int chat_answer(struct chat *chat) {
    int32_t *ids = NULL;
    uint64_t count;
    int status = chat_prompt_encode(&chat->prompt, chat->g.codec, chat->messages, &ids, &count);
    if (status == EXIT_INTERRUPTED) { tell_stopped(chat); }
    if (status != EXIT_DONE) { return status; }
    chat->answer_size = 0;
    if (count == 0) {
        fputs("tenon: the template renders this conversation to nothing\n", stderr);
        status = EXIT_FAILED;
    } else if (count > tn_model_context(chat->g.model)) {
        status = context_full(chat, count);
    } else {
        status = generation_answer(&chat->g, ids, count, keep_and_print, chat);
    }
    free(ids);
    if (status != EXIT_DONE) { return status; }
    putchar('\n');
    tell_stop(chat);
    json_array_append_new(chat->messages, make_message("assistant", chat->answer, chat->answer_size));
    return EXIT_DONE;
}

static int say(struct chat *chat, const char *text, size_t size) {
    size_t before = json_array_size(chat->messages);
    json_array_append_new(chat->messages, make_message("user", text, size));
    int status = chat_answer(chat);
    if (status != EXIT_DONE) { chat_cut(chat, before); }
    return status;
}

/* ^C has stopped an answer on a terminal; from a pipe, and by other signals, the program ends. */
static void heed_interrupt(struct chat *chat) {
    if (interrupted() && !(chat_input_is_terminal(chat->input) && interrupt_clear())) { chat->done = true; }
}

/* One message or command. A failure is told, and the conversation goes on as if it had not been. */
static int turn(struct chat *chat, const char *text, size_t size) {
    int status = EXIT_DONE;
    if (size == 0) { return EXIT_DONE; }
    if (text[0] == '/' && text[1] != '/') {
        status = chat_command(chat, text);
    } else {
        status = text[0] == '/' ? say(chat, text + 1, size - 1) : say(chat, text, size);
    }
    heed_interrupt(chat);
    return status;
}

/* What -p or -f says is the first message. */
static int first_turn(struct chat *chat) {
    char *text;
    size_t size;
    if (!chat->options->prompt && !chat->options->file) { return EXIT_DONE; }
    int status = read_prompt(chat->options, &text, &size);
    if (status != EXIT_DONE) { return status; }
    status = say(chat, text, size);
    free(text);
    heed_interrupt(chat);
    return status;
}

/* From a pipe, the first failure is the status at the end. */
static int converse(struct chat *chat) {
    bool terminal = chat_input_is_terminal(chat->input);
    int status = first_turn(chat);
    if (terminal && status == EXIT_DONE && !chat->options->quiet) {
        fputs("/help lists the commands, /bye or ^D ends\n", stderr);
    }
    chat->done |= status != EXIT_DONE;
    while (!chat->done) {
        size_t size;
        const char *text = chat_input_next(chat->input, &size);
        if (!text) { break; }
        int one = turn(chat, text, size);
        if (status == EXIT_DONE && (!terminal || chat->done)) { status = one; }
    }
    if (status == EXIT_DONE) { status = chat_input_status(chat->input); }
    if (interrupted()) { return EXIT_INTERRUPTED; }
    if (terminal && !chat->done) { putchar('\n'); } /* after ^D */
    return status;
}

/* ---- beginning and end ----------------------------------------------------------------------------------------- */

static int begin(struct chat *chat) {
    const struct options *options = chat->options;
    json_t *tools = NULL;
    chat->files = json_array();
    chat->texts = json_array();
    int status = options->messages ? read_messages(options->messages, &chat->messages, &tools) : EXIT_DONE;
    if (status == EXIT_DONE) {
        status = chat_prompt_open(options, tn_model_file(chat->g.model), chat->g.codec, tools, &chat->prompt);
    }
    if (status != EXIT_DONE) { return status; }
    if (!chat->prompt.template) {
        return usage_error("chat", "%s: the file has no chat template: give one with --template",
                           options->model);
    }
    chat->g.end = chat_prompt_end(&chat->prompt, chat->g.codec);
    if (options->messages) { chat_own_file(chat, options->messages); }
    if (!chat->messages) { chat->messages = json_array(); }
    if (options->system) { chat_set_system(chat, options->system); }
    chat->input = chat_input_open();
    if (!chat->input) {
        fputs("tenon: not enough memory to read messages\n", stderr);
        return EXIT_FAILED;
    }
    return interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

int cmd_chat(struct options *options) {
    struct chat chat = {.options = options};
    tn_engine *engine = NULL;
    tn_model *model = NULL;
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = load_model(engine, options, true, &model); }
    if (status == EXIT_DONE) {
        status = generation_open(options, model, &chat.g);
        if (status == EXIT_DONE) { status = begin(&chat); }
        if (status == EXIT_DONE) { status = converse(&chat); }
        generation_close(&chat.g);
    }
    chat_input_close(chat.input);
    chat_prompt_close(&chat.prompt);
    json_decref(chat.messages);
    json_decref(chat.files);
    json_decref(chat.texts);
    free(chat.answer);
    tn_model_close(model);
    tn_engine_destroy(engine);
    return status;
}
