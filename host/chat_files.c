/*
 * chat_files.c - conversations and tools as JSON, from files and from the command line.
 */
#include "chat_prompt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A message about a place of a JSON text. */
static int json_fault(const char *path, const json_error_t *error) {
    fprintf(stderr, "tenon: %s: line %d, column %d: ", path, error->line, error->column);
    print_clean(error->text, stderr);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

static int read_json(const char *path, json_t **out) {
    char *text;
    size_t size;
    json_error_t error;
    int status = read_text(path, &text, &size);
    if (status != EXIT_DONE) { return status; }
    size_t mark =
        size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* which some editors put in front */
    *out = json_loadb(text + mark, size - mark, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    free(text);
    return *out ? EXIT_DONE : json_fault(path, &error);
}

static int wrong_shape(const char *path, const char *place, const char *wanted) {
    fprintf(stderr, "tenon: %s: %s: expected %s\n", path, place, wanted);
    return EXIT_FAILED;
}

static int check_messages(const char *path, const json_t *messages) {
    size_t i;
    json_t *message;
    if (!json_is_array(messages)) {
        return wrong_shape(path, "the conversation",
                           "an array of messages, or an object with one as \"messages\"");
    }
    json_array_foreach (messages, i, message) {
        char place[64];
        snprintf(place, sizeof place, "message %zu", i + 1);
        if (!json_is_object(message) || !json_is_string(json_object_get(message, "role"))) {
            return wrong_shape(path, place, "an object with a text as \"role\"");
        }
    }
    return EXIT_DONE;
}

static int check_tools(const char *path, const json_t *tools) {
    size_t i;
    json_t *tool;
    if (!json_is_array(tools)) { return wrong_shape(path, "the tools", "an array of objects"); }
    json_array_foreach (tools, i, tool) {
        if (!json_is_object(tool)) { return wrong_shape(path, "the tools", "an array of objects"); }
    }
    return EXIT_DONE;
}

int read_messages(const char *path, json_t **messages, json_t **tools) {
    json_t *whole;
    *messages = *tools = NULL;
    int status = read_json(path, &whole);
    if (status != EXIT_DONE) { return status; }
    *messages = json_incref(json_is_object(whole) ? json_object_get(whole, "messages") : whole);
    *tools = json_incref(json_is_object(whole) ? json_object_get(whole, "tools") : NULL);
    json_decref(whole);
    if (json_is_null(*tools)) { *tools = NULL; }
    status = check_messages(path, *messages);
    if (status == EXIT_DONE && *tools) { status = check_tools(path, *tools); }
    if (status != EXIT_DONE) {
        json_decref(*messages);
        json_decref(*tools);
        *messages = *tools = NULL;
    }
    return status;
}

int read_tools(const char *path, json_t **tools) {
    int status = read_json(path, tools);
    if (status == EXIT_DONE) { status = check_tools(path, *tools); }
    if (status != EXIT_DONE) {
        json_decref(*tools);
        *tools = NULL;
    }
    return status;
}

int read_time(const char *command, const char *text, int64_t *seconds) {
    struct tm time = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
    struct tm same = time;
    if (end && !*end) { *seconds = timegm(&same); } /* which makes March of February 30th */
    if (!end || *end || same.tm_mday != time.tm_mday || same.tm_min != time.tm_min) {
        return usage_error(command, "--now %s: expected a time such as 2026-01-15T09:30:00", text);
    }
    return EXIT_DONE;
}

int64_t local_seconds(void) {
    time_t now = time(NULL);
    struct tm local;
    return localtime_r(&now, &local) ? now + local.tm_gmtoff : now;
}

json_t *make_message(const char *role, const char *text, size_t size) {
    return json_pack("{s:s, s:o}", "role", role, "content", text_json(text, size));
}

int read_prompt(const struct options *options, char **text, size_t *size) {
    if (options->prompt && options->file) {
        return usage_error(options->command, "-p and -f exclude each other");
    }
    if (!options->prompt) { return read_text(options->file, text, size); }
    *size = strlen(options->prompt);
    *text = strdup(options->prompt);
    if (*text) { return EXIT_DONE; }
    fputs("tenon: not enough memory for the text of -p\n", stderr);
    return EXIT_FAILED;
}
