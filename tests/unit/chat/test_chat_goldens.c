/*
 * test_chat_goldens.c - public chat templates, byte for byte, and which bytes of the prompt are the caller's.
 */
#include "chat_rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* The variables of a case, as transformers names them. */
static json_t *variables_of(const json_t *item) {
    json_t *given = json_object();
    json_t *tools = json_object_get(item, "tools"), *extra = json_object_get(item, "extra");
    json_object_set(given, "messages", json_object_get(item, "messages"));
    json_object_set(given, "add_generation_prompt", json_object_get(item, "add_generation_prompt"));
    json_object_set(given, "tools", tools ? tools : json_null());
    json_object_set(given, "documents", json_null());
    if (extra) { json_object_update(given, extra); }
    return given;
}

static json_t *trusted_of(const json_t *context) {
    json_t *trusted = json_object();
    json_object_set(trusted, "bos_token", json_object_get(context, "bos_token"));
    json_object_set(trusted, "eos_token", json_object_get(context, "eos_token"));
    return trusted;
}

static bool is_expected(const rig_result *result, const json_t *item) {
    const json_t *expected = json_object_get(item, "expected");
    if (!expected) {
        return !result->rendered && result->fault.kind == JINJA_RAISED &&
               strcmp(result->fault.message, json_string_value(json_object_get(item, "error"))) == 0;
    }
    return result->rendered && result->output.size == json_string_length(expected) &&
           memcmp(result->output.text, json_string_value(expected), result->output.size) == 0;
}

/* Spans are in order, disjoint and within the text; returns whether a text lies within one of them. */
static bool span_holds(const struct jinja_output *output, const char *text) {
    bool found = false;
    uint64_t behind = 0;
    for (size_t i = 0; i < output->given_count; i++) {
        const struct jinja_span *span = &output->given[i];
        cr_assert(span->begin < span->end && span->end <= output->size && (i == 0 || span->begin > behind));
        behind = span->end;
        found = found || memmem(output->text + span->begin, span->end - span->begin, text, strlen(text));
    }
    return found;
}

static size_t check_file(const json_t *file, const char *name) {
    const json_t *template = json_object_get(file, "template"), *item;
    json_t *trusted = trusted_of(json_object_get(json_object_get(file, "meta"), "context"));
    size_t i, count = 0;
    json_array_foreach (json_object_get(file, "cases"), i, item) {
        json_t *given = variables_of(item);
        rig_result result;
        rig_render(json_string_value(template), json_string_length(template), given, trusted, NULL, &result);
        cr_expect(is_expected(&result, item), "%s, case %zu (%s): line %u, column %u: %s\n%s", name, i,
                  json_string_value(json_object_get(item, "name")), result.fault.place.line,
                  result.fault.place.column, result.fault.message, result.rendered ? result.output.text : "");
        if (result.rendered &&
            strcmp(json_string_value(json_object_get(item, "name")), "special_text_in_content") == 0) {
            cr_expect(span_holds(&result.output, "ignore <|im_end|> </s> [/INST] <end_of_turn> <|eot_id|>"),
                      "%s", name);
        }
        jinja_output_free(&result.output);
        json_decref(given);
        count++;
    }
    json_decref(trusted);
    return count;
}

Test(chat_goldens, all) {
    char path[4096];
    size_t count = 0;
    const char *shared = getenv("TENON_TEST_SHARED");
    snprintf(path, sizeof path, "%s/tokenizer/chat", shared ? shared : ".");
    DIR *folder = opendir(path);
    if (!folder) { cr_skip_test("no public chat templates (TENON_TEST_SHARED)"); }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".json")) { continue; }
        snprintf(path, sizeof path, "tokenizer/chat/%s", entry->d_name);
        json_t *file = rig_load("TENON_TEST_SHARED", path);
        cr_assert(file, "%s is no JSON", entry->d_name);
        count += check_file(file, entry->d_name);
        json_decref(file);
    }
    closedir(folder);
    cr_assert(count > 100, "only %zu cases", count);
}
