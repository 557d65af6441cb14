/* What is written is read back, byte for byte; what a reader would refuse is not written; nothing half-done.
 */
#include "gguf_image.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder, *path;
static tn_error error = TN_ERROR_INIT;

static void make_folder(void) {
    folder = tn_test_folder();
    path = tn_test_path(folder, "new.gguf");
}

static void remove_folder(void) {
    free(path);
    tn_test_folder_remove(folder);
}

TestSuite(gguf_writer, .init = make_folder, .fini = remove_folder, .timeout = 120);

static tn_gguf_writer *create(void) {
    tn_gguf_writer *writer;
    cr_assert(eq(i32, tn_gguf_writer_create(path, &writer, &error), TN_OK), "%s", error.text);
    return writer;
}

static size_t files_in_folder(void) {
    size_t count;
    char **names = tn_test_names(folder, &count);
    tn_test_names_free(names, count);
    return count;
}

/* Copies an open file through the writer, its data in pieces of `piece` bytes. */
static void copy(const tn_gguf *from, size_t piece) {
    tn_gguf_writer *writer = create();
    for (uint64_t i = 0; i < tn_gguf_kv_count(from); i++) {
        tn_kv kv = {.struct_size = sizeof kv};
        const char *key = tn_gguf_kv_at(from, i, &kv);
        cr_assert(eq(i32, tn_gguf_writer_put(writer, key, &kv, &error), TN_OK), "%s", error.text);
    }
    for (uint64_t i = 0; i < tn_gguf_tensor_count(from); i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(from, i);
        int32_t code =
            tn_gguf_writer_declare(writer, t->name, t->type, t->dim_count, t->dims, t->size, &error);
        cr_assert(eq(i32, code, TN_OK), "%s", error.text);
    }
    for (uint64_t i = 0; i < tn_gguf_tensor_count(from); i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(from, i);
        for (uint64_t at = 0; at < t->size; at += piece) {
            uint64_t size = t->size - at < piece ? t->size - at : piece;
            cr_assert(eq(i32, tn_gguf_writer_write(writer, (char *)t->data + at, size, &error), TN_OK));
        }
    }
    cr_expect(tn_test_exists(path) == 0, "seen before it is finished");
    cr_assert(eq(i32, tn_gguf_writer_finish(writer, &error), TN_OK), "%s", error.text);
}

static void expect_same(const tn_gguf *a, const tn_gguf *b) {
    cr_assert(eq(u64, tn_gguf_kv_count(a), tn_gguf_kv_count(b)));
    for (uint64_t i = 0; i < tn_gguf_kv_count(a); i++) {
        tn_kv va = {.struct_size = sizeof va}, vb = {.struct_size = sizeof vb};
        const char *ka = tn_gguf_kv_at(a, i, &va), *kb = tn_gguf_kv_at(b, i, &vb);
        cr_expect(eq(str, (char *)ka, (char *)kb));
        cr_expect(va.type == vb.type && va.element_type == vb.element_type && va.count == vb.count, "%s", ka);
        cr_expect(va.size == vb.size && memcmp(va.data, vb.data, va.size) == 0, "%s", ka);
    }
    cr_assert(eq(u64, tn_gguf_tensor_count(a), tn_gguf_tensor_count(b)));
    for (uint64_t i = 0; i < tn_gguf_tensor_count(a); i++) {
        const tn_gguf_tensor *ta = tn_gguf_tensor_at(a, i), *tb = tn_gguf_tensor_at(b, i);
        cr_expect(eq(str, (char *)ta->name, (char *)tb->name));
        cr_expect(ta->type == tb->type && memcmp(ta->dims, tb->dims, sizeof ta->dims) == 0, "%s", ta->name);
        cr_expect(ta->size == tb->size && memcmp(ta->data, tb->data, ta->size) == 0, "%s", ta->name);
    }
}

/* The types of the fixtures are known to the tests. The fixtures come from the Python package. */
Test(gguf_writer, a_copy_of_each_model_is_the_same_file) {
    char *models = tn_test_data("models");
    size_t count;
    char **names = tn_test_names(models, &count);
    cr_assert(count >= 8);
    for (size_t i = 0; i < count; i++) {
        tn_gguf *from, *to;
        char *name = tn_test_path(models, names[i]);
        cr_assert(eq(i32, tn_gguf_open(name, &tn_image_types, &from, &error), TN_OK), "%s", error.text);
        unlink(path);
        copy(from, i % 2 ? 1000 : 1 << 20);
        cr_assert(eq(i32, tn_gguf_open(path, &tn_image_types, &to, &error), TN_OK), "%s", error.text);
        expect_same(from, to);
        size_t size_from, size_to;
        unsigned char *bytes_from = tn_test_read(name, &size_from), *bytes_to = tn_test_read(path, &size_to);
        cr_expect(eq(sz, size_to, size_from), "%s", names[i]);
        cr_expect(memcmp(bytes_from, bytes_to, size_from < size_to ? size_from : size_to) == 0, "%s",
                  names[i]);
        free(bytes_from);
        free(bytes_to);
        free(name);
        tn_gguf_close(from);
        tn_gguf_close(to);
    }
    cr_expect(eq(sz, files_in_folder(), 1));
    tn_test_names_free(names, count);
    free(models);
}

static const tn_kv number = {
    .struct_size = sizeof number, .type = TN_KV_U32, .count = 1, .size = 4, .data = "\1\0\0"};

static void put(tn_gguf_writer *writer, const char *key, uint32_t value) {
    tn_kv kv = number;
    kv.data = &value;
    cr_assert(eq(i32, tn_gguf_writer_put(writer, key, &kv, &error), TN_OK), "%s", error.text);
}

Test(gguf_writer, the_alignment_of_the_file_is_the_one_that_was_put) {
    tn_gguf_writer *writer = create();
    tn_gguf *file;
    cr_assert(eq(i32, tn_gguf_writer_declare(writer, "a", 0, 1, (uint64_t[]){1}, 4, &error), TN_OK));
    put(writer, "general.alignment", 16384);
    cr_assert(eq(i32, tn_gguf_writer_declare(writer, "b", 0, 1, (uint64_t[]){2}, 8, &error), TN_OK));
    /* one piece over two tensors */
    cr_assert(eq(i32, tn_gguf_writer_write(writer, "aaaabbbbbbbb", 12, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_writer_finish(writer, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_open(path, &tn_image_types, &file, &error), TN_OK), "%s", error.text);
    cr_expect(eq(u32, tn_gguf_alignment(file), 16384));
    cr_expect(eq(u64, tn_gguf_tensor_find(file, "b")->offset, 32768));
    cr_expect(memcmp(tn_gguf_tensor_find(file, "b")->data, "bbbbbbbb", 8) == 0);
    tn_gguf_close(file);
}

Test(gguf_writer, an_empty_file_is_a_sound_one) {
    tn_gguf *file;
    cr_assert(eq(i32, tn_gguf_writer_finish(create(), &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_open(path, NULL, &file, &error), TN_OK), "%s", error.text);
    cr_expect(tn_gguf_kv_count(file) == 0 && tn_gguf_tensor_count(file) == 0);
    tn_gguf_close(file);
}

static void expect_put(tn_gguf_writer *writer, const char *key, tn_kv kv, const char *words) {
    kv.struct_size = sizeof kv;
    int32_t code = tn_gguf_writer_put(writer, key, &kv, &error);
    cr_expect(eq(i32, code, TN_E_INPUT), "%s: %s", words, error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
}

static void expect_declare(tn_gguf_writer *writer, const char *name, uint32_t dim_count, const uint64_t *dims,
                           uint64_t size, const char *words) {
    int32_t code = tn_gguf_writer_declare(writer, name, 0, dim_count, dims, size, &error);
    cr_expect(eq(i32, code, TN_E_INPUT), "%s: %s", words, error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
}

Test(gguf_writer, what_a_reader_would_refuse_is_refused_and_leaves_no_trace) {
    tn_gguf_writer *writer = create();
    tn_gguf *file;
    put(writer, "a", 1);
    expect_put(writer, "a", number, "there already");
    expect_put(writer, "", number, "empty");
    expect_put(writer, "a\n", number, "ASCII");
    expect_put(writer, "b", (tn_kv){.type = TN_KV_BOOL, .count = 1, .size = 1, .data = "\2"}, "bool");
    expect_put(writer, "b", (tn_kv){.type = TN_KV_U32, .count = 1, .size = 3, .data = "\0\0\0"},
               "ends inside");
    expect_put(writer, "b", (tn_kv){.type = TN_KV_U32, .count = 1, .size = 5, .data = "\0\0\0\0"},
               "1 bytes more");
    expect_put(writer, "b", (tn_kv){.type = 13, .count = 1, .size = 1, .data = ""}, "type 13");
    expect_put(writer, "b", (tn_kv){.type = TN_KV_ARRAY, .element_type = 9, .data = ""}, "array of arrays");
    expect_put(writer, "b", (tn_kv){.type = TN_KV_ARRAY, .element_type = 0, .count = 1ull << 60, .data = ""},
               "ends inside");
    expect_put(
        writer, "b",
        (tn_kv){.type = TN_KV_ARRAY, .element_type = 8, .count = 1, .size = 8, .data = "\5\0\0\0\0\0\0"},
        "ends inside");
    uint32_t three = 3;
    expect_put(writer, "general.alignment", (tn_kv){.type = TN_KV_U32, .count = 1, .size = 4, .data = &three},
               "power of two");
    expect_put(writer, "general.alignment", (tn_kv){.type = TN_KV_U8, .count = 1, .size = 1, .data = "\20"},
               "uint32");
    cr_assert(eq(i32, tn_gguf_writer_declare(writer, "t", 0, 1, (uint64_t[]){1}, 4, &error), TN_OK));
    expect_declare(writer, "t", 1, (uint64_t[]){1}, 4, "there already");
    expect_declare(writer, "", 1, (uint64_t[]){1}, 4, "empty");
    expect_declare(writer, "\xff", 1, (uint64_t[]){1}, 4, "UTF-8");
    expect_declare(writer, "u", 0, NULL, 4, "0 dimensions");
    expect_declare(writer, "u", 5, (uint64_t[]){1, 1, 1, 1, 1}, 4, "5 dimensions");
    expect_declare(writer, "u", 2, (uint64_t[]){1, 0}, 4, "dimension");
    expect_declare(writer, "u", 2, (uint64_t[]){1ull << 32, 1ull << 31}, 4, "dimension");
    expect_declare(writer, "u", 1, (uint64_t[]){1}, 0, "no bytes");
    expect_declare(writer, "u", 1, (uint64_t[]){1}, UINT64_MAX - 4, "2^64");
    cr_assert(eq(i32, tn_gguf_writer_write(writer, "data", 4, &error), TN_OK));
    expect_put(writer, "late", number, "too late");
    expect_declare(writer, "late", 1, (uint64_t[]){1}, 4, "too late");
    cr_assert(eq(i32, tn_gguf_writer_finish(writer, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_open(path, &tn_image_types, &file, &error), TN_OK), "%s", error.text);
    cr_expect(tn_gguf_kv_count(file) == 1 && tn_gguf_tensor_count(file) == 1);
    tn_gguf_close(file);
}

/* The old file, and nothing else, is in the folder. */
static void expect_old(void) {
    size_t size;
    unsigned char *data = tn_test_read(path, &size);
    cr_expect(size == 3 && memcmp(data, "old", 3) == 0);
    cr_expect(eq(sz, files_in_folder(), 1));
    free(data);
}

Test(gguf_writer, too_much_or_too_little_data_leaves_the_old_file) {
    tn_test_write(path, "old", 3);
    tn_gguf_writer *writer = create();
    cr_assert(eq(i32, tn_gguf_writer_declare(writer, "t", 0, 1, (uint64_t[]){4}, 16, &error), TN_OK));
    cr_assert(eq(i32, tn_gguf_writer_write(writer, "12345", 5, &error), TN_OK));
    cr_expect(eq(i32, tn_gguf_writer_finish(writer, &error), TN_E_INPUT));
    cr_expect(strstr(error.text, "tensor t has 5 of 16 bytes") != NULL, "%s", error.text);
    expect_old();

    writer = create();
    cr_assert(eq(i32, tn_gguf_writer_declare(writer, "t", 0, 1, (uint64_t[]){1}, 4, &error), TN_OK));
    cr_expect(eq(i32, tn_gguf_writer_write(writer, "12345", 5, &error), TN_E_INPUT));
    cr_expect(strstr(error.text, "1 bytes more") != NULL, "%s", error.text);
    tn_gguf_writer_abandon(writer);
    expect_old();
    tn_gguf_writer_abandon(NULL);
}

/* A limit on the size of files stands in for a full disk. */
Test(gguf_writer, a_disk_that_is_full_leaves_the_old_file) {
    static unsigned char data[4 << 20]; /* more than a buffer */
    tn_test_write(path, "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit = {100000, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    limit.rlim_max = before.rlim_max;
    cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    tn_gguf_writer *writer = create();
    cr_assert(
        eq(i32, tn_gguf_writer_declare(writer, "t", 0, 1, (uint64_t[]){sizeof data / 4}, sizeof data, &error),
           TN_OK));
    int32_t code = tn_gguf_writer_write(writer, data, sizeof data, &error);
    cr_expect(eq(i32, code, TN_E_IO), "%s", error.text);
    cr_expect(strstr(error.text, strerror(EFBIG)) != NULL, "%s", error.text);
    cr_expect(eq(i32, tn_gguf_writer_write(writer, data, 1, &error), TN_E_FAILED));
    cr_expect(eq(i32, tn_gguf_writer_finish(writer, &error), TN_E_FAILED));
    setrlimit(RLIMIT_FSIZE, &before);
    expect_old();
}

/* Small enough to wait in a buffer until the end. */
Test(gguf_writer, a_disk_that_is_full_at_the_end_leaves_the_old_file) {
    tn_test_write(path, "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){10, before.rlim_max};
    tn_gguf_writer *writer = create();
    put(writer, "a", 1);
    cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    int32_t code = tn_gguf_writer_finish(writer, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    cr_expect(eq(i32, code, TN_E_IO), "%s", error.text);
    expect_old();
}

static size_t memory_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A split model has all its shards written before the first gets its name. */
Test(gguf_writer, files_that_wait_take_little_memory) {
    enum { FILES = 64 };
    tn_gguf_writer *writers[FILES];
    size_t before = memory_in_use();
    for (int i = 0; i < FILES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.gguf", i);
        char *one = tn_test_path(folder, name);
        cr_assert(eq(i32, tn_gguf_writer_create(one, &writers[i], &error), TN_OK), "%s", error.text);
        cr_assert(eq(i32, tn_gguf_writer_declare(writers[i], "t", 0, 1, (uint64_t[]){1}, 4, &error), TN_OK));
        cr_assert(eq(i32, tn_gguf_writer_write(writers[i], "data", 4, &error), TN_OK));
        free(one);
    }
    cr_expect(lt(sz, memory_in_use() - before, 4 << 20));
    for (int i = 0; i < FILES; i++) { tn_gguf_writer_abandon(writers[i]); }
}

Test(gguf_writer, a_folder_that_is_not_there_and_a_target_that_is_a_folder) {
    tn_gguf_writer *writer;
    char *lost = tn_test_path(folder, "no/such/folder.gguf");
    cr_expect(eq(i32, tn_gguf_writer_create(lost, &writer, &error), TN_E_IO));
    cr_expect(strstr(error.text, strerror(ENOENT)) != NULL, "%s", error.text);
    cr_expect(writer == NULL);
    writer = create();
    cr_assert(mkdir(path, 0700) == 0);
    cr_expect(eq(i32, tn_gguf_writer_create(path, &(tn_gguf_writer *){NULL}, &error), TN_E_INPUT));
    cr_expect(strstr(error.text, "no regular file") != NULL, "%s", error.text);
    cr_expect(eq(i32, tn_gguf_writer_finish(writer, &error), TN_E_IO));
    cr_expect(eq(sz, files_in_folder(), 2)); /* what appeared meanwhile stays, and so does what was written */
    free(lost);
}

Test(gguf_writer, a_replaced_file_keeps_its_mode_and_its_links) {
    struct stat st;
    char *linked = tn_test_path(folder, "linked.gguf");
    cr_assert(eq(i32, tn_gguf_writer_finish(create(), &error), TN_OK), "%s", error.text);
    cr_assert(chmod(path, 0604) == 0 && symlink(path, linked) == 0);
    tn_gguf_writer *writer;
    cr_assert(eq(i32, tn_gguf_writer_create(linked, &writer, &error), TN_OK), "%s", error.text);
    cr_assert(eq(i32, tn_gguf_writer_finish(writer, &error), TN_OK), "%s", error.text);
    cr_assert(lstat(linked, &st) == 0 && S_ISLNK(st.st_mode));
    cr_assert(stat(path, &st) == 0);
    cr_expect(eq(u32, st.st_mode & 0777, 0604));
    free(linked);
}

Test(gguf_writer, a_new_file_has_the_mode_that_the_umask_leaves) {
    struct stat st;
    umask(027);
    cr_assert(eq(i32, tn_gguf_writer_finish(create(), &error), TN_OK), "%s", error.text);
    cr_assert(stat(path, &st) == 0);
    cr_expect(eq(u32, st.st_mode & 0777, 0640));
}
