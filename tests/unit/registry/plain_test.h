/* plain_test.h - expectations of test programs with a main() of their own, which run under every sanitizer.
 */
#ifndef TENON_PLAIN_TEST_H
#define TENON_PLAIN_TEST_H

#include "tenon/errors.h"

/** Counts and prints a fault unless it holds. */
TN_PRINTF(2, 3)
void expect(int holds, const char *format, ...);
/** That a call gave this code, with these words in its message. */
void expect_error(const char *what, int32_t code, const tn_error *err, int32_t wanted, const char *words);
/** Prints how many faults there were; the program's exit status. */
int expect_none(const char *name);

#endif
