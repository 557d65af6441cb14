/*
 * Any bytes as a manifest: whatever comes out is whole (every pointer a string), and a fault has a message of
 * one line that names the file.
 */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
    if (!holds) { abort(); }
}

static void walk(const tn_manifest *m, int good) {
    size_t sum = strlen(m->id) + strlen(m->kind) + strlen(m->version) + strlen(m->license) +
                 strlen(m->library) + strlen(m->sha256) + strlen(m->isa) + strlen(m->type_name);
    for (uint32_t i = 0; i < m->interface_count; i++) { sum += strlen(m->interfaces[i]); }
    for (uint32_t i = 0; i < m->claim_count; i++) {
        sum += strlen(m->claims[i].key) + strlen(m->claims[i].value);
    }
    for (uint32_t i = 0; i < m->note_count; i++) {
        const tn_note *n = &m->notes[i];
        sum += strlen(n->key) + strlen(n->value);
        require(strncmp(n->text, n->name, strlen(n->name)) == 0);
    }
    require(sum <= (size_t)8 * TN_MANIFEST_MOST);
    require(!good || (m->kind_number < TN_KIND_COUNT && !strchr(m->library, '/')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_manifest m;
    tn_error err = TN_ERROR_INIT;
    char *text = malloc(size ? size : 1);
    if (size) { memcpy(text, data, size); }
    int32_t code = tn_manifest_parse("m.ini", text, size, &m, &err);
    free(text); /* nothing points into it */
    walk(&m, code == TN_OK);
    require(code == TN_OK || (strncmp(err.text, "m.ini", 5) == 0 && !strchr(err.text, '\n')));
    tn_manifest_free(&m);
    return 0;
}
