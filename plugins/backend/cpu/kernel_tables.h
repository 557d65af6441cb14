/*
 * kernel_tables.h - the tables of kernels.h, one a source file; each file is compiled with the flags of its
 * instruction set (kernels.cmake).
 */
#ifndef TENON_CPU_KERNEL_TABLES_H
#define TENON_CPU_KERNEL_TABLES_H

#include "kernels.h"

extern const cpu_kernels cpu_kernels_portable;
#ifdef __x86_64__
extern const cpu_kernels cpu_kernels_avx2;
extern const cpu_kernels cpu_kernels_avx512vnni;
#endif

#endif
