/*
 * cmd_plan.c - tenon plan: for each op of the graph, what serves it and why not the others.
 */
#include "commands.h"

#include <string.h>

static json_t *plan_json(const tn_fit *fit) {
    json_t *ops = json_array();
    for (uint32_t i = 0; i < tn_fit_node_count(fit); i++) {
        const tn_fit_node *node = tn_fit_node_at(fit, i);
        json_t *row = json_object();
        json_object_set_new(row, "name", text_json(node->name, strlen(node->name)));
        json_object_set_new(row, "op", json_string(node->op));
        json_object_set_new(row, "types", json_string(node->types));
        json_object_set_new(row, "plugin", json_string(node->plugin));
        json_object_set_new(row, "kernel", json_string(node->choice.kernel));
        json_object_set_new(row, "stable", json_boolean(node->choice.stable));
        json_object_set_new(row, "others", json_string(node->choice.others));
        json_array_append_new(ops, row);
    }
    return ops;
}

static void print_plan(const tn_fit *fit, const struct options *options) {
    json_t *report = json_object();
    json_object_set_new(report, "file", text_json(options->model, strlen(options->model)));
    json_object_set_new(report, "ops", plan_json(fit));
    if (options->json && tn_fit_code(fit) != TN_OK) {
        json_object_set_new(report, "reasons", reasons_json(fit));
    }
    finish_report(options, report);
}

int cmd_plan(struct options *options) {
    tn_engine *engine = NULL;
    tn_gguf *file = NULL;
    tn_fit *fit = NULL;
    int status = open_engine(options, &engine);
    if (status == EXIT_DONE) { status = open_fit(engine, options, &file, &fit); }
    if (status == EXIT_DONE) {
        print_plan(fit, options);
        status = fit_status(fit);
        if (status != EXIT_DONE && !options->json) {
            fprintf(stderr, "tenon: %s is refused:\n", options->model);
            print_reasons(fit, stderr);
        }
    }
    tn_fit_free(fit);
    tn_gguf_close(file);
    tn_engine_destroy(engine);
    return status;
}
