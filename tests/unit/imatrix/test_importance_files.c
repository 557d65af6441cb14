/*
 * test_importance_files.c - importance matrices as files: merged, gone on with, refused, published.
 */
#include "importance_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(importance_files, .init = rig_make_folder, .fini = rig_remove_folder);

static void make_file(const char *path, const char *name, uint64_t columns, uint64_t experts, double number,
                      uint32_t chunks, uint32_t size) {
    tn_imatrix matrix = {.chunk_count = chunks, .chunk_size = size};
    tn_imatrix_entry *entry;
    tn_error err = TN_ERROR_INIT;
    cr_assert_eq(tn_imatrix_add(&matrix, name, strlen(name), columns, experts, &entry, &err), TN_OK);
    for (uint64_t i = 0; i < columns * experts; i++) { entry->sums[i] = number * (double)(i + 1); }
    for (uint64_t x = 0; x < experts; x++) { entry->counts[x] = (double)chunks * size; }
    cr_assert_eq(tn_imatrix_add_dataset(&matrix, path, strlen(path), &err), TN_OK);
    cr_assert_eq(tn_imatrix_write(&matrix, path, &err), TN_OK, "%s", err.text);
    tn_imatrix_free(&matrix);
}

/* entries, name, calls, values, and the tail */
static void make_older(const char *path, const char *name, int32_t calls, int32_t values, float each,
                       int32_t chunks) {
    FILE *out = fopen(path, "wb");
    int32_t one = 1, size = (int32_t)strlen(name), text = 3;
    cr_assert_not_null(out);
    fwrite(&one, 4, 1, out), fwrite(&size, 4, 1, out), fwrite(name, 1, (size_t)size, out);
    fwrite(&calls, 4, 1, out), fwrite(&values, 4, 1, out);
    for (int32_t i = 0; i < values; i++) { fwrite(&each, 4, 1, out); }
    fwrite(&chunks, 4, 1, out), fwrite(&text, 4, 1, out), fwrite("old", 1, 3, out);
    fclose(out);
}

static int32_t merge(tn_importance *importance, const char *path, tn_error *err) {
    return tn_importance_merge(importance, path, err);
}

Test(importance_files, merged_sums_and_counts_add) {
    tn_importance *all;
    tn_imatrix matrix;
    tn_error err = TN_ERROR_INIT;
    const char *a = rig_file("a.gguf"), *b = rig_file("b.gguf");
    make_file(a, "blk.0.x.weight", 3, 1, 1, 2, 10);
    make_file(b, "blk.0.x.weight", 3, 1, 10, 3, 8);
    cr_assert_eq(tn_importance_create(0, &all, &err), TN_OK);
    cr_assert_eq(merge(all, a, &err), TN_OK, "%s", err.text);
    cr_assert_eq(merge(all, b, &err), TN_OK, "%s", err.text);
    rig_read_back(all, &matrix);
    const double sums[3] = {11, 22, 33}, counts[1] = {20 + 24};
    rig_expect_near("sums", rig_entry(&matrix, "blk.0.x.weight")->sums, sums, 3, 0);
    rig_expect_near("counts", rig_entry(&matrix, "blk.0.x.weight")->counts, counts, 1, 0);
    cr_expect_eq(matrix.chunk_size, 10);
    cr_expect_eq(matrix.chunk_count, 5, "%u chunks, expected 5 (44 tokens in tens)", matrix.chunk_count);
    cr_expect_eq(matrix.dataset_count, 2);
    tn_imatrix_free(&matrix);
    tn_importance_free(all);
    unlink(a), unlink(b);
}

/* The older form has means of chunks, and one count for all experts. */
static void merge_older(int older_first) {
    tn_importance *all;
    tn_imatrix matrix;
    tn_error err = TN_ERROR_INIT;
    const char *newer = rig_file("n.gguf"), *older = rig_file("o.dat");
    make_file(newer, "blk.0.x.weight", 2, 3, 1, 1, 10);
    make_older(older, "blk.0.x.weight", 4, 6, 2.0f, 4);
    cr_assert_eq(tn_importance_create(10, &all, &err), TN_OK);
    cr_assert_eq(merge(all, older_first ? older : newer, &err), TN_OK, "%s", err.text);
    cr_assert_eq(merge(all, older_first ? newer : older, &err), TN_OK, "%s", err.text);
    rig_read_back(all, &matrix);
    const double sums[6] = {21, 22, 23, 24, 25, 26}, counts[3] = {50, 50, 50}; /* + 2 * 10, + 4 * 10 */
    const tn_imatrix_entry *entry = rig_entry(&matrix, "blk.0.x.weight");
    cr_assert(entry->columns == 2 && entry->experts == 3);
    rig_expect_near("sums", entry->sums, sums, 6, 0);
    rig_expect_near("counts", entry->counts, counts, 3, 0);
    cr_expect_eq(matrix.chunk_count, 5);
    tn_imatrix_free(&matrix);
    tn_importance_free(all);
    unlink(newer), unlink(older);
}

Test(importance_files, older_form_is_merged) {
    merge_older(0);
    merge_older(1);
}

Test(importance_files, other_shapes_are_refused) {
    tn_importance *all;
    tn_error err = TN_ERROR_INIT;
    const char *a = rig_file("a.gguf"), *b = rig_file("b.gguf");
    make_file(a, "blk.0.x.weight", 4, 2, 1, 2, 10);
    make_file(b, "blk.0.x.weight", 3, 2, 1, 2, 10);
    cr_assert_eq(tn_importance_create(0, &all, &err), TN_OK);
    cr_assert_eq(merge(all, a, &err), TN_OK);
    cr_expect_eq(merge(all, b, &err), TN_E_INPUT);
    cr_expect(strstr(err.text, "b.gguf") && strstr(err.text, "blk.0.x.weight"), "\"%s\"", err.text);
    tn_importance_free(all);
    unlink(a), unlink(b);
}

Test(importance_files, a_model_of_another_shape_is_refused) {
    tn_importance *all;
    tn_error err = TN_ERROR_INIT;
    tn_model *model = rig_fixture("llama", "reference");
    const char *a = rig_file("a.gguf");
    make_file(a, "blk.0.attn_q.weight", 63, 1, 1, 2, 10);
    cr_assert_eq(tn_importance_create(10, &all, &err), TN_OK);
    cr_assert_eq(merge(all, a, &err), TN_OK);
    cr_expect_eq(tn_importance_collect(all, model, 0, &err), TN_E_INPUT);
    cr_expect(strstr(err.text, "blk.0.attn_q.weight"), "\"%s\"", err.text);
    tn_importance_free(all);
    tn_model_close(model);
    unlink(a);
}

/* A file that does not tell its chunks' tokens is counted, whatever was assumed for it. */
Test(importance_files, files_without_a_chunk_size_are_counted) {
    tn_importance *all;
    tn_error err = TN_ERROR_INIT;
    const char *newer = rig_file("n.gguf"), *older = rig_file("o.dat");
    make_file(newer, "blk.0.x.weight", 2, 1, 1, 1, 10);
    make_older(older, "blk.0.x.weight", 4, 2, 2.0f, 4);
    for (uint32_t size = 0; size < 8; size += 7) {
        cr_assert_eq(tn_importance_create(size, &all, &err), TN_OK);
        cr_assert_eq(merge(all, newer, &err), TN_OK, "%s", err.text);
        cr_expect_eq(tn_importance_unsized(all), 0);
        cr_assert_eq(merge(all, older, &err), TN_OK, "%s", err.text);
        cr_assert_eq(merge(all, older, &err), TN_OK, "%s", err.text);
        cr_expect_eq(tn_importance_unsized(all), 2);
        cr_expect_eq(tn_importance_chunk_size(all), size ? size : 10);
        tn_importance_free(all);
    }
    unlink(newer), unlink(older);
}

Test(importance_files, what_cannot_be_written_leaves_nothing) {
    tn_importance *empty, *large;
    tn_error err = TN_ERROR_INIT;
    const char *a = rig_file("a.dat");
    cr_assert_eq(tn_importance_create(1u << 31, &empty, &err), TN_OK);
    cr_assert_eq(tn_importance_create(1u << 31, &large, &err), TN_OK);
    cr_expect_eq(tn_importance_write(empty, rig_file("x.gguf"), &err), TN_E_INPUT);
    cr_expect(strstr(err.text, "nothing"), "\"%s\"", err.text);
    make_older(a, "blk.0.x.weight", 1, 2, 3e38f,
               1); /* times the tokens of a chunk: more than a float holds */
    cr_assert_eq(merge(large, a, &err), TN_OK, "%s", err.text);
    cr_expect_eq(tn_importance_write(large, rig_file("x.gguf"), &err), TN_E_RANGE);
    cr_expect(strstr(err.text, "blk.0.x.weight"), "\"%s\"", err.text);
    cr_expect_eq(tn_importance_write(large, rig_file("no/x.gguf"), &err), TN_E_IO);
    tn_importance_free(empty), tn_importance_free(large);
    unlink(a);
}

Test(importance_files, spread) {
    tn_importance *all;
    tn_importance_row row;
    tn_error err = TN_ERROR_INIT;
    const char *a = rig_file("a.gguf");
    make_file(a, "blk.0.x.weight", 3, 2, 1, 2, 10);
    cr_assert_eq(tn_importance_create(0, &all, &err), TN_OK);
    cr_assert_eq(merge(all, a, &err), TN_OK);
    tn_importance_at(all, 0, &row);
    cr_expect(row.spread == 1.5, "spread of (1, 2, 3) and (4, 5, 6) is %g, expected 3 / 2", row.spread);
    cr_expect(row.least == 20 && row.most == 20 && row.unseen == 0 && row.experts == 2);
    tn_importance_free(all);
    unlink(a);
}

/* ---- the peer's file ------------------------------------------------------------------------------------- */

Test(importance_files, published_file_survives) {
    const char *shared = getenv("TENON_TEST_SHARED");
    char newer[4096];
    tn_imatrix wanted, found;
    tn_importance *all;
    tn_error err = TN_ERROR_INIT;
    snprintf(newer, sizeof newer, "%s/formats/quality/imatrix-smollm2.gguf", shared ? shared : "");
    if (access(newer, R_OK) != 0) { cr_skip_test("published_file_survives: %s is not there", newer); }
    cr_assert_eq(tn_imatrix_read(newer, &wanted, &err), TN_OK, "%s", err.text);
    cr_assert_eq(tn_importance_create(0, &all, &err), TN_OK);
    cr_assert_eq(merge(all, newer, &err), TN_OK, "%s", err.text);
    rig_read_back(all, &found);
    cr_assert_eq(found.names.count, wanted.names.count);
    cr_expect(found.chunk_count == 12 && found.chunk_size == 512);
    for (uint64_t i = 0; i < wanted.names.count; i++) {
        const tn_imatrix_entry *entry = rig_entry(&found, wanted.names.at[i]);
        rig_expect_near(wanted.names.at[i], entry->sums, wanted.entries[i].sums, entry->columns, 0);
        cr_expect_eq(entry->counts[0], 6144);
    }
    tn_imatrix_free(&wanted), tn_imatrix_free(&found);
    tn_importance_free(all);
}
