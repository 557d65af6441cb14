/* Each thing that the GGUF specification forbids is refused by name; no count, length or offset is believed.
 */
#include "gguf_image.h"
#include "support.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static char *folder, *path;

static void make_folder(void) {
    folder = tn_test_folder();
    path = tn_test_path(folder, "a.gguf");
}

static void remove_folder(void) {
    free(path);
    tn_test_folder_remove(folder);
}

TestSuite(gguf_faults, .init = make_folder, .fini = remove_folder, .timeout = 120);

/* Opens the image and frees it. It must be refused as damaged, in these words; NULL: it must open. */
static void expect(tn_image *image, const char *words) {
    tn_error error = TN_ERROR_INIT;
    tn_gguf *file;
    int32_t code = tn_image_open(image, path, &file, &error);
    cr_expect(eq(i32, code, words ? TN_E_FILE_DAMAGED : TN_OK), "%s: %s", words ? words : "sound",
              error.text);
    if (words) {
        cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
        cr_expect(strstr(error.text, "a.gguf") != NULL, "the file is not named in: %s", error.text);
    }
    tn_gguf_close(file);
    tn_image_free(image);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static void expect_key(const void *key, size_t size, const char *words) {
    tn_image image = {0};
    tn_image_head(&image, 3, 0, 1);
    tn_image_u64(&image, size);
    tn_image_bytes(&image, key, size);
    tn_image_u32(&image, TN_KV_U32);
    tn_image_u32(&image, 7);
    expect(&image, words);
}

Test(gguf_faults, keys) {
    char *longest = malloc(65536);
    memset(longest, 'k', 65536);
    expect_key("general.name", 12, NULL);
    expect_key("gpt-oss.x_Y.0", 13, NULL);
    expect_key("", 0, "empty");
    expect_key(longest, 65535, NULL);
    expect_key(longest, 65536, "longer than 65535");
    expect_key("a\0b", 3, "ASCII");
    expect_key("a\nb", 3, "ASCII");
    expect_key("a\x7f", 2, "ASCII");
    expect_key("caf\xc3\xa9", 5, "ASCII");
    expect_key("\xff", 1, "ASCII");
    free(longest);
}

static void expect_name(const void *name, size_t size, const char *words) {
    tn_image image = {0};
    tn_image_head(&image, 3, 1, 0);
    tn_image_u64(&image, size);
    tn_image_bytes(&image, name, size);
    tn_image_u32(&image, 1);
    tn_image_u64(&image, 4);
    tn_image_u32(&image, 0);
    tn_image_u64(&image, 0);
    tn_image_data(&image, 32);
    tn_image_zeros(&image, 16);
    expect(&image, words);
}

Test(gguf_faults, tensor_names) {
    char longest[65];
    memset(longest, 'n', sizeof longest);
    expect_name("blk.0.attn_q.weight", 19, NULL);
    expect_name("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, NULL);
    expect_name(longest, 64, NULL);
    expect_name(longest, 65, "longer than 64");
    expect_name("", 0, "empty");
    expect_name("a\0b", 3, "control");
    expect_name("a\x1b[31m", 6, "control");
    expect_name("\x7f", 1, "control");
    expect_name("\xc2\x85", 2, "control");
    expect_name("\x80", 1, "UTF-8");
    expect_name("\xc0\xaf", 2, "UTF-8");
    expect_name("\xe0\x9f\xbf", 3, "UTF-8");
    expect_name("\xed\xa0\x80", 3, "UTF-8");
    expect_name("\xf0\x8f\xbf\xbf", 4, "UTF-8");
    expect_name("\xf4\x90\x80\x80", 4, "UTF-8");
    expect_name("\xf5\x80\x80\x80", 4, "UTF-8");
    expect_name("ab\xe2\x82", 4, "UTF-8");
}

Test(gguf_faults, names_that_occur_twice) {
    tn_image image = {0};
    tn_image_head(&image, 3, 0, 2);
    tn_image_kv_u32(&image, "a.b", 1);
    tn_image_kv_text(&image, "a.b", "x");
    expect(&image, "key a.b occurs twice");
    tn_image_head(&image, 3, 2, 0);
    tn_image_tensor(&image, "t", 0, 1, (uint64_t[]){8}, 0);
    tn_image_tensor(&image, "t", 0, 1, (uint64_t[]){8}, 32);
    tn_image_data(&image, 32);
    tn_image_zeros(&image, 64);
    expect(&image, "tensor t occurs twice");
}

/* ---- values ----------------------------------------------------------------------------------------- */

/* One key "k" of a type, with these bytes as its value. */
static void expect_value(uint32_t type, const void *value, size_t size, const char *words) {
    tn_image image = {0};
    tn_image_head(&image, 3, 0, 1);
    tn_image_key(&image, "k", type);
    tn_image_bytes(&image, value, size);
    expect(&image, words);
}

Test(gguf_faults, values) {
    expect_value(TN_KV_BOOL, "\0", 1, NULL);
    expect_value(TN_KV_BOOL, "\1", 1, NULL);
    expect_value(TN_KV_BOOL, "\2", 1, "a bool is 2");
    expect_value(TN_KV_BOOL, "\377", 1, "a bool is 255");
    expect_value(TN_KV_ARRAY, "\7\0\0\0\3\0\0\0\0\0\0\0\0\1\1", 15, NULL);
    expect_value(TN_KV_ARRAY, "\7\0\0\0\3\0\0\0\0\0\0\0\0\1\7", 15, "a bool is 7");
    expect_value(TN_KV_ARRAY, "\11\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0", 24, "array of arrays");
    expect_value(TN_KV_ARRAY, "\11\0\0\0\0\0\0\0\0\0\0\0", 12, "array of arrays");
    expect_value(TN_KV_ARRAY, "\15\0\0\0\0\0\0\0\0\0\0\0", 12, "type 13");
    expect_value(TN_KV_ARRAY, "\10\0\0\0\0\0\0\0\0\0\0\0", 12, NULL);
    expect_value(13, "\0\0\0\0\0\0\0\0", 8, "type 13");
    expect_value(UINT32_MAX, "\0\0\0\0\0\0\0\0", 8, "type 4294967295");
    expect_value(TN_KV_STRING, "\1\0\0\0\0\0\0\0\0", 9, NULL);
    expect_value(TN_KV_STRING, "\2\0\0\0\0\0\0\0\0", 9, "the file ends inside the string of k");
}

static void expect_alignment(uint32_t type, uint64_t value, size_t size, const char *words) {
    tn_image image = {0};
    tn_image_head(&image, 3, 0, 1);
    tn_image_key(&image, "general.alignment", type);
    tn_image_bytes(&image, &value, size);
    expect(&image, words);
}

Test(gguf_faults, alignment) {
    static const uint32_t refused[] = {0, 1, 2, 4, 3, 24, 33, 0x80000001, UINT32_MAX};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        expect_alignment(TN_KV_U32, refused[i], 4, "general.alignment");
    }
    expect_alignment(TN_KV_U32, 8, 4, NULL);
    expect_alignment(TN_KV_U32, 0x80000000, 4, NULL);
    expect_alignment(TN_KV_U64, 32, 8, "general.alignment");
    expect_alignment(TN_KV_I32, 32, 4, "general.alignment");
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

static void expect_dims(uint32_t type, uint32_t count, const uint64_t *dims, const char *words) {
    tn_image image = {0};
    tn_image_head(&image, 3, 1, 0);
    tn_image_tensor(&image, "t", type, count, dims, 0);
    tn_image_data(&image, 32);
    tn_image_zeros(&image, 4096);
    expect(&image, words);
}

Test(gguf_faults, dimensions) {
    expect_dims(0, 4, (uint64_t[]){2, 3, 4, 5}, NULL);
    expect_dims(2, 2, (uint64_t[]){32, 7}, NULL);
    expect_dims(0, 0, NULL, "tensor t has 0 dimensions");
    expect_dims(0, 5, (uint64_t[]){1, 1, 1, 1, 1}, "tensor t has 5 dimensions");
    expect_dims(0, 2, (uint64_t[]){4, 0}, "dimension 1 is 0");
    expect_dims(77, 1, (uint64_t[]){0}, "dimension 0 is 0");
    expect_dims(2, 2, (uint64_t[]){33, 32}, "blocks of 32");
    expect_dims(2, 2, (uint64_t[]){16, 2}, "blocks of 32");
    expect_dims(0, 4, (uint64_t[]){1ull << 32, 1ull << 32, 1, 1}, "more than 2^63");
    expect_dims(0, 1, (uint64_t[]){1ull << 63}, "more than 2^63");
    expect_dims(77, 4, (uint64_t[]){3, 1ull << 40, 1ull << 40, 0}, "more than 2^63");
    expect_dims(0, 1, (uint64_t[]){(1ull << 63) - 1}, "more than 2^64 bytes");
    expect_dims(0, 1, (uint64_t[]){1ull << 62}, "more than 2^64 bytes");
    expect_dims(0, 1, (uint64_t[]){(1ull << 62) - 1}, "ends before its data");
    expect_dims(0, 1, (uint64_t[]){(1ull << 62) - 8}, "ends before its data");
}

/* Three tensors [8] with these types and offsets, in `data` bytes of data. */
static void expect_offsets(const uint32_t types[3], const uint64_t offsets[3], size_t data,
                           const char *words) {
    static const char *const names[] = {"t0", "t1", "t2"};
    tn_image image = {0};
    tn_image_head(&image, 3, 3, 0);
    for (int i = 0; i < 3; i++) {
        tn_image_tensor(&image, names[i], types[i], 1, (uint64_t[]){8}, offsets[i]);
    }
    tn_image_data(&image, 32);
    tn_image_zeros(&image, data);
    expect(&image, words);
}

Test(gguf_faults, offsets) {
    static const uint32_t floats[3] = {0, 0, 0}, unknown[3] = {0, 77, 0}, last[3] = {0, 0, 77};
    expect_offsets(floats, (uint64_t[]){0, 32, 64}, 96, NULL);
    expect_offsets(floats, (uint64_t[]){0, 32, 64}, 95, "tensor t2: the file ends before its data");
    expect_offsets(floats, (uint64_t[]){32, 64, 96}, 128, "tensor t0: its offset is 32, 0 was expected");
    expect_offsets(floats, (uint64_t[]){0, 64, 96}, 128, "tensor t1: its offset is 64, 32 was expected");
    expect_offsets(floats, (uint64_t[]){0, 32, 32}, 96, "tensor t2: its offset is 32, 64 was expected");
    expect_offsets(floats, (uint64_t[]){0, 32, 65}, 97, "tensor t2: its offset 65 is no multiple");
    expect_offsets(floats, (uint64_t[]){0, 32, -32ull}, 96, "tensor t2");
    /* behind an unknown type the sum starts anew */
    expect_offsets(unknown, (uint64_t[]){0, 32, 64}, 96, NULL);
    expect_offsets(unknown, (uint64_t[]){0, 32, 4096}, 4128, NULL);
    expect_offsets(unknown, (uint64_t[]){0, 64, 96}, 128, "tensor t1: its offset is 64, 32 was expected");
    expect_offsets(unknown, (uint64_t[]){0, 32, 32}, 96, "tensor t2: its offset is 32, but");
    expect_offsets(unknown, (uint64_t[]){0, 32, 0}, 96, "tensor t2: its offset is 0, but");
    expect_offsets(unknown, (uint64_t[]){0, 32, 72}, 104, "tensor t2: its offset 72 is no multiple");
    expect_offsets(unknown, (uint64_t[]){0, 32, -32ull}, 96, "tensor t2: the file ends");
    expect_offsets(last, (uint64_t[]){0, 32, 64}, 65, NULL);
    expect_offsets(last, (uint64_t[]){0, 32, 64}, 64, "tensor t2: the file ends");
}

/* ---- every count and every cut ---------------------------------------------------------------------- */

Test(gguf_faults, a_file_cut_at_any_byte_is_refused) {
    tn_error error = TN_ERROR_INIT;
    tn_image image = {0};
    tn_image_sample(&image, 3);
    size_t whole = image.size;
    for (size_t size = 0; size < whole; size += size <= image.header_size ? 1 : 7) {
        tn_gguf *file;
        image.size = size;
        int32_t code = tn_image_open(&image, path, &file, &error);
        cr_expect(eq(i32, code, TN_E_FILE_DAMAGED), "%zu of %zu bytes: %s", size, whole, error.text);
        tn_gguf_close(file);
    }
    tn_image_free(&image);
}

Test(gguf_faults, a_fixture_cut_at_any_byte_of_its_header_is_refused) {
    char *from = tn_test_data("models/llama3-ropefreqs.gguf");
    tn_image image = {0};
    image.data = tn_test_read(from, &image.capacity);
    size_t step = 0;
    for (size_t size = 1; size < image.capacity; size += step) {
        tn_error error = TN_ERROR_INIT;
        tn_gguf *file;
        image.size = size;
        cr_expect(eq(i32, tn_image_open(&image, path, &file, &error), TN_E_FILE_DAMAGED), "%zu bytes", size);
        tn_gguf_close(file);
        step = size < 512 ? 1 : size < 9984 ? 37 : 50021;
    }
    tn_image_free(&image);
    free(from);
}

Test(gguf_faults, no_count_length_or_offset_is_believed) {
    static const uint64_t huge[] = {UINT64_MAX,      1ull << 63, (1ull << 63) - 1, 1ull << 62, 1ull << 61,
                                    UINT64_MAX - 31, 1ull << 32, UINT32_MAX,       1u << 31,   100000};
    tn_image image = {0};
    tn_image_sample(&image, 3);
    for (size_t f = 0; f < image.field_count; f++) {
        const tn_field *field = &image.fields[f];
        unsigned char before[8];
        memcpy(before, image.data + field->at, field->width);
        for (size_t h = 0; h < sizeof huge / sizeof huge[0]; h++) {
            tn_error error = TN_ERROR_INIT;
            tn_gguf *file;
            memcpy(image.data + field->at, &huge[h], field->width);
            int32_t code = tn_image_open(&image, path, &file, &error);
            int no_fault = field->width == 4 && (uint32_t)huge[h] == 0;
            cr_expect(no_fault || (code >= TN_E_FILE_DAMAGED && code <= TN_E_FILE_SPLIT),
                      "%s at byte %zu = %#" PRIx64 ": code %d, %s", field->what, field->at, huge[h], code,
                      error.text);
            tn_gguf_close(file);
        }
        memcpy(image.data + field->at, before, field->width);
    }
    tn_image_free(&image);
}

/* With little memory to be had, so that an allocation by an unchecked number fails the test. */
static void limit_memory(void) {
#ifndef TENON_TEST_SANITIZED
    struct rlimit limit = {256ul << 20, 256ul << 20};
    setrlimit(RLIMIT_AS, &limit);
#endif
}

Test(gguf_faults, a_small_file_that_claims_much_is_refused_at_once) {
    static const uint64_t claims[] = {1ull << 40, 1ull << 60, UINT64_MAX, 1 << 17, 1 << 15};
    limit_memory();
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        for (int keys = 0; keys < 2; keys++) {
            tn_error error = TN_ERROR_INIT;
            tn_image image = {0};
            tn_gguf *file;
            tn_image_head(&image, 3, keys ? 0 : claims[i], keys ? claims[i] : 0);
            tn_image_zeros(&image, 1 << 20);
            tn_test_write(path, image.data, image.size);
            double begin = tn_test_seconds();
            int32_t code = tn_gguf_open(path, &tn_image_types, &file, &error);
            double took = tn_test_seconds() - begin;
            cr_expect(eq(i32, code, TN_E_FILE_DAMAGED), "%s", error.text);
            cr_expect(took < 0.05, "%g s for %" PRIu64 " claimed", took, claims[i]);
            tn_gguf_close(file);
            tn_image_free(&image);
        }
    }
}
