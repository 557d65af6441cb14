/*
 * Any bytes as a GGUF file: once through a real file, once from the heap, where a sanitizer sees every read
 * behind the end. All that was read before a fault is then walked through, as a display would.
 */
#include "gguf_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int find_type(const void *context, uint32_t type, uint32_t *block, uint32_t *block_bytes) {
    (void)context;
    *block = type == 0 ? 1 : 32;
    *block_bytes = type == 0 ? 4 : 18;
    return type == 0 || type == 2;
}

static const tn_gguf_types types = {.find = find_type};
static volatile uint64_t sum;

static void read_all(const void *data, uint64_t size) {
    const unsigned char *p = data;
    for (uint64_t i = 0; i < size; i++) { sum += p[i]; }
}

static void require(int holds) {
    if (!holds) { abort(); }
}

static void walk(const tn_gguf *file) {
    for (uint64_t i = 0; i < tn_gguf_kv_count(file); i++) {
        tn_kv kv = {.struct_size = sizeof kv}, found = {.struct_size = sizeof found};
        const char *key = tn_gguf_kv_at(file, i, &kv);
        require(tn_gguf_meta(file)->find(tn_gguf_meta(file), key, &found) == TN_OK && found.data == kv.data);
        read_all(kv.data, kv.size);
        if (kv.type != TN_KV_ARRAY || kv.element_type != TN_KV_STRING) { continue; }
        const unsigned char *at = kv.data;
        for (uint64_t n = 0; n < kv.count; n++) {
            tn_text text = tn_string_next(&at);
            read_all(text.data, text.size);
        }
        require(at == (const unsigned char *)kv.data + kv.size);
    }
    for (uint64_t i = 0; i < tn_gguf_tensor_count(file); i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(file, i);
        require(tn_gguf_tensor_find(file, tensor->name) == tensor);
        if (tensor->data) { read_all(tensor->data, tensor->size); }
    }
}

static void read_file(const uint8_t *data, size_t size) {
    char path[64];
    tn_gguf *file;
    tn_error error = TN_ERROR_INIT;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int32_t code = tn_gguf_open(path, &types, &file, &error);
    require(code == TN_OK ? file != NULL : error.text[0] != 0);
    if (file) { walk(file); }
    tn_gguf_close(file);
    close(fd);
}

static void read_heap(const uint8_t *data, size_t size) {
    tn_gguf *file = calloc(1, sizeof *file);
    require(file && (file->shards = calloc(1, sizeof *file->shards)) != NULL);
    file->meta = (tn_meta){.struct_size = sizeof file->meta, .context = file};
    file->shard_count = 1;
    file->shards[0] = (tn_mapping){.data = data, .size = size, .path = strdup("heap")};
    tn_gguf_read_shard(file, 0, &types, &file->table, NULL);
    for (uint64_t i = 0; i < file->table.keys.count; i++) {
        read_all(file->table.values[i].data, file->table.values[i].size);
    }
    for (uint64_t i = 0; i < tn_gguf_tensor_count(file); i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(file, i);
        if (tensor->data) { read_all(tensor->data, tensor->size); }
    }
    file->shards[0].data = NULL; /* not ours to unmap */
    tn_gguf_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_file(data, size);
    read_heap(data, size);
    return 0;
}
