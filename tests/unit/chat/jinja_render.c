/*
 * jinja_render.c - renders templates for the oracle: one JSON object a line in ({"template", "given",
 * "trusted"}), one out: {"text"}, or {"fault", "kind", "line", "column"}.
 */
#include "chat_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_name(enum jinja_fault_kind kind) {
    static const char *const names[] = {"syntax", "runtime", "raised", "limit", "memory"};
    return names[kind];
}

static json_t *answer(const json_t *item) {
    const json_t *template = json_object_get(item, "template");
    rig_result result;
    rig_render(json_string_value(template), json_string_length(template), json_object_get(item, "given"),
               json_object_get(item, "trusted"), NULL, &result);
    json_t *out = result.rendered
                      ? json_pack("{s:s%}", "text", result.output.text, result.output.size)
                      : json_pack("{s:s, s:s, s:i, s:i}", "fault", result.fault.message, "kind",
                                  kind_name(result.fault.kind), "line", (int)result.fault.place.line,
                                  "column", (int)result.fault.place.column);
    jinja_output_free(&result.output);
    return out;
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    json_error_t error;
    for (ssize_t size; (size = getline(&line, &room, stdin)) > 0;) {
        json_t *item = json_loadb(line, (size_t)size, JSON_ALLOW_NUL, &error);
        if (!item) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        json_t *out = answer(item);
        char *text = out ? json_dumps(out, JSON_COMPACT) : NULL;
        puts(text ? text : "{\"fault\": \"the text is no UTF-8\", \"kind\": \"program\"}");
        free(text);
        json_decref(out);
        json_decref(item);
    }
    free(line);
    return 0;
}
