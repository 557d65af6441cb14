/* Sound files are read as other readers read them; the refused fixtures are refused, in the right words. */
#include "gguf_image.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static tn_gguf *open_sound(const char *path) {
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    int32_t code = tn_gguf_open(path, &tn_image_types, &file, &error);
    cr_assert(eq(i32, code, TN_OK), "%s: %s", path, error.text);
    cr_assert(file != NULL);
    return file;
}

/* Figures of the Python package gguf 0.19. */
static const struct {
    const char *name;
    uint64_t keys, tensors, data_at;
} models[] = {
    {"alias-azmx", 24, 30, 12256},  {"alias-mistral", 24, 30, 12288}, {"llama-bias-linear", 26, 35, 12544},
    {"llama-yarn", 29, 21, 11968},  {"llama", 24, 30, 12256},         {"llama3-ropefreqs", 22, 21, 9984},
    {"mistral-gqa", 27, 30, 12384}, {"mixtral", 26, 23, 12000}};

Test(gguf_read, models_have_the_keys_and_tensors_that_the_python_package_sees) {
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "models/%s.gguf", models[i].name);
        char *path = tn_test_data(name);
        tn_gguf *file = open_sound(path);
        cr_expect(eq(u64, tn_gguf_kv_count(file), models[i].keys), "%s", name);
        cr_expect(eq(u64, tn_gguf_tensor_count(file), models[i].tensors), "%s", name);
        cr_expect(eq(u64, tn_gguf_tensor_at(file, 0)->offset, models[i].data_at), "%s", name);
        cr_expect(eq(u32, tn_gguf_version(file), 3));
        cr_expect(eq(u32, tn_gguf_alignment(file), 32));
        cr_expect(eq(u32, tn_gguf_file_count(file), 1));
        cr_expect(eq(str, (char *)tn_gguf_path(file, 0), path));
        tn_gguf_close(file);
        free(path);
    }
}

Test(gguf_read, every_value_and_tensor_of_a_file_is_found_by_number_and_by_name) {
    for (uint32_t version = 2; version <= 3; version++) {
        char *folder = tn_test_folder(), *path = tn_test_path(folder, "a.gguf");
        tn_image image = {0};
        tn_image_sample(&image, version);
        tn_test_write(path, image.data, image.size);
        tn_gguf *file = open_sound(path);
        const tn_meta *meta = tn_gguf_meta(file);
        cr_expect(eq(u32, tn_gguf_version(file), version));
        cr_expect(eq(u32, tn_gguf_alignment(file), 64));
        cr_expect(eq(u64, tn_gguf_size(file), image.size));
        cr_expect(eq(u64, tn_gguf_kv_count(file), 16));
        for (uint64_t i = 0; i < 16; i++) {
            tn_kv by_number = {.struct_size = sizeof by_number}, by_name = {.struct_size = sizeof by_name};
            const char *key = tn_gguf_kv_at(file, i, &by_number);
            cr_assert(eq(i32, meta->find(meta, key, &by_name), TN_OK), "%s", key);
            cr_expect(eq(ptr, (void *)by_name.data, (void *)by_number.data), "%s", key);
            int64_t integer;
            double number;
            if (by_name.type < TN_KV_STRING && tn_kv_int(&by_name, 0, &integer)) {
                cr_expect(eq(i64, integer, strcmp(key, "general.alignment") == 0 ? 64 : 1), "%s", key);
            } else if (by_name.type == TN_KV_F64) {
                cr_expect(tn_kv_float(&by_name, 0, &number) && number == 4.9406564584124654e-324);
            }
        }
        tn_kv kv = {.struct_size = sizeof kv};
        cr_expect(eq(i32, meta->find(meta, "no.such.key", &kv), TN_E_NOT_FOUND));
        cr_expect(eq(i32, meta->find(meta, "", &kv), TN_E_NOT_FOUND));
        cr_expect(eq(i32, meta->find(meta, "tokenizer.ggml.tokens", &kv), TN_OK));
        cr_expect(eq(u32, kv.element_type, TN_KV_STRING));
        cr_expect(eq(u64, kv.count, 3));
        cr_expect(eq(u64, kv.size, 3 * 8 + 3 + 0 + 2));
        const unsigned char *at = kv.data;
        cr_expect(eq(u64, tn_string_next(&at).size, 3));
        cr_expect(eq(u64, tn_string_next(&at).size, 0));
        cr_expect(memcmp(tn_string_next(&at).data, "\xff\xfe", 2) == 0);

        cr_expect(eq(u64, tn_gguf_tensor_count(file), 4));
        const tn_gguf_tensor *odd = tn_gguf_tensor_find(file, "odd.weight");
        const tn_gguf_tensor *q = tn_gguf_tensor_find(file, "blk.0.q.weight");
        cr_assert(odd == tn_gguf_tensor_at(file, 1) && q == tn_gguf_tensor_at(file, 2));
        cr_expect(odd->data == NULL && odd->size == 0 && odd->elements == 15 && odd->type == 77);
        cr_expect(eq(u64, q->size, 72));
        cr_expect(eq(u64, q->offset, image.header_size + 192));
        cr_expect(eq(u64, q->dims[3], 1));
        cr_expect(eq(ptr, (void *)q->data, (char *)tn_gguf_tensor_at(file, 0)->data + 192));
        cr_expect(tn_gguf_tensor_find(file, "odd.weigh") == NULL);
        cr_expect(tn_gguf_tensor_find(file, "") == NULL);
        tn_gguf_close(file);
        tn_image_free(&image);
        free(path);
        tn_test_folder_remove(folder);
    }
}

Test(gguf_read, a_short_kv_of_an_older_plugin_is_filled_as_far_as_it_reaches) {
    char *path = tn_test_data("models/llama.gguf");
    tn_gguf *file = open_sound(path);
    const tn_meta *meta = tn_gguf_meta(file);
    tn_kv kv = {.struct_size = offsetof(tn_kv, data), .data = path};
    cr_assert(eq(i32, meta->find(meta, "general.architecture", &kv), TN_OK));
    cr_expect(eq(u64, kv.size, 5));
    cr_expect(eq(ptr, (void *)kv.data, path));
    cr_expect(eq(u32, kv.struct_size, offsetof(tn_kv, data)));
    tn_gguf_close(file);
    free(path);
}

Test(gguf_read, without_types_every_tensor_is_of_an_unknown_one) {
    char *path = tn_test_data("models/llama.gguf");
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    cr_assert(eq(i32, tn_gguf_open(path, NULL, &file, &error), TN_OK), "%s", error.text);
    for (uint64_t i = 0; i < tn_gguf_tensor_count(file); i++) {
        const tn_gguf_tensor *tensor = tn_gguf_tensor_at(file, i);
        cr_expect(tensor->data == NULL && tensor->size == 0 && tensor->offset >= 12256);
    }
    tn_gguf_close(file);
    free(path);
}

/* ---- the refused fixtures --------------------------------------------------------------------------- */

static void check_refused(const json_t *entry) {
    const char *name = json_string_value(json_object_get(entry, "file"));
    const char *stage = json_string_value(json_object_get(entry, "stage"));
    char *folder = tn_test_data("refused"), *path = tn_test_path(folder, name);
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    int32_t code = tn_gguf_open(path, &tn_image_types, &file, &error);
    if (!stage || strcmp(stage, "container") != 0) {
        cr_expect(eq(i32, code, TN_OK), "%s: %s", name, error.text);
    } else {
        cr_expect(code >= TN_E_FILE_DAMAGED && code <= TN_E_FILE_SPLIT, "%s: code %d", name, code);
        cr_expect(strstr(error.text, name) != NULL, "%s is not named in: %s", name, error.text);
        size_t i;
        json_t *word;
        json_array_foreach (json_object_get(entry, "should_mention"), i, word) {
            cr_expect(strstr(error.text, json_string_value(word)) != NULL, "%s: \"%s\" is not in: %s", name,
                      json_string_value(word), error.text);
        }
    }
    tn_gguf_close(file);
    free(folder);
    free(path);
}

Test(gguf_read, the_refused_fixtures_are_refused_in_the_right_words_and_the_controls_open) {
    char *path = tn_test_data("refused/refused.json");
    json_error_t why;
    json_t *all = json_load_file(path, 0, &why);
    cr_assert(all != NULL, "%s: %s", path, why.text);
    cr_assert(json_array_size(all) > 40, "%zu entries", json_array_size(all));
    size_t i;
    json_t *entry;
    json_array_foreach (all, i, entry) { check_refused(entry); }
    json_decref(all);
    free(path);
}

static void expect_words(const char *name, int32_t wanted, const char *words) {
    char *path = tn_test_data(name);
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    int32_t code = tn_gguf_open(path, NULL, &file, &error);
    cr_expect(eq(i32, code, wanted), "%s: %s", name, error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    cr_expect(file == NULL, "%s: nothing of it can be shown", name);
    free(path);
}

Test(gguf_read, what_is_no_readable_gguf_is_called_what_it_is) {
    expect_words("refused/version-1.gguf", TN_E_FILE_VERSION, "GGUF version 1");
    expect_words("refused/version-99.gguf", TN_E_FILE_VERSION, "GGUF version 99");
    expect_words("refused/big-endian.gguf", TN_E_FILE_VERSION, "big-endian");
    expect_words("refused/wrong-magic.gguf", TN_E_FILE_VERSION, "GGML");
    expect_words("refused/zero-byte.gguf", TN_E_FILE_DAMAGED, "empty");
    expect_words("refused/refused.json", TN_E_FILE_DAMAGED, "no GGUF file");
}

/* ---- not a file ------------------------------------------------------------------------------------- */

static void expect_io(const char *path, const char *words) {
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    int32_t code = tn_gguf_open(path, NULL, &file, &error);
    cr_expect(eq(i32, code, TN_E_IO), "%s", error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    cr_expect(file == NULL);
}

Test(gguf_read, what_is_no_file_is_refused_without_waiting, .timeout = 20) {
    char *folder = tn_test_folder(), *fifo = tn_test_path(folder, "fifo.gguf");
    char *missing = tn_test_path(folder, "missing.gguf");
    cr_assert(mkfifo(fifo, 0600) == 0);
    expect_io(folder, "folder");
    expect_io(fifo, "FIFO");
    expect_io("/dev/null", "device");
    expect_io(missing, "No such file");
    free(fifo);
    free(missing);
    tn_test_folder_remove(folder);
}

Test(gguf_read, a_message_about_a_very_long_path_still_says_what_is_wrong) {
    char path[3000];
    memset(path, 'x', sizeof path);
    for (size_t i = 100; i < sizeof path; i += 100) { path[i] = '/'; }
    path[sizeof path - 1] = 0;
    expect_io(path, "No such file");
}

/* ---- what can be shown of a damaged file ------------------------------------------------------------ */

Test(gguf_read, a_file_without_its_last_byte_of_data_still_shows_the_rest) {
    char *folder = tn_test_folder(), *path = tn_test_path(folder, "a.gguf");
    tn_error error = TN_ERROR_INIT;
    tn_image image = {0};
    tn_gguf *file;
    tn_image_sample(&image, 3);
    image.size -= 1;
    cr_assert(eq(i32, tn_image_open(&image, path, &file, &error), TN_E_FILE_DAMAGED));
    cr_assert(file != NULL);
    cr_expect(strstr(error.text, "blk.0.k.weight") != NULL, "%s", error.text);
    cr_expect(eq(u64, tn_gguf_kv_count(file), 16));
    cr_expect(eq(u64, tn_gguf_tensor_count(file), 4));
    cr_expect(tn_gguf_tensor_at(file, 2)->data != NULL);
    cr_expect(tn_gguf_tensor_at(file, 3)->data == NULL);
    cr_expect(eq(u64, tn_gguf_tensor_at(file, 3)->size, 24));
    tn_gguf_close(file);
    tn_image_free(&image);
    free(path);
    tn_test_folder_remove(folder);
}
