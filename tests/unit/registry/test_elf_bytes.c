/*
 * test_elf_bytes.c - the ELF check on a real plugin with every byte of its tables changed: no read outside
 * (the file lies on the heap, sanitizers watch), no endless loop, and whatever is refused says why.
 */
#include "elf_check.h"
#include "plain_test.h"
#include "support.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static unsigned refusals;

static void judge(const unsigned char *bytes, size_t size) {
    char needs[64];
    tn_error err = TN_ERROR_INIT;
    int32_t code = tn_elf_check("x.so", bytes, size, needs, sizeof needs, &err);
    expect(code == TN_OK || (code == TN_E_PLUGIN_BROKEN && strncmp(err.text, "x.so", 4) == 0), "code %d: %s",
           code, err.text);
    refusals += code != TN_OK;
}

/* Exactly as long as the file, so that a read behind its end is seen. */
static unsigned char *exact_copy(const unsigned char *bytes, size_t size) {
    unsigned char *copy = malloc(size ? size : 1);
    if (size) { memcpy(copy, bytes, size); }
    return copy;
}

static void judge_cut(const unsigned char *bytes, size_t size) {
    unsigned char *copy = exact_copy(bytes, size);
    judge(copy, size);
    free(copy);
}

static void change_range(unsigned char *bytes, size_t size, size_t from, size_t count, size_t step) {
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (size_t at = from; at < from + count && at < size; at += step) {
        unsigned char was = bytes[at];
        for (size_t v = 0; v < sizeof values; v++) {
            bytes[at] = values[v];
            judge(bytes, size);
        }
        bytes[at] = was;
    }
}

int main(void) {
    size_t size;
    char *path = tn_test_build("lib/tenon/plugins/format.f32.so");
    unsigned char *whole = tn_test_read(path, &size), *bytes = exact_copy(whole, size);
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    judge(bytes, size);
    expect(refusals == 0, "%s is refused as it is", path);

    change_range(bytes, size, 0, sizeof header + header.e_phnum * sizeof(Elf64_Phdr), 1);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, bytes + header.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_DYNAMIC) { change_range(bytes, size, p.p_offset, p.p_filesz, 1); }
        if (p.p_type == PT_LOAD && p.p_offset == 0) {
            change_range(bytes, size, 0, p.p_filesz, 3);
        } /* symbols, hash */
    }
    for (size_t cut = 0; cut < size; cut += cut < 4096 ? 7 : 997) { judge_cut(bytes, cut); }
    expect(refusals > 1000, "only %u refusals: the test changes nothing that matters", refusals);
    free(bytes);
    free(whole);
    free(path);
    return expect_none("elf_bytes");
}
