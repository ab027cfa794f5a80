// The sets of instructions that loops are compiled for, and which of them this process uses.
#pragma once

// GCC's own pragmas and attributes choose them, and AMX is asked for as Linux has it.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define KT_X86
#endif

namespace keras_transformer {

// From what every processor has to the fastest: each has all of those before it.
enum class Instructions { kPortable, kAvx2, kVnni, kAmx };

// The fastest set that this processor has and that the environment variable
// KERAS_TRANSFORMER_MAX_ISA allows, found once. Throws where that names none.
Instructions instructions();

const char* name_of(Instructions);

#ifdef KT_X86
// The fastest of what the namespaces of the sets have under a name.
#define KT_FASTEST(name)                                           \
  (instructions() >= Instructions::kVnni   ? vnni::name            \
   : instructions() >= Instructions::kAvx2 ? avx2::name            \
                                           : portable::name)
#else
#define KT_FASTEST(name) portable::name
#endif

}  // namespace keras_transformer
