/*
 * cmd_plugins.c - tenon plugins: what is installed, what a name means here, whether a plugin would be
 * accepted.
 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

/* The values that a manifest claims under one key, or under all as "key value", in one string of a list. */
static json_t *claims_json(const tn_plugin_info *plugin) {
    json_t *claims = json_object();
    for (uint32_t i = 0; i < plugin->claim_count; i++) {
        const tn_plugin_claim *claim = &plugin->claims[i];
        json_t *values = json_object_get(claims, claim->key);
        if (!values) {
            values = json_array();
            json_object_set_new(claims, claim->key, values);
        }
        json_array_append_new(values, text_json(claim->value, strlen(claim->value)));
    }
    return claims;
}

static json_t *plugin_json(const tn_plugin_info *plugin) {
    json_t *object = json_object();
    char abi[32];
    snprintf(abi, sizeof abi, "%u.%u", plugin->abi_major, plugin->abi_min_minor);
    set_text(object, "id", plugin->id);
    set_text(object, "kind", plugin->kind);
    set_text(object, "version", plugin->version);
    set_text(object, "license", plugin->license);
    set_text(object, "abi", abi);
    json_t *interfaces = json_array();
    for (uint32_t i = 0; i < plugin->interface_count; i++) {
        json_array_append_new(interfaces, json_string(plugin->interfaces[i]));
    }
    json_object_set_new(object, "interfaces", interfaces);
    set_text(object, "isa", plugin->isa);
    set_text(object, "origin", plugin->origin);
    set_text(object, "manifest", plugin->manifest);
    set_text(object, "library", plugin->library);
    set_text(object, "sha256", plugin->sha256);
    json_object_set_new(object, "pinned", json_boolean(plugin->pinned));
    json_object_set_new(object, "claims", claims_json(plugin));
    if (plugin->fault != TN_OK) {
        set_text(object, "fault", tn_code_text(plugin->fault));
        set_text(object, "fault_text", plugin->fault_text);
    }
    return object;
}

/* What a plugin is for, in a few words: a format's name, an architecture's names, and so on. */
static void print_names(const tn_plugin_info *plugin, FILE *out) {
    static const char *const telling[] = {"architecture", "backend", "model", "name", "custom"};
    const char *between = "";
    for (uint32_t i = 0; i < plugin->claim_count; i++) {
        for (size_t k = 0; k < sizeof telling / sizeof *telling; k++) {
            if (strcmp(plugin->claims[i].key, telling[k]) == 0) {
                fprintf(out, "%s%s", between, plugin->claims[i].value);
                between = " ";
            }
        }
    }
}

static void print_list(const tn_engine *engine, FILE *out) {
    fprintf(out, "%-22s %-9s %-5s %-16s %-12s %s\n", "id", "version", "abi", "sha256", "from", "claims");
    for (uint32_t i = 0; i < tn_engine_plugin_count(engine); i++) {
        const tn_plugin_info *plugin = tn_engine_plugin(engine, i);
        char abi[24] = "-"; /* of notes, which have no library */
        if (plugin->abi_major) {
            snprintf(abi, sizeof abi, "%u.%u", plugin->abi_major, plugin->abi_min_minor);
        }
        fprintf(out, "%-22s %-9s %-5s %-16.16s %-12s ", *plugin->id ? plugin->id : "?", plugin->version, abi,
                *plugin->sha256 ? plugin->sha256 : "-", plugin->origin);
        print_names(plugin, out);
        if (plugin->fault != TN_OK) { fprintf(out, " NOT USABLE: %s", plugin->fault_text); }
        fputc('\n', out);
    }
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each once, sorted: two plugins may claim a name. Returns how many; names may be NULL, then all claims are counted. */
static size_t architecture_names(const tn_engine *engine, const char **names) {
    size_t count = 0, kept = 0;
    for (uint32_t i = 0; i < tn_engine_plugin_count(engine); i++) {
        const tn_plugin_info *plugin = tn_engine_plugin(engine, i);
        for (uint32_t k = 0; k < plugin->claim_count && plugin->fault == TN_OK; k++) {
            if (strcmp(plugin->claims[k].key, "architecture") != 0) { continue; }
            if (names) { names[count] = plugin->claims[k].value; }
            count++;
        }
    }
    if (!names) { return count; }
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) { names[kept++] = names[i]; }
    }
    return kept;
}

static int list_names(const tn_engine *engine, const struct options *options) {
    const char **names = calloc(architecture_names(engine, NULL) + 1, sizeof *names);
    if (!names) {
        fputs("tenon: not enough memory\n", stderr);
        return EXIT_FAILED;
    }
    size_t count = architecture_names(engine, names);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) { json_array_append_new(list, text_json(names[i], strlen(names[i]))); }
    if (options->json) {
        print_json(list, stdout);
    } else {
        for (size_t i = 0; i < count; i++) {
            print_clean(names[i], stdout);
            putchar('\n');
        }
        printf("%zu architectures\n", count);
    }
    json_decref(list);
    free(names);
    return EXIT_DONE;
}

static int list(const tn_engine *engine, const struct options *options) {
    if (options->names) { return list_names(engine, options); }
    if (!options->json) {
        print_list(engine, stdout);
        return EXIT_DONE;
    }
    json_t *plugins = json_array();
    for (uint32_t i = 0; i < tn_engine_plugin_count(engine); i++) {
        json_array_append_new(plugins, plugin_json(tn_engine_plugin(engine, i)));
    }
    print_json(plugins, stdout);
    json_decref(plugins);
    return EXIT_DONE;
}

/* True if `name` means this plugin: its id, the last part of its id, or something it claims. */
static bool is_about(const tn_plugin_info *plugin, const char *name) {
    const char *dot = strchr(plugin->id, '.');
    if (strcmp(plugin->id, name) == 0 || (dot && strcmp(dot + 1, name) == 0)) { return true; }
    for (uint32_t i = 0; i < plugin->claim_count; i++) {
        if (strcasecmp(plugin->claims[i].value, name) == 0) { return true; }
    }
    return false;
}

/* Flattens the claims for print_report: one line a key. */
static void print_plugin(const tn_plugin_info *plugin, FILE *out) {
    json_t *object = plugin_json(plugin);
    json_t *claims = json_incref(json_object_get(object, "claims"));
    json_object_del(object, "claims");
    json_object_update(object, claims);
    print_report(object, out);
    json_decref(claims);
    json_decref(object);
}

static json_t *notes_json(const tn_engine *engine, const char *name) {
    static const char *const keys[] = {"architecture", "type", "model"};
    json_t *notes = json_array();
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        char number[24];
        int64_t type = tn_engine_type_number(engine, name);
        snprintf(number, sizeof number, "%lld", (long long)type);
        const char *note = tn_engine_note(engine, keys[k], k == 1 && type >= 0 ? number : name);
        if (note) {
            json_t *item = json_object();
            json_object_set_new(item, "key", json_string(keys[k]));
            set_text(item, "reason", note);
            json_array_append_new(notes, item);
        }
    }
    return notes;
}

static int explain(const tn_engine *engine, const struct options *options, const char *name) {
    json_t *found = json_array(), *notes = notes_json(engine, name);
    const char *between = "";
    for (uint32_t i = 0; i < tn_engine_plugin_count(engine); i++) {
        const tn_plugin_info *plugin = tn_engine_plugin(engine, i);
        if (!is_about(plugin, name)) { continue; }
        json_array_append_new(found, plugin_json(plugin));
        if (!options->json) {
            fputs(between, stdout);
            print_plugin(plugin, stdout);
            between = "\n";
        }
    }
    size_t i;
    const json_t *note;
    json_array_foreach (notes, i, note) {
        if (!options->json) {
            printf("%s%s \"%s\" is known and not supported: %s\n", between,
                   json_string_value(json_object_get(note, "key")), name,
                   json_string_value(json_object_get(note, "reason")));
            between = "";
        }
    }
    bool any = json_array_size(found) || json_array_size(notes);
    if (options->json) {
        json_t *report = json_pack("{s:o, s:o}", "plugins", found, "notes", notes);
        print_json(report, stdout);
        json_decref(report);
    } else {
        json_decref(found);
        json_decref(notes);
    }
    return any ? EXIT_DONE
               : usage_error("plugins",
                             "explain %s: no plugin has this name, claims it or has a note about it", name);
}

struct check_report {
    json_t *checks;
    bool json;
};

static void on_check(void *context, const char *check, int passed, const char *text) {
    struct check_report *report = context;
    if (report->json) {
        json_t *item = json_object();
        json_object_set_new(item, "check", json_string(check));
        json_object_set_new(item, "passed", json_boolean(passed));
        set_text(item, "text", text);
        json_array_append_new(report->checks, item);
    } else {
        printf("%-4s %-12s %s\n", passed ? "ok" : "FAIL", check, text);
    }
}

static int check(tn_engine *engine, const struct options *options, const char *library) {
    struct check_report report = {json_array(), options->json};
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_engine_check(engine, library, on_check, &report, &err);
    if (options->json) {
        json_t *object = json_object();
        set_text(object, "library", library);
        json_object_set_new(object, "accepted", json_boolean(code == TN_OK));
        json_object_set_new(object, "code", json_string(tn_code_text(code)));
        set_text(object, "text", err.text);
        json_object_set(object, "checks", report.checks);
        print_json(object, stdout);
        json_decref(object);
    }
    json_decref(report.checks);
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

int cmd_plugins(struct options *options) {
    const char *what = options->argument_count ? options->arguments[0] : "";
    const char *operand = options->argument_count > 1 ? options->arguments[1] : NULL;
    bool listing = strcmp(what, "list") == 0, explaining = strcmp(what, "explain") == 0,
         checking = strcmp(what, "check") == 0;
    if (!listing && !explaining && !checking) {
        return usage_error("plugins", "say list, explain NAME or check FILE.so");
    }
    if (options->argument_count != (listing ? 1 : 2)) {
        return usage_error("plugins", listing ? "list takes nothing more" : "%s takes one %s", what,
                           explaining ? "name" : "file");
    }
    tn_engine *engine = NULL;
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) {
        status = listing      ? list(engine, options)
                 : explaining ? explain(engine, options, operand)
                              : check(engine, options, operand);
    }
    tn_engine_destroy(engine);
    return status;
}
