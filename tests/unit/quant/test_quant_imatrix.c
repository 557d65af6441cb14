/* Importance files: both forms of the peer's, made ones with experts, and everything that is refused. */
#include "imatrix.h"
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(quant_imatrix, .fini = rig_end, .timeout = 120);

static tn_error error = TN_ERROR_INIT;

/* ---- the peer's files ------------------------------------------------------------------------------------ */

static void expect_as_described(const char *name, int older, const json_t *described) {
    char *folder = tn_test_shared("formats/quality"), *path = tn_test_path(folder, name);
    tn_imatrix matrix;
    cr_assert(eq(i32, tn_imatrix_read(path, &matrix, &error), TN_OK), "%s", error.text);
    const json_t *entries = json_object_get(described, "entries"), *wanted;
    cr_expect(eq(i32, matrix.older, older));
    cr_expect(eq(u64, matrix.names.count, json_object_size(entries)));
    cr_expect(
        eq(u32, matrix.chunk_count, (uint32_t)json_integer_value(json_object_get(described, "chunk_count"))));
    cr_expect(eq(u64, matrix.dataset_count, 1));
    cr_expect(eq(str, matrix.datasets[0],
                 (char *)json_string_value(json_array_get(json_object_get(described, "datasets"), 0))));
    const char *tensor;
    json_object_foreach ((json_t *)entries, tensor, wanted) {
        const tn_imatrix_entry *entry = tn_imatrix_find(&matrix, tensor);
        uint64_t columns = (uint64_t)json_integer_value(json_object_get(wanted, "n"));
        cr_assert(entry != NULL, "no entry %s", tensor);
        cr_assert(eq(u64, entry->columns, columns));
        float *importance = malloc(columns * sizeof *importance);
        tn_imatrix_importance(&matrix, entry, 0, columns, 0, columns, importance);
        double sum = 0, expected = json_real_value(json_object_get(wanted, "sum"));
        for (uint64_t i = 0; i < columns; i++) { sum += importance[i]; }
        cr_expect(fabs(sum - expected) <= 2e-6 * expected, "%s: sum %.9g, expected %.9g", tensor, sum,
                  expected);
        size_t i;
        const json_t *first;
        json_array_foreach (json_object_get(wanted, "first"), i, first) {
            double value = json_real_value(first);
            cr_expect(fabs((double)importance[i] - value) <= 2e-6 * value, "%s: %.9g, expected %.9g", tensor,
                      (double)importance[i], value);
        }
        free(importance);
    }
    tn_imatrix_free(&matrix);
    free(path);
    free(folder);
}

Test(quant_imatrix, files_of_the_peer_in_both_forms) {
    char *path = tn_test_shared("formats/quality/imatrix-smollm2.json");
    json_error_t why;
    if (!tn_test_exists(path)) { cr_skip_test("imatrix-smollm2.json is not there"); }
    json_t *described = json_load_file(path, 0, &why);
    cr_assert(described != NULL, "%s", why.text);
    expect_as_described("imatrix-smollm2.gguf", 0, described);
    expect_as_described("imatrix-smollm2.dat", 1, described);
    json_decref(described);
    free(path);
}

/* ---- made files ------------------------------------------------------------------------------------------ */

static void expect_importance(const tn_imatrix *matrix, const char *name, uint64_t expert, uint64_t columns,
                              const float *wanted) {
    const tn_imatrix_entry *entry = tn_imatrix_find(matrix, name);
    float found[8];
    cr_assert(entry != NULL);
    tn_imatrix_importance(matrix, entry, expert, columns, 0, columns, found);
    for (uint64_t i = 0; i < columns; i++) {
        float one;
        tn_imatrix_importance(matrix, entry, expert, columns, i, 1, &one);
        cr_expect(eq(flt, found[i], wanted[i]), "%s", name);
        cr_expect(eq(flt, one, wanted[i]), "%s", name);
    }
}

Test(quant_imatrix, experts_have_their_own_counts) {
    const rig_entry entries[] = {{"a.weight", 2, 3, (float[]){2, 4, 5, 6, 9, 12}, (float[]){2, 0, 3}},
                                 {"b.weight", 4, 1, (float[]){1, 2, 3, 4}, (float[]){8}}};
    tn_imatrix matrix;
    cr_assert(eq(i32, tn_imatrix_read(rig_importance("i.gguf", entries, 2), &matrix, &error), TN_OK), "%s",
              error.text);
    cr_expect(eq(u64, matrix.dataset_count, 2));
    cr_expect(eq(u32, matrix.chunk_size, 512));
    expect_importance(&matrix, "a.weight", 0, 2, (float[]){1, 2});
    expect_importance(&matrix, "a.weight", 1, 2, (float[]){1, 1}); /* never seen */
    expect_importance(&matrix, "a.weight", 2, 2, (float[]){3, 4});
    expect_importance(&matrix, "b.weight", 0, 4, (float[]){0.125f, 0.25f, 0.375f, 0.5f});
    const tn_imatrix_entry *a = tn_imatrix_find(&matrix, "a.weight");
    cr_expect(tn_imatrix_fits(&matrix, a, 2, 3));
    cr_expect(tn_imatrix_fits(&matrix, a, 3, 2) == 0);
    cr_expect(tn_imatrix_fits(&matrix, a, 6, 1) == 0);
    cr_expect(tn_imatrix_find(&matrix, "c.weight") == NULL);
    tn_imatrix_free(&matrix);
}

/* The older form, byte by byte. */
typedef struct bytes {
    unsigned char data[512];
    size_t size;
} bytes;

static void put_int(bytes *to, int32_t value) {
    memcpy(to->data + to->size, &value, 4);
    to->size += 4;
}

static void put_text(bytes *to, const char *text) {
    put_int(to, (int32_t)strlen(text));
    memcpy(to->data + to->size, text, strlen(text));
    to->size += strlen(text);
}

static void put_entry(bytes *to, const char *name, int32_t calls, int32_t count, const float *values) {
    put_text(to, name);
    put_int(to, calls);
    put_int(to, count);
    memcpy(to->data + to->size, values, (size_t)count * sizeof *values);
    to->size += (size_t)count * sizeof *values;
}

static int32_t read_bytes(const bytes *from, tn_imatrix *out) {
    const char *path = rig_path("i.dat");
    tn_test_write(path, from->data, from->size);
    return tn_imatrix_read(path, out, &error);
}

static bytes older(void) {
    bytes made = {.size = 0};
    put_int(&made, 2);
    put_entry(&made, "a.weight", 2, 6, (float[]){2, 4, 2, 2, 6, 8});
    put_entry(&made, "b.weight", 0, 2, (float[]){5, 7});
    return made;
}

Test(quant_imatrix, the_older_form_with_and_without_its_end) {
    bytes made = older();
    tn_imatrix matrix;
    for (int tail = 0; tail < 2; tail++) {
        if (tail) {
            put_int(&made, 12);
            put_text(&made, "calib.txt");
        }
        cr_assert(eq(i32, read_bytes(&made, &matrix), TN_OK), "%s", error.text);
        cr_expect(eq(u32, matrix.chunk_count, tail ? 12 : 0));
        cr_expect(eq(u64, matrix.dataset_count, (uint64_t)tail));
        expect_importance(&matrix, "a.weight", 0, 3, (float[]){1, 2, 1});
        expect_importance(&matrix, "a.weight", 1, 3, (float[]){1, 3, 4});
        expect_importance(&matrix, "b.weight", 0, 2, (float[]){5, 7}); /* no calls: the value itself */
        const tn_imatrix_entry *a = tn_imatrix_find(&matrix, "a.weight");
        cr_expect(tn_imatrix_fits(&matrix, a, 3, 2) && tn_imatrix_fits(&matrix, a, 2, 3));
        cr_expect(tn_imatrix_fits(&matrix, a, 3, 3) == 0);
        cr_expect(tn_imatrix_fits(&matrix, a, UINT64_MAX / 2 + 4, 2) == 0); /* 6 if it were to wrap */
        tn_imatrix_free(&matrix);
    }
}

/* ---- faults ---------------------------------------------------------------------------------------------- */

static void refused(const bytes *from, const char *words) {
    tn_imatrix matrix;
    int32_t code = read_bytes(from, &matrix);
    cr_expect(eq(i32, code, TN_E_FILE_DAMAGED), "%s", error.text);
    cr_expect(strstr(error.text, words) != NULL && strstr(error.text, "i.dat") != NULL,
              "\"%s\" is not in: %s", words, error.text);
}

Test(quant_imatrix, every_cut_of_the_older_form_is_refused) {
    bytes made = older();
    size_t without_end = made.size;
    put_int(&made, 12);
    put_text(&made, "calib.txt");
    size_t whole = made.size;
    for (size_t size = 0; size < whole; size++) {
        made.size = size;
        if (size != without_end) { refused(&made, size ? "ends inside" : "is empty"); }
    }
    made.size = whole;
    put_int(&made, 0);
    refused(&made, "4 bytes behind the dataset's name");
}

Test(quant_imatrix, faults_of_the_older_form) {
    static const struct {
        size_t at;
        int32_t value;
        const char *words;
    } faults[] = {{0, 0, "the number of entries is 0"},
                  {0, -1, "the number of entries is -1"},
                  {0, 3, "inside an entry's name"},
                  {4, -2, "the length of an entry's name is -2"},
                  {4, 0, "the length of an entry's name is 0"},
                  {4, 65, "number 0 is longer than 64 bytes"},
                  {16, -1, "the number of calls of a.weight is -1"},
                  {20, 0, "the number of values of a.weight is 0"},
                  {20, INT32_MAX, "the values of a.weight"},
                  {24, 0x7fc00000, "a.weight: value number 0 is nan"},
                  {28, 0x7f800000, "a.weight: value number 1 is inf"},
                  {32, (int32_t)0xbf800000, "value number 2 is -1"},
                  {52, 0x65772e61, "entry a.weight occurs twice"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        bytes made = older();
        for (size_t n = made.size; n < 200; n += 4) { put_int(&made, 0x20202020); }
        memcpy(made.data + faults[i].at, &faults[i].value, 4);
        refused(&made, faults[i].words);
    }
    bytes made = older();
    made.data[8] = 1;
    refused(&made, "control character");
}

static void refused_file(const char *path, int32_t code, const char *words) {
    tn_imatrix matrix;
    int32_t found = tn_imatrix_read(path, &matrix, &error);
    cr_expect(eq(i32, found, code), "%s", error.text);
    cr_expect(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
}

Test(quant_imatrix, faults_of_numbers_in_the_newer_form) {
    rig_entry entry = {"a.weight", 2, 1, (float[]){1, NAN}, (float[]){1}};
    refused_file(rig_importance("i.gguf", &entry, 1), TN_E_FILE_DAMAGED,
                 "entry a.weight: sum number 1 is nan");
    entry.sums = (float[]){-1, 1};
    refused_file(rig_importance("i.gguf", &entry, 1), TN_E_FILE_DAMAGED,
                 "entry a.weight: sum number 0 is -1");
    entry.sums = (float[]){1, 1};
    entry.counts = (float[]){INFINITY};
    refused_file(rig_importance("i.gguf", &entry, 1), TN_E_FILE_DAMAGED,
                 "entry a.weight: count number 0 is inf");
    refused_file(rig_path("none.dat"), TN_E_IO, "none.dat");
}

/* A file with the given tensors (F32, zeros) and, but for one left out or put wrongly, the keys. */
typedef struct made_tensor {
    const char *name;
    uint32_t dim_count;
    uint64_t dims[4];
} made_tensor;

static const char *make(const made_tensor *tensors, size_t count, const char *spoil, const char *kind) {
    static const unsigned char zeros[4096];
    const char *path = rig_path("i.gguf");
    const tn_kv text = {sizeof text, TN_KV_STRING, 0, 0, strlen(kind), strlen(kind), kind},
                number = {sizeof number, TN_KV_U32, 0, 0, 1, 4, zeros},
                list = {sizeof list, TN_KV_ARRAY, TN_KV_STRING, 0, 0, 0, zeros},
                wrong = {sizeof wrong, TN_KV_F32, 0, 0, 1, 4, zeros};
    const struct {
        const char *key;
        const tn_kv *value;
    } keys[] = {{"general.type", &text},
                {"imatrix.datasets", &list},
                {"imatrix.chunk_count", &number},
                {"imatrix.chunk_size", &number}};
    tn_gguf_writer *writer;
    cr_assert(eq(i32, tn_gguf_writer_create(path, &writer, &error), TN_OK));
    for (size_t i = 0; i < 4; i++) {
        if (spoil && strcmp(spoil + 1, keys[i].key) == 0 && *spoil == '-') { continue; }
        int is_wrong = spoil && strcmp(spoil + 1, keys[i].key) == 0;
        cr_assert(eq(i32, tn_gguf_writer_put(writer, keys[i].key, is_wrong ? &wrong : keys[i].value, &error),
                     TN_OK));
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t size = sizeof(float);
            for (uint32_t d = 0; d < tensors[i].dim_count; d++) { size *= tensors[i].dims[d]; }
            cr_assert(size <= sizeof zeros);
            int32_t code = pass ? tn_gguf_writer_write(writer, zeros, size, &error)
                                : tn_gguf_writer_declare(writer, tensors[i].name, F32, tensors[i].dim_count,
                                                         tensors[i].dims, size, &error);
            cr_assert(eq(i32, code, TN_OK), "%s", error.text);
        }
    }
    cr_assert(eq(i32, tn_gguf_writer_finish(writer, &error), TN_OK));
    return path;
}

Test(quant_imatrix, faults_of_keys_and_tensors_in_the_newer_form) {
    static const made_tensor good[] = {
        {"a.in_sum2", 1, {4}}, {"a.counts", 1, {1}}, {"a.in_sum", 1, {4}}, {"a.stats", 1, {12}}};
    tn_imatrix matrix;
    cr_assert(eq(i32, tn_imatrix_read(make(good, 4, NULL, "imatrix"), &matrix, &error), TN_OK), "%s",
              error.text);
    cr_expect(eq(u64, matrix.names.count, 1));
    tn_imatrix_free(&matrix);
    refused_file(make(good, 4, NULL, "model"), TN_E_FILE_KIND, "general.type is \"model\"");
    refused_file(make(good, 4, "-general.type", "imatrix"), TN_E_FILE_KIND, "key general.type is missing");
    refused_file(make(good, 4, "-imatrix.datasets", "imatrix"), TN_E_FILE_KIND,
                 "key imatrix.datasets is missing");
    refused_file(make(good, 4, "-imatrix.chunk_size", "imatrix"), TN_E_FILE_KIND,
                 "imatrix.chunk_size is missing");
    refused_file(make(good, 4, "!imatrix.chunk_count", "imatrix"), TN_E_FILE_DAMAGED,
                 "imatrix.chunk_count is of value type 6");
    refused_file(make(good, 4, "!imatrix.datasets", "imatrix"), TN_E_FILE_DAMAGED,
                 "imatrix.datasets is of value type 6");
    refused_file(make(good, 1, NULL, "imatrix"), TN_E_FILE_DAMAGED, "entry a has sums and no counts");
    refused_file(make(good + 1, 1, NULL, "imatrix"), TN_E_FILE_DAMAGED, "entry a has counts and no sums");
    const made_tensor stray[] = {{"a.in_sum3", 1, {4}}};
    refused_file(make(stray, 1, NULL, "imatrix"), TN_E_FILE_DAMAGED, "tensor a.in_sum3");
    const made_tensor shapes[][2] = {{{"a.in_sum2", 2, {4, 2}}, {"a.counts", 2, {1, 3}}},
                                     {{"a.in_sum2", 2, {4, 2}}, {"a.counts", 1, {2}}},
                                     {{"a.in_sum2", 3, {4, 2, 2}}, {"a.counts", 2, {1, 2}}}};
    for (size_t i = 0; i < 3; i++) {
        refused_file(make(shapes[i], 2, NULL, "imatrix"), TN_E_TENSOR_SHAPE,
                     i < 2 ? "a.counts is" : "a.in_sum2 is");
    }
}

Test(quant_imatrix, sums_of_another_type) {
    static const rig_tensor tensors[] = {{"a.in_sum2", F16, 1, {4}}, {"a.counts", F32, 1, {1}}};
    const rig_model model = {.tensors = tensors, .count = 2};
    refused_file(rig_write("i.gguf", &model), TN_E_FILE_KIND, "general.type is missing");
}

/* ---- what readers and writers share ---------------------------------------------------------------------- */

Test(quant_imatrix, entries_and_datasets_are_added_once) {
    tn_imatrix matrix = {0};
    tn_imatrix_entry *entry;
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        cr_assert(eq(i32, tn_imatrix_add(&matrix, name, strlen(name), 3, 2, &entry, &error), TN_OK));
        cr_expect(entry->columns == 3 && entry->experts == 2 && entry->sums[5] == 0 && entry->counts[1] == 0);
        entry->counts[1] = i;
    }
    cr_expect(eq(dbl, tn_imatrix_find(&matrix, "t42")->counts[1], 42));
    cr_expect(eq(i32, tn_imatrix_add(&matrix, "t7", 2, 3, 2, &entry, &error), TN_E_INPUT));
    cr_expect(eq(i32, tn_imatrix_add(&matrix, "huge", 4, UINT64_MAX / 2, 3, &entry, &error), TN_E_MEMORY));
    cr_expect(eq(u64, matrix.names.count, 100));
    static const char *const names[] = {"a", "b", "a", "ab", "b"};
    for (size_t i = 0; i < 5; i++) {
        cr_assert(eq(i32, tn_imatrix_add_dataset(&matrix, names[i], strlen(names[i]), &error), TN_OK));
    }
    cr_assert(eq(i32, tn_imatrix_add_dataset(&matrix, "ab\0more", 7, &error), TN_OK));
    cr_expect(eq(u64, matrix.dataset_count, 3));
    tn_imatrix_free(&matrix);
    tn_imatrix_free(&matrix);
}
