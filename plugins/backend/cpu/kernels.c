/*
 * kernels.c - the choice among the tables of kernels.
 */
#include "kernel_tables.h"

#include <stddef.h>

const cpu_kernels *const cpu_kernels_all[] = {
#ifdef __x86_64__
    &cpu_kernels_avx512vnni,
    &cpu_kernels_avx2,
#endif
    &cpu_kernels_portable,
    NULL,
};

const cpu_kernels *cpu_kernels_pick(uint64_t isa) {
    const cpu_kernels *const *table = cpu_kernels_all;
    while (((*table)->isa & ~isa) != 0) /* ends at the portable table: it asks for nothing */
        table++;
    return *table;
}
