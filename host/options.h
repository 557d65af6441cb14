/*
 * options.h - the command line: one table of commands, one of options; help and man page are made from both.
 */
#ifndef TENON_HOST_OPTIONS_H
#define TENON_HOST_OPTIONS_H

#include "tenon/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses that are not a tn_code's (those: tn_code_status()). */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_REFUSED = 3,
    EXIT_FAULTS = 4,
    EXIT_INTERRUPTED = 130
};

/* Commands, as bits: which option belongs to which. */
enum {
    CMD_RUN = 1 << 0,
    CMD_INFO = 1 << 1,
    CMD_FIT = 1 << 2,
    CMD_LOGITS = 1 << 3,
    CMD_PLAN = 1 << 4,
    CMD_BENCH = 1 << 5,
    CMD_PLUGINS = 1 << 6,
    CMD_FORMATS = 1 << 7,
    CMD_CHECK = 1 << 8,
    CMD_QUANTIZE = 1 << 9,
    CMD_IMATRIX = 1 << 10,
    CMD_PERPLEXITY = 1 << 11,
    CMD_SPLIT = 1 << 12,
    CMD_MERGE = 1 << 13,
    CMD_TOKENIZE = 1 << 14,
    CMD_DETOKENIZE = 1 << 15,
    CMD_CHAT = 1 << 16,
    CMD_TEMPLATE = 1 << 17,
    CMD_EMBED = 1 << 18,
    CMD_RERANK = 1 << 19,
    CMD_TRACE = 1 << 20,
    CMD_OCR = 1 << 21,
    CMD_ALL = (1 << 22) - 1,
    CMD_GENERATE = CMD_RUN | CMD_CHAT,
    CMD_VECTORS = CMD_EMBED | CMD_RERANK,
    CMD_PROMPT = CMD_GENERATE | CMD_TEMPLATE, /* takes a chat template and what it is rendered with */
    CMD_MODEL = CMD_GENERATE | CMD_LOGITS | CMD_BENCH | CMD_PLAN | CMD_FIT | CMD_INFO | CMD_IMATRIX |
                CMD_PERPLEXITY | CMD_VECTORS | CMD_TRACE | CMD_OCR, /* takes what running takes */
    CMD_TOKENS = CMD_TOKENIZE | CMD_DETOKENIZE,
    CMD_FILE = CMD_MODEL | CMD_CHECK | CMD_TOKENS | CMD_TEMPLATE, /* takes -m */
    CMD_CHUNKS = CMD_IMATRIX | CMD_PERPLEXITY,                    /* reads a text in chunks */
    CMD_SET = 1 << 30, /* no command: the option can be changed in a conversation */
};

enum { MAX_LIST = 256 };

/* The values of an option that may be repeated. */
struct text_list {
    const char *at[MAX_LIST];
    uint64_t count;
};

/* Everything that can be said on a command line, with the command's defaults where it was not said. */
struct options {
    const char *command; /* its name */
    const char *model, *prompt, *file, *ids, *out, *tokenize, *cache, *backend, *format;
    const char *base, *save;  /* of perplexity */
    const char *pool, *query; /* of embed; of rerank */
    int64_t top;
    const char *frames; /* of ocr */
    int64_t beam;
    bool no_normalize, truncate;
    uint32_t purpose; /* TN_PURPOSE_* that the command needs, 0: by the model's kind; no option */
    const char *input, *type, *importance, *output_type, *embedding_type, *tensor_type_file; /* of quantize */
    const char *messages, *tools, *system, *template_file, *template_name,
        *now; /* of run, chat and template */
    struct text_list settings, stops;
    bool raw, template_info;
    struct text_list tensor_types;
    uint64_t split_size;
    int64_t split_tensors;
    bool as_shards;
    bool pure, leave_output, allow_requantize, dry_run, keep_split, force;
    bool as_ids, pieces, no_add, skip_special, jsonl; /* of tokenize and detokenize */
    struct text_list plugin_dirs, in_files;
    struct text_list loras, control_vectors; /* FILE or FILE=SCALE */
    const char *control_layers;              /* A-B */
    tn_adapter adapters[2 * MAX_LIST];       /* of all three */
    uint32_t adapter_count;
    const char *op;             /* of trace */
    bool names;                 /* of plugins list */
    int64_t chunks, from_chunk; /* of a text; chunks 0: all */
    int64_t count, prompt_count, gen_count, repeats, threads, context, step, repeat_last;
    int64_t top_k;
    uint64_t seed;
    double temperature, top_p, min_p, repeat_penalty;
    bool output_tensor;
    bool seed_given, special, ignore_eos, json, verbose, quiet, tensors, meta, help;
    char *const *arguments; /* what is left: subcommand and its operands */
    int argument_count;
};

struct command {
    unsigned bit;
    const char *name;
    const char *operands;    /* "" or "list | explain NAME | check FILE.so" */
    const char *summary;     /* one line */
    const char *description; /* paragraphs, separated by empty lines */
    int (*run)(struct options *options);
};

extern const struct command commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);

/* Reads argv[1..] of a command (argv[0] is its name). EXIT_DONE, or EXIT_USAGE with the message printed. */
int options_parse(const struct command *command, int argc, char **argv, struct options *out);

/* Prints a line "tenon COMMAND: ..." to standard error and returns EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* adapters.c: fills `adapters` from what was said of them. EXIT_DONE, or EXIT_USAGE with the message printed. */
int adapters_read(const struct command *command, struct options *out);
void adapters_free(struct options *options);

/* An option that can be changed in a conversation (CMD_SET) has that name. */
bool option_can_change(const char *name);
/* Changes it as if `text`, which must outlive the options, stood on the command line. A flag becomes true or false; one
 * that may be repeated takes `text` too, or with "" has none. EXIT_DONE, or EXIT_USAGE with the message printed. */
int option_change(struct options *options, const char *name, const char *text);
/* Walks the options that can be changed; *at from 0. */
struct option_value {
    const char *name;
    const char *text;             /* as it would stand on the command line; of a flag true or false */
    const struct text_list *list; /* instead of `text`, where it may be repeated */
    char number[32];              /* what `text` may point to */
};
bool option_value_at(const struct options *options, size_t *at, struct option_value *out);

/* Prints what was said of a command's options, a blank before each, as a shell reads it: all whose value is not the
 * default, but for the names in `but` (NULL ends them). */
void options_print(const struct options *options, const char *const *but, FILE *out);

/* Walks the table for help and man page: each option of a command, in order. */
struct option_text {
    char letter; /* or 0 */
    const char *name, *argument, *help;
};
bool option_text_at(const struct command *command, size_t *at, struct option_text *out);

void print_help(const struct command *command, FILE *out); /* NULL: of the program */
void print_manual(FILE *out);                              /* tenon(1) in man(7) */

#endif
