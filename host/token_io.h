/*
 * token_io.h - what tokenize and detokenize share: a tokenizer without its model, JSON lines in and out.
 */
#ifndef TENON_HOST_TOKEN_IO_H
#define TENON_HOST_TOKEN_IO_H

#include "byte_input.h"
#include "commands.h"

/* The tokenizer of a file, of which nothing else need be known. */
struct token_source {
    tn_engine *engine;
    tn_gguf *file;
    tn_text_codec *codec;
};

/* EXIT_DONE or a status, message printed; to be closed in either case. */
int token_source_open(struct options *options, struct token_source *out);
void token_source_close(struct token_source *source);

/* Writes ids, `between` before each but the very first of a list: *first tells, and is cleared. */
void put_ids(const int32_t *ids, uint64_t count, const char *between, bool *first);

/*
 * Answers each line of the input, a JSON object, with one line: what `answer` writes, without its end, or an object
 * with the member "error". `answer` writes nothing where it fails. EXIT_USAGE at the end if a line was bad.
 */
typedef int32_t (*line_answer)(void *context, const json_t *question, tn_error *err);
int answer_lines(struct byte_input *in, line_answer answer, void *context);

/* A member that may be missing and else is true or false. */
int32_t get_flag(const json_t *object, const char *key, bool *value, tn_error *err);
/* TN_E_INPUT if the object has a member that is not among `keys`, NULL at the end. */
int32_t check_keys(const json_t *object, const char *const *keys, tn_error *err);

#endif
