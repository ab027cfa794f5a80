// The sets of instructions that the innermost loops are compiled for, each in its own namespace.
#pragma once

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

// They are chosen by GCC's own pragmas, and AMX is asked for as Linux has it.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define KT_X86
#endif

namespace keras_transformer {

// From what every processor has to the fastest.
enum class Instructions { kPortable, kAvx2, kVnni, kAmx };

// The fastest set that the environment variable KERAS_TRANSFORMER_MAX_ISA allows, read once.
inline Instructions most_allowed() {
  static const Instructions most = [] {
    const char* wanted = std::getenv("KERAS_TRANSFORMER_MAX_ISA");
    if (wanted == nullptr || *wanted == 0) return Instructions::kAmx;
    const char* const names[] = {"portable", "avx2", "vnni", "amx"};
    for (int set = 0; set < 4; ++set) {
      if (std::strcmp(wanted, names[set]) == 0) return static_cast<Instructions>(set);
    }
    throw std::invalid_argument(
        "KERAS_TRANSFORMER_MAX_ISA must be portable, avx2, vnni or amx, got " +
        std::string(wanted));
  }();
  return most;
}

#ifdef KT_X86
inline bool may_use_avx2() {
  return most_allowed() >= Instructions::kAvx2 && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma");
}

inline bool may_use_vnni() {
  return most_allowed() >= Instructions::kVnni && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bw");
}

// Chooses the fastest of a function's versions that this processor runs and that is allowed.
#define KT_FASTEST(function) \
  (may_use_vnni() ? vnni::function : may_use_avx2() ? avx2::function : portable::function)
#else
#define KT_FASTEST(function) portable::function
#endif

}  // namespace keras_transformer
