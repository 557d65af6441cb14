/*
 * tenon/errors.h - inline helpers to report failures. Nothing here crosses the ABI.
 */
#ifndef TENON_ERRORS_H
#define TENON_ERRORS_H

#include "tenon/abi.h"

#include <stdarg.h>
#include <stdio.h>

TN_BEGIN_C

/** A tn_error ready to be handed to a callee. */
#ifdef __cplusplus
#define TN_ERROR_INIT                                                                                        \
    { (uint32_t)sizeof(tn_error), TN_OK, "" }
#else
#define TN_ERROR_INIT                                                                                        \
    { .struct_size = (uint32_t)sizeof(tn_error) }
#endif

/**
 * [any] Fills *err (NULL is fine) and returns `code`. A text that is too long is cut between characters; control
 * characters, which names and values of a file may hold, become blanks: a message is one line.
 */
TN_PRINTF(3, 4)
static inline int32_t tn_fail(tn_error *err, int32_t code, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        if (n >= (int)sizeof err->text) { /* cut at the start of the character that did not fit */
            size_t end = sizeof err->text - 1;
            size_t at = end;
            while (at > end - 4 && ((unsigned char)err->text[at - 1] & 0xc0) == 0x80) { at--; }
            if ((unsigned char)err->text[at - 1] >= 0xc0) { end = at - 1; }
            err->text[end] = 0;
        }
        for (char *at = err->text; *at; at++) {
            if ((unsigned char)*at < 0x20 || *at == 0x7f) { *at = ' '; }
        }
        err->code = code;
    }
    return code;
}

#define TN_FAIL(err, code, ...) return tn_fail((err), (code), __VA_ARGS__)

/** Returns from the function with the code of `call` unless it is TN_OK. */
#define TN_TRY(call)                                                                                         \
    do {                                                                                                     \
        int32_t tn_try_code_ = (call);                                                                       \
        if (tn_try_code_ != TN_OK) { return tn_try_code_; }                                                  \
    } while (0)

/** The stable text of a code ("tensor.missing"); "unknown" for a number that is none. */
static inline const char *tn_code_text(int32_t code) {
    switch (code) {
#define TN_CODE_TEXT(name, number, text, status)                                                             \
    case number: return text;
        TN_CODES(TN_CODE_TEXT)
#undef TN_CODE_TEXT
    default: return "unknown";
    }
}

/** The exit status that belongs to a code. */
static inline int tn_code_status(int32_t code) {
    switch (code) {
#define TN_CODE_STATUS(name, number, text, status)                                                           \
    case number: return status;
        TN_CODES(TN_CODE_STATUS)
#undef TN_CODE_STATUS
    default: return 1;
    }
}

TN_END_C
#endif
