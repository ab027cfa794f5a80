// Between `KT_TARGET("avx2,fma")` and `KT_END_TARGET` functions are compiled for processors with these
// instructions: GCC and clang each have pragmas of their own.
//
// Headers that others include, too, come before: the linker keeps one copy of their inline functions,
// which must run on every processor.
#pragma once

#define KT_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define KT_TARGET(features) \
  KT_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define KT_END_TARGET KT_PRAGMA(clang attribute pop)
#else
#define KT_TARGET(features) KT_PRAGMA(GCC push_options) KT_PRAGMA(GCC target(features))
#define KT_END_TARGET KT_PRAGMA(GCC pop_options)
#endif
