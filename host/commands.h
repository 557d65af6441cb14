/*
 * commands.h - the commands, and what they share: engine, messages, reports, interrupts.
 */
#ifndef TENON_HOST_COMMANDS_H
#define TENON_HOST_COMMANDS_H

#include "options.h"

#include "tenon/model.h"

#include <jansson.h>

int cmd_run(struct options *options);
int cmd_chat(struct options *options);
int cmd_template(struct options *options);
int cmd_info(struct options *options);
int cmd_fit(struct options *options);
int cmd_logits(struct options *options);
int cmd_plan(struct options *options);
int cmd_bench(struct options *options);
int cmd_plugins(struct options *options);
int cmd_formats(struct options *options);
int cmd_check(struct options *options);
int cmd_split(struct options *options);
int cmd_merge(struct options *options);
int cmd_quantize(struct options *options);
int cmd_imatrix(struct options *options);
int cmd_perplexity(struct options *options);
int cmd_tokenize(struct options *options);
int cmd_detokenize(struct options *options);
int cmd_embed(struct options *options);
int cmd_rerank(struct options *options);
int cmd_ocr(struct options *options);
int cmd_trace(struct options *options);

/* ---- shared.c: engine and messages ------------------------------------------------------------------- */

/* Text that came from a file or a path: control characters would let it write over the terminal. */
void print_clean(const char *text, FILE *out);
/* Text so that a shell reads it as one word. */
void print_word(const char *text, FILE *out);
/* Prints "tenon: ..." to standard error and returns the exit status that belongs to the error's code. */
int report_error(const tn_error *err);
/* An engine as the options ask for it; EXIT_DONE or the status, with the message printed. */
int open_engine(const struct options *options, tn_engine **out);
tn_model_options model_options(const struct options *options);
/* Loads a model; on a refusal prints every reason. */
int load_model(tn_engine *engine, const struct options *options, bool need_tokenizer, tn_model **out);
/* Opens the options' file as far as it can be read and fits it; *file and *fit are the caller's, also on
 * failure. */
int open_fit(tn_engine *engine, const struct options *options, tn_gguf **file, tn_fit **fit);
/* The exit status of a fit: EXIT_DONE or EXIT_REFUSED. */
int fit_status(const tn_fit *fit);
/* Prints the reasons of a refusal to standard error, one a line. */
void print_reasons(const tn_fit *fit, FILE *out);
/* A whole file or, with NULL, standard input, NUL at the end; to be freed. */
int read_text(const char *path, char **text, size_t *size);
/* Ids of options->ids, separated by commas or blanks, one at least; to be freed, also on failure. */
int parse_ids(const struct options *options, int32_t **out, uint64_t *count);
/* The ids of --ids, or those of the text of -p with all that the file adds and control tokens read. */
int read_tokens(const struct options *options, const tn_model *model, int32_t **ids, uint64_t *count);
/* A file could be written at `path`: EXIT_DONE, or the status with the message printed. For what takes long to make. */
int can_write(const char *path);
/* Both are there and are one file, by whatever names; NULL is none. */
bool same_place(const char *a, const char *b);
double now_seconds(void);
/* Flushes standard output: EXIT_DONE, or EXIT_FAILED with a message if anything written to it got lost. */
int finish_output(int status);

/* ---- interrupt.c ------------------------------------------------------------------------------------- */

/* ^C sets a flag and cancels the session; a model file cut short under us ends the program with status 1. */
void install_signals(void);
void interrupt_session(tn_session *session); /* the session to cancel; NULL: none */
bool interrupted(void);
int interrupt_status(void); /* 130 after ^C */
bool interrupt_clear(void); /* forgets a ^C; false if there was none, or another signal came */
/* A file to remove if the program has to end at once; NULL: none. */
void unfinished_file(const char *path);

/* ---- progress.c: how far a long run is -------------------------------------------------------------- */

/* A line on standard error, at most one a second; on a terminal it is written over. */
struct progress {
    double start, shown;
    bool shows, terminal, at_once, open;
};
/* With --quiet nothing will be shown. */
void progress_begin(struct progress *p, const struct options *options);
/* The text, the seconds spent and those left. Off a terminal there is a line
 * a second, so none of a short run without --verbose; the last one is left out only if there was none. */
void progress_show(struct progress *p, uint64_t done, uint64_t total, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void progress_end(struct progress *p); /* before anything else is printed */

/* ---- report.c: JSON and text from one description ---------------------------------------------------- */

/* Prints a JSON object as lines "label: value", keys in their order; arrays of objects become tables. */
void print_report(const json_t *report, FILE *out);
/* Prints a report as text or, with --json, as it is, and lets go of it. */
void finish_report(const struct options *options, json_t *report);
/* Writes JSON, indented, and a newline. */
void print_json(const json_t *value, FILE *out);
/* The reasons of a fit as an array of {code, subject, found, wanted, remedy, more}. */
json_t *reasons_json(const tn_fit *fit);
/* Sets a member of a report to a text or a count. */
void set_text(json_t *object, const char *key, const char *text);
void set_count(json_t *object, const char *key, uint64_t value);
/* Length of the well-formed UTF-8 sequence at `text`, 0 if there is none (Unicode 15, table 3-7). */
size_t utf8_length(const unsigned char *text, size_t size);
/* A string that may hold any bytes: what is not UTF-8 becomes U+FFFD. */
json_t *text_json(const char *text, size_t size);

/* ---- array_file.c: FILE.f32 and FILE.npy -------------------------------------------------------------- */

struct array_file;
/* A file of rows of `width` floats, written beside and renamed when finished. EXIT_DONE or a status, message printed. */
int array_file_create(const struct options *options, uint64_t width, struct array_file **out);
int array_file_write(struct array_file *file, const float *data, uint64_t rows);
int array_file_finish(struct array_file *file);   /* frees it */
void array_file_abandon(struct array_file *file); /* frees it; NULL is fine */

#endif
