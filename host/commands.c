/*
 * commands.c - the table of commands.
 */
#include "commands.h"

#include <string.h>

const struct command commands[] = {
    {CMD_RUN, "run", "", "answer a message, or continue a text",
     "Sends the text of -p, -f or standard input as a user's message through the model's chat template, and writes the "
     "answer to standard output. --messages sends a whole conversation. With --raw, and where the file has no template, the "
     "text is continued as it is; BOS is put in front where the file asks for it. Nothing that a message says becomes a "
     "control token.\n\n"
     "Ends with a line of statistics on standard error: tokens, time and rate of the prompt and of what was generated, "
     "and why it stopped: eos, stop, length, context or interrupt.",
     cmd_run},
    {CMD_CHAT, "chat", "", "a conversation",
     "Reads messages and answers them, on a terminal with editing, recall of earlier lines (arrow keys, ^R) and commands: "
     "/help lists them. A line that ends in a backslash goes on in the next one; \"\"\" begins and ends a message of "
     "several lines. ^C stops an answer, not the program. From a pipe each line is a message. What earlier turns have "
     "computed is kept; where the context is full, that is said, and /undo or /clear make room.",
     cmd_chat},
    {CMD_TEMPLATE, "template", "", "a conversation as the prompt that the model would get",
     "Renders the conversation of --messages by the model's chat template and writes the prompt, nothing else. The variables "
     "are those of Hugging Face transformers: add_generation_prompt is true, bos_token and eos_token are the file's, unless "
     "--set says otherwise. Needs only the file's metadata. An error in the template, or one that it raises, is told with line "
     "and column, with status 1.",
     cmd_template},
    {CMD_INFO, "info", "", "what a model file is",
     "Reports the program's version, the instruction sets and backends in use, and of the file what it is: architecture, "
     "sizes, tokenizer, the histogram of its tensor types (the name on the file is a claim, the histogram is the fact), "
     "and whether every tensor would be read. A file that would be refused is shown as far as it can be read, then the "
     "reasons, with status 3.",
     cmd_info},
    {CMD_FIT, "fit", "", "would it load here, and if not, why",
     "Proves that the installed plugins fit the file, or prints everything that does not fit, with status 3. Reads no "
     "weight.",
     cmd_fit},
    {CMD_LOGITS, "logits", "", "the numbers a model computes",
     "Feeds token ids, or a text, and writes the logits of every position (of an embedding model: the hidden states) as "
     "float32. It is what comparisons with other engines hang on; so the cache is f32 unless --kv says otherwise.",
     cmd_logits},
    {CMD_PLAN, "plan", "", "which plugin and kernel serves each op",
     "Prints, for each op of the model's graph, which plugin and which kernel serves it, and why not the others.",
     cmd_plan},
    {CMD_BENCH, "bench", "", "prompt and decode speed",
     "Measures tokens per second of reading a prompt and of generating, each from an empty cache and after one run to "
     "warm up. The names of the JSON fields are those of llama-bench.",
     cmd_bench},
    {CMD_PLUGINS, "plugins", "list | explain NAME | check FILE.so",
     "what is installed, and would a plugin be accepted",
     "list: every plugin that a manifest declares, with what it claims; opens none. explain NAME: one plugin (by its id "
     "or its id's last part), or who claims the name, or why it is known and not supported. check FILE.so: every check "
     "that loading makes, by name; status 3 if it would be refused.",
     cmd_plugins},
    {CMD_FORMATS, "formats", "", "which tensor formats there are, and what can be done with each",
     "One row a format: its number in GGUF files, elements and bytes of a block, bits per weight, whether it is read and "
     "written, the kernels for each instruction set, and the plugin that it comes from.",
     cmd_formats},
    {CMD_CHECK, "check", "", "are all blocks of a file sound",
     "Looks at every block of every tensor for values that no encoder writes: infinite or undefined scales and numbers. "
     "Prints each tensor that has some, how many and where the first one is; status 4 if there are any. Needs only the "
     "formats: architecture and tokenizer may be unknown. A tensor of a type that no plugin reads is named as not checked, with "
     "status 3 if nothing worse was found.",
     cmd_check},
    {CMD_QUANTIZE, "quantize", "", "a model in another type, smaller as a rule",
     "Makes a model file from another one, its tensors in other types: a file type says which tensor gets which. Needs "
     "only the formats; architecture and tokenizer may be unknown. Where rows do not fit a type's blocks another type "
     "stands in, which is reported. Metadata are kept, but for file type, quantization version and the source of "
     "importance data. A source is refused where a tensor that is converted has infinite or undefined numbers; `tenon "
     "check` looks at all tensors.\n\n"
     "The new file appears when it is whole and on disk; until then one that was there stays. Memory does not depend on "
     "the size of tensors: beside the metadata at most 8 MB a thread, and three times the size of the importance file.",
     cmd_quantize},
    {CMD_IMATRIX, "imatrix", "", "which columns of a model's matrices matter",
     "Runs a text through a model and sums, for each matrix of its layers, the squares of what goes into each column: "
     "the importance matrix that quantising reads. The text is cut into chunks; what is left over is dropped. With "
     "--in-file the sums of earlier runs are added, without -f files are just merged. Reports how much was seen and how "
     "unequal the columns are, and the next command to type.\n\n"
     "Written every minute, and after ^C, so that little is lost; then the command that goes on is told. What it writes is "
     "the same, to the bit, as if the run had never stopped.",
     cmd_imatrix},
    {CMD_PERPLEXITY, "perplexity", "", "how well a model predicts a text",
     "Cuts a text into chunks and scores the second half of each: perplexity with its standard error. With --save-logits "
     "the logits are kept as a base; with --base they are compared with those of another model that read the same text: "
     "Kullback-Leibler divergence of this model from the base (mean with its error, 99 % of the tokens, largest), how "
     "often both find the same token likeliest, and both perplexities.",
     cmd_perplexity},
    {CMD_SPLIT, "split", "", "cut a model file into shards",
     "Copies a model into shards of at most so many bytes or tensors, as they are. The first has the metadata; every "
     "command that reads a model takes any of them. They appear when all are whole and on disk, the first one last: an "
     "old set of the same names loses its first shard before others are replaced, so that no shards of two sets are ever "
     "read as one model.",
     cmd_split},
    {CMD_MERGE, "merge", "", "put the shards of a model together",
     "Copies a split model, named by any of its shards, into one file.", cmd_merge},
    {CMD_TOKENIZE, "tokenize", "[TEXT]", "a text as token ids",
     "Reads a text of any length, as it is, and writes the ids of its tokens, which `tenon detokenize` takes. What the "
     "file asks to be added (BOS, EOS, CLS, SEP) is added. Needs only the vocabulary: files without tensors and of any "
     "architecture will do. Memory does not grow with the text, but with the longest stretch that cannot be cut.\n\n"
     "With --jsonl each line is an object {\"text\": ...}, or {\"text_b64\": ...} for any bytes, with \"pair\" for a second "
     "text and \"special\" and \"add\", true or false, in place of the options; the answer is {\"ids\": [...]}, with "
     "\"types\" where a pair was given. A line that is wrong gives {\"error\": ...} in its place, and status 2 at the end.",
     cmd_tokenize},
    {CMD_DETOKENIZE, "detokenize", "[IDS ...]", "token ids as a text",
     "Reads token ids, separated by blanks or commas, and writes the bytes that they stand for and nothing else: bytes "
     "that are no UTF-8 as they are, no newline at the end.\n\n"
     "With --jsonl each line is an object {\"ids\": [...]}, with \"skip_special\", true or false, in place of the option; "
     "the answer is {\"text\": ...} or, where that is no UTF-8, {\"text_b64\": ...}. A line that is wrong gives "
     "{\"error\": ...} in its place, and status 2 at the end.",
     cmd_detokenize},
    {CMD_EMBED, "embed", "[TEXT ...]", "texts as vectors",
     "Computes a vector for each text and writes one a line, its numbers separated by blanks. Many texts go through the model "
     "in one step; each gets the same vector, to the bit, as it would alone. Tokens that the file asks for (BOS, EOS, CLS, "
     "SEP) are added; text of control tokens is text. Lines that come through a pipe are answered as they come.",
     cmd_embed},
    {CMD_RERANK, "rerank", "[DOC ...]", "which texts answer a question best",
     "Scores each document together with the query by the model's classification head, and writes number, score and text of "
     "each, best first, separated by tabs. Scores are what the model gives, in no fixed range; of equal ones the earlier "
     "document comes first. A file without classification head is refused.",
     cmd_rerank},
    {CMD_OCR, "ocr", "", "a line of text from its frames",
     "Reads the frames of a line, rows of numbers that another program has made of a picture, and writes the text that the "
     "model reads in them, by ctc: each frame gives a symbol of the model's alphabet or none, and repetitions count once.",
     cmd_ocr},
    {CMD_TRACE, "trace", "", "what every value of the graph holds",
     "Runs a text and lists each value of the model's graph in its order: name, op, shape, mean, the number of the greatest "
     "magnitude, and how many are no numbers (NaN). With --op all numbers of one value, a row a token. Who writes an "
     "architecture compares them with those of another program until the first difference. Results of a split are called "
     "NAME:0, NAME:1 and so on.",
     cmd_trace},
};
const size_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name) {
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i].name, name) == 0) { return &commands[i]; }
    }
    return NULL;
}
