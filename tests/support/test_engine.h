/*
 * test_engine.h - engines for tests of whole models and of backends, which use Criterion.
 */
#ifndef TENON_TESTS_TEST_ENGINE_H
#define TENON_TESTS_TEST_ENGINE_H

#include "tenon/engine.h"

/** An engine with the plugins of this build, or fails the test. `isa` NULL or "": what the machine has. */
tn_engine *tn_test_engine(const char *isa, uint32_t threads);
/** 1 if the machine has what "portable", "avx2" or "avx512vnni" needs. */
int tn_test_has_isa(const char *isa);

#endif
