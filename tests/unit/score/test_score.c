/*
 * test_score.c - losses and divergences against values that follow from the logarithms of known probabilities, and
 * base files: written, read, refused.
 */
#include "tenon/score.h"

#include "fit_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void expect_number(const char *what, double found, double wanted) {
    cr_expect(fabs(found - wanted) <= 1e-7 * (1 + fabs(wanted)), "%s is %.12g, expected %.12g", what, found,
              wanted);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* p = (1/2, 1/4, 1/4), base (1/8, 1/8, 3/4), each moved by a constant, which changes nothing. */
Test(score, known_probabilities) {
    float p[3], base[3];
    const double ps[3] = {0.5, 0.25, 0.25}, bases[3] = {0.125, 0.125, 0.75};
    const int32_t next[1] = {1};
    tn_score out;
    tn_error err = TN_ERROR_INIT;
    for (int i = 0; i < 3; i++) {
        p[i] = (float)(log(ps[i]) + 30);
        base[i] = (float)(log(bases[i]) - 7);
    }
    tn_scoring scoring = {p, base, next, 1, 3, &out};
    cr_assert_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_OK, "%s", err.text);
    double kl = 0.125 * log(0.125 / 0.5) + 0.125 * log(0.125 / 0.25) + 0.75 * log(0.75 / 0.25);
    cr_expect(fabs(out.loss - log(4)) < 1e-5, "loss %.9g, expected ln 4", out.loss); /* logits are floats */
    cr_expect(fabs(out.base_loss - log(8)) < 1e-5, "base %.9g, expected ln 8", out.base_loss);
    cr_expect(fabs(out.divergence - kl) < 1e-5, "divergence %.9g, expected %.9g", out.divergence, kl);
    cr_expect_eq(out.same_top, 0);
}

/* Exact in float32: logits 0 and multiples of ln 2 are not, but equal ones are. */
Test(score, equal_logits) {
    enum { WIDTH = 1000 };
    float row[2 * WIDTH];
    const int32_t next[2] = {0, 999};
    tn_score out[2];
    tn_error err = TN_ERROR_INIT;
    for (int i = 0; i < 2 * WIDTH; i++) { row[i] = i < WIDTH ? 3.0f : (float)(i * 37 % 101) * 0.3f; }
    tn_scoring scoring = {row, row, next, 2, WIDTH, out};
    cr_assert_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_OK);
    expect_number("loss", out[0].loss, log(WIDTH));
    for (int i = 0; i < 2; i++) {
        cr_expect(out[i].divergence == 0, "a row is %g from itself", out[i].divergence);
        cr_expect(out[i].loss == out[i].base_loss && out[i].same_top == 1);
    }
}

/* Far apart: nothing overflows, and a probability of 0 in the base adds nothing. */
Test(score, extremes) {
    const float p[3] = {1e30f, -1e30f, 0}, base[3] = {0, -INFINITY, -INFINITY}, far[3] = {-1e4f, 0, 0};
    const int32_t next[1] = {0};
    tn_score out;
    tn_error err = TN_ERROR_INIT;
    tn_scoring scoring = {p, base, next, 1, 3, &out};
    cr_assert_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_OK, "%s", err.text);
    cr_expect(out.loss == 0 && out.divergence == 0 && out.same_top == 1, "%g %g", out.loss, out.divergence);
    scoring.logits = far;
    cr_assert_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_OK, "%s", err.text);
    expect_number("loss", out.loss, 1e4 + log(2));
    expect_number("divergence", out.divergence, 1e4 + log(2));
}

static void expect_bad(float number) {
    enum { ROWS = 20, WIDTH = 7 };
    float rows[ROWS * WIDTH];
    int32_t next[ROWS] = {0};
    tn_score out[ROWS];
    tn_error err = TN_ERROR_INIT;
    tn_scoring scoring = {rows, NULL, next, ROWS, WIDTH, out};
    for (int i = 0; i < ROWS * WIDTH; i++) { rows[i] = (float)i * 0.01f; }
    rows[7 * WIDTH + 3] = rows[11 * WIDTH] = number;
    cr_expect_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_E_FAILED, "%g was scored", number);
    cr_expect(strstr(err.text, "row 7 "), "\"%s\" does not name the first bad row", err.text);
}

Test(score, what_is_no_number_is_refused) {
    expect_bad(NAN);
    expect_bad(INFINITY);
}

Test(score, nothing_but_minus_infinity_is_refused) {
    const float row[2] = {-INFINITY, -INFINITY};
    const int32_t next[1] = {0}, outside[1] = {2};
    tn_score out;
    tn_error err = TN_ERROR_INIT;
    tn_scoring scoring = {row, NULL, next, 1, 2, &out};
    cr_expect_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_E_FAILED);
    scoring.next = outside;
    cr_expect_eq(tn_score_rows(rig_engine(), &scoring, &err), TN_E_INPUT);
    cr_expect(strstr(err.text, "token 2"), "\"%s\"", err.text);
}

/* ---- base files ------------------------------------------------------------------------------------------ */

enum {
    BASE_WIDTH = 5,
    CONTEXT = 6,
    CHUNKS = 3,
    ROWS = CHUNKS * 2,
    SIZE = 24 + 4 * (CHUNKS * CONTEXT + ROWS * BASE_WIDTH)
};
static const tn_base_shape shape = {BASE_WIDTH, CONTEXT, CHUNKS};
static char folder[] = "score_XXXXXX", path[64];

static void make_folder(void) {
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/base", folder);
}
static void remove_folder(void) {
    unlink(path);
    cr_expect_eq(rmdir(folder), 0, "something was left behind");
}
TestSuite(base, .init = make_folder, .fini = remove_folder);

static void fill(int32_t ids[CHUNKS * CONTEXT], float rows[ROWS * BASE_WIDTH]) {
    for (int i = 0; i < CHUNKS * CONTEXT; i++) { ids[i] = i % BASE_WIDTH; }
    for (int i = 0; i < ROWS * BASE_WIDTH; i++) { rows[i] = (float)i * 0.25f - 3; }
}

static void write_base(void) {
    int32_t ids[CHUNKS * CONTEXT];
    float rows[ROWS * BASE_WIDTH];
    tn_base_writer *writer;
    tn_error err = TN_ERROR_INIT;
    fill(ids, rows);
    unlink(path);
    cr_assert_eq(tn_base_create(path, &shape, ids, &writer, &err), TN_OK, "%s", err.text);
    cr_expect(access(path, F_OK) != 0, "it is there before it is whole");
    const char *unfinished = tn_base_unfinished(writer);
    cr_expect(!unfinished || access(unfinished, F_OK) == 0, "%s is not there", unfinished);
    cr_assert_eq(tn_base_put(writer, rows, 1, &err), TN_OK);
    cr_assert_eq(tn_base_put(writer, rows + BASE_WIDTH, ROWS - 1, &err), TN_OK);
    cr_expect_eq(tn_base_put(writer, rows, 1, &err), TN_E_INPUT, "more rows than were announced");
    cr_assert_eq(tn_base_finish(writer, &err), TN_OK, "%s", err.text);
}

Test(base, what_was_written_is_read) {
    int32_t ids[CHUNKS * CONTEXT];
    float rows[ROWS * BASE_WIDTH], found[ROWS * BASE_WIDTH];
    tn_base *base;
    tn_error err = TN_ERROR_INIT;
    fill(ids, rows);
    write_base();
    cr_expect_eq(tn_base_bytes(&shape), SIZE);
    cr_expect_eq(tn_score_count(CONTEXT), 2);
    cr_expect_eq(tn_score_count(512), 255);
    cr_assert_eq(tn_base_open(path, &base, &err), TN_OK, "%s", err.text);
    cr_expect(memcmp(tn_base_shape_of(base), &shape, sizeof shape) == 0);
    cr_expect(memcmp(tn_base_ids(base), ids, sizeof ids) == 0);
    cr_assert_eq(tn_base_read(base, found, 4, &err), TN_OK);
    cr_assert_eq(tn_base_read(base, found + 4 * BASE_WIDTH, ROWS - 4, &err), TN_OK);
    cr_expect(memcmp(found, rows, sizeof rows) == 0);
    cr_expect_eq(tn_base_read(base, found, 1, &err), TN_E_INPUT, "there are no more rows");
    tn_base_close(base);
}

Test(base, unfinished_is_removed) {
    int32_t ids[CHUNKS * CONTEXT];
    float rows[ROWS * BASE_WIDTH];
    tn_base_writer *writer;
    tn_error err = TN_ERROR_INIT;
    fill(ids, rows);
    cr_assert_eq(tn_base_create(path, &shape, ids, &writer, &err), TN_OK);
    cr_expect_eq(tn_base_finish(writer, &err), TN_E_INPUT);
    cr_expect(strstr(err.text, "6 rows are missing"), "\"%s\"", err.text);
    cr_assert_eq(tn_base_create(path, &shape, ids, &writer, &err), TN_OK);
    tn_base_abandon(writer);
    tn_base_abandon(NULL);
    cr_expect_eq(tn_base_create("nowhere/at/all", &shape, ids, &writer, &err), TN_E_IO);
    const tn_base_shape none = {BASE_WIDTH, 2, CHUNKS}, huge = {INT32_MAX, INT32_MAX, UINT32_MAX};
    cr_expect_eq(tn_base_create(path, &none, ids, &writer, &err), TN_E_INPUT);
    cr_expect_eq(tn_base_create(path, &huge, ids, &writer, &err), TN_E_INPUT);
    cr_expect_eq(tn_base_bytes(&huge), 0);
}

/* Writes a sound file with one number changed, or another length. */
static void expect_refused(long at, uint32_t number, long length, int32_t code, const char *words) {
    tn_base *base = NULL;
    tn_error err = TN_ERROR_INIT;
    write_base();
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    if (at >= 0) {
        cr_assert(fseek(file, at, SEEK_SET) == 0 && fwrite(&number, sizeof number, 1, file) == 1);
    }
    fclose(file);
    if (length >= 0) { cr_assert_eq(truncate(path, length), 0); }
    int32_t found = tn_base_open(path, &base, &err);
    cr_expect_eq(found, code, "%s (%s), expected %s", tn_code_text(found), err.text, tn_code_text(code));
    cr_expect(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
    tn_base_close(base);
}

Test(base, faults_are_refused) {
    expect_refused(0, 0x46554747, -1, TN_E_FILE_KIND, "no base file");
    expect_refused(8, 2, -1, TN_E_FILE_VERSION, "version 2");
    expect_refused(12, 0, -1, TN_E_FILE_DAMAGED, "numbers");
    expect_refused(12, 6, -1, TN_E_FILE_DAMAGED, "were expected");
    expect_refused(12, UINT32_MAX, -1, TN_E_FILE_DAMAGED, "2^31");
    expect_refused(16, 2, -1, TN_E_FILE_DAMAGED, "tokens");
    expect_refused(16, INT32_MAX, -1, TN_E_FILE_DAMAGED, "were expected");
    expect_refused(20, 0, -1, TN_E_FILE_DAMAGED, "at least one chunk");
    expect_refused(20, UINT32_MAX, -1, TN_E_FILE_DAMAGED, "were expected");
    expect_refused(24, 5, -1, TN_E_FILE_DAMAGED, "id 0 is 5");
    expect_refused(28, UINT32_MAX, -1, TN_E_FILE_DAMAGED, "id 1 is -1");
    expect_refused(-1, 0, SIZE - 1, TN_E_FILE_DAMAGED, "were expected");
    expect_refused(-1, 0, SIZE + 1, TN_E_FILE_DAMAGED, "were expected");
    expect_refused(-1, 0, 23, TN_E_FILE_DAMAGED, "too short");
    expect_refused(-1, 0, 0, TN_E_FILE_DAMAGED, "too short");
    tn_base *base;
    tn_error err = TN_ERROR_INIT;
    cr_expect_eq(tn_base_open(folder, &base, &err), TN_E_IO, "a folder is no base");
    cr_expect_eq(tn_base_open("nowhere", &base, &err), TN_E_IO);
}
