/* Split models: opened by any shard; names and keys must agree; a missing shard is named. */
#include "gguf_image.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static void make_folder(void) {
    folder = tn_test_folder();
}

static void remove_folder(void) {
    tn_test_folder_remove(folder);
}

TestSuite(gguf_split, .init = make_folder, .fini = remove_folder, .timeout = 60);

/* What a shard of a test says of itself; -1: nothing. */
typedef struct {
    int64_t number, count, tensors;
    const char *architecture; /* NULL: none */
    const char *names[2];     /* of its tensors, F32 [8] each */
} shard;

static void put_number(tn_image *image, const char *key, uint32_t type, int64_t value) {
    if (value < 0) { return; }
    tn_image_key(image, key, type);
    tn_image_bytes(image, &value, tn_kv_width(type));
}

static void write_shard(const char *name, const shard *s) {
    tn_image image = {0};
    char *path = tn_test_path(folder, name);
    int tensors = s->names[0] ? s->names[1] ? 2 : 1 : 0;
    int keys = (s->number >= 0) + (s->count >= 0) + (s->tensors >= 0) + (s->architecture != NULL);
    tn_image_head(&image, 3, (uint64_t)tensors, (uint64_t)keys);
    put_number(&image, "split.no", TN_KV_U16, s->number);
    put_number(&image, "split.count", TN_KV_U16, s->count);
    put_number(&image, "split.tensors.count", TN_KV_I32, s->tensors);
    if (s->architecture) { tn_image_kv_text(&image, "general.architecture", s->architecture); }
    for (int i = 0; i < tensors; i++) {
        tn_image_tensor(&image, s->names[i], 0, 1, (uint64_t[]){8}, (uint64_t)i * 32);
    }
    tn_image_data(&image, 32);
    for (int i = 0; i < tensors; i++) {
        char data[32] = "";
        snprintf(data, sizeof data, "%s of %s", s->names[i], name);
        tn_image_bytes(&image, data, sizeof data);
    }
    tn_test_write(path, image.data, image.size);
    tn_image_free(&image);
    free(path);
}

static const shard sound[3] = {
    {0, 3, 4, "llama", {"a", "b"}}, {1, 3, 4, NULL, {"c"}}, {2, 3, 4, "llama", {"d"}}};

static void write_sound(void) {
    write_shard("m-00001-of-00003.gguf", &sound[0]);
    write_shard("m-00002-of-00003.gguf", &sound[1]);
    write_shard("m-00003-of-00003.gguf", &sound[2]);
}

static int32_t open_named(const char *name, tn_gguf **file, tn_error *error) {
    char *path = tn_test_path(folder, name);
    int32_t code = tn_gguf_open(path, &tn_image_types, file, error);
    free(path);
    return code;
}

/* Opening must end with `wanted` and, if it fails, say these words. */
static void expect(const char *name, int32_t wanted, const char *words) {
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    int32_t code = open_named(name, &file, &error);
    cr_expect(eq(i32, code, wanted), "%s: %s", name, error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    tn_gguf_close(file);
}

Test(gguf_split, any_shard_opens_the_whole_model) {
    write_sound();
    for (int number = 1; number <= 3; number++) {
        char name[64], wanted[64];
        tn_error error = TN_ERROR_INIT;
        tn_gguf *file;
        snprintf(name, sizeof name, "m-%05d-of-00003.gguf", number);
        cr_assert(eq(i32, open_named(name, &file, &error), TN_OK), "%s", error.text);
        cr_expect(eq(u32, tn_gguf_file_count(file), 3));
        cr_expect(eq(u64, tn_gguf_tensor_count(file), 4));
        cr_expect(eq(u64, tn_gguf_kv_count(file), 4));
        for (uint64_t i = 0; i < 4; i++) {
            const tn_gguf_tensor *tensor = tn_gguf_tensor_at(file, i);
            uint32_t shard_number = i < 2 ? 0 : (uint32_t)i - 1;
            snprintf(wanted, sizeof wanted, "%c of m-%05u-of-00003.gguf", (char)('a' + i), shard_number + 1);
            cr_expect(eq(u32, tensor->file, shard_number));
            cr_expect(eq(str, (char *)tensor->data, wanted));
            cr_expect(
                eq(str, (char *)tn_gguf_mapped_at(tensor->data), (char *)tn_gguf_path(file, shard_number)));
        }
        tn_gguf_close(file);
    }
}

Test(gguf_split, a_missing_shard_is_named) {
    write_sound();
    char *path = tn_test_path(folder, "m-00002-of-00003.gguf");
    unlink(path);
    expect("m-00001-of-00003.gguf", TN_E_FILE_SPLIT, "shard 2 of 3 is missing");
    expect("m-00003-of-00003.gguf", TN_E_FILE_SPLIT, "m-00002-of-00003.gguf");
    expect("m-00002-of-00003.gguf", TN_E_IO, "m-00002-of-00003.gguf");
    free(path);
}

/* Shard 2 says something else than it should. */
static void expect_second(const shard *second, int32_t wanted, const char *words) {
    write_sound();
    write_shard("m-00002-of-00003.gguf", second);
    expect("m-00001-of-00003.gguf", wanted, words);
}

Test(gguf_split, what_a_shard_says_must_agree_with_its_name_and_the_first_shard) {
    expect_second(&(shard){2, 3, 4, NULL, {"c"}}, TN_E_FILE_SPLIT, "split.no is 2, 1 was expected");
    expect_second(&(shard){-1, 3, 4, NULL, {"c"}}, TN_E_FILE_SPLIT, "split.no is missing");
    expect_second(&(shard){1, 4, 4, NULL, {"c"}}, TN_E_FILE_SPLIT, "split.count is 4, 3 was expected");
    expect_second(&(shard){1, -1, 4, NULL, {"c"}}, TN_E_FILE_SPLIT, "split.count is missing");
    expect_second(&(shard){1, 3, 5, NULL, {"c"}}, TN_E_FILE_SPLIT, "split.tensors.count differs");
    expect_second(&(shard){1, 3, 4, "gemma", {"c"}}, TN_E_FILE_SPLIT, "general.architecture");
    expect_second(&(shard){1, 3, 4, NULL, {"a"}}, TN_E_FILE_DAMAGED, "tensor a occurs twice");
    expect_second(&(shard){1, 3, 4, NULL, {"c", "e"}}, TN_E_FILE_SPLIT, "split.tensors.count");
    expect_second(&(shard){1, 3, 4, NULL, {NULL}}, TN_E_FILE_SPLIT, "split.tensors.count");
    expect_second(&sound[1], TN_OK, "");
}

Test(gguf_split, a_key_of_the_wrong_type_is_refused) {
    tn_image image = {0};
    char *path = tn_test_path(folder, "single.gguf");
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    tn_image_head(&image, 3, 0, 1);
    tn_image_kv_text(&image, "split.count", "3");
    cr_expect(eq(i32, tn_image_open(&image, path, &file, &error), TN_E_FILE_SPLIT), "%s", error.text);
    cr_expect(strstr(error.text, "split.count") != NULL, "%s", error.text);
    tn_gguf_close(file);
    tn_image_free(&image);
    free(path);
}

Test(gguf_split, a_single_file_may_not_be_a_shard_of_others) {
    write_shard("single.gguf", &sound[0]);
    expect("single.gguf", TN_E_FILE_SPLIT, "-00001-of-00003.gguf");
    write_shard("single.gguf", &(shard){0, 1, 1, "llama", {"a"}});
    expect("single.gguf", TN_OK, "");
    /* what gguf-split leaves after it put a model together again */
    write_shard("single.gguf", &(shard){0, 0, 7, "llama", {"a"}});
    expect("single.gguf", TN_OK, "");
}

Test(gguf_split, names_that_only_look_like_shards_are_single_files) {
    static const char *const names[] = {
        "m-00001-of-00001.gguf", "m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-0001-of-0003.gguf",
        "m_00001-of-00003.gguf", "m-00001-of-0000x.gguf", "m-00001-of-00003.GGUF", "00001-of-00003.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        write_shard(names[i], &(shard){-1, -1, -1, "llama", {"a"}});
        expect(names[i], TN_OK, "");
    }
}

Test(gguf_split, shards_are_looked_for_beside_the_one_that_was_named_and_nowhere_else) {
    write_sound();
    char *inner = tn_test_path(folder, "inner"), *from = tn_test_path(folder, "m-00001-of-00003.gguf");
    char *to = tn_test_path(inner, "m-00001-of-00003.gguf");
    cr_assert(mkdir(inner, 0700) == 0 && rename(from, to) == 0);
    expect("inner/m-00001-of-00003.gguf", TN_E_FILE_SPLIT, "inner/m-00002-of-00003.gguf");
    expect("m-00002-of-00003.gguf", TN_E_FILE_SPLIT, "shard 1 of 3 is missing");
    free(inner);
    free(from);
    free(to);
}
