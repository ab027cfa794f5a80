// The sets of instructions that loops are compiled for, and which of them this process uses.
#pragma once

// They are chosen by GCC's own pragmas and attributes, and AMX is requested in Linux's way.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define KT_X86
#endif

namespace keras_transformer {

// From the set of every processor to the fastest: each includes all those before it.
enum class Instructions { kPortable, kAvx2, kVnni, kAmx };

// The fastest set that this processor has and that the environment variable
// KERAS_TRANSFORMER_MAX_ISA allows, determined once. Throws if the variable names no known set.
Instructions instructions();

const char* name_of(Instructions);

#ifdef KT_X86
// The function of a name from the namespace of the fastest set.
#define KT_FASTEST(name)                                           \
  (instructions() >= Instructions::kVnni   ? vnni::name            \
   : instructions() >= Instructions::kAvx2 ? avx2::name            \
                                           : portable::name)
#else
#define KT_FASTEST(name) portable::name
#endif

}  // namespace keras_transformer
