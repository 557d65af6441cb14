/* test_error_text.c - messages of tn_fail: one line whatever they quote, and cut between characters. */
#include "tenon/errors.h"

#include <criterion/criterion.h>
#include <string.h>

Test(error_text, control_characters_do_not_break_the_line) {
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_fail(&err, TN_E_INPUT, "key %s",
                         "a\nb\r\t\x1b[2J\x7f"
                         "c\xc3\xa9"),
                 TN_E_INPUT);
    cr_assert_str_eq(err.text, "key a b   [2J c\xc3\xa9");
}

Test(error_text, one_that_is_too_long_is_cut_between_characters) {
    tn_error err = TN_ERROR_INIT;
    char text[sizeof err.text + 10];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    memcpy(text + sizeof err.text - 2, "\xc3\xa9", 2); /* the last byte that fits is the first of two */
    tn_fail(&err, TN_E_INPUT, "%s", text);
    cr_assert_eq(strlen(err.text), sizeof err.text - 2);
}
