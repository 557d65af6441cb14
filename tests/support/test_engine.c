/* test_engine.c - see test_engine.h. */
#include "test_engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

tn_engine *tn_test_engine(const char *isa, uint32_t threads) {
    const char *build = getenv("TENON_TEST_BUILD");
    char folder[4096];
    const char *folders[] = {folder};
    tn_error err = TN_ERROR_INIT;
    tn_engine *engine = NULL;
    cr_assert(build, "TENON_TEST_BUILD is not set: run this through ctest");
    snprintf(folder, sizeof folder, "%s/lib/tenon/plugins", build);
    if (isa && isa[0]) {
        setenv("TENON_ISA", isa, 1);
    } else {
        unsetenv("TENON_ISA");
    }
    tn_engine_options options = {.plugin_dirs = folders, .plugin_dir_count = 1, .threads = threads};
    int32_t code = tn_engine_create(&options, &engine, &err);
    cr_assert(code == TN_OK, "tn_engine_create: %s", err.text);
    return engine;
}

int tn_test_has_isa(const char *isa) {
    uint64_t need = strcmp(isa, "avx2") == 0         ? TN_ISA_AVX2
                    : strcmp(isa, "avx512vnni") == 0 ? TN_ISA_AVX512 | TN_ISA_AVX512_VNNI
                                                     : 0;
    tn_engine *engine = tn_test_engine("", 1);
    uint64_t have = tn_engine_isa(engine);
    tn_engine_destroy(engine);
    return (have & need) == need;
}
