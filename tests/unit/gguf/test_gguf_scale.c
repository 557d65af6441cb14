/* Opening takes time in proportion to what there is to read, whatever the names are. */
#include "gguf_image.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* `keys` keys, one of them an array of `strings` strings, and `tensors` tensors. */
static void make(tn_image *image, uint64_t keys, uint64_t strings, uint64_t tensors) {
    char name[32];
    tn_image_head(image, 3, tensors, keys + 1);
    tn_image_kv_array(image, "tokenizer.ggml.tokens", TN_KV_STRING, strings);
    for (uint64_t i = 0; i < strings; i++) {
        snprintf(name, sizeof name, "word%" PRIu64, i);
        tn_image_text(image, name);
    }
    for (uint64_t i = 0; i < keys; i++) {
        snprintf(name, sizeof name, "key.%" PRIu64, i);
        tn_image_kv_u32(image, name, (uint32_t)i);
    }
    for (uint64_t i = 0; i < tensors; i++) {
        snprintf(name, sizeof name, "blk.%" PRIu64 ".weight", i);
        tn_image_tensor(image, name, 0, 1, (uint64_t[]){8}, i * 32);
    }
    tn_image_data(image, 32);
    tn_image_zeros(image, tensors * 32);
}

/* Seconds of opening, the best of three; leaves the file open. */
static double time_open(const char *path, const tn_image *image, tn_gguf **file) {
    double best = 1e9;
    tn_error error = TN_ERROR_INIT;
    tn_test_write(path, image->data, image->size);
    *file = NULL;
    for (int i = 0; i < 3; i++) {
        tn_gguf_close(*file);
        double begin = tn_test_seconds();
        int32_t code = tn_gguf_open(path, &tn_image_types, file, &error);
        double took = tn_test_seconds() - begin;
        cr_assert(eq(i32, code, TN_OK), "%s", error.text);
        best = took < best ? took : best;
    }
    return best;
}

Test(gguf_scale, a_large_model_opens_in_milliseconds, .timeout = 60) {
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "a.gguf");
    tn_image image = {0};
    tn_gguf *file;
    make(&image, 100, 128 * 1024, 2000);
    double took = time_open(path, &image, &file);
    cr_log_info("100 keys, 128k strings, 2000 tensors: %.2f ms", took * 1e3);
    cr_expect(took < 0.2, "%g s",
              took); /* about 2 ms in a release build; here for sanitizers on slow cores */
    cr_expect(eq(u64, tn_gguf_tensor_count(file), 2000));
    tn_gguf_close(file);
    tn_image_free(&image);
    free(path);
    tn_test_folder_remove(folder);
}

Test(gguf_scale, names_by_the_hundred_thousand_are_found, .timeout = 60) {
    const uint64_t count = 200000;
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "a.gguf"), name[32];
    tn_image image = {0};
    tn_gguf *file;
    make(&image, count, 1, count);
    double took = time_open(path, &image, &file);
    cr_log_info("%" PRIu64 " keys and tensors: %.0f ms", count, took * 1e3);
    cr_expect(took < 5, "%g s", took); /* quadratic would be minutes */
    const tn_meta *meta = tn_gguf_meta(file);
    for (uint64_t i = 0; i < count; i += 97) {
        tn_kv kv = {.struct_size = sizeof kv};
        int64_t value = -1;
        snprintf(name, sizeof name, "key.%" PRIu64, i);
        cr_assert(eq(i32, meta->find(meta, name, &kv), TN_OK), "%s", name);
        cr_assert(tn_kv_int(&kv, 0, &value) && value == (int64_t)i, "%s", name);
        snprintf(name, sizeof name, "blk.%" PRIu64 ".weight", i);
        cr_assert(tn_gguf_tensor_find(file, name) == tn_gguf_tensor_at(file, i), "%s", name);
    }
    tn_gguf_close(file);
    tn_image_free(&image);
    free(path);
    tn_test_folder_remove(folder);
}
