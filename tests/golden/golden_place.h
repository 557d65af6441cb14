/*
 * golden_place.h - where a golden test runs: a backend, an instruction set, a number of threads.
 */
#ifndef TENON_TESTS_GOLDEN_PLACE_H
#define TENON_TESTS_GOLDEN_PLACE_H

#include "test_engine.h"

/** One test: a model in a place. */
typedef struct golden_place {
    char name[32], backend[16], isa[16]; /* isa "": what the machine has */
    uint32_t threads;
} golden_place;

enum { GOLDEN_PLACES = 6 };
/** The reference, and the cpu backend with each instruction set; without a name. */
extern const golden_place golden_places[GOLDEN_PLACES];

/** tn_test_engine(), but an instruction set that the machine lacks is skipped by name. */
tn_engine *golden_engine_if(const char *isa, uint32_t threads);

#endif
