/*
 * cmd_ocr.c - tenon ocr: a line of text from its frames.
 */
#include "commands.h"
#include "frame_file.h"

#include "tenon/ctc.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 512 }; /* frames that are held at once */

struct ocr {
    const struct options *options;
    tn_engine *engine;
    tn_model *model;
    tn_session *session;
    tn_seq *sequence;
    tn_ctc *ctc;
    struct frame_file file;
    float *frames, *rows;
};

static int open_decoder(struct ocr *o) {
    tn_error err = TN_ERROR_INIT;
    size_t frame = tn_model_frame_width(o->model), row = tn_model_output_width(o->model);
    if (tn_ctc_open(o->model, (uint32_t)o->options->beam, &o->ctc, &err) != TN_OK ||
        tn_session_create(o->model, &(tn_session_options){.step_rows = CHUNK}, &o->session, &err) != TN_OK ||
        tn_seq_create(o->session, &o->sequence, &err) != TN_OK) {
        return report_error(&err);
    }
    interrupt_session(o->session);
    o->frames = reallocarray(NULL, CHUNK * frame, sizeof *o->frames);
    o->rows = reallocarray(NULL, CHUNK * row, sizeof *o->rows);
    if (o->frames && o->rows) { return EXIT_DONE; }
    fputs("tenon: not enough memory for the frames of a step\n", stderr);
    return EXIT_FAILED;
}

static int run_frames(struct ocr *o, uint32_t count) {
    tn_error err = TN_ERROR_INIT;
    tn_feed feed = {
        .sequence = o->sequence, .frames = o->frames, .count = count, .want = TN_WANT_ALL, .out = o->rows};
    if (count > tn_model_context(o->model) - tn_seq_length(o->sequence)) {
        return usage_error("ocr", "%s has more frames than the %" PRIu32 " that the model takes (see -c)",
                           o->file.path, tn_model_context(o->model));
    }
    int32_t code = tn_session_run(o->session, &feed, 1, &err);
    if (code == TN_E_CANCELLED && interrupted()) { return EXIT_INTERRUPTED; }
    if (code == TN_OK) { code = tn_ctc_push(o->ctc, o->rows, count, &err); }
    return code == TN_OK ? EXIT_DONE : report_error(&err);
}

static int read_line(struct ocr *o) {
    uint32_t count = 0;
    do {
        int status = frame_file_read(&o->file, o->frames, CHUNK, &count);
        if (status == EXIT_DONE && count) { status = run_frames(o, count); }
        if (status == EXIT_DONE && interrupted()) { status = EXIT_INTERRUPTED; }
        if (status != EXIT_DONE) { return status; }
    } while (count);
    return EXIT_DONE;
}

static void put_text(const tn_alphabet *alphabet, const tn_ctc_text *text, FILE *out) {
    for (uint64_t i = 0; i < text->count; i++) {
        const tn_text *entry = &alphabet->entries[text->symbols[i].symbol];
        fwrite(entry->data, 1, entry->size, out);
    }
}

static json_t *characters_json(const tn_alphabet *alphabet, const tn_ctc_text *text) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < text->count; i++) {
        const tn_ctc_symbol *symbol = &text->symbols[i];
        const tn_text *entry = &alphabet->entries[symbol->symbol];
        json_t *object = json_object();
        json_object_set_new(object, "text", text_json(entry->data, entry->size));
        json_object_set_new(object, "confidence", json_real(symbol->confidence));
        set_count(object, "first", symbol->first);
        set_count(object, "last", symbol->last);
        json_array_append_new(list, object);
    }
    return list;
}

static int put_json(const struct ocr *o, const tn_alphabet *alphabet, const tn_ctc_text *text) {
    char *line = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&line, &size);
    if (!memory) {
        fputs("tenon: not enough memory for the text\n", stderr);
        return EXIT_FAILED;
    }
    put_text(alphabet, text, memory);
    fclose(memory);
    json_t *object = json_object();
    json_object_set_new(object, "text", text_json(line, size));
    set_count(object, "frames", tn_seq_length(o->sequence));
    json_object_set_new(object, "log_probability", json_real(text->log_probability));
    json_object_set_new(object, "characters", characters_json(alphabet, text));
    print_json(object, stdout);
    json_decref(object);
    free(line);
    return EXIT_DONE;
}

static int put_result(struct ocr *o) {
    const tn_alphabet *alphabet = tn_model_alphabet(o->model);
    tn_error err = TN_ERROR_INIT;
    tn_ctc_text text;
    if (tn_ctc_finish(o->ctc, &text, &err) != TN_OK) { return report_error(&err); }
    if (o->options->json) { return put_json(o, alphabet, &text); }
    put_text(alphabet, &text, stdout);
    putchar('\n');
    return EXIT_DONE;
}

static int check_model(const struct ocr *o) {
    if (tn_model_frame_width(o->model) && tn_model_output_kind(o->model) == TN_OUTPUT_CTC) {
        return EXIT_DONE;
    }
    return usage_error("ocr", "%s does not read frames; what reads text runs with tenon run",
                       o->options->model);
}

int cmd_ocr(struct options *options) {
    struct ocr o = {.options = options};
    if (!options->frames) { return usage_error("ocr", "which frames? (--frames FILE)"); }
    options->purpose = TN_PURPOSE_RECOGNISE;
    int status = open_engine(options, &o.engine);
    if (status == EXIT_DONE) { status = load_model(o.engine, options, false, &o.model); }
    if (status == EXIT_DONE) { status = check_model(&o); }
    if (status == EXIT_DONE) { status = open_decoder(&o); }
    if (status == EXIT_DONE) {
        status = frame_file_open(options->frames, tn_model_frame_width(o.model), &o.file);
    }
    if (status == EXIT_DONE) { status = read_line(&o); }
    if (status == EXIT_DONE) { status = put_result(&o); }
    status = finish_output(status);
    interrupt_session(NULL);
    frame_file_close(&o.file);
    free(o.frames);
    free(o.rows);
    tn_ctc_free(o.ctc);
    tn_session_destroy(o.session);
    tn_model_close(o.model);
    tn_engine_destroy(o.engine);
    return status;
}
