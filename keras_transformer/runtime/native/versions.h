// Compiles one function, unchanged, for several sets of instructions.
#pragma once

#include "instructions.h"

namespace keras_transformer {

template <auto kFunction>
class Versions;

template <typename Result, typename... Arguments, Result (*kFunction)(Arguments...)>
class Versions<kFunction> {
 public:
  Result operator()(Arguments... arguments) const {
    static Result (*const chosen)(Arguments...) = fastest();
    return chosen(arguments...);
  }

 private:
  struct portable {
    static Result run(Arguments... arguments) { return kFunction(arguments...); }
  };
#ifdef KT_X86
  struct avx2 {
    __attribute__((target("avx2,fma"))) static Result run(Arguments... arguments) {
      return kFunction(arguments...);
    }
  };
  struct vnni {
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))) static Result
    run(Arguments... arguments) {
      return kFunction(arguments...);
    }
  };
#endif

  static auto fastest() { return KT_FASTEST(run); }
};

// `fastest<function>(…)` calls the version for this processor. The function is `KT_INLINE`: it uses
// the instructions of the function that it is inlined into.
template <auto kFunction>
inline constexpr Versions<kFunction> fastest{};

}  // namespace keras_transformer
