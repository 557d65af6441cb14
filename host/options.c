/*
 * options.c - the table of options and its parser. Long options take one dash or two (getopt_long_only); a
 * number is read whole, within the limits of its row, or refused.
 */
#include "commands.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, NAME /* a text that is not empty */, LIST, INTEGER, SEED, REAL, BYTES };

struct row {
    unsigned commands;
    char letter; /* or 0 */
    const char *name;
    enum kind kind;
    size_t offset;
    double low, high;
    const char *argument, *help;
};

#define AT(member) offsetof(struct options, member)
#define NO_LIMITS 0, 0

static const struct row rows[] = {
    {CMD_FILE, 'm', "model", NAME, AT(model), NO_LIMITS, "FILE",
     "the model, a GGUF file (any shard of a split one)"},
    {CMD_GENERATE, 'p', "prompt", TEXT, AT(prompt), NO_LIMITS, "TEXT",
     "a message of a user, sent through the model's chat template; with --raw, or where the file has none, the text to "
     "continue"},
    {CMD_GENERATE, 'f', "file", NAME, AT(file), NO_LIMITS, "FILE",
     "read it from FILE; without -p and -f `run` reads it from standard input"},
    {CMD_RUN, 0, "raw", FLAG, AT(raw), NO_LIMITS, NULL, "no template: the text is continued as it stands"},
    {CMD_PROMPT, 0, "messages", NAME, AT(messages), NO_LIMITS, "FILE",
     "a conversation as JSON: an array of messages, or an object with \"messages\" and \"tools\""},
    {CMD_GENERATE, 0, "system", TEXT, AT(system), NO_LIMITS, "TEXT", "a system message in front"},
    {CMD_PROMPT, 0, "tools", NAME, AT(tools), NO_LIMITS, "FILE",
     "tools that the model may call: an array, as JSON"},
    {CMD_PROMPT, 0, "template", NAME, AT(template_file), NO_LIMITS, "FILE",
     "a chat template (Jinja) in place of the model's own"},
    {CMD_PROMPT, 0, "template-name", NAME, AT(template_name), NO_LIMITS, "NAME",
     "of several templates in the model the one of that name (default: tool_use with tools, else the unnamed one)"},
    {CMD_PROMPT, 0, "set", LIST, AT(settings), NO_LIMITS, "NAME=JSON",
     "a variable for the template, such as enable_thinking=false; may be repeated"},
    {CMD_PROMPT, 0, "now", NAME, AT(now), NO_LIMITS, "TIME",
     "the time that templates see, such as 2026-01-15T09:30:00 (default: local time)"},
    {CMD_TEMPLATE, 0, "info", FLAG, AT(template_info), NO_LIMITS, NULL,
     "what the template supports: system messages, tools, thinking, and what ends a turn"},
    {CMD_GENERATE | CMD_SET, 'n', "count", INTEGER, AT(count), -1, INT32_MAX, "N",
     "stop after N tokens (default: -1, at the end of the text or of the context)"},
    {CMD_GENERATE | CMD_SET, 0, "seed", SEED, AT(seed), NO_LIMITS, "S",
     "seed of the sampler (default: a different one each time)"},
    {CMD_GENERATE | CMD_SET, 0, "temp", REAL, AT(temperature), 0, 1e6, "T",
     "temperature (default: 0.8); 0 takes the most likely token"},
    {CMD_GENERATE | CMD_SET, 0, "top-k", INTEGER, AT(top_k), 0, INT32_MAX, "K",
     "only the K most likely tokens (default: 40; 0: all)"},
    {CMD_GENERATE | CMD_SET, 0, "top-p", REAL, AT(top_p), 0, 1, "P",
     "only the most likely tokens that make up probability P (default: 0.95; 1: all)"},
    {CMD_GENERATE | CMD_SET, 0, "min-p", REAL, AT(min_p), 0, 1, "P",
     "only tokens at least P times as likely as the most likely one (default: 0.05; 0: all)"},
    {CMD_GENERATE | CMD_SET, 0, "repeat-penalty", REAL, AT(repeat_penalty), 1e-6, 1e6, "R",
     "penalty for tokens that occurred lately (default: 1, none)"},
    {CMD_GENERATE | CMD_SET, 0, "repeat-last-n", INTEGER, AT(repeat_last), -1, INT32_MAX, "N",
     "how many tokens count as lately (default: 64; 0: none, -1: all)"},
    {CMD_GENERATE | CMD_SET, 0, "special", FLAG, AT(special), NO_LIMITS, NULL,
     "show control tokens that are generated; with --raw, text of control tokens in the prompt becomes these tokens"},
    {CMD_GENERATE | CMD_SET, 0, "stop", LIST, AT(stops), NO_LIMITS, "TEXT",
     "end an answer where TEXT would begin, which is not shown; may be repeated"},
    {CMD_GENERATE | CMD_SET, 0, "ignore-eos", FLAG, AT(ignore_eos), NO_LIMITS, NULL,
     "go on after an end-of-text token"},

    {CMD_TOKENIZE, 'f', "file", NAME, AT(file), NO_LIMITS, "FILE",
     "read the text from FILE; without it and without TEXT it is read from standard input"},
    {CMD_TOKENIZE, 0, "ids", FLAG, AT(as_ids), NO_LIMITS, NULL, "one id a line (this is the default)"},
    {CMD_TOKENIZE, 0, "pieces", FLAG, AT(pieces), NO_LIMITS, NULL,
     "lines \"ID -> 'PIECE'\"; with --json the pieces beside the ids"},
    {CMD_TOKENIZE, 0, "json", FLAG, AT(json), NO_LIMITS, NULL, "one object with the members ids and count"},
    {CMD_TOKENIZE, 0, "special", FLAG, AT(special), NO_LIMITS, NULL,
     "control tokens that are written in the text become these tokens (else text is text)"},
    {CMD_TOKENIZE, 0, "no-add", FLAG, AT(no_add), NO_LIMITS, NULL,
     "add no tokens at the beginning and the end, whatever the file asks for"},
    {CMD_DETOKENIZE, 'f', "file", NAME, AT(file), NO_LIMITS, "FILE",
     "read the ids from FILE; without it and without IDS they are read from standard input"},
    {CMD_DETOKENIZE, 0, "skip-special", FLAG, AT(skip_special), NO_LIMITS, NULL,
     "control tokens and the unknown token give nothing (else their names)"},
    {CMD_TOKENS, 0, "jsonl", FLAG, AT(jsonl), NO_LIMITS, NULL,
     "a JSON object a line in, one out, in the same order (see above)"},

    {CMD_EMBED, 'f', "file", NAME, AT(file), NO_LIMITS, "FILE",
     "read the texts from FILE, one a line; without it, TEXT and --ids they are read from standard input"},
    {CMD_EMBED, 0, "ids", TEXT, AT(ids), NO_LIMITS, "LIST",
     "one text as token ids, separated by commas or blanks; fed as they are"},
    {CMD_EMBED, 0, "pool", NAME, AT(pool), NO_LIMITS, "KIND",
     "mean, cls (the first token) or last; none: every token's own; rank: the scores of a classification head (default: "
     "as the file says; of a decoder that says nothing, last)"},
    {CMD_EMBED, 0, "no-normalize", FLAG, AT(no_normalize), NO_LIMITS, NULL,
     "vectors as they are pooled (else they have length 1; those of none and rank never do)"},
    {CMD_EMBED, 0, "truncate", FLAG, AT(truncate), NO_LIMITS, NULL,
     "cut texts that are longer than the context; the end token stays (else they are an error)"},
    {CMD_EMBED, 'o', "output", NAME, AT(out), NO_LIMITS, "FILE",
     "where the vectors go: FILE.npy, or FILE.f32 (raw, little-endian, row-major); without it to standard output"},
    {CMD_EMBED, 0, "json", FLAG, AT(json), NO_LIMITS, NULL,
     "a JSON object a line: number, tokens, and embedding (of rank: scores)"},
    {CMD_RERANK, 'q', "query", TEXT, AT(query), NO_LIMITS, "QUERY", "what the documents are to answer"},
    {CMD_RERANK, 'f', "file", NAME, AT(file), NO_LIMITS, "FILE",
     "read the documents from FILE, one a line; without it and without DOC they are read from standard input"},
    {CMD_RERANK, 0, "top", INTEGER, AT(top), 1, INT32_MAX, "N", "only the N best (default: all)"},
    {CMD_RERANK, 0, "json", FLAG, AT(json), NO_LIMITS, NULL, "an array of {number, score, text}"},

    {CMD_OCR, 0, "frames", NAME, AT(frames), NO_LIMITS, "FILE",
     "the frames of a line: FILE.npy (a matrix of float32), or FILE.f32 (raw, little-endian, row-major)"},
    {CMD_OCR, 0, "beam", INTEGER, AT(beam), 1, 1024, "N",
     "follow the N most probable texts, with the file's bigrams if it has some (default: the most probable path)"},
    {CMD_OCR, 0, "json", FLAG, AT(json), NO_LIMITS, NULL,
     "an object: text, frames, log_probability, and of each character text, confidence, first and last frame"},

    {CMD_LOGITS, 0, "ids", TEXT, AT(ids), NO_LIMITS, "LIST",
     "token ids, separated by commas or blanks; fed as they are"},
    {CMD_LOGITS, 'p', "prompt", TEXT, AT(prompt), NO_LIMITS, "TEXT",
     "or a text, encoded as `run` would with --special"},
    {CMD_LOGITS, 0, "step", INTEGER, AT(step), 1, INT32_MAX, "N",
     "feed in steps of N tokens (default: all at once)"},
    {CMD_LOGITS, 'n', "count", INTEGER, AT(count), 0, INT32_MAX, "N",
     "then print the ids of N greedily chosen tokens (stop tokens are not special)"},
    {CMD_LOGITS, 'o', "output", NAME, AT(out), NO_LIMITS, "FILE",
     "where the rows go: FILE.f32 (raw, little-endian, row-major) or FILE.npy"},

    {CMD_BENCH, 'p', "n-prompt", INTEGER, AT(prompt_count), 0, INT32_MAX, "N",
     "tokens of the prompt test (default: 512; 0: leave it out)"},
    {CMD_BENCH, 'n', "n-gen", INTEGER, AT(gen_count), 0, INT32_MAX, "N",
     "tokens of the decode test (default: 128; 0: leave it out)"},
    {CMD_BENCH, 'r', "repetitions", INTEGER, AT(repeats), 1, 10000, "N",
     "times that each test is run (default: 5)"},
    {CMD_BENCH, 'o', "output", TEXT, AT(format), NO_LIMITS, "md|json", "form of the report (default: md)"},

    {CMD_INFO, 0, "tensors", FLAG, AT(tensors), NO_LIMITS, NULL, "list every tensor"},
    {CMD_INFO, 0, "meta", FLAG, AT(meta), NO_LIMITS, NULL, "list every metadata entry"},
    {CMD_INFO, 0, "tokenize", NAME, AT(tokenize), NO_LIMITS, "FILE",
     "encode FILE and report bytes, tokens, bytes per token and whether decoding gives it back"},

    {CMD_CHUNKS, 'f', "file", NAME, AT(file), NO_LIMITS, "FILE", "the text"},
    {CMD_CHUNKS, 'c', "context", INTEGER, AT(context), 1, INT32_MAX, "N",
     "tokens of a chunk of the text (default: 512)"},
    {CMD_CHUNKS, 0, "chunks", INTEGER, AT(chunks), 1, INT32_MAX, "N",
     "at most N chunks (default: all that are whole)"},
    {CMD_IMATRIX, 0, "from-chunk", INTEGER, AT(from_chunk), 0, INT32_MAX, "N",
     "leave out the first N chunks: to go on where a run was interrupted"},
    {CMD_IMATRIX, 0, "in-file", LIST, AT(in_files), NO_LIMITS, "FILE",
     "add what another run has gathered; may be repeated. Older files do not say how long their chunks were: -c does; a "
     "warning tells what is assumed without it"},
    {CMD_IMATRIX, 0, "output-tensor", FLAG, AT(output_tensor), NO_LIMITS, NULL,
     "also for matrices behind the last layer (slower: all logits are computed)"},
    {CMD_IMATRIX, 'o', "output", NAME, AT(out), NO_LIMITS, "FILE",
     "where the importance matrix goes, as GGUF"},
    {CMD_PERPLEXITY, 0, "save-logits", NAME, AT(save), NO_LIMITS, "FILE",
     "keep all logits that were scored as a base for later runs"},
    {CMD_PERPLEXITY, 0, "base", NAME, AT(base), NO_LIMITS, "FILE",
     "compare with the logits of another run; -c and --chunks are then the base's"},

    {CMD_QUANTIZE | CMD_SPLIT | CMD_MERGE, 'i', "input", NAME, AT(input), NO_LIMITS, "FILE",
     "the file to read: any GGUF file, of a split one any shard"},
    {CMD_QUANTIZE, 'o', "output", NAME, AT(out), NO_LIMITS, "FILE",
     "the new file; of several shards FILE-00001-of-00003.gguf and so on"},
    {CMD_QUANTIZE, 0, "type", NAME, AT(type), NO_LIMITS, "TYPE",
     "a file type, or COPY: all tensors as they are; help lists them"},
    {CMD_QUANTIZE, 0, "imatrix", NAME, AT(importance), NO_LIMITS, "FILE",
     "importance data, as tenon imatrix writes them; the older form is read too"},
    {CMD_QUANTIZE, 0, "pure", FLAG, AT(pure), NO_LIMITS, NULL,
     "one type for all tensors, where the file type has several"},
    {CMD_QUANTIZE, 0, "tensor-type", LIST, AT(tensor_types), NO_LIMITS, "REGEX=TYPE",
     "TYPE for tensors whose name has a match of REGEX (POSIX extended); may be repeated: the first that matches "
     "counts, before all else"},
    {CMD_QUANTIZE, 0, "tensor-type-file", NAME, AT(tensor_type_file), NO_LIMITS, "FILE",
     "more of these, one a line; # starts a comment line"},
    {CMD_QUANTIZE, 0, "output-type", NAME, AT(output_type), NO_LIMITS, "TYPE",
     "TYPE for the output tensor (where there is none: for the token embedding)"},
    {CMD_QUANTIZE, 0, "embedding-type", NAME, AT(embedding_type), NO_LIMITS, "TYPE",
     "TYPE for the token embedding"},
    {CMD_QUANTIZE, 0, "leave-output", FLAG, AT(leave_output), NO_LIMITS, NULL,
     "leave the output tensor as it is"},
    {CMD_QUANTIZE, 0, "allow-requantize", FLAG, AT(allow_requantize), NO_LIMITS, NULL,
     "also convert tensors that are quantised: loses more than converting the original would"},
    {CMD_QUANTIZE, 0, "dry-run", FLAG, AT(dry_run), NO_LIMITS, NULL,
     "only report what would be done, with exact sizes"},
    {CMD_QUANTIZE, 0, "keep-split", FLAG, AT(keep_split), NO_LIMITS, NULL,
     "write shards that hold the tensors which they hold in the input"},
    {CMD_QUANTIZE, 0, "split-max-size", BYTES, AT(split_size), NO_LIMITS, "N[K|M|G]",
     "write shards of at most so many bytes (K, M, G: thousands, millions, billions)"},
    {CMD_SPLIT, 'o', "output", NAME, AT(out), NO_LIMITS, "PREFIX",
     "the shards are called PREFIX-00001-of-00003.gguf and so on"},
    {CMD_SPLIT, 0, "max-size", BYTES, AT(split_size), NO_LIMITS, "N[K|M|G]",
     "most bytes of a shard (K, M, G: thousands, millions, billions); one that has a single tensor may be larger"},
    {CMD_SPLIT, 0, "max-tensors", INTEGER, AT(split_tensors), 1, INT32_MAX, "N", "most tensors of a shard"},
    {CMD_MERGE, 'o', "output", NAME, AT(out), NO_LIMITS, "FILE", "the new file"},
    {CMD_QUANTIZE | CMD_SPLIT | CMD_MERGE | CMD_CHUNKS, 0, "force", FLAG, AT(force), NO_LIMITS, NULL,
     "replace the new file if it is there already"},

    {CMD_MODEL | CMD_CHECK | CMD_QUANTIZE | CMD_TOKENIZE, 't', "threads", INTEGER, AT(threads), 1, 1024, "N",
     "threads to compute with (default: all that this process may use)"},
    {CMD_MODEL & ~CMD_CHUNKS, 'c', "context", INTEGER, AT(context), 1, INT32_MAX, "N",
     "tokens that a sequence may have (default: what the file says); memory is taken as it fills"},
    {CMD_MODEL & ~CMD_OCR, 0, "kv", NAME, AT(cache), NO_LIMITS, "TYPE",
     "type of the key/value cache: f16 (default) or f32"},
    {CMD_MODEL, 0, "backend", NAME, AT(backend), NO_LIMITS, "NAME",
     "the backend that computes (default: cpu)"},
    {CMD_MODEL, 0, "lora", LIST, AT(loras), NO_LIMITS, "FILE[=SCALE]",
     "add a low-rank adapter (GGUF), times SCALE (default 1); may be repeated"},
    {CMD_MODEL, 0, "control-vector", LIST, AT(control_vectors), NO_LIMITS, "FILE[=SCALE]",
     "add a control vector (GGUF) to the layers' outputs, times SCALE (default 1); may be repeated"},
    {CMD_MODEL, 0, "control-vector-layers", NAME, AT(control_layers), NO_LIMITS, "A-B",
     "only in layers A to B, counted from 0 (default: all that the file has)"},

    {CMD_PLUGINS, 0, "names", FLAG, AT(names), NO_LIMITS, NULL,
     "of list: only the names of the architectures, and how many there are"},
    {CMD_TRACE, 'p', "prompt", TEXT, AT(prompt), NO_LIMITS, "TEXT", "the text to run"},
    {CMD_TRACE, 0, "ids", TEXT, AT(ids), NO_LIMITS, "LIST",
     "or its token ids, separated by commas or blanks"},
    {CMD_TRACE, 0, "op", NAME, AT(op), NO_LIMITS, "NAME",
     "one value, with all of its numbers: a row a token (without it, a line for each value)"},
    {CMD_TRACE, 'o', "output", NAME, AT(out), NO_LIMITS, "FILE",
     "write the value of --op to FILE.npy or FILE.f32 (raw, little-endian, row-major)"},

    {CMD_ALL, 0, "plugin-dir", LIST, AT(plugin_dirs), NO_LIMITS, "DIR",
     "look for plugins in DIR too, before the installed ones; may be repeated"},
    {CMD_ALL & ~(CMD_GENERATE | CMD_LOGITS | CMD_BENCH | CMD_TOKENS | CMD_VECTORS | CMD_OCR), 0, "json", FLAG,
     AT(json), NO_LIMITS, NULL, "report as JSON"},
    {CMD_ALL | CMD_SET, 'v', "verbose", FLAG, AT(verbose), NO_LIMITS, NULL, "say more on standard error"},
    {CMD_ALL & ~CMD_RERANK, 'q', "quiet", FLAG, AT(quiet), NO_LIMITS, NULL, "only errors on standard error"},
    {CMD_RERANK, 0, "quiet", FLAG, AT(quiet), NO_LIMITS, NULL, "only errors on standard error"},
    {CMD_ALL, 'h', "help", FLAG, AT(help), NO_LIMITS, NULL, "print this and exit"},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

int usage_error(const char *command, const char *format, ...) {
    va_list args;
    fprintf(stderr, "tenon %s: ", command);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

static void set_defaults(const struct command *command, struct options *out) {
    *out = (struct options){
        .cache = command->bit == CMD_LOGITS ? "f32" : "f16",
        .backend = "cpu",
        .format = "md",
        .count = command->bit & CMD_GENERATE ? -1 : 0,
        .prompt_count = 512,
        .gen_count = 128,
        .repeats = 5,
        .repeat_last = 64,
        .top_k = 40,
        .temperature = 0.8,
        .top_p = 0.95,
        .min_p = 0.05,
        .repeat_penalty = 1,
    };
}

static int bad_number(const struct command *command, const struct row *row, const char *text) {
    if (row->kind == SEED) {
        return usage_error(command->name, "--%s: \"%s\" is no whole number from 0 to 2^64 - 1", row->name,
                           text);
    }
    if (row->kind == INTEGER) {
        return usage_error(command->name, "--%s: \"%s\" is no whole number from %.0f to %.0f", row->name,
                           text, row->low, row->high);
    }
    return usage_error(command->name, "--%s: \"%s\" is no number from %g to %g", row->name, text, row->low,
                       row->high);
}

/* N, NK, NM or NG. */
static int set_bytes(const struct command *command, const struct row *row, const char *text, uint64_t *out) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    uint64_t unit = *end == 'G' ? 1000000000 : *end == 'M' ? 1000000 : *end == 'K' ? 1000 : 1;
    if (text[0] < '0' || text[0] > '9' || errno || value == 0 || end[*end && unit > 1] ||
        __builtin_mul_overflow(value, unit, out)) {
        return usage_error(command->name, "--%s: \"%s\" is no number of bytes such as 500M", row->name, text);
    }
    return EXIT_DONE;
}

static int set_number(const struct command *command, const struct row *row, const char *text, void *at) {
    char *end = NULL;
    errno = 0;
    if (row->kind == REAL) {
        double value = strtod(text, &end);
        if (end == text || *end || !(value >= row->low && value <= row->high)) {
            return bad_number(command, row, text);
        }
        *(double *)at = value;
    } else if (row->kind == SEED) {
        unsigned long long value = strtoull(text, &end, 10);
        if (end == text || *end || errno || strchr(text, '-')) { return bad_number(command, row, text); }
        *(uint64_t *)at = value;
    } else {
        long long value = strtoll(text, &end, 10);
        if (end == text || *end || errno || (double)value < row->low || (double)value > row->high) {
            return bad_number(command, row, text);
        }
        *(int64_t *)at = value;
    }
    return EXIT_DONE;
}

static int empty_name(const struct command *command, const struct row *row) {
    return usage_error(command->name, "--%s: the name is empty", row->name);
}

static int append(const struct command *command, const struct row *row, const char *text,
                  struct text_list *list) {
    if (!*text) { return empty_name(command, row); }
    if (list->count == MAX_LIST) {
        return usage_error(command->name, "--%s was given more than %d times", row->name, MAX_LIST);
    }
    list->at[list->count++] = text;
    return EXIT_DONE;
}

static int set_option(const struct command *command, const struct row *row, const char *text,
                      struct options *out) {
    void *at = (char *)out + row->offset;
    switch (row->kind) {
    case FLAG: *(bool *)at = true; return EXIT_DONE;
    case NAME:
        if (!*text) { return empty_name(command, row); }
        __attribute__((fallthrough));
    case TEXT: *(const char **)at = text; return EXIT_DONE;
    case LIST: return append(command, row, text, at);
    case BYTES: return set_bytes(command, row, text, at);
    case SEED: out->seed_given = true; break;
    case INTEGER:
    case REAL: break;
    }
    return set_number(command, row, text, at);
}

/* ---- in a conversation ------------------------------------------------------------------------------ */

static const struct row *row_to_change(const char *name) {
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        if ((row->commands & CMD_SET) && strcmp(row->name, name) == 0) { return row; }
    }
    return NULL;
}

bool option_can_change(const char *name) {
    return row_to_change(name) != NULL;
}

static int set_flag(const struct command *command, const struct row *row, const char *text, bool *flag) {
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        return usage_error(command->name, "--%s: \"%s\" is neither true nor false", row->name, text);
    }
    *flag = text[0] == 't';
    return EXIT_DONE;
}

int option_change(struct options *options, const char *name, const char *text) {
    const struct command *command = command_find(options->command);
    const struct row *row = row_to_change(name);
    void *at = (char *)options + row->offset;
    if (row->kind == FLAG) { return set_flag(command, row, text, at); }
    if (row->kind == LIST && !*text) {
        ((struct text_list *)at)->count = 0;
        return EXIT_DONE;
    }
    return set_option(command, row, text, options);
}

static void read_value(const struct row *row, const void *at, struct option_value *out) {
    *out = (struct option_value){.name = row->name, .text = row->kind == LIST ? NULL : out->number};
    switch (row->kind) {
    case FLAG: out->text = *(const bool *)at ? "true" : "false"; break;
    case TEXT:
    case NAME: out->text = *(const char *const *)at; break;
    case LIST: out->list = at; break;
    case INTEGER: snprintf(out->number, sizeof out->number, "%" PRId64, *(const int64_t *)at); break;
    case SEED:
    case BYTES: snprintf(out->number, sizeof out->number, "%" PRIu64, *(const uint64_t *)at); break;
    case REAL: snprintf(out->number, sizeof out->number, "%.15g", *(const double *)at); break;
    }
}

bool option_value_at(const struct options *options, size_t *at, struct option_value *out) {
    while (*at < ROW_COUNT && !(rows[*at].commands & CMD_SET)) { ++*at; }
    if (*at == ROW_COUNT) { return false; }
    read_value(&rows[*at], (const char *)options + rows[*at].offset, out);
    ++*at;
    return true;
}

/* ---- told again ------------------------------------------------------------------------------------- */

static void print_value(const struct row *row, const char *text, FILE *out) {
    if (row->letter) {
        fprintf(out, " -%c", row->letter);
    } else {
        fprintf(out, " --%s", row->name);
    }
    if (row->kind == FLAG) { return; }
    fputc(' ', out);
    print_word(text, out);
}

static bool is_among(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) { names++; }
    return *names != NULL;
}

void options_print(const struct options *options, const char *const *but, FILE *out) {
    const struct command *command = command_find(options->command);
    struct options fresh;
    set_defaults(command, &fresh);
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        struct option_value value, usual;
        if (!(row->commands & command->bit) || is_among(row->name, but)) { continue; }
        read_value(row, (const char *)options + row->offset, &value);
        read_value(row, (const char *)&fresh + row->offset, &usual);
        for (uint64_t i = 0; value.list && i < value.list->count; i++) {
            print_value(row, value.list->at[i], out);
        }
        if (value.text && (!usual.text || strcmp(value.text, usual.text) != 0)) {
            print_value(row, value.text, out);
        }
    }
}

/* ---- the command line ------------------------------------------------------------------------------- */

/* What getopt wants, for the rows of one command. */
struct getopt_tables {
    char letters[2 * ROW_COUNT + 2];
    struct option longs[ROW_COUNT + 1];
    const struct row *long_rows[ROW_COUNT];
};

static void make_tables(const struct command *command, struct getopt_tables *out) {
    size_t letter = 0, count = 0;
    out->letters[letter++] = ':';
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        if (!(row->commands & command->bit)) { continue; }
        out->longs[count] =
            (struct option){row->name, row->kind == FLAG ? no_argument : required_argument, NULL, 0};
        out->long_rows[count++] = row;
        if (row->letter) {
            out->letters[letter++] = row->letter;
            if (row->kind != FLAG) { out->letters[letter++] = ':'; }
        }
    }
    out->letters[letter] = 0;
    out->longs[count] = (struct option){NULL, 0, NULL, 0};
}

static const struct row *row_of_letter(const struct command *command, int letter) {
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        if ((row->commands & command->bit) && row->letter == letter) { return row; }
    }
    return NULL;
}

int options_parse(const struct command *command, int argc, char **argv, struct options *out) {
    struct getopt_tables tables;
    make_tables(command, &tables);
    set_defaults(command, out);
    out->command = command->name;
    opterr = 0;
    optind = 1;
    for (;;) {
        int index = -1;
        int got = getopt_long_only(argc, argv, tables.letters, tables.longs, &index);
        if (got == -1) { break; }
        if (got == ':') { return usage_error(command->name, "%s needs a value", argv[optind - 1]); }
        if (got == '?') {
            const char *what = argv[optind - 1];
            if (optopt && strncmp(what, "--", 2) != 0) {
                return usage_error(command->name, "unknown option %s (see tenon %s --help)", what,
                                   command->name);
            }
            return usage_error(command->name,
                               "unknown, ambiguous or wrongly used option %s (see tenon %s --help)", what,
                               command->name);
        }
        const struct row *row = got == 0 ? tables.long_rows[index] : row_of_letter(command, got);
        int status = set_option(command, row, optarg, out);
        if (status != EXIT_DONE) { return status; }
    }
    out->arguments = argv + optind;
    out->argument_count = argc - optind;
    if (out->argument_count && !*command->operands && !out->help) {
        return usage_error(command->name, "unexpected \"%s\" (see tenon %s --help)", out->arguments[0],
                           command->name);
    }
    if ((command->bit & CMD_FILE & ~CMD_IMATRIX) && !out->model && !out->help) {
        return usage_error(command->name, "which model? (-m FILE)");
    }
    return adapters_read(command, out);
}

bool option_text_at(const struct command *command, size_t *at, struct option_text *out) {
    for (; *at < ROW_COUNT; ++*at) {
        const struct row *row = &rows[*at];
        if (row->commands & command->bit) {
            *out = (struct option_text){row->letter, row->name, row->argument, row->help};
            ++*at;
            return true;
        }
    }
    return false;
}
