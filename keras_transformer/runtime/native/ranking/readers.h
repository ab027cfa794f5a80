// The chunks of a vocabulary, divided among the threads that read them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "context.h"

namespace keras_transformer {

// Lends each thread the lowest free place of 32.
class Places {
 public:
  int64_t take() {
    uint32_t taken = taken_.load();
    while (!taken_.compare_exchange_weak(taken, taken | (taken + 1))) continue;
    return __builtin_ctz(~taken);
  }

  void leave(int64_t place) { taken_.fetch_and(~(uint32_t{1} << place)); }

 private:
  std::atomic<uint32_t> taken_{0};
};

class Readers {
 public:
  // `nanoseconds` is about what all chunks take.
  Readers(int64_t chunks, double nanoseconds)
      : chunks_(chunks),
        count_(std::min({kMostParts, chunks, 1 + static_cast<int64_t>(nanoseconds / kPart)})) {}

  // How many threads may read at a time.
  int64_t count() const { return count_; }

  // Calls `read(reader, chunk)` for every chunk, never twice at the same time for a reader.
  template <typename Read>
  void run(Context& context, const Read& read) const {
    Places places;
    context.parallel_for(count_, kPart, [&](int64_t first, int64_t last) {
      const int64_t reader = places.take();
      for (int64_t c = chunks_ * first / count_; c < chunks_ * last / count_; ++c) read(reader, c);
      places.leave(reader);
    });
  }

 private:
  // Nanoseconds that are worth waking a thread for.
  static constexpr double kPart = 1 << 16;
  static constexpr int64_t kMostParts = 16;

  int64_t chunks_, count_;
};

}  // namespace keras_transformer
