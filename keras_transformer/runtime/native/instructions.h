// The sets of instructions that loops are compiled for, and which of them this process uses.
#pragma once

// AMX and arm64's extensions are asked for in Linux's way; clang's functions of arm64's extensions can
// be attributes of a function since its version 16.
#if defined(__x86_64__) && defined(__linux__)
#define KT_X86
#elif defined(__aarch64__) && defined(__linux__) && (!defined(__clang__) || __clang_major__ >= 16)
#define KT_ARM
#endif

namespace keras_transformer {

// From the set of every processor to the fastest. A processor has all those before a set that it has,
// but for AVX-VNNI, which is missing from some with `kVnni`, AVX-512's, and for BF16 under a system
// that hides it.
#if defined(KT_X86)
enum class Instructions { kPortable, kAvx2, kAvxVnni, kVnni, kBf16, kAmx };
#elif defined(KT_ARM)
enum class Instructions { kPortable, kDotprod, kI8mm };
#else
enum class Instructions { kPortable };
#endif

// The fastest set that this processor has and that the environment variable
// KERAS_TRANSFORMER_MAX_ISA allows, determined once. Throws if the variable names no known set.
Instructions instructions();

// Whether this processor has a set, whatever the environment allows.
bool is_usable(Instructions);

// Whether AMX, if it is used, multiplies bfloat16, too.
bool has_bfloat16_tiles();

// Whether a register holds sixteen floats, and there are 32 of them.
inline bool has_wide_registers() {
#ifdef KT_X86
  return instructions() >= Instructions::kVnni;
#else
  return false;
#endif
}

const char* name_of(Instructions);

// The function of a name from the namespace of the fastest set that has one of its own. AVX-VNNI and
// arm64's sets have only products of integers: all else is what AVX2 or any compiler makes of it.
#ifdef KT_X86
#define KT_FASTEST(name)                                           \
  (instructions() >= Instructions::kVnni   ? vnni::name            \
   : instructions() >= Instructions::kAvx2 ? avx2::name            \
                                           : portable::name)
#else
#define KT_FASTEST(name) portable::name
#endif

}  // namespace keras_transformer
