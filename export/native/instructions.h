// The sets of instructions that the innermost loops are compiled for, each in its own namespace.
#pragma once

// They are chosen by GCC's own pragmas, and AMX is asked for as Linux has it.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define KT_X86
#endif

namespace keras_transformer {

// Chooses the fastest of a function's versions that this processor runs.
#ifdef KT_X86
#define KT_FASTEST(function)                                                                   \
  (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") ? vnni::function \
   : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")          ? avx2::function \
                                                                              : portable::function)
#else
#define KT_FASTEST(function) portable::function
#endif

}  // namespace keras_transformer
