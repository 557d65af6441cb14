/*
 * cmd_fit.c - tenon fit: would a model load here. For this command a refusal is the result, not an error.
 */
#include "commands.h"

#include <string.h>

static void print_fit(const tn_fit *fit, const struct options *options) {
    if (options->json) {
        json_t *report = json_object();
        json_object_set_new(report, "file", text_json(options->model, strlen(options->model)));
        json_object_set_new(report, "fits", json_boolean(tn_fit_code(fit) == TN_OK));
        json_object_set_new(report, "code", json_string(tn_code_text(tn_fit_code(fit))));
        json_object_set_new(report, "reasons", reasons_json(fit));
        json_object_set_new(report, "reason_count", json_integer((json_int_t)tn_fit_total(fit)));
        json_t *plugins = json_array();
        for (uint32_t i = 0; tn_fit_plugin(fit, i); i++) {
            json_array_append_new(plugins, json_string(tn_fit_plugin(fit, i)));
        }
        json_object_set_new(report, "plugins", plugins);
        print_json(report, stdout);
        json_decref(report);
    } else if (tn_fit_code(fit) == TN_OK) {
        printf("%s fits:", options->model);
        for (uint32_t i = 0; tn_fit_plugin(fit, i); i++) { printf(" %s", tn_fit_plugin(fit, i)); }
        putchar('\n');
    } else {
        printf("%s is refused:\n", options->model);
        print_reasons(fit, stdout);
    }
}

int cmd_fit(struct options *options) {
    tn_engine *engine = NULL;
    tn_gguf *file = NULL;
    tn_fit *fit = NULL;
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = open_fit(engine, options, &file, &fit); }
    if (status == EXIT_DONE) {
        print_fit(fit, options);
        status = fit_status(fit);
    }
    tn_fit_free(fit);
    tn_gguf_close(file);
    tn_engine_destroy(engine);
    return status;
}
