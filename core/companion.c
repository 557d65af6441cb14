/* companion.c - see companion.h. */
#include "companion.h"

#include <stdio.h>
#include <string.h>

const tn_gguf_tensor *tn_companion_find(const tn_gguf *file, const char *tensor, const char *suffix,
                                        char name[TN_COMPANION_NAME]) {
    static const char weight[] = ".weight";
    size_t size = strlen(tensor), tail = sizeof weight - 1;
    if (size > tail && strcmp(tensor + size - tail, weight) == 0) { size -= tail; }
    snprintf(name, TN_COMPANION_NAME, "%.*s%s", (int)size, tensor, suffix);
    return tn_gguf_tensor_find(file, name);
}
