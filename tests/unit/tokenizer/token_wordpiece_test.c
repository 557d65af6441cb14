/*
 * token_wordpiece_test.c - the wordpiece plugin on vocabularies made for one question each: normalisation, pairs
 * and segments, plain ranges, cutting, ids where the file names none.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define W "\xe2\x96\x81"

enum { UNK = 1, CLS = 2, SEP = 3, FIRST = 5 };

static void make(test_tokenizer *t, test_meta *m, uint64_t count, const char *const *texts) {
    int32_t types[64];
    for (uint64_t i = 0; i < count; i++) { types[i] = texts[i][0] == '<' ? TN_TOKEN_USER_DEFINED : 1; }
    test_meta_wordpiece(m, count, texts, types);
    test_tokenizer_make(t, "tokenizer.wordpiece", &m->meta);
}

static void done(test_tokenizer *t, test_meta *m) {
    test_tokenizer_close(t);
    test_meta_free(m);
}

/* Encodes with all that a call has; ids as text: "2 5 6 3", with a "/" before the second segment. */
static const char *ids_of(const test_tokenizer *t, tn_encode *call) {
    static char out[1024];
    int32_t ids[128];
    uint8_t types[128];
    tn_error err = TN_ERROR_INIT;
    call->struct_size = sizeof *call;
    call->ids = ids;
    call->types = types;
    call->capacity = 128;
    int32_t code = t->table->encode((void *)&t->host.host, t->tokenizer, call, &err);
    cr_assert_eq(code, TN_OK, "%d %s", code, err.text);
    int n = 0, segment = 0;
    out[0] = 0;
    for (uint64_t i = 0; i < call->count; i++) {
        const char *border = types[i] != segment ? "/ " : "";
        segment = types[i];
        n += snprintf(out + n, sizeof out - (size_t)n, "%s%s%d", i ? " " : "", border, ids[i]);
    }
    return out;
}

static void gives(const test_tokenizer *t, const char *text, uint32_t flags, const char *wanted) {
    tn_encode call = {.flags = flags, .text = text, .text_size = strlen(text)};
    const char *got = ids_of(t, &call);
    cr_expect_str_eq(got, wanted, "\"%s\": \"%s\", wanted \"%s\"", text, got, wanted);
}

Test(token_wordpiece, longest_pieces) {
    static const char *const texts[] = {W "un",
                                        W "una",
                                        "aff",
                                        "able",
                                        "ffable",
                                        "[unused1]",
                                        W "\xe2\x96\x81"
                                          "x"};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 7, texts);
    gives(&t, "unaffable", 0, "6 9");
    gives(&t, "UNaffx unaff", 0, "1 1");
    gives(&t, "able", 0, "1");
    gives(&t, "un un", 0, "5 5");
    gives(&t, "un,una", 0, "5 1 6");
    gives(&t, W "un", 0, "1");
    gives(&t, "", TN_ENCODE_ADD, "2 3");
    done(&t, &m);
}

/* A character more makes a word unknown; what is dropped does not count. */
Test(token_wordpiece, a_hundred_characters) {
    static const char *const texts[] = {W "a", "a", "\xd0\xb1", W "\xd0\xb1"};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 4, texts);
    for (int bytes = 1; bytes <= 2; bytes++) {
        for (uint64_t n = 99; n <= 102; n++) {
            char text[512];
            uint64_t size = 0, count;
            for (uint64_t i = 0; i < n; i++) {
                memcpy(text + size, bytes == 1 ? "A\xcc\x81" : "\xd0\xb1\xe2\x80\x8d", bytes == 1 ? 3 : 5);
                size += bytes == 1 ? 3 : 5;
            }
            int32_t *ids = test_encode(&t, text, size, 0, &count);
            cr_expect_eq(count, n <= 100 ? n : 1, "%llu characters: %llu ids", (unsigned long long)n,
                         (unsigned long long)count);
            cr_expect_eq(ids[0] == UNK, n > 100);
            free(ids);
        }
    }
    done(&t, &m);
}

/* Marks that stay are put in order even where something dropped stands between them: U+302F has class 224,
 * U+1D165 216, U+0901 is Mn of class 0 and ends their run, U+0301 is Mn of class 230. */
Test(token_wordpiece, order_of_marks_that_stay) {
#define LATE "\xe3\x80\xaf"
#define EARLY "\xf0\x9d\x85\xa5"
    static const char *const texts[] = {W "a", EARLY LATE, LATE EARLY};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 3, texts);
    gives(&t, "a" EARLY LATE, 0, "5 6");
    gives(&t, "a" LATE EARLY, 0, "5 6");
    gives(&t, "a" LATE "\xcc\x81" EARLY, 0, "5 6");
    gives(&t, "a" LATE "\xe2\x80\x8d\xff" EARLY, 0, "5 6");
    gives(&t, "a" LATE "\xe0\xa4\x81" EARLY, 0, "5 7");
    done(&t, &m);
}

Test(token_wordpiece, settings_of_the_normaliser) {
    static const char *const texts[] = {W "e", W "E", W "\xc3\xa9", W "\xc3\x89", W "i\xcc\x87"};
    static const char *const wanted[] = {"8 1", "7 9", "6 1", "5 1"}; /* U+0130 is I without its dot */
    for (int i = 0; i < 4; i++) {
        test_meta m;
        test_tokenizer t;
        int32_t types[] = {1, 1, 1, 1, 1};
        test_meta_wordpiece(&m, 5, texts, types);
        test_meta_bool(&m, "tokenizer.ggml.normalizer.lowercase", i & 1);
        test_meta_bool(&m, "tokenizer.ggml.normalizer.strip_accents", i >> 1);
        test_tokenizer_make(&t, "tokenizer.wordpiece", &m.meta);
        gives(&t, "\xc3\x89 \xc4\xb0", 0, wanted[i]);
        done(&t, &m);
    }
}

Test(token_wordpiece, strip_accents_follows_lowercase) {
    static const char *const texts[] = {W "e", W "E", W "\xc3\x89"};
    test_meta m;
    test_tokenizer t;
    test_meta_wordpiece(&m, 3, texts, (const int32_t[]){1, 1, 1});
    test_meta_bool(&m, "tokenizer.ggml.normalizer.lowercase", 0);
    test_tokenizer_make(&t, "tokenizer.wordpiece", &m.meta);
    gives(&t, "\xc3\x89", 0, "7");
    done(&t, &m);
}

/* A composed ideograph is decomposed, a sign with a stroke is the sign. */
Test(token_wordpiece, words_of_their_own) {
    static const char *const texts[] = {W "a",         W "b", W "\xe8\xb1\x88", W "<", W "\xe3\x81\x82",
                                        "\xe3\x81\x84"};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 6, texts);
    gives(&t,
          "a\xef\xa4\x80"
          "b",
          0, "5 7 6");
    gives(&t,
          "a\xe2\x89\xae"
          "b",
          0, "5 8 6");
    gives(&t, "\xe3\x81\x82\xe3\x81\x84", 0, "9 10");
    gives(&t,
          "a\xe2\x80\xa8"
          "b\xc2\xa0"
          "a",
          0, "5 6 5");
    gives(&t, "a\v", 0, "5");
    done(&t, &m);
}

Test(token_wordpiece, pairs) {
    static const char *const texts[] = {W "a", W "b"};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 2, texts);
    struct {
        const char *pair;
        uint32_t flags;
        const char *wanted;
    } cases[] = {{"b", TN_ENCODE_ADD, "2 5 3 / 6 3"},
                 {"b a", 0, "5 / 6 5"},
                 {"", TN_ENCODE_ADD, "2 5 3 / 3"},
                 {"[SEP]", TN_ENCODE_ADD, "2 5 3 / 1 1 1 3"},
                 {"[SEP]", TN_ENCODE_SPECIAL, "5 / 3"},
                 {"b", TN_ENCODE_ADD | TN_ENCODE_CONTINUES, "5 3 / 6 3"},
                 {"b", TN_ENCODE_ADD | TN_ENCODE_MORE, "2 5 3 / 6"},
                 {NULL, TN_ENCODE_ADD, "2 5 3"},
                 {NULL, TN_ENCODE_ADD | TN_ENCODE_MORE, "2 5"},
                 {NULL, TN_ENCODE_ADD | TN_ENCODE_CONTINUES, "5 3"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_encode call = {.flags = cases[i].flags, .text = "a", .text_size = 1, .pair = cases[i].pair};
        call.pair_size = cases[i].pair ? strlen(cases[i].pair) : 0;
        const char *got = ids_of(&t, &call);
        cr_expect_str_eq(got, cases[i].wanted, "case %zu: %s, wanted %s", i, got, cases[i].wanted);
    }
    done(&t, &m);
}

/* Too little room: the count is right, what fits is there, nothing behind it is written. */
Test(token_wordpiece, room) {
    static const char *const texts[] = {W "a", W "b", "c"};
    static const int32_t wanted[] = {2, 5, 3, 6, 1, 3};
    static const uint8_t segments[] = {0, 0, 0, 1, 1, 1};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 3, texts);
    for (uint64_t room = 0; room <= 6; room++) {
        int32_t ids[7] = {-9, -9, -9, -9, -9, -9, -9};
        uint8_t types[7] = {9, 9, 9, 9, 9, 9, 9};
        tn_error err = TN_ERROR_INIT;
        tn_encode call = {.struct_size = sizeof call, .flags = TN_ENCODE_ADD, .text = "a", .text_size = 1};
        call.pair = "b bcx";
        call.pair_size = 5;
        call.ids = ids;
        call.types = types;
        call.capacity = room;
        int32_t code = t.table->encode((void *)&t.host.host, t.tokenizer, &call, &err);
        cr_expect_eq(code, room < 6 ? TN_E_RANGE : TN_OK, "%d", code);
        cr_expect_eq(call.count, 6);
        cr_expect(memcmp(types, segments, room) == 0 && types[room] == 9 && ids[room] == -9);
        cr_expect(room < 6 || memcmp(ids, wanted, sizeof wanted) == 0);
    }
    done(&t, &m);
}

/* A caller that was compiled before pairs: what lies behind its struct is not looked at. */
Test(token_wordpiece, an_older_caller) {
    static const char *const texts[] = {W "a"};
    test_meta m;
    test_tokenizer t;
    int32_t ids[4];
    make(&t, &m, 1, texts);
    tn_encode call = {
        .struct_size = offsetof(tn_encode, plain), .text = "a", .text_size = 1, .ids = ids, .capacity = 4};
    call.plain = (const uint64_t *)8;
    call.plain_count = 7;
    call.pair = (const char *)8;
    call.pair_size = 100;
    call.types = (uint8_t *)8;
    cr_expect_eq(t.table->encode((void *)&t.host.host, t.tokenizer, &call, NULL), TN_OK);
    cr_expect(call.count == 1 && ids[0] == FIRST);
    done(&t, &m);
}

Test(token_wordpiece, text_of_ids) {
    static const char *const texts[] = {W "a", "b", "<u>", W W};
    static const int32_t ids[] = {5, 6, 5, 7, 5, CLS, 8};
    test_meta m;
    test_tokenizer t;
    uint64_t size;
    make(&t, &m, 4, texts);
    char *text = test_decode(&t, ids, 7, 0, &size);
    cr_expect_str_eq(text, "ab a<u> a[CLS]  ");
    free(text);
    text = test_decode(&t, ids, 7, TN_DECODE_SKIP_SPECIAL, &size);
    cr_expect_str_eq(text, "ab a<u> a  ");
    free(text);
    cr_expect_eq(t.table->leading(&t.host.host, t.tokenizer, 5), 1);
    cr_expect_eq(t.table->leading(&t.host.host, t.tokenizer, 6), 0);
    done(&t, &m);
}

/* ---- ids where the file names none --------------------------------------------------------------------- */

static void facts_of(uint64_t count, int32_t kind, int with_kinds, tn_vocab *facts) {
    const char *texts[128];
    int32_t kinds[128];
    for (uint64_t i = 0; i < count; i++) {
        texts[i] = "x";
        kinds[i] = kind;
    }
    test_meta m;
    test_tokenizer t;
    test_meta_init(&m);
    test_meta_strings(&m, "tokenizer.ggml.tokens", count, texts);
    if (with_kinds) { test_meta_i32s(&m, "tokenizer.ggml.token_type", count, kinds); }
    if (kind == 1 && with_kinds) { test_meta_u32(&m, "tokenizer.ggml.unknown_token_id", 7); }
    test_tokenizer_make(&t, "tokenizer.wordpiece", &m.meta);
    *facts = (tn_vocab){.struct_size = sizeof *facts};
    t.table->vocab(&t.host.host, t.tokenizer, facts);
    done(&t, &m);
}

Test(token_wordpiece, ids_without_keys) {
    tn_vocab f;
    facts_of(104, TN_TOKEN_CONTROL, 1, &f);
    cr_expect(f.bos == 101 && f.separator == 102 && f.unknown == 100 && f.padding == 0 && f.mask == 103);
    cr_expect(f.eos == -1 && f.add_bos && f.add_separator && !f.add_eos && !f.exact);
    facts_of(104, TN_TOKEN_NORMAL, 0, &f);
    cr_expect(f.bos == 101 && f.separator == 102 && f.unknown == 100);
    facts_of(104, TN_TOKEN_NORMAL, 1, &f);
    cr_expect(f.bos == -1 && f.separator == -1 && f.unknown == 7 && f.padding == -1 && !f.add_bos);
    facts_of(102, TN_TOKEN_CONTROL, 1, &f);
    cr_expect(f.bos == 101 && f.separator == -1 && f.mask == -1 && f.add_bos && !f.add_separator);
}

/* ---- plain ranges --------------------------------------------------------------------------------------- */

static const char *const plain_texts[] = {W "a", "a", "<ab>", "<a", W "["};

/* What the partition means, place by place: the longest entry that counts there. */
static uint64_t partition(const char *text, uint64_t size, const uint64_t *plain, uint64_t ranges,
                          int32_t *ids) {
    static const struct {
        const char *text;
        int32_t id;
        int always;
    } entries[] = {{"[CLS]", CLS, 0}, {"[SEP]", SEP, 0}, {"[UNK]", UNK, 0}, {"<ab>", 7, 1}, {"<a", 8, 1}};
    uint64_t count = 0;
    for (uint64_t at = 0; at < size;) {
        uint64_t longest = 0;
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
            uint64_t length = strlen(entries[i].text);
            int counts = length <= size - at && memcmp(text + at, entries[i].text, length) == 0;
            for (uint64_t r = 0; r < ranges && !entries[i].always; r++) {
                counts &=
                    plain[2 * r] == plain[2 * r + 1] || plain[2 * r] >= at + length || plain[2 * r + 1] <= at;
            }
            if (counts && length > longest) {
                longest = length;
                ids[count] = entries[i].id;
            }
        }
        count += longest != 0;
        at += longest ? longest : 1;
    }
    return count;
}

Test(token_wordpiece, plain_ranges) {
    test_meta m;
    test_tokenizer t;
    uint64_t state = 88172645463325252u;
    make(&t, &m, 5, plain_texts);
    for (int round = 0; round < 50000; round++) {
        static const char *const parts[] = {"[CLS]", "[SEP]", "<ab>", "<a", "[", "a", "b>", "CLS]", " "};
        char text[128];
        uint64_t size = 0, plain[8], ranges = test_random(&state) % 4, at = 0, got = 0;
        for (uint64_t n = test_random(&state) % 9; n > 0; n--) {
            const char *part = parts[test_random(&state) % 9];
            memcpy(text + size, part, strlen(part));
            size += strlen(part);
        }
        for (uint64_t r = 0; r < 2 * ranges; r++) { plain[r] = at += test_random(&state) % 7; }
        int32_t ids[128], wanted[128], specials[128];
        tn_encode call = {
            .struct_size = sizeof call, .flags = TN_ENCODE_SPECIAL, .text = text, .text_size = size};
        call.ids = ids;
        call.capacity = 128;
        call.plain = plain;
        call.plain_count = ranges;
        cr_assert_eq(t.table->encode((void *)&t.host.host, t.tokenizer, &call, NULL), TN_OK);
        uint64_t count = partition(text, size, plain, ranges, wanted);
        for (uint64_t i = 0; i < call.count; i++) { /* [UNK] also is what unknown words are */
            if (ids[i] == CLS || ids[i] == SEP || ids[i] == 7 || ids[i] == 8) { specials[got++] = ids[i]; }
        }
        cr_expect(got == count && memcmp(specials, wanted, got * sizeof *wanted) == 0,
                  "\"%.*s\", %llu ranges from %llu to %llu", (int)size, text, (unsigned long long)ranges,
                  (unsigned long long)plain[0], (unsigned long long)plain[1]);
        if (got != count) { break; }
    }
    done(&t, &m);
}

/* ---- cutting -------------------------------------------------------------------------------------------- */

static uint64_t cut(const test_tokenizer *t, const char *text, uint64_t size, uint32_t flags) {
    return t->table->cut((void *)&t->host.host, t->tokenizer, text, size, flags);
}

Test(token_wordpiece, places_to_cut) {
    static const struct {
        const char *text;
        uint32_t flags;
        uint64_t wanted;
    } cases[] = {{"hello wor", 0, 6},
                 {"hello ", 0, 6},
                 {"abc", 0, 0},
                 {"", 0, 0},
                 {"a,b", 0, 2},
                 {"a,", 0, 2},
                 {"a, \xff", 0, 4}, /* FF is in no character: dropped ... */
                 {"a, \xe0\x80", 0, 5},
                 {"a, \xe2", 0, 3},
                 {"a, \xf4\x8f\x80", 0, 3},
                 {"a, \xe2\x96", 0, 3},    /* ... this may become one */
                 {"a \xe2\x80\x8d", 0, 5}, /* ZWJ is dropped */
                 {"a \xe2\x80\x8d"
                  "b",
                  0, 5},
                 {"a\xe2\x80\x8d", 0, 0},
                 {"a\xe4\xb8\x80"
                  "b",
                  0, 4},
                 {"a\xe2\x89\xae", 0, 4}, /* a sign with a stroke */
                 {"x [CL", 0, 3},
                 {"x [CL", TN_ENCODE_SPECIAL, 2},
                 {"x [CLx", TN_ENCODE_SPECIAL, 3},
                 {"x [CLS]", TN_ENCODE_SPECIAL, 7},
                 {"x [", TN_ENCODE_SPECIAL, 2},
                 {"x <", 0, 2}, /* <ab> is cut out of any text */
                 {"<a", 0, 0},
                 {"x <a", 0, 2},
                 {"x <ab>", 0, 6}};
    test_meta m;
    test_tokenizer t;
    make(&t, &m, 5, plain_texts);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t got = cut(&t, cases[i].text, strlen(cases[i].text), cases[i].flags);
        cr_expect_eq(got, cases[i].wanted, "case %zu: %llu, wanted %llu", i, (unsigned long long)got,
                     (unsigned long long)cases[i].wanted);
    }
    done(&t, &m);
}

/* Whatever is cut off, the ids of the two parts are those of the whole. */
Test(token_wordpiece, parts_are_the_whole) {
    test_meta m;
    test_tokenizer t;
    uint64_t state = 2463534242u, places = 0;
    make(&t, &m, 5, plain_texts);
    for (int round = 0; round < 20000; round++) {
        static const char *const parts[] = {"[CLS]",        "<ab>", "<a",           "[CL", "a",
                                            "\xcc\x81",     "\xe4", "\xb8\x80",     " ",   ",",
                                            "\xe4\xb8\x80", "\xff", "\xe3\x80\xaf", "A",   "\n"};
        char text[256];
        uint64_t size = 0, whole, first, second;
        for (uint64_t n = test_random(&state) % 16; n > 0; n--) {
            const char *part = parts[test_random(&state) % 15];
            memcpy(text + size, part, strlen(part));
            size += strlen(part);
        }
        uint32_t flags = TN_ENCODE_ADD | (round & 1 ? TN_ENCODE_SPECIAL : 0);
        uint64_t seen = size ? test_random(&state) % (size + 1) : 0, at = cut(&t, text, seen, flags);
        cr_assert(at <= seen);
        places += at > 0;
        int32_t *all = test_encode(&t, text, size, flags, &whole);
        int32_t *a = test_encode(&t, text, at, flags | TN_ENCODE_MORE, &first);
        int32_t *b = test_encode(&t, text + at, size - at, flags | TN_ENCODE_CONTINUES, &second);
        int same = first + second == whole && memcmp(all, a, first * sizeof *a) == 0 &&
                   memcmp(all + first, b, second * sizeof *b) == 0;
        cr_expect(same, "\"%.*s\" cut at %llu of %llu", (int)size, text, (unsigned long long)at,
                  (unsigned long long)seen);
        free(all);
        free(a);
        free(b);
        if (!same) { break; }
    }
    cr_expect(places > 5000, "%llu places", (unsigned long long)places);
    done(&t, &m);
}
