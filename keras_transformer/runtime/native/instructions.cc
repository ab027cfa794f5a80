#include "instructions.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#ifdef KT_X86
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace keras_transformer {
namespace {

constexpr const char* kNames[] = {"portable", "avx2", "vnni", "amx"};
constexpr int kFastest = static_cast<int>(Instructions::kAmx);

Instructions allowed() {
  const char* wanted = std::getenv("KERAS_TRANSFORMER_MAX_ISA");
  if (wanted == nullptr || *wanted == 0) return Instructions::kAmx;
  for (int set = 0; set <= kFastest; ++set) {
    if (std::strcmp(wanted, kNames[set]) == 0) return static_cast<Instructions>(set);
  }
  throw std::invalid_argument(
      "KERAS_TRANSFORMER_MAX_ISA must be portable, avx2, vnni or amx, or not set, got \"" +
      std::string(wanted) + "\"");
}

#ifdef KT_X86
// The system saves AMX's registers for a process only after the process has asked for them.
bool may_use_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Instructions usable(Instructions most) {
  if (most < Instructions::kAvx2 || !__builtin_cpu_supports("avx2") ||
      !__builtin_cpu_supports("fma")) {
    return Instructions::kPortable;
  }
  if (most < Instructions::kVnni || !__builtin_cpu_supports("x86-64-v4") ||
      !__builtin_cpu_supports("avx512vnni")) {
    return Instructions::kAvx2;
  }
  if (most < Instructions::kAmx || !__builtin_cpu_supports("amx-tile") ||
      !__builtin_cpu_supports("amx-int8") || !may_use_tiles()) {
    return Instructions::kVnni;
  }
  return Instructions::kAmx;
}
#else
Instructions usable(Instructions) { return Instructions::kPortable; }
#endif

}  // namespace

Instructions instructions() {
  static const Instructions fastest = usable(allowed());
  return fastest;
}

const char* name_of(Instructions set) { return kNames[static_cast<int>(set)]; }

}  // namespace keras_transformer
