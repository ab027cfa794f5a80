#include "instructions.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>

#if defined(KT_X86)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(KT_ARM)
#include <sys/auxv.h>
#endif

namespace keras_transformer {
namespace {

bool always() { return true; }

#if defined(KT_X86)
// Compilers differ in what they can ask the processor for by name, so its own numbers are read.
struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t part) {
  Registers found;
  __get_cpuid_count(leaf, part, &found.eax, &found.ebx, &found.ecx, &found.edx);
  return found;
}

bool has_all(uint32_t found, std::initializer_list<int> bits) {
  for (const int bit : bits) {
    if (!(found >> bit & 1)) return false;
  }
  return true;
}

// Whether the system saves these registers when it switches between threads.
bool are_saved(std::initializer_list<int> bits) {
  constexpr int kCanBeRead = 27;
  if (!has_all(cpuid(1, 0).ecx, {kCanBeRead})) return false;
  uint32_t low, high;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return has_all(low, bits);
}

bool has_avx2() {
  constexpr int kFma = 12, kAvx = 28, kAvx2 = 5;
  return has_all(cpuid(1, 0).ecx, {kFma, kAvx}) && has_all(cpuid(7, 0).ebx, {kAvx2}) &&
         are_saved({1, 2});
}

bool has_avx_vnni() {
  constexpr int kAvxVnni = 4;
  return has_avx2() && has_all(cpuid(7, 1).eax, {kAvxVnni});
}

bool has_avx512_vnni() {
  constexpr int kF = 16, kDq = 17, kBw = 30, kVl = 31, kVnni = 11;
  return has_avx2() && has_all(cpuid(7, 0).ebx, {kF, kDq, kBw, kVl}) &&
         has_all(cpuid(7, 0).ecx, {kVnni}) && are_saved({5, 6, 7});
}

bool has_avx512_bf16() {
  constexpr int kBf16 = 5;
  return has_avx512_vnni() && has_all(cpuid(7, 1).eax, {kBf16});
}

// The system saves AMX's registers for a process only after the process has asked for them.
bool may_use_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_amx() {
  constexpr int kTile = 24, kInt8 = 25;
  return has_avx512_vnni() && has_all(cpuid(7, 0).edx, {kTile, kInt8}) && are_saved({17, 18}) &&
         may_use_tiles();
}
#elif defined(KT_ARM)
// Headers of older systems lack the names of these bits.
bool has_dotprod() { return getauxval(AT_HWCAP) >> 20 & 1; }
bool has_i8mm() { return has_dotprod() && (getauxval(AT_HWCAP2) >> 13 & 1); }
#endif

struct Set {
  const char* name;
  bool (*is_usable)();
};

// In the order of `Instructions`.
constexpr Set kSets[] = {
    {"portable", always},
#if defined(KT_X86)
    {"avx2", has_avx2},       {"avxvnni", has_avx_vnni},
    {"vnni", has_avx512_vnni}, {"bf16", has_avx512_bf16},
    {"amx", has_amx},
#elif defined(KT_ARM)
    {"dotprod", has_dotprod}, {"i8mm", has_i8mm},
#endif
};
constexpr int kCount = std::size(kSets);

int most_allowed() {
  const char* wanted = std::getenv("KERAS_TRANSFORMER_MAX_ISA");
  if (wanted == nullptr || *wanted == 0) return kCount - 1;
  std::string names = kSets[0].name;
  for (int set = 0; set < kCount; ++set) {
    if (std::strcmp(wanted, kSets[set].name) == 0) return set;
    if (set > 0) names += (set + 1 < kCount ? ", " : " or ") + std::string(kSets[set].name);
  }
  throw std::invalid_argument("KERAS_TRANSFORMER_MAX_ISA must be " + names +
                              ", or not set, got \"" + wanted + "\"");
}

Instructions fastest() {
  int set = most_allowed();
  while (!kSets[set].is_usable()) --set;
  return static_cast<Instructions>(set);
}

}  // namespace

Instructions instructions() {
  static const Instructions found = fastest();
  return found;
}

bool is_usable(Instructions set) { return kSets[static_cast<int>(set)].is_usable(); }

#ifdef KT_X86
bool has_bfloat16_tiles() {
  constexpr int kBf16 = 22;
  static const bool has = instructions() == Instructions::kAmx && has_all(cpuid(7, 0).edx, {kBf16});
  return has;
}
#else
bool has_bfloat16_tiles() { return false; }
#endif

const char* name_of(Instructions set) { return kSets[static_cast<int>(set)].name; }

}  // namespace keras_transformer
