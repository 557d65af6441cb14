/*
 * token_raw_test.c - what a name of a rule set settles besides the cutting: entries that are UTF-8 as it stands
 * (Gemma 4 and its kin), ids in the place of merges, composition, BOS; on vocabularies made up for it.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define KEY(name) "tokenizer.ggml." name
#define MARK "\342\226\201"

static void same(const test_tokenizer *t, const char *text, uint64_t size, uint32_t flags,
                 uint64_t wanted_count, const int32_t *wanted) {
    uint64_t count;
    int32_t *ids = test_encode(t, text, size, flags, &count);
    cr_expect_eq(count, wanted_count, "\"%s\": %llu ids, wanted %llu", text, (unsigned long long)count,
                 (unsigned long long)wanted_count);
    for (uint64_t i = 0; i < count && i < wanted_count; i++) {
        cr_expect_eq(ids[i], wanted[i], "\"%s\" id %llu: %d, wanted %d", text, (unsigned long long)i, ids[i],
                     wanted[i]);
    }
    free(ids);
}
#define SAME(t, text, flags, ...)                                                                            \
    same(t, text, sizeof(text) - 1, flags, sizeof((int32_t[]){__VA_ARGS__}) / 4,                             \
         (const int32_t[]){__VA_ARGS__})

static tn_vocab facts_of(const test_tokenizer *t) {
    tn_vocab facts = {.struct_size = sizeof facts};
    t->table->vocab((void *)&t->host.host, t->tokenizer, &facts);
    return facts;
}

/* ---- UTF-8 as it stands -------------------------------------------------------------------------------- */

/* What comes behind the bytes. */
enum {
    SPACE = 259,
    A,
    B,
    SPACE_A,
    AB,
    NEWLINE,
    NEWLINES,
    E_ACUTE,
    SPACES,
    A_SPACE,
    A_SPACE_B,
    SAID,
    FIRST_FREE
};
static const char *const texts[] = {MARK,   "a",        "b",       MARK "a", "ab",         "\n",
                                    "\n\n", "\303\251", MARK MARK, "a" MARK, "a" MARK "b", "<said>"};
static const char *const merges[] = {MARK " a", "a b", MARK " " MARK, "a " MARK, "a" MARK " b"};

static const int32_t types[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, TN_TOKEN_USER_DEFINED};

static void make_raw(test_meta *m, const char *model, const char *pre) {
    test_meta_utf8(m, pre ? pre : "", FIRST_FREE - SPACE, texts, types, sizeof merges / sizeof *merges,
                   merges);
    test_meta_string(m, KEY("model"), model);
    if (!pre) { test_meta_remove(m, KEY("pre")); }
}

static void open_raw(test_tokenizer *t, test_meta *m, const char *model, const char *pre) {
    make_raw(m, model, pre);
    test_tokenizer_make(t, "tokenizer.bpe", &m->meta);
}

static void close_both(test_tokenizer *t, test_meta *m) {
    test_tokenizer_close(t);
    test_meta_free(m);
}

Test(token_raw, gemma4) {
    test_meta m;
    test_tokenizer t;
    open_raw(&t, &m, "gemma4", NULL);
    SAME(&t, " a", 0, SPACE_A);
    SAME(&t, " ab", 0, SPACE_A, B);
    SAME(&t, "abba", 0, AB, B, A);
    SAME(&t, "  a", 0, SPACE, SPACE_A);
    SAME(&t, "a b", 0, A_SPACE_B); /* a merge over the space, behind an a */
    SAME(&t, "b b", 0, B, SPACE, B);
    SAME(&t, "b  b", 0, B, SPACES, B);
    SAME(&t, "\303\251", 0, E_ACUTE);
    SAME(&t, "\303\250z", 0, 3 + 0xc3, 3 + 0xa8, 3 + 'z');
    SAME(&t, "a\xff", 0, A, 3 + 0xef, 3 + 0xbf, 3 + 0xbd);
    SAME(&t, "<said> a", 0, SAID, SPACE_A);
    SAME(&t, "a\n\nb", 0, A, NEWLINES, B); /* no merge leads there */
    SAME(&t, "\n\n\n", 0, NEWLINE, NEWLINE, NEWLINE);
    SAME(&t, "<0x41>", 0, 3 + '<', 3 + '0', 3 + 'x', 3 + '4', 3 + '1', 3 + '>');
    uint64_t size;
    char *text = test_decode(&t, (const int32_t[]){SPACE_A, SPACES, NEWLINE, 3 + 0xc3, SAID}, 5, 0, &size);
    cr_expect_str_eq(text, " a  \n\303<said>", "got \"%s\"", text);
    free(text);
    tn_vocab facts = facts_of(&t);
    cr_expect(facts.exact == 1 && strcmp(facts.exact_except, "U+2581") == 0, "%u %s", facts.exact,
              facts.exact_except);
    cr_expect(facts.eos == -1 && facts.bos == 2);
    close_both(&t, &m);
}

/* BOS always, whatever the file says; under a `pre` of the family too. */
Test(token_raw, gemma4_bos) {
    static const char *const names[][2] = {
        {"gemma4", NULL}, {"gpt2", "gemma4"}, {"gpt2", "granite-embed-multi-311m"}};
    for (size_t i = 0; i < 3; i++) {
        test_meta m;
        test_tokenizer t;
        make_raw(&m, names[i][0], names[i][1]);
        test_meta_bool(&m, KEY("add_bos_token"), 0);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        SAME(&t, "a", TN_ENCODE_ADD, 2, A);
        SAME(&t, "a", 0, A);
        close_both(&t, &m);
    }
}

/* What merges make and the vocabulary lacks is written in characters, so that spaces come back; long words too. */
Test(token_raw, absent_products) {
    static const char *const some[] = {MARK, "a"}, *const lacking[] = {MARK " " MARK, MARK MARK " a", "a a",
                                                                       "aa aa"};
    test_meta m;
    test_tokenizer t;
    char text[200];
    uint64_t count;
    test_meta_utf8(&m, "sarvam-moe", 2, some, types, 4, lacking);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "  a", 0, 259, 259, 260);
    SAME(&t, "  \303\251", 0, 259, 259, 3 + 0xc3, 3 + 0xa9);
    memset(text, 'a', sizeof text);
    int32_t *ids = test_encode(&t, text, sizeof text, 0, &count);
    cr_expect(count == sizeof text && ids[0] == 260 && ids[199] == 260, "%llu", (unsigned long long)count);
    free(ids);
    cr_expect_eq(facts_of(&t).exact, 1);
    test_tokenizer_close(&t);
    test_meta_free(&m);
    test_meta_utf8(&m, "sarvam-moe", 1, (const char *const[]){"a"}, types, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    cr_expect_eq(facts_of(&t).exact, 0, "no entry for the space");
    close_both(&t, &m);
}

Test(token_raw, sarvam_moe) {
    test_meta m;
    test_tokenizer t;
    open_raw(&t, &m, "gpt2", "sarvam-moe");
    SAME(&t, " a b", 0, SPACE_A, SPACE, B);
    SAME(&t, "\n\n", 0, NEWLINE, NEWLINE);
    SAME(&t, "a", TN_ENCODE_ADD, A);
    close_both(&t, &m);
}

/* Each line begins with a space, and each space begins a word. */
Test(token_raw, mmbert) {
    test_meta m;
    test_tokenizer t;
    open_raw(&t, &m, "gpt2", "mmbert");
    SAME(&t, "a", 0, SPACE_A);
    SAME(&t, " a", 0, SPACE_A);
    SAME(&t, "a b", 0, SPACE_A, SPACE, B);
    SAME(&t, "a  a", 0, SPACE_A, SPACE, SPACE_A);
    SAME(&t, "a\n\na", 0, SPACE_A, NEWLINES, SPACE_A);
    SAME(&t, MARK "a", 0, SPACE_A);
    SAME(&t, "<said>a", 0, SAID, SPACE_A);
    cr_expect_eq(facts_of(&t).exact, 0);
    close_both(&t, &m);
}

/* White space only parts words; lower case where the file asks for it. */
Test(token_raw, whitespace) {
    test_meta m;
    test_tokenizer t;
    open_raw(&t, &m, "gpt2", "whitespace");
    SAME(&t,
         " ab\t\n a\xe3\x80\x80"
         "b ",
         0, AB, A, B);
    SAME(&t, "A\303\211", 0, 3 + 'A', 3 + 0xc3, 3 + 0x89);
    cr_expect_eq(facts_of(&t).exact, 0);
    test_tokenizer_close(&t);
    test_meta_bool(&m, KEY("normalizer.lowercase"), 1);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "AB \303\211", 0, AB, E_ACUTE);
    SAME(&t, "\304\260", 0, 3 + 'i', 3 + 0xcc, 3 + 0x87); /* the one character that becomes two */
    close_both(&t, &m);
}

Test(token_raw, comes_back) {
    uint64_t state = 42;
    test_meta m;
    test_tokenizer t;
    open_raw(&t, &m, "gemma4", NULL);
    for (int i = 0; i < 20000; i++) {
        char text[512];
        uint64_t count, back_size, size = test_random_text(&state, text, sizeof text);
        int32_t *ids = test_encode(&t, text, size, 0, &count);
        char *back = test_decode(&t, ids, count, 0, &back_size);
        cr_assert(memmem(text, size, MARK, 3) || (back_size == size && memcmp(back, text, size) == 0));
        free(back);
        free(ids);
    }
    close_both(&t, &m);
}

/* ---- else ---------------------------------------------------------------------------------------------- */

/* Without merges two symbols merge if both together are an entry, the lowest id first. */
Test(token_raw, merges_by_id) {
    static const char *const words[] = {"bc", "ab", "abc", "dd", "ddd", "\304\240a"};
    static const int32_t kinds[] = {1, 1, 1, 1, 1, 1};
    test_meta m;
    test_tokenizer t;
    test_meta_bpe(&m, "kimi-k2", 6, words, kinds, 0, NULL);
    test_meta_remove(&m, KEY("merges"));
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "abc", 0, 258);
    SAME(&t, "abd", 0, 257, 'd');
    SAME(&t, "bcc", 0, 256, 'c');
    SAME(&t, "dddd", 0, 259, 259);
    SAME(&t, "ddd", 0, 260);
    SAME(&t, " ab a", 0, ' ', 257, 261);
    test_tokenizer_close(&t);
    static const char *const merges_there[] = {"a b"};
    test_meta_strings(&m, KEY("merges"), 1, merges_there);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "abc", 0, 257, 'c');
    close_both(&t, &m);
}

/* What is composed, where a file names its rules and where its architecture does. */
Test(token_raw, composed) {
    static const struct {
        const char *pre, *architecture;
        int composed;
    } files[] = {{"mpt", NULL, 1},         {"olmo", NULL, 1},       {"command-r", NULL, 1},
                 {"modern-bert", NULL, 1}, {"qwen35", NULL, 1},     {"gpt-2", NULL, 0},
                 {NULL, "gptneox", 1},     {"gpt-2", "gptneox", 0}, {"llama-bpe", NULL, 0},
                 {"tekken", NULL, 0},      {"kimi-k2", NULL, 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        test_meta m;
        test_tokenizer t;
        test_meta_bpe(&m, "gpt-2", 0, NULL, NULL, 0, NULL);
        test_meta_remove(&m, KEY("pre"));
        if (files[i].pre) { test_meta_string(&m, KEY("pre"), files[i].pre); }
        if (files[i].architecture) { test_meta_string(&m, "general.architecture", files[i].architecture); }
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        if (files[i].composed) {
            SAME(&t, "e\xcc\x81", 0, 0xc3, 0xa9);
        } else {
            SAME(&t, "e\xcc\x81", 0, 'e', 0xcc, 0x81);
        }
        cr_expect_eq(facts_of(&t).exact, !files[i].composed, "%s", files[i].pre ? files[i].pre : "gptneox");
        close_both(&t, &m);
    }
}

/* BOS where the file has no key: added by some, known by most if entry 11 is no ordinary one. */
Test(token_raw, bos) {
    static const struct {
        const char *pre;
        int32_t bos;
        uint32_t add;
    } sets[] = {{"gpt-2", 11, 0},       {"tekken", 11, 1}, {"chameleon", 11, 1}, {"llama-bpe", 11, 1},
                {"chatglm-bpe", -1, 0}, {"glm4", -1, 0},   {"glm5", -1, 0},      {"minicpm5", 11, 0}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        test_meta m;
        test_tokenizer t;
        int32_t kinds[256];
        for (int b = 0; b < 256; b++) { kinds[b] = b == 11 ? TN_TOKEN_CONTROL : TN_TOKEN_NORMAL; }
        test_meta_bpe(&m, sets[i].pre, 0, NULL, NULL, 0, NULL);
        test_meta_i32s(&m, KEY("token_type"), 256, kinds);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        tn_vocab facts = facts_of(&t);
        cr_expect(facts.bos == sets[i].bos && facts.add_bos == sets[i].add, "%s: %d %u", sets[i].pre,
                  facts.bos, facts.add_bos);
        close_both(&t, &m);
    }
}

/* Words that are entries stay whole under some names. */
Test(token_raw, whole_words) {
    static const char *const words[] = {"abc"};
    static const int32_t kinds[] = {1};
    static const struct {
        const char *pre;
        int whole;
    } sets[] = {{"llama-bpe", 1},   {"minicpm5", 1}, {"tekken", 1},
                {"youtu", 1},       {"glm4", 1},     {"granite-embed-multi-97m", 1},
                {"chatglm-bpe", 0}, {"gpt-4o", 0},   {"deepseek-v3", 0}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        test_meta m;
        test_tokenizer t;
        test_meta_bpe(&m, sets[i].pre, 1, words, kinds, 0, NULL);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        if (sets[i].whole) {
            SAME(&t, "abc", 0, 256);
        } else {
            SAME(&t, "abc", 0, 'a', 'b', 'c');
        }
        close_both(&t, &m);
    }
}

Test(token_raw, masks_strip) {
    static const char *const words[] = {"<mask>", "[MASK]"};
    static const int32_t kinds[] = {3, 3};
    static const char *const pres[] = {"jina-v2-de", "modern-bert", "gpt-2"};
    for (size_t i = 0; i < 3; i++) {
        test_meta m;
        test_tokenizer t;
        test_meta_bpe(&m, pres[i], 2, words, kinds, 0, NULL);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        if (i < 2) {
            SAME(&t, "a \t<mask>b [MASK]", TN_ENCODE_SPECIAL, 'a', 256, 'b', 257);
        } else {
            SAME(&t, "a <mask>", TN_ENCODE_SPECIAL, 'a', ' ', 256);
        }
        close_both(&t, &m);
    }
}
