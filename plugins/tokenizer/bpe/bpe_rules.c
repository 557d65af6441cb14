/*
 * bpe_rules.c - the table of rule sets: a name of tokenizer.ggml.pre is one line, an expression one stage. The
 * manifest claims the same names; a test looks each of its claims up here, another holds each set against its
 * published expression.
 *
 * NFC: no file says that its text is composed first; published tokenizer.json files do. Those of Qwen,
 * GPT-NeoX and OLMo were read. MPT uses GPT-NeoX's, ModernBERT says that its own is OLMo's with other special
 * tokens. For Command-R and Qwen 3.5 we have only the word of others who read theirs; Tiny Aya's, of Command-R's
 * house, nobody spoke of, and it is not composed here.
 */
#include "bpe_rules.h"

#include "bpe_marks.h"
#include "bpe_sets.h"
#include "bpe_split.h"

#include <string.h>

enum { LETTER = TN_LETTER, NUMBER = TN_NUMBER, MARK = TN_MARK, SYMBOL = TN_IN(TN_CLASS_SM, TN_CLASS_SO) };
enum { DIGIT = 1 << TN_CLASS_ND };

/* ---- sets and shapes --------------------------------------------------------------------------------- */

static const tn_set letters[] = {{TN_ASCII_LETTERS, LETTER, NULL, 0, 0}};
static const tn_set punctuation[] = {{TN_ASCII_PUNCTUATION, TN_PUNCTUATION, NULL, 0, 0}};
static const tn_set dark[] = {{TN_ASCII_DARK, ~TN_SPACE, NULL, 0, 0}};

/* What is no border behind digits: \w as Oniguruma has it, circled letters and the numbers of Latin-1 among it. */
static const uint32_t odd_words[][2] = {{0xb2, 0xb3},      {0xb9, 0xb9},       {0xbc, 0xbe},
                                        {0x24b6, 0x24e9},  {0x1f130, 0x1f149}, {0x1f150, 0x1f169},
                                        {0x1f170, 0x1f189}};
static const tn_set word_characters[] = {{TN_ASCII_WORD,
                                          LETTER | MARK | DIGIT | 1u << TN_CLASS_NL | 1u << TN_CLASS_PC,
                                          odd_words, sizeof odd_words / sizeof *odd_words, 0}};
static const tn_set nothing[] = {{{0}, 0, NULL, 0, 0}};

/* What is no prefix of a word. */
#define USUAL (TN_NEWLINE | LETTER | NUMBER)
#define VISIBLE (TN_NEWLINE | LETTER | TN_PUNCTUATION | SYMBOL)

static const tn_shape no_contractions = {LETTER, USUAL, ~(TN_SPACE | LETTER | NUMBER), 0};
static const tn_shape marked = {LETTER | MARK, USUAL, ~(TN_SPACE | LETTER | MARK | NUMBER),
                                TN_SHAPE_CONTRACTIONS};
static const tn_shape phrases = {LETTER, USUAL, ~(TN_SPACE | LETTER | NUMBER),
                                 TN_SHAPE_CONTRACTIONS | TN_SHAPE_PHRASES | TN_SHAPE_ONE_AFTER};
static const tn_shape ascii_words = {LETTER | MARK, VISIBLE, TN_PUNCTUATION | SYMBOL, TN_SHAPE_ASCII_WORDS};
static const tn_shape ascii_words_newline = {LETTER | MARK, VISIBLE, TN_PUNCTUATION | SYMBOL,
                                             TN_SHAPE_ASCII_WORDS | TN_SHAPE_ONE_NEWLINE};

/* ---- stages ------------------------------------------------------------------------------------------ */

#define PLAIN(function)                                                                                      \
    { .next = (function) }
#define WORDS(digits, ends)                                                                                  \
    { .next = tn_split_words, .most = (digits), .after = (ends) }
#define WORDS_ALONE(digits, ends)                                                                            \
    { .next = tn_split_words, .marks = tn_marks_words, .most = (digits), .after = (ends) }
#define SHAPED(of, digits, ends)                                                                             \
    { .next = tn_split_shaped, .most = (digits), .after = (ends), .shape = &(of) }
#define CASED(digits)                                                                                        \
    { .next = tn_split_cased, .most = (digits), .after = "\r\n/" }
#define SETS(of) .sets = (of), .set_count = sizeof(of) / sizeof *(of)
#define RUNS(of, longest)                                                                                    \
    { .next = tn_split_runs, .most = (longest), SETS(of) }
#define LED(by, of)                                                                                          \
    { .next = tn_split_runs, .most = TN_NO_LIMIT, .lead = (by), SETS(of) }
#define CLASS(of, longest)                                                                                   \
    { .next = tn_split_class, .most = (longest), .classes = (of) }
#define THREES(of, not_before)                                                                               \
    {.next = tn_split_heads, .classes = (of), SETS(not_before)}, {                                           \
        .next = tn_split_threes, .classes = (of)                                                             \
    }

static const tn_stage gpt2[] = {PLAIN(tn_split_gpt2)};
static const tn_stage llama3[] = {WORDS_ALONE(3, "\r\n")};
static const tn_stage jais2[] = {WORDS(3, "\r\n"), PLAIN(tn_split_spaces)};
static const tn_stage minicpm5[] = {CLASS(NUMBER, 3), WORDS(TN_NO_LIMIT, "\r\n")};
static const tn_stage qwen2[] = {WORDS_ALONE(1, "\r\n")};
static const tn_stage qwen35[] = {SHAPED(marked, 1, "\r\n")};
static const tn_stage ufakzeka[] = {SHAPED(no_contractions, 1, "\r\n")};
static const tn_stage laguna[] = {PLAIN(tn_split_lines), WORDS(1, "\r\n")};
static const tn_stage seed_coder[] = {WORDS_ALONE(1, "")};
static const tn_stage exaone_moe[] = {SHAPED(phrases, 1, "\r\n/")};
static const tn_stage o200k[] = {CASED(3)};
static const tn_stage tekken[] = {{.next = tn_split_cased_only, .most = 1, .after = "\r\n/"}};
static const tn_stage tiny_aya[] = {THREES(DIGIT, word_characters), CASED(3)};
static const tn_stage youtu[] = {RUNS(tn_set_east, TN_NO_LIMIT), CASED(1)};
static const tn_stage kimi_k2[] = {{.next = tn_split_han, .most = 3, .after = "\r\n"}};
static const tn_stage starcoder[] = {CLASS(NUMBER, 1), PLAIN(tn_split_gpt2)};
static const tn_stage falcon[] = {RUNS(tn_set_falcon, TN_NO_LIMIT), PLAIN(tn_split_gpt2),
                                  PLAIN(tn_split_triples)};
static const tn_stage guess[] = {RUNS(tn_set_default, TN_NO_LIMIT), PLAIN(tn_split_gpt2),
                                 CLASS(NUMBER, TN_NO_LIMIT), PLAIN(tn_split_triples)};
static const tn_stage deepseek_llm[] = {
    CLASS(TN_NEWLINE, 1),     LED(TN_LEAD_WHITE, tn_set_cased), LED(TN_LEAD_WHITE, tn_set_marks),
    PLAIN(tn_split_trailing), RUNS(tn_set_wide, TN_NO_LIMIT),   CLASS(NUMBER, TN_NO_LIMIT)};
static const tn_stage deepseek_coder[] = {CLASS(TN_NEWLINE, 1), LED(TN_LEAD_WHITE, letters),
                                          LED(TN_LEAD_WHITE, punctuation), RUNS(tn_set_wide, TN_NO_LIMIT),
                                          CLASS(NUMBER, 1)};
static const tn_stage deepseek3[] = {CLASS(NUMBER, 3), RUNS(tn_set_ideographs, TN_NO_LIMIT),
                                     SHAPED(ascii_words, 0, "\r\n")};
static const tn_stage spark[] = {CLASS(NUMBER, 3), RUNS(tn_set_ideographs, TN_NO_LIMIT),
                                 SHAPED(ascii_words_newline, 0, ""), CLASS(NUMBER, 1)};
static const tn_stage afmoe[] = {THREES(NUMBER, nothing), RUNS(tn_set_asian, TN_NO_LIMIT),
                                 SHAPED(ascii_words, 0, "\r\n")};
static const tn_stage superbpe[] = {CLASS(NUMBER, TN_NO_LIMIT), PLAIN(tn_split_first_cut),
                                    PLAIN(tn_split_more_cuts)};
static const tn_stage bloom[] = {LED(TN_LEAD_SPACE, tn_set_sentence_parts)};
static const tn_stage viking[] = {LED(TN_LEAD_SPACE, tn_set_sentence_parts), CLASS(NUMBER, 1)};
static const tn_stage chameleon[] = {PLAIN(tn_split_sentinel), PLAIN(tn_split_image),  PLAIN(tn_split_indent),
                                     CLASS(NUMBER, 1),         RUNS(tn_set_falcon, 1), PLAIN(tn_split_gpt2)};
static const tn_stage lines[] = {PLAIN(tn_split_lines)};
static const tn_stage mmbert[] = {PLAIN(tn_split_lines), PLAIN(tn_split_marked)};
static const tn_stage whitespace[] = {RUNS(dark, TN_NO_LIMIT)};

/* ---- names ------------------------------------------------------------------------------------------- */

#define STAGES(set) set, sizeof(set) / sizeof *(set)

enum {
    WHOLE = TN_RULES_WHOLE,
    BOS = TN_RULES_BOS,
    SEPARATOR = TN_RULES_SEPARATOR,
    NFC = TN_RULES_NFC,
    MASK = TN_RULES_MASK_STRIPS,
    NO_BOS_ID = TN_RULES_NO_BOS_ID,
    BY_ID = TN_RULES_BY_ID,
    RAW = TN_RULES_RAW,
    SPACES = TN_RULES_SPACES,
    PREFIX = TN_RULES_PREFIX,
    NEWLINES = TN_RULES_NEWLINES,
    NO_WHITE = TN_RULES_NO_WHITE,
    GEMMA = RAW | SPACES | NEWLINES | BOS | TN_RULES_ALWAYS_BOS
};

static const tn_rules rule_sets[] = {
    {"gpt-2", STAGES(gpt2), 0},
    {"phi-2", STAGES(gpt2), 0},
    {"jina-es", STAGES(gpt2), 0},
    {"jina-de", STAGES(gpt2), 0},
    {"gigachat", STAGES(gpt2), 0},
    {"a.x-4.0", STAGES(gpt2), 0},
    {"mellum", STAGES(gpt2), 0},
    {"exaone4", STAGES(gpt2), 0},
    {"jais", STAGES(gpt2), 0},
    {"trillion", STAGES(gpt2), 0},
    {"granite-docling", STAGES(gpt2), 0},
    {"jina-v2-es", STAGES(gpt2), MASK},
    {"jina-v2-de", STAGES(gpt2), MASK},
    {"jina-v1-en", STAGES(gpt2), SEPARATOR},
    {"roberta-bpe", STAGES(gpt2), SEPARATOR},
    {"jina-v2-code", STAGES(gpt2), SEPARATOR | MASK},
    {"mpt", STAGES(gpt2), NFC},
    {"olmo", STAGES(gpt2), NFC},
    {"modern-bert", STAGES(gpt2), NFC | MASK},
    {"llama3", STAGES(llama3), WHOLE | BOS},
    {"llama-v3", STAGES(llama3), WHOLE | BOS},
    {"llama-bpe", STAGES(llama3), WHOLE | BOS},
    {"falcon3", STAGES(llama3), WHOLE | BOS},
    {"falcon-h1", STAGES(llama3), WHOLE | BOS},
    {"pixtral", STAGES(llama3), WHOLE | BOS},
    {"midm-2.0", STAGES(llama3), WHOLE | BOS},
    {"lfm2", STAGES(llama3), WHOLE | BOS},
    {"jina-v5-nano", STAGES(llama3), WHOLE | BOS},
    {"dbrx", STAGES(llama3), 0},
    {"smaug-bpe", STAGES(llama3), 0},
    {"chatglm-bpe", STAGES(llama3), NO_BOS_ID},
    {"glm4", STAGES(llama3), WHOLE | NO_BOS_ID},
    {"glm5", STAGES(llama3), WHOLE | NO_BOS_ID},
    {"jais-2", STAGES(jais2), 0},
    {"minicpm5", STAGES(minicpm5), WHOLE},
    {"qwen2", STAGES(qwen2), NFC},
    {"deepseek-r1-qwen", STAGES(qwen2), NFC},
    {"f2llmv2", STAGES(qwen2), NFC},
    {"kormo", STAGES(qwen2), 0},
    {"megrez", STAGES(qwen2), 0},
    {"stablelm2", STAGES(qwen2), 0},
    {"hunyuan", STAGES(qwen2), 0},
    {"solar-open", STAGES(qwen2), 0},
    {"grok-2", STAGES(qwen2), 0},
    {"bailingmoe", STAGES(qwen2), 0},
    {"bailingmoe2", STAGES(qwen2), 0},
    {"llada-moe", STAGES(qwen2), 0},
    {"qwen35", STAGES(qwen35), NFC},
    {"ufakzeka", STAGES(ufakzeka), 0},
    {"laguna", STAGES(laguna), 0},
    {"seed-coder", STAGES(seed_coder), 0},
    {"exaone-moe", STAGES(exaone_moe), 0},
    {"gpt-4o", STAGES(o200k), 0},
    {"llama4", STAGES(o200k), 0},
    {"kanana2", STAGES(o200k), 0},
    {"talkie", STAGES(o200k), 0},
    {"minimax-m2", STAGES(o200k), 0},
    {"granite-embed-multi-97m", STAGES(o200k), WHOLE},
    {"tekken", STAGES(tekken), WHOLE | BOS},
    {"tiny_aya", STAGES(tiny_aya), 0},
    {"cohere2moe", STAGES(tiny_aya), 0},
    {"youtu", STAGES(youtu), WHOLE},
    {"kimi-k2", STAGES(kimi_k2), BY_ID},
    {"starcoder", STAGES(starcoder), 0},
    {"refact", STAGES(starcoder), 0},
    {"smollm", STAGES(starcoder), 0},
    {"codeshell", STAGES(starcoder), 0},
    {"exaone", STAGES(starcoder), 0},
    {"minerva-7b", STAGES(starcoder), 0},
    {"mellum2", STAGES(starcoder), 0},
    {"command-r", STAGES(starcoder), NFC},
    {"falcon", STAGES(falcon), 0},
    {"default", STAGES(guess), 0},
    {"deepseek-llm", STAGES(deepseek_llm), 0},
    {"deepseek-coder", STAGES(deepseek_coder), 0},
    {"deepseek-v3", STAGES(deepseek3), 0},
    {"hunyuan-dense", STAGES(deepseek3), 0},
    {"joyai-llm", STAGES(deepseek3), 0},
    {"hy_v4", STAGES(deepseek3), 0},
    {"spark2_5", STAGES(spark), 0},
    {"afmoe", STAGES(afmoe), 0},
    {"superbpe", STAGES(superbpe), 0},
    {"poro-chat", STAGES(bloom), 0},
    {"bloom", STAGES(bloom), 0},
    {"gpt3-finnish", STAGES(bloom), 0},
    {"viking", STAGES(viking), 0},
    {"chameleon", STAGES(chameleon), BOS},
    {"gemma4", STAGES(lines), GEMMA},
    {"granite-embed-multi-311m", STAGES(lines), GEMMA},
    {"sarvam-moe", STAGES(lines), RAW | SPACES},
    {"mmbert", STAGES(mmbert), RAW | SPACES | PREFIX | NEWLINES | MASK},
    {"whitespace", STAGES(whitespace), RAW | NO_WHITE},
};

const tn_rules *tn_rules_find(const char *name, uint64_t size) {
    for (uint32_t i = 0; i < sizeof rule_sets / sizeof *rule_sets; i++) {
        const char *known = rule_sets[i].name;
        if (strlen(known) == size && memcmp(known, name, size) == 0) { return &rule_sets[i]; }
    }
    return NULL;
}

const tn_rules *tn_rules_of_architecture(const char *name, uint64_t size) {
    return size == 7 && memcmp(name, "gptneox", 7) == 0 ? tn_rules_find("mpt", 3) : NULL;
}
