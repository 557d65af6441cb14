/*
 * test_pooling.c - rows to one vector: means that float32 sums would miss, first and last, lengths; what a file says of
 * it, rightly and wrongly.
 */
#include "tenon/embedding.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { WIDTH = 131 }; /* no multiple of the columns that are summed at once */

Test(pooling, a_mean_is_summed_in_float64) {
    enum { ROWS = 1001 };
    float *data = malloc(sizeof(float[ROWS][WIDTH])), out[WIDTH];
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t c = 0; c < WIDTH; c++) { /* 1e8 and -1e8 in turn, among them small numbers */
            data[r * WIDTH + c] = r == ROWS - 1 ? (float)c + 1 : r % 2 ? -1e8f : 1e8f;
        }
    }
    tn_pool_rows(TN_POOLING_MEAN, data, ROWS, WIDTH, out);
    for (uint32_t c = 0; c < WIDTH; c++) {
        float wanted = (float)(((double)c + 1) / ROWS);
        cr_assert(out[c] == wanted, "column %u: %.9g, expected %.9g", c, out[c], wanted);
    }
    tn_pool_rows(TN_POOLING_FIRST, data, ROWS, WIDTH, out);
    cr_assert(memcmp(out, data, sizeof out) == 0);
    tn_pool_rows(TN_POOLING_LAST, data, ROWS, WIDTH, out);
    cr_assert(memcmp(out, data + (ROWS - 1) * WIDTH, sizeof out) == 0);
    tn_pool_rows(TN_POOLING_MEAN, data, 1, WIDTH, out);
    cr_assert(memcmp(out, data, sizeof out) == 0, "the mean of one row is that row");
    free(data);
}

Test(pooling, vectors_of_length_1) {
    float plain[2] = {3, -4}, zeros[3] = {0}, large[4] = {3e38f, 3e38f, 3e38f, 3e38f}, small[2] = {1e-40f, 0};
    tn_normalise(plain, 2);
    cr_assert(plain[0] == 0.6f && plain[1] == -0.8f, "%g %g", plain[0], plain[1]);
    tn_normalise(zeros, 3);
    cr_assert(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0);
    tn_normalise(large, 4); /* whose squares are no float32 */
    cr_assert(large[0] == 0.5f && large[3] == 0.5f, "%g", large[0]);
    tn_normalise(small, 2);
    cr_assert(small[0] == 1, "%g", small[0]);
}

/* ---- what files say */

/* A file with an architecture (NULL: none) and, unless its type is -1, a pooling_type. */
static void write_file(const char *path, const char *architecture, int32_t type, const void *value,
                       uint64_t size, uint64_t count, uint32_t element) {
    tn_error err = TN_ERROR_INIT;
    tn_gguf_writer *writer;
    cr_assert(tn_gguf_writer_create(path, &writer, &err) == TN_OK, "%s", err.text);
    if (architecture) {
        tn_kv name = {.struct_size = sizeof name,
                      .type = TN_KV_STRING,
                      .count = strlen(architecture),
                      .size = strlen(architecture),
                      .data = architecture};
        cr_assert(tn_gguf_writer_put(writer, "general.architecture", &name, &err) == TN_OK, "%s", err.text);
    }
    if (type >= 0) {
        tn_kv kv = {.struct_size = sizeof kv,
                    .type = (uint32_t)type,
                    .element_type = element,
                    .count = count,
                    .size = size,
                    .data = value};
        cr_assert(tn_gguf_writer_put(writer, "some.pooling_type", &kv, &err) == TN_OK, "%s", err.text);
    }
    cr_assert(tn_gguf_writer_finish(writer, &err) == TN_OK, "%s", err.text);
}

static int32_t read_back(const char *path, uint32_t *pooling, tn_error *err) {
    tn_error opened = TN_ERROR_INIT;
    tn_gguf *file;
    cr_assert(tn_gguf_open(path, NULL, &file, &opened) == TN_OK, "%s", opened.text);
    int32_t code = tn_pooling_read(file, pooling, err);
    tn_gguf_close(file);
    return code;
}

Test(pooling, what_a_file_says) {
    char folder[] = "/tmp/tenon-test-XXXXXX", path[64];
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.gguf", folder);
    for (uint32_t value = 0; value < 7; value++) {
        tn_error err = TN_ERROR_INIT;
        uint32_t pooling;
        write_file(path, "some", TN_KV_U32, &value, sizeof value, 1, 0);
        int32_t code = read_back(path, &pooling, &err);
        cr_assert(code == (value > TN_POOLING_RANK ? TN_E_PARAM_UNSUPPORTED : TN_OK), "%u: code %d", value,
                  code);
        cr_assert(code == TN_OK ? pooling == value : strstr(err.text, "some.pooling_type") != NULL, "%s",
                  err.text);
    }
    static const char *const silent[] = {"some", "other", NULL};
    for (int i = 0; i < 3; i++) {
        tn_error err = TN_ERROR_INIT;
        uint32_t pooling, value = TN_POOLING_MEAN;
        write_file(path, silent[i], i == 0 ? -1 : TN_KV_U32, &value, sizeof value, 1, 0);
        cr_assert(read_back(path, &pooling, &err) == TN_OK && pooling == TN_POOLING_OF_FILE, "%s", err.text);
    }
    static const struct {
        int32_t type;
        uint64_t size, count;
        uint32_t element;
    } wrong[] = {{TN_KV_STRING, 4, 4, 0}, {TN_KV_F32, 4, 1, 0}, {TN_KV_ARRAY, 4, 1, TN_KV_U32}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_error err = TN_ERROR_INIT;
        uint32_t pooling;
        write_file(path, "some", wrong[i].type, "\1\0\0\0", wrong[i].size, wrong[i].count, wrong[i].element);
        cr_assert(read_back(path, &pooling, &err) == TN_E_PARAM_TYPE, "type %d: %s", wrong[i].type, err.text);
    }
    unlink(path);
    rmdir(folder);
}
