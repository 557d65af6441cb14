/* golden_place.c - see golden_place.h. */
#include "golden_place.h"

#include <criterion/criterion.h>

const golden_place golden_places[GOLDEN_PLACES] = {
    {"", "reference", "", 2}, {"", "cpu", "portable", 2},   {"", "cpu", "avx2", 1},
    {"", "cpu", "avx2", 2},   {"", "cpu", "avx512vnni", 1}, {"", "cpu", "avx512vnni", 2}};

tn_engine *golden_engine_if(const char *isa, uint32_t threads) {
    if (!tn_test_has_isa(isa)) { cr_skip_test("%s is not on this machine", isa); }
    return tn_test_engine(isa, threads);
}
