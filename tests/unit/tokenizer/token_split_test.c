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
#define REST(after) "| ?[^" S "\\p{L}\\p{N}]+[" after "]*|[" S "]*[\\r\\n]+|" WS
#define LLAMA3 CI "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" REST("\\r\\n")
#define QWEN2 CI "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST("\\r\\n")
#define UP "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOW "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K                                                                                                \
    "[^\\r\\n\\p{L}\\p{N}]?" UP "*" LOW "+" CI "?|[^\\r\\n\\p{L}\\p{N}]?" UP "+" LOW "*" CI                  \
    "?|\\p{N}{1,3}" REST("\\r\\n/")

static const struct set {
    const char *name, *expressions[4];
} sets[] = {
    {"gpt-2", {GPT2}},
    {"llama-bpe", {LLAMA3}},
    {"qwen2", {QWEN2}},
    {"gpt-4o", {O200K}},
    {"starcoder", {"\\p{N}", GPT2}},
    {"falcon", {"[\\p{P}$+<=>^~|\\x60]+", GPT2, "[0-9][0-9][0-9]"}},
};
enum { SETS = sizeof sets / sizeof *sets, TEXT_MAX = 512 };

typedef struct oracle {
    pcre2_code *code[4];
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
    for (; o->stages < 4 && set->expressions[o->stages]; o->stages++) {
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
    uint64_t at = from;
    while (at < to) {
        int found = pcre2_match(o->code[stage], (PCRE2_SPTR)text + from, to - from, at - from,
                                PCRE2_NO_UTF_CHECK, o->match, NULL);
        if (found < 0) { break; }
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(o->match);
        uint64_t begin = from + span[0], end = from + span[1]; /* later stages use the same match data */
        if (begin > at) { oracle_split(o, stage + 1, text, at, begin, cuts); }
        oracle_split(o, stage + 1, text, begin, end, cuts);
        at = end;
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

Test(token_split, random_text) {
    const char *rounds_text = getenv("TENON_ORACLE_ROUNDS");
    unsigned long rounds = rounds_text ? strtoul(rounds_text, NULL, 10) : 20000, differences = 0;
    pcre2_code *unknown = compile("\\p{Cn}");
    for (uint32_t s = 0; s < SETS; s++) {
        oracle o;
        uint64_t state = 88172645463325252u + s;
        const tn_rules *rules = tn_rules_find(sets[s].name, strlen(sets[s].name));
        cr_assert(rules, "%s", sets[s].name);
        oracle_open(&o, &sets[s]);
        for (unsigned long i = 0; i < rounds && differences < 5; i++) {
            char text[TEXT_MAX];
            uint64_t size = test_random_text(&state, text, sizeof text);
            leave_out_unknown(unknown, o.match, text, size);
            int same = agree(rules, &o, text, size);
            cr_expect(same, "%s: text %lu is split differently", sets[s].name, i);
            differences += !same;
        }
        oracle_close(&o);
    }
    pcre2_code_free(unknown);
}

/* All strings of up to five of these. */
Test(token_split, all_short_strings) {
    static const char *const letters[] = {" ", "\n", "\t", "a",        "S",       "'",
                                          "1", "!",  "/",  "\xcc\x81", "\xd7\x90"};
    enum { LETTERS = sizeof letters / sizeof *letters, LENGTH = 5 };
    unsigned differences = 0;
    for (uint32_t s = 0; s < SETS; s++) {
        oracle o;
        const tn_rules *rules = tn_rules_find(sets[s].name, strlen(sets[s].name));
        oracle_open(&o, &sets[s]);
        uint64_t count = 1;
        for (int i = 0; i < LENGTH; i++) { count *= LETTERS; }
        for (uint64_t n = 0; n < count && differences < 5; n++) {
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
    char path[4096], line[256], names[128][64];
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
        cr_assert(++count < 128);
    }
    fclose(file);
    cr_expect(count >= 50, "%u names", count);
}
