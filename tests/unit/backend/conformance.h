/*
 * conformance.h - holds every rig of the cpu backend to the reference, and to itself.
 *
 * One call to conform() makes a graph on the reference and on the cpu backend with each instruction set that
 * the machine has and 1, 2 and 3 threads. The first cpu result must be as near to the reference as
 * `tolerance` says (root mean square of a row's error, relative to the row's own), the others must equal it
 * bit for bit: for every instruction set, number of threads and way of cutting sequences into steps.
 */
#ifndef TENON_TESTS_CONFORMANCE_H
#define TENON_TESTS_CONFORMANCE_H

#include "backend_rig.h"

/* Rounding of float32 arithmetic. The worst of the cases below is about 1e-6. */
#define TOLERANCE_FLOAT 5e-6
/* Numbers that pass through an f16 cache after an op before it: half of a last place of f16 may turn over. */
#define TOLERANCE_F16 5e-4
/* Activations rounded to 8 bit for 32 columns: a group's largest is about 2.4 times the rms, so a step is 2.4
 * / 127 and the error of a step 1 / sqrt(12) of it: 0.55%. (conform() allows more where a row has so few
 * numbers that their error scatters.) A feed forward rounds twice and multiplies two of its products. */
#define TOLERANCE_I8 6e-3
/* To 15 bits: a 128th of it. */
#define TOLERANCE_I15 5e-5
#define TOLERANCE_FEED_FORWARD_I8 2e-2

void conform(const char *name, bench_make make, const void *context, const lengths *l, double tolerance);
/* The same for ops that take a sequence whole: steps are not cut. */
void conform_whole(const char *name, bench_make make, const void *context, const lengths *l,
                   double tolerance);
/* At the end of a test: skipped by name if the cpu backend is not in the build or refused every case. */
void conform_end(void);

#endif
