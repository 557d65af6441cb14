/*
 * chat_input.c - see chat_input.h. On a terminal libedit reads the lines; while it does, ^C is a key.
 */
#include "chat_input.h"

#include "commands.h"

#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chat_input {
    EditLine *edit; /* NULL: not a terminal */
    History *history;
    bool more;  /* the next line belongs to the message before it */
    char *line; /* of getline() */
    size_t line_room;
    char *text; /* the message */
    size_t size, room;
    int status; /* why there is no more: EXIT_DONE at the end */
};

/* ---- lines -------------------------------------------------------------------------------------------------- */

static char *prompt(EditLine *edit) {
    struct chat_input *input = NULL;
    static char first[] = "> ", next[] = ". ";
    el_get(edit, EL_CLIENTDATA, &input);
    return input->more ? next : first;
}

/* What ^C makes of a line: all of it deleted, this typed instead, and the line ended. */
#define CLEARED "\003"

static void open_terminal(struct chat_input *input) {
    HistEvent event;
    setlocale(LC_CTYPE, ""); /* libedit drops characters that the locale does not have */
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) { setlocale(LC_CTYPE, "C.UTF-8"); }
    input->edit = el_init("tenon", stdin, stdout, stderr);
    input->history = history_init();
    if (!input->edit || !input->history) { return; }
    history(input->history, &event, H_SETSIZE, 1000);
    history(input->history, &event, H_SETUNIQUE, 1);
    el_set(input->edit, EL_CLIENTDATA, input);
    el_set(input->edit, EL_PROMPT, prompt);
    el_set(input->edit, EL_EDITOR, "emacs");
    el_set(input->edit, EL_HIST, history, input->history);
    el_set(input->edit, EL_SETTY, "-d", "-isig", NULL);
    el_set(input->edit, EL_BIND, "-s", "^C", "^A^K^V^C^J", NULL);
    el_set(input->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(input->edit, EL_BIND, "^I", "ed-insert", NULL);
}

/* A line with its newline, if it has one. */
static const char *read_line(struct chat_input *input, size_t *size) {
    if (input->edit) {
        int count = 0;
        interrupt_clear(); /* before libedit has the terminal and after, ^C is a signal: there is nothing to stop */
        const char *line = el_gets(input->edit, &count);
        interrupt_clear();
        if (!line || count <= 0) { return NULL; }
        *size = (size_t)count;
        return line;
    }
    ssize_t count = getline(&input->line, &input->line_room, stdin);
    if (count <= 0) {
        if (ferror(stdin) && !interrupted()) {
            perror("tenon: standard input");
            input->status = EXIT_FAILED;
        }
        return NULL;
    }
    *size = (size_t)count;
    return input->line;
}

/* ---- messages ------------------------------------------------------------------------------------------------ */

static bool append(struct chat_input *input, const char *text, size_t size) {
    if (input->size + size + 1 > input->room) {
        size_t room = 2 * (input->size + size) + 256;
        char *more = realloc(input->text, room);
        if (!more) { return false; }
        input->text = more;
        input->room = room;
    }
    memcpy(input->text + input->size, text, size);
    input->size += size;
    input->text[input->size] = 0;
    return true;
}

static bool ends_with(const char *text, size_t size, const char *end) {
    size_t length = strlen(end);
    return size >= length && memcmp(text + size - length, end, length) == 0;
}

/* Adds a line to the message; false: memory ran out. *more: it goes on. Quotes alone on their line leave no line. */
static bool add_line(struct chat_input *input, const char *line, size_t size, bool *quoted, bool *more) {
    static const char quotes[] = "\"\"\"";
    if (size && line[size - 1] == '\n') { size--; }
    if (!input->more && size >= 3 && memcmp(line, quotes, 3) == 0) {
        *quoted = *more = true;
        line += 3;
        size -= 3;
        if (size == 0) { return true; }
    }
    bool closed = *quoted && ends_with(line, size, quotes);
    if (closed && size == 3 && input->size && input->text[input->size - 1] == '\n') { input->size--; }
    bool joined = !*quoted && size && line[size - 1] == '\\';
    *more = joined || (*quoted && !closed);
    if (joined) { size--; }
    if (closed) { size -= 3; }
    return append(input, line, size) && (!*more || append(input, "\n", 1));
}

static void remember(struct chat_input *input) {
    HistEvent event;
    if (input->history && input->size) { history(input->history, &event, H_ENTER, input->text); }
}

const char *chat_input_next(struct chat_input *input, size_t *size) {
    bool quoted = false, more = true;
    input->size = 0;
    input->more = false;
    while (more) {
        size_t length;
        const char *line = read_line(input, &length);
        if (!line && (!input->more || input->edit || input->status != EXIT_DONE)) { return NULL; }
        if (!line) { break; } /* the input ends within a message */
        if (input->edit && strncmp(line, CLEARED, strlen(CLEARED)) == 0) {
            input->more = quoted = false;
            input->size = 0;
            continue;
        }
        if (!add_line(input, line, length, &quoted, &more)) {
            fprintf(stderr, "tenon: not enough memory for a message of more than %zu bytes\n", input->size);
            input->status = EXIT_FAILED;
            return NULL;
        }
        input->more = more;
    }
    remember(input);
    *size = input->size;
    return input->text;
}

struct chat_input *chat_input_open(void) {
    struct chat_input *input = calloc(1, sizeof *input);
    if (!input || !append(input, "", 0)) {
        free(input);
        return NULL;
    }
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) { open_terminal(input); }
    return input;
}

int chat_input_status(const struct chat_input *input) {
    return input->status;
}

bool chat_input_is_terminal(const struct chat_input *input) {
    return input->edit != NULL;
}

void chat_input_close(struct chat_input *input) {
    if (!input) { return; }
    if (input->history) { history_end(input->history); }
    if (input->edit) {
        el_set(input->edit, EL_BIND, "-r", "^C", NULL); /* el_end() does not free what a key types */
        el_end(input->edit);
    }
    free(input->line);
    free(input->text);
    free(input);
}
