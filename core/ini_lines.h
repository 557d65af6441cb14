/*
 * ini_lines.h - INI files through inih, strictly and with line numbers.
 *
 * inih gives its handler no line, cuts lines over 200 bytes, takes an indented line for more of the value
 * above, and stops at a NUL. So lines are handed to it one by one, and judged before.
 */
#ifndef TENON_INI_LINES_H
#define TENON_INI_LINES_H

#include "tenon/errors.h"

typedef struct tn_ini {
    const char *path; /**< for messages */
    const char *text;
    size_t size;
    /** One entry. Strings last for the call, are printable ASCII and not empty; messages need no line. */
    int32_t (*entry)(void *context, const char *section, const char *name, const char *value, tn_error *err);
    void *context;
    int32_t code; /**< of every fault: TN_E_PLUGIN_MANIFEST */
} tn_ini;

/** Stops at the first fault, whose message begins with "path:line: ". */
int32_t tn_ini_read(const tn_ini *ini, tn_error *err);

#endif
