/*
 * companion.h - by their names: which tensor is the companion that a format brings along with another one.
 */
#ifndef TENON_COMPANION_H
#define TENON_COMPANION_H

#include "tenon/gguf.h"

/** Room for a companion's name; longer ones, cut there, are in no file. */
enum { TN_COMPANION_NAME = 256 };

/**
 * The tensor that is `tensor`'s companion of that suffix, or NULL; its name is `tensor`'s without ".weight", plus the
 * suffix, whatever `tensor` is called.
 */
const tn_gguf_tensor *tn_companion_find(const tn_gguf *file, const char *tensor, const char *suffix,
                                        char name[TN_COMPANION_NAME]);

#endif
