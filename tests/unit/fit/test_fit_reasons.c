/* The list of reasons: a few of each code and a count, texts made printable, sentences. */
#include "fit_reasons.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_text(const tn_fit_reason *reason, const char *wanted) {
    char text[512];
    uint64_t length = tn_fit_reason_text(reason, text, sizeof text);
    cr_expect_str_eq(text, wanted);
    cr_expect_eq(length, strlen(wanted));
}

Test(fit_reasons, sentences) {
    expect_text(&(tn_fit_reason){1, "llama.block_count", "a string", "an integer", "", 0},
                "llama.block_count: a string, expected an integer");
    expect_text(&(tn_fit_reason){1, "blk.0.x", "[2]", "[3] (embedding_length)", "see there", 7},
                "blk.0.x: [2], expected [3] (embedding_length); see there (and 7 more)");
    expect_text(&(tn_fit_reason){1, "", "the file ends here", "", "", 0}, "the file ends here");
    expect_text(&(tn_fit_reason){1, "context", "", "1 to 5", "", 0}, "context: expected 1 to 5");
    expect_text(&(tn_fit_reason){1, "x", "", "", "install it", 0}, "x; install it");
}

Test(fit_reasons, sentences_are_cut_between_characters) {
    tn_fit_reason reason = {1, "", "ab\xc3\xa9\xe2\x82\xac", "", "", 0}; /* a b é € */
    static const char *const cut[] = {"",           "a",          "ab",         "ab",
                                      "ab\xc3\xa9", "ab\xc3\xa9", "ab\xc3\xa9", "ab\xc3\xa9\xe2\x82\xac"};
    char text[16];
    cr_expect_eq(tn_fit_reason_text(&reason, NULL, 0), 7);
    for (uint64_t capacity = 1; capacity <= 8; capacity++) {
        cr_expect_eq(tn_fit_reason_text(&reason, text, capacity), 7);
        cr_expect_str_eq(text, cut[capacity - 1], "capacity %d: \"%s\"", (int)capacity, text);
    }
}

Test(fit_reasons, a_thousand_are_a_few_and_a_count) {
    tn_reasons reasons = {0};
    for (int i = 0; i < 1000; i++) {
        char subject[32];
        snprintf(subject, sizeof subject, "tensor %d", i);
        tn_reasons_add(&reasons, TN_E_TENSOR_UNREAD, subject, "x", "y", NULL);
        if (i == 500) { tn_reasons_add(&reasons, TN_E_TENSOR_SHAPE, "other", "x", "y", NULL); }
    }
    cr_expect_eq(reasons.total, 1001);
    cr_expect_eq(reasons.count, TN_REASONS_KEPT + 1);
    cr_expect_eq(reasons.items[TN_REASONS_KEPT - 1].more, 1000 - TN_REASONS_KEPT);
    cr_expect_str_eq(reasons.items[0].subject, "tensor 0");
    cr_expect_str_eq(reasons.items[TN_REASONS_KEPT].subject, "other");
    cr_expect_eq(reasons.items[TN_REASONS_KEPT].more, 0);
    tn_reasons_free(&reasons);
}

Test(fit_reasons, texts_are_printable) {
    tn_reasons reasons = {0};
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    cr_expect_str_eq(tn_reasons_printable(&reasons, "a\nb\x1b[31m\x7f"), "a?b?[31m?");
    cr_expect_str_eq(tn_reasons_printable(&reasons, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
                     "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    cr_expect_str_eq(tn_reasons_printable(&reasons, "\xff \xc3 \xc0\x80 \xed\xa0\x80 \xe2\x82"),
                     "? ? ?? ??? ??");
    cr_expect_str_eq(tn_reasons_printable(&reasons, NULL), "");
    const char *cut = tn_reasons_printable(&reasons, longest);
    cr_expect(strlen(cut) < 600 && strcmp(cut + strlen(cut) - 3, "...") == 0, "%zu bytes", strlen(cut));
    tn_reasons_free(&reasons);
}

Test(fit_reasons, a_plugin_reports_and_fails) {
    tn_reasons reasons = {0};
    tn_report report = tn_reasons_report(&reasons);
    tn_reason reason = {.struct_size = sizeof reason, .code = TN_E_PARAM_MISSING, .subject = "a.key"};
    tn_error err = TN_ERROR_INIT;
    report.add(&report, &reason);
    tn_reasons_add_error(&reasons, 0, "plugin", TN_E_PARAM_MISSING, &err);
    cr_expect_eq(reasons.count, 1, "what was reported is not said again");
    tn_reasons_add_error(&reasons, 1, "plugin", TN_E_FAILED, &err);
    cr_expect_eq(reasons.count, 2);
    cr_expect_str_eq(reasons.items[1].found, "failed", "a failure without a text gets one");
    tn_reasons_add(&reasons, -5, "plugin", "x", NULL, NULL);
    cr_expect_eq(reasons.items[2].code, TN_E_PLUGIN_BROKEN, "a code that does not exist");
    tn_reasons_free(&reasons);
}

Test(fit_reasons, muted) {
    tn_reasons reasons = {.muted = 1};
    tn_reasons_add(&reasons, TN_E_PARAM_MISSING, "a", "b", "c", "d");
    cr_expect_eq(reasons.total, 0);
    tn_reasons_free(&reasons);
}
