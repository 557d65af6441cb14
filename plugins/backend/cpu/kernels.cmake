# The kernel tables: each file is compiled for its own instruction set. Defines cpu_kernel_sources.
set(cpu_kernel_folder ${CMAKE_CURRENT_LIST_DIR})
set(cpu_kernel_sources ${cpu_kernel_folder}/kernels.c ${cpu_kernel_folder}/gemm_band.c
    ${cpu_kernel_folder}/kernels_portable.c)
set(cpu_kernel_options -O3 -ffp-contract=off)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND cpu_kernel_options -Wno-pass-failed) # loops stay scalar without fma, and under sanitizers
endif()
set_source_files_properties(${cpu_kernel_folder}/kernels_portable.c PROPERTIES
    COMPILE_OPTIONS "${cpu_kernel_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND cpu_kernel_sources ${cpu_kernel_folder}/kernels_avx2.c ${cpu_kernel_folder}/kernels_avx512vnni.c)
  list(APPEND cpu_kernel_options -mavx2 -mfma -mf16c -mbmi -mbmi2)
  set_source_files_properties(${cpu_kernel_folder}/kernels_avx2.c PROPERTIES
      COMPILE_OPTIONS "${cpu_kernel_options}")
  list(APPEND cpu_kernel_options -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mavx512vnni
       -mprefer-vector-width=512)
  set_source_files_properties(${cpu_kernel_folder}/kernels_avx512vnni.c PROPERTIES
      COMPILE_OPTIONS "${cpu_kernel_options}")
endif()
