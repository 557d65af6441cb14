/*
 * conformance.c - the comparison itself. Rigs are opened once a test and live until conform_end().
 */
#include "conformance.h"
#include "test_engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define CPU_RIGS 9

static rig reference, cpu[CPU_RIGS];
static uint32_t cpu_count;
static int opened, cases, refused;

static void open_rigs(void) {
    static const char *const levels[] = {"portable", "avx2", "avx512vnni"};
    if (opened) { return; }
    opened = 1;
    cr_assert(rig_open(&reference, "reference", NULL, 2), "the reference backend is not in the build");
    for (uint32_t i = 0; i < 3; i++) {
        if (!tn_test_has_isa(levels[i])) {
            cr_log_info("skipped: %s is not on this machine", levels[i]);
            continue;
        }
        for (uint32_t threads = 1; threads <= 3; threads++) {
            cpu_count += (uint32_t)rig_open(&cpu[cpu_count], "cpu", levels[i], threads);
        }
    }
}

void conform_end(void) {
    for (uint32_t i = 0; i < cpu_count; i++) { rig_close(&cpu[i]); }
    if (opened) { rig_close(&reference); }
    if (!cpu_count) { cr_skip_test("backend.cpu is not in the build"); }
    if (refused == cases) { cr_skip_test("backend.cpu refused every case"); }
}

static float *run_reference(bench_make make, const void *context, const lengths *l, uint64_t *rows,
                            uint32_t *width) {
    bench b;
    tn_error why = TN_ERROR_INIT;
    cr_assert(bench_open(&b, &reference, make, context, &why), "the reference refused: %s", why.text);
    float *out = bench_run(&b, l, CUT_WHOLE);
    *rows = bench_rows(&b, l);
    *width = b.width;
    bench_close(&b);
    return out;
}

static void same_bits(const char *name, const rig *r, int cut, const float *got, const float *want,
                      uint64_t rows, uint32_t width) {
    for (uint64_t i = 0; i < rows * width; i++) {
        if (memcmp(&got[i], &want[i], sizeof *got) == 0) { continue; }
        cr_assert_fail("%s on %s, %s: row %lu column %lu is %.9g (%a), on %s in one step it was %.9g (%a)",
                       name, r->name, cut_names[cut], (unsigned long)(i / width), (unsigned long)(i % width),
                       got[i], got[i], cpu[0].name, want[i], want[i]);
    }
}

static void conform_cuts(const char *name, bench_make make, const void *context, const lengths *l,
                         double tolerance, int cuts) {
    uint64_t rows;
    uint32_t width;
    float *first = NULL;
    tn_error why = TN_ERROR_INIT;
    open_rigs();
    cases++;
    float *want = run_reference(make, context, l, &rows, &width);
    for (uint32_t i = 0; i < cpu_count; i++) {
        bench b;
        if (!bench_open(&b, &cpu[i], make, context, &why)) {
            cr_assert(!first, "%s: %s refuses what %s serves: %s", name, cpu[i].name, cpu[0].name, why.text);
            cr_log_info("skipped: %s: %s", name, why.text);
            refused++;
            break;
        }
        for (int cut = 0; cut < cuts; cut++) {
            static const int ways[] = {CUT_PIECES, CUT_COUNT, CUT_WHOLE}; /* on 1, 2 and 3 threads */
            if (cut > ways[i % 3]) { continue; }
            float *got = bench_run(&b, l, cut);
            if (first) {
                same_bits(name, &cpu[i], cut, got, first, rows, width);
                free(got);
                continue;
            }
            double error = worst_error(got, want, rows, width);
            double allowed = tolerance * (1 + 4 / sqrt(width)); /* the rms of few numbers scatters */
            cr_assert(error <= allowed, "%s on %s: error %.3g of a row, at most %.3g", name, cpu[i].name,
                      error, tolerance);
            first = got;
        }
        bench_close(&b);
    }
    free(first);
    free(want);
}

void conform(const char *name, bench_make make, const void *context, const lengths *l, double tolerance) {
    conform_cuts(name, make, context, l, tolerance, CUT_COUNT);
}

void conform_whole(const char *name, bench_make make, const void *context, const lengths *l,
                   double tolerance) {
    conform_cuts(name, make, context, l, tolerance, CUT_WHOLE + 1);
}
