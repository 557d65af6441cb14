/*
 * token_split_test.c - the hand-written splitters against PCRE2 running the published expressions, on random
 * text and on all short strings over a few telling characters. TENON_ORACLE_ROUNDS sets how many random
 * texts.
 *
 * PCRE2 knows Unicode 14 and our tables 15: characters that 14 does not know are left out. Its \s is wider
 * than White_Space (U+180E), so the class is written out.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "bpe_rules.h"
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <pcre2.h>
#include <stdlib.h>

#define S                                                                                                    \
    "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WS "[" S "]+(?![^" S "])|[" S "]+"
#define CI "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CS "'s|'t|'re|'ve|'m|'ll|'d"
#define GPT2 CS "| ?\\p{L}+| ?\\p{N}+| ?[^" S "\\p{L}\\p{N}]+|" WS
#define SYMBOLS(after) "| ?[^" S "\\p{L}\\p{N}]+" after "|[" S "]*[\\r\\n]+|"
#define WORD "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define LLAMA3(digits, white) CI "|" WORD "|\\p{N}" digits SYMBOLS("[\\r\\n]*") white
#define QWEN2 LLAMA3("", WS)
#define UP "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOW "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(up, low, ci)                                                                                   \
    "[^\\r\\n\\p{L}\\p{N}]?" up "*" low "+" ci "|[^\\r\\n\\p{L}\\p{N}]?" up "+" low "*" ci
#define O200K(digits) CASED(UP, LOW, CI "?") "|\\p{N}" digits SYMBOLS("[\\r\\n/]*") WS
#define HAN "\\p{sc:Han}" /* PCRE2's \\p{Han} has the characters that other scripts share, too */
#define NOT_HAN "(?!" HAN ")"
#define ASCII_WORD                                                                                           \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
#define DEEPSEEK3 ASCII_WORD "| ?[\\p{P}\\p{S}]+[\\r\\n]*|[" S "]*[\\r\\n]+|" WS
#define IDEOGRAPHS "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+"
#define WIDE "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
#define BLOOM " ?[^(" S "|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"
#define SPACES(n) "[" S "]{" n "}(?![^" S "])|"
/* As Hugging Face's engine has it, \w is wider than PCRE2's. */
#define W                                                                                                                       \
    "[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\xb2\\xb3\\xb9\\xbc-\\xbe\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}" \
    "\\x{1f170}-\\x{1f189}]"
/* The classes that DeepSeek lists, from U+0041 to U+1E943, as of Unicode 12. */
#define CASED_LETTERS                                                                                        \
    "["                                                                                                      \
    "\\x{41}-\\x{5a}\\x{61}-\\x{7a}\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}"                    \
    "\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}-\\x{377}"                  \
    "\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}"                            \
    "\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}"                \
    "\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}"                           \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"                           \
    "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}"                  \
    "\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}"                   \
    "\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}"                           \
    "\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}"                            \
    "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}\\x{2128}"                             \
    "\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}\\x{2145}-\\x{2149}"                  \
    "\\x{214e}\\x{2183}-\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}"                  \
    "\\x{2cf2}-\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}"                           \
    "\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}"                           \
    "\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}"                         \
    "\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"                   \
    "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"                                                             \
    "]"
#define LINES "[^\\n]+|\\n+"

enum { STAGES_MAX = 6 };

/* One name of each set. */
static const struct set {
    const char *name, *expressions[STAGES_MAX];
} sets[] = {
    {"gpt-2", {GPT2}},
    {"llama-bpe", {LLAMA3("{1,3}", WS)}},
    {"jais-2",
     {LLAMA3("{1,3}", SPACES("512") SPACES("256") SPACES("128") SPACES("64") SPACES("32") SPACES("16")
                          SPACES("8") SPACES("4") SPACES("1,2") "[" S "]")}},
    {"minicpm5", {"\\p{N}{1,3}", LLAMA3("+", WS)}},
    {"qwen2", {QWEN2}},
    {"qwen35",
     {CI "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" S "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|[" S
         "]*[\\r\\n]+|" WS}},
    {"ufakzeka", {WORD "|\\p{N}" SYMBOLS("[\\r\\n]*") WS}},
    {"laguna", {LINES, QWEN2}},
    {"bailingmoe",
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^" S "\\p{L}\\p{N}]++[\\r\\n]*|[" S
      "]*[\\r\\n]|" WS}},
    {"seed-coder", {CI "|" WORD "|\\p{N}{1}| ?[^" S "\\p{L}\\p{N}\\r\\n]+|[" S "]*[\\r\\n]+|" WS}},
    {"exaone-moe",
     {CI "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^" S
         "\\p{L}\\p{N}]+[\\r\\n/]?|[" S "]*[\\r\\n]|" WS}},
    {"gpt-4o", {O200K("{1,3}")}},
    {"granite-embed-multi-97m", {O200K("{1,3}")}},
    {"tekken", {CASED(UP, LOW, "") "|\\p{N}" SYMBOLS("[\\r\\n/]*") WS}},
    {"tiny_aya", {"\\p{Nd}{1,3}(?=(?:\\p{Nd}{3})*(?!" W "))", O200K("{1,3}")}},
    {"youtu",
     {"[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}"
      "\\x{2014}\\x{ff1a}\\x{ff1b}\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|[\\x{3105}-\\x{312f}]+"
      "|" IDEOGRAPHS,
      O200K("")}},
    {"kimi-k2",
     {HAN "+|" CASED("(?:" NOT_HAN UP ")", "(?:" NOT_HAN LOW ")", CI "?") "|\\p{N}{1,3}" SYMBOLS("[\\r\\n]*")
          WS}},
    {"starcoder", {"\\p{N}", GPT2}},
    {"falcon", {"[\\p{P}$+<=>^~|\\x60]+", GPT2, "[0-9][0-9][0-9]"}},
    {"default", {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"deepseek-llm",
     {"[\\r\\n]", "[" S "]?" CASED_LETTERS "+",
      "[" S "]?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+",
      "[" S "]+$", WIDE, "\\p{N}+"}},
    {"deepseek-coder", {"[\\r\\n]", "[" S "]?\\p{L}+", "[" S "]?\\p{P}+", WIDE, "\\p{N}"}},
    {"deepseek-v3", {"\\p{N}{1,3}", IDEOGRAPHS, DEEPSEEK3}},
    {"spark2_5", {"\\p{N}{1,3}", IDEOGRAPHS, ASCII_WORD "| ?[\\p{P}\\p{S}]+|[\\r\\n]|" WS, "\\p{N}"}},
    {"afmoe",
     {"\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))",
      "[\\x{4e00}-\\x{9fff}\\x{3400}-\\x{4dbf}\\x{8c48}-\\x{faff}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}"
      "\\x{ff65}-\\x{ff9f}\\x{2f00}-\\x{2fdf}\\x{e40}-\\x{e7f}\\x{e80}-\\x{eff}\\x{1780}-\\x{17ff}"
      "\\x{1000}-\\x{109f}\\x{aa60}-\\x{aa7f}\\x{a9e0}-\\x{a9ff}\\x{ac00}-\\x{d7af}\\x{1100}-\\x{11ff}]+",
      DEEPSEEK3}},
    {"superbpe", {"\\p{N}+", "(?=(\\p{Nd}{3})+(?!\\p{Nd}))"}},
    {"bloom", {BLOOM}},
    {"viking", {BLOOM, "\\p{N}"}},
    {"chameleon",
     {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", "\\p{N}",
      "[\\p{P}!-/:-@\\[-\\x60{-~]", GPT2}},
    {"gemma4", {LINES}},
    {"mmbert", {LINES, "(?=\\x{2581})"}},
    {"whitespace", {"[^" S "]+"}},
};
enum { SETS = sizeof sets / sizeof *sets, TEXT_MAX = 4096 };

typedef struct oracle {
    pcre2_code *code[STAGES_MAX];
    pcre2_match_data *match;
    uint32_t stages;
} oracle;

static pcre2_code *compile(const char *expression) {
    int error;
    PCRE2_SIZE at;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY, &error, &at, NULL);
    cr_assert(code, "error %d at %zu of %s", error, at, expression);
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

static void oracle_open(oracle *o, const struct set *set) {
    *o = (oracle){.match = pcre2_match_data_create(8, NULL)};
    for (; o->stages < STAGES_MAX && set->expressions[o->stages]; o->stages++) {
        o->code[o->stages] = compile(set->expressions[o->stages]);
    }
}

static void oracle_close(oracle *o) {
    for (uint32_t i = 0; i < o->stages; i++) { pcre2_code_free(o->code[i]); }
    pcre2_match_data_free(o->match);
}

/* Marks the byte behind each word in `cuts`. */
static void oracle_split(oracle *o, uint32_t stage, const char *text, uint64_t from, uint64_t to,
                         char *cuts) {
    if (stage == o->stages) {
        cuts[to] = 1;
        return;
    }
    uint64_t at = from, search = from;
    while (search < to) {
        int found = pcre2_match(o->code[stage], (PCRE2_SPTR)text + from, to - from, search - from,
                                PCRE2_NO_UTF_CHECK, o->match, NULL);
        if (found < 0) { break; }
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(o->match);
        uint64_t begin = from + span[0], end = from + span[1]; /* later stages use the same match data */
        if (begin > at) { oracle_split(o, stage + 1, text, at, begin, cuts); }
        if (end > begin) { oracle_split(o, stage + 1, text, begin, end, cuts); }
        at = end;
        search = end + (end == begin); /* a match of no width is found but once */
        while (search < to && (text[search] & 0xc0) == 0x80) { search++; }
    }
    if (at < to) { oracle_split(o, stage + 1, text, at, to, cuts); }
}

static void show(const char *what, const char *text, uint64_t size, const char *cuts) {
    fprintf(stderr, "%s:", what);
    for (uint64_t i = 0; i < size; i++) {
        fprintf(stderr, " %02x%s", (unsigned char)text[i], cuts[i + 1] ? " |" : "");
    }
    fprintf(stderr, "\n");
}

static int agree(const tn_rules *rules, oracle *o, const char *text, uint64_t size) {
    char wanted[TEXT_MAX + 1] = {0}, got[TEXT_MAX + 1] = {0};
    char *exact = malloc(size + 1); /* so that a sanitizer sees a read behind the end */
    memcpy(exact, text, size);
    exact = realloc(exact, size ? size : 1);
    if (size) { oracle_split(o, 0, text, 0, size, wanted); }
    tn_cutter cutter;
    const unsigned char *begin = NULL, *end, *before = (const unsigned char *)exact;
    tn_cutter_begin(&cutter, rules, before, size);
    int whole = 1;
    while ((end = tn_cutter_next(&cutter, &begin))) {
        whole &= begin == before && end > begin;
        before = end;
        got[end - (const unsigned char *)exact] = 1;
    }
    int same = whole && memcmp(wanted, got, sizeof got) == 0;
    if (!same) {
        show("got   ", text, size, got);
        show("wanted", text, size, wanted);
    }
    free(exact);
    return same;
}

/* Characters that PCRE2 has no category for become spaces. */
static void leave_out_unknown(pcre2_code *unknown, pcre2_match_data *match, char *text, uint64_t size) {
    while (pcre2_match(unknown, (PCRE2_SPTR)text, size, 0, PCRE2_NO_UTF_CHECK, match, NULL) >= 0) {
        PCRE2_SIZE *span = pcre2_get_ovector_pointer(match);
        memset(text + span[0], ' ', span[1] - span[0]);
    }
}

/* What some expression looks for, or nearly. */
static const char *const fragments[] = {"<sentinel:",
                                        "<sentinel:1>",
                                        "IMGIMG",
                                        "IMGIMGABZ",
                                        "I",
                                        "Z",
                                        "A",
                                        "G",
                                        ">",
                                        "1",
                                        "12",
                                        "123",
                                        "1234567",
                                        "\u00bd",
                                        "\u2167",
                                        "\u0663",
                                        "\u0663\u0664\u0665\u0666",
                                        "\u00b2",
                                        "_",
                                        "\u203f",
                                        "\u24b6",
                                        "a",
                                        "bc",
                                        "De",
                                        "FG",
                                        "\u00e9",
                                        "\u00c9",
                                        "\u01c5",
                                        "\u02b0",
                                        "\u05d0",
                                        "\u4e2d",
                                        "\u9fa6",
                                        "\u8c48",
                                        "\u3042",
                                        "\u3007",
                                        "\u3005",
                                        "\u2e80",
                                        "\uac00",
                                        "\ud7b0",
                                        "\u3131",
                                        "\u3105",
                                        "\u0e01",
                                        "\ua000",
                                        "\u0800",
                                        "\u16fe2",
                                        "\U00020000",
                                        "\uff0c",
                                        "\u2026",
                                        "\u3002",
                                        "\u3001",
                                        "\u0964",
                                        "\uff01",
                                        "\u2018",
                                        "\u3000",
                                        "\u0301",
                                        "\u094d",
                                        "\ufe0f",
                                        "\u2581",
                                        "\u2581\u2581",
                                        "'s",
                                        "'LL",
                                        "'\u017f",
                                        "'",
                                        ".",
                                        ",",
                                        "!",
                                        "(",
                                        "|",
                                        "$",
                                        "`",
                                        "^",
                                        "-",
                                        "/",
                                        "//",
                                        "{",
                                        "\u20ac",
                                        "\u200b",
                                        "\u200d",
                                        "\u00ad",
                                        "\x7f",
                                        "\x01",
                                        " ",
                                        "  ",
                                        "    ",
                                        "                    ",
                                        "\t",
                                        "\n",
                                        "\n\n",
                                        "\r",
                                        "\r\n",
                                        " \n",
                                        "\u00a0",
                                        "\xc2\x85",
                                        "\u2028",
                                        "\v"};

static uint64_t telling_text(uint64_t *state, char *out, uint64_t capacity) {
    uint64_t size = 0, wanted = 1 + test_random(state) % 24;
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t r = test_random(state), times = r % 16 ? 1 : 1 + (r >> 40) % 40;
        const char *fragment = fragments[(r >> 8) % (sizeof fragments / sizeof *fragments)];
        for (uint64_t length = strlen(fragment); times-- && size + length <= capacity; size += length) {
            memcpy(out + size, fragment, length);
        }
    }
    return size;
}

static void check_random(uint64_t (*make)(uint64_t *, char *, uint64_t)) {
    const char *rounds_text = getenv("TENON_ORACLE_ROUNDS");
    unsigned long rounds = rounds_text ? strtoul(rounds_text, NULL, 10) : 4000;
    pcre2_code *unknown = compile("\\p{Cn}");
    for (uint32_t s = 0; s < SETS; s++) {
        oracle o;
        uint64_t state = 88172645463325252u + s;
        unsigned long differences = 0;
        const tn_rules *rules = tn_rules_find(sets[s].name, strlen(sets[s].name));
        cr_assert(rules, "%s", sets[s].name);
        oracle_open(&o, &sets[s]);
        for (unsigned long i = 0; i < rounds && differences < 3; i++) {
            char text[TEXT_MAX];
            uint64_t size = make(&state, text, sizeof text);
            leave_out_unknown(unknown, o.match, text, size);
            int same = agree(rules, &o, text, size);
            cr_expect(same, "%s: text %lu is split differently", sets[s].name, i);
            differences += !same;
        }
        oracle_close(&o);
    }
    pcre2_code_free(unknown);
}

Test(token_split, random_text) {
    check_random(test_random_text);
}

Test(token_split, telling_text) {
    check_random(telling_text);
}

/* All strings of up to four of these. */
Test(token_split, all_short_strings) {
    static const char *const letters[] = {" ", "\n", "\t", "a",        "S",       "'",
                                          "1", "!",  "/",  "\xcc\x81", "\xd7\x90"};
    enum { LETTERS = sizeof letters / sizeof *letters, LENGTH = 4 };
    for (uint32_t s = 0; s < SETS; s++) {
        oracle o;
        const tn_rules *rules = tn_rules_find(sets[s].name, strlen(sets[s].name));
        oracle_open(&o, &sets[s]);
        uint64_t count = 1;
        unsigned differences = 0;
        for (int i = 0; i < LENGTH; i++) { count *= LETTERS; }
        for (uint64_t n = 0; n < count && differences < 3; n++) {
            char text[64] = "";
            uint64_t rest = n;
            for (int i = 0; i < LENGTH; i++, rest /= LETTERS) {
                strncat(text, letters[rest % LETTERS], sizeof text - strlen(text) - 1);
            }
            int same = agree(rules, &o, text, strlen(text));
            cr_expect(same, "%s: string %llu is split differently", sets[s].name, (unsigned long long)n);
            differences += !same;
        }
        oracle_close(&o);
    }
}

/* What the manifest claims, the table has; and each name once. */
Test(token_split, claims) {
    char path[4096], line[256], names[256][64];
    unsigned count = 0;
    cr_assert(test_path("TENON_TEST_BUILD", "lib/tenon/plugins/tokenizer.bpe.ini", path, sizeof path),
              "no manifest");
    FILE *file = fopen(path, "r");
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "pre = %63s", names[count]) != 1) { continue; }
        const tn_rules *rules = tn_rules_find(names[count], strlen(names[count]));
        cr_expect(rules, "%s is claimed and not known", names[count]);
        for (unsigned i = 0; i < count; i++) {
            cr_expect_str_neq(names[i], names[count], "%s is claimed twice", names[i]);
        }
        cr_assert(++count < 256);
    }
    fclose(file);
    cr_expect_eq(count, 92, "%u names", count);
}
