// Searches and multiplies random matrices with every set of instructions that this processor has: all
// of them must find the same, without bounds, to the last bit.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "linear.h"
#include "screen.h"

using namespace keras_transformer;

namespace {

// Like those of a matrix rounded for sums of bytes: no two neighbours exceed 128 together.
std::vector<int8_t> random_bytes(std::mt19937& random, size_t count) {
  std::vector<int8_t> bytes(count);
  for (size_t i = 0; i < count; i += 2) {
    bytes[i] = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    const int left = 128 - std::abs(bytes[i]);
    bytes[i + 1] = static_cast<int8_t>(static_cast<int>(random() % (2 * left - 1)) - (left - 1));
  }
  return bytes;
}

int differences(int64_t rows, int64_t quads, int64_t blocks, unsigned seed) {
  std::mt19937 random(seed);
  const auto bytes = random_bytes(random, blocks * quads * kTokens * kBytes);
  std::vector<uint8_t> states(rows * quads * kBytes);
  for (auto& byte : states) byte = static_cast<uint8_t>(1 + random() % 255);
  std::vector<int32_t> starts(blocks * kTokens, 0);
  for (auto& start : starts) start = static_cast<int32_t>(random() % 10000) - 5000;
  std::vector<float> bounds(blocks * 3 * kTokens, 0.0f), ones(rows, 1.0f), zeros(rows, 0.0f);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int token = 0; token < kTokens; ++token) {
      bounds[block * 3 * kTokens + token] = 0.5f + static_cast<float>(random() % 100);
    }
  }
  Screen screen{};
  screen.rows = rows, screen.quads = quads, screen.vocabulary = blocks * kTokens;
  screen.quantized = states.data(), screen.steps = ones.data(), screen.norms = zeros.data();
  screen.errors = zeros.data(), screen.bytes = bytes.data(), screen.starts = starts.data();
  screen.bounds = bounds.data();

  std::vector<Candidates> expected(rows);
  portable::search(screen, 0, blocks, expected.data());
  int different = 0;
  const auto compare = [&](const char* name, Search search) {
    std::vector<Candidates> found(rows);
    search(screen, 0, blocks, found.data());
    for (int64_t row = 0; row < rows; ++row) {
      const Candidates &ours = found[row], &theirs = expected[row];
      if (ours.lower == theirs.lower && ours.blocks == theirs.blocks &&
          ours.uppers == theirs.uppers) {
        continue;
      }
      std::printf("%s differs in row %ld of %ld, %ld quads, %ld blocks\n", name, row, rows, quads,
                  blocks);
      ++different;
    }
  };
#ifdef KT_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    compare("avx2", avx2::search);
  }
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) {
    compare("vnni", vnni::search);
  }
#endif
  return different;
}

int products_that_differ(int64_t rows, int64_t pairs, int64_t outputs, unsigned seed) {
  std::mt19937 random(seed);
  const int64_t blocks = (outputs + kBlock - 1) / kBlock;
  std::vector<int8_t> bytes(blocks * pairs * kBlock * kPair);
  for (auto& byte : bytes) byte = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  std::vector<int16_t> words(rows * pairs * kPair);
  for (auto& word : words) word = static_cast<int16_t>(static_cast<int>(random() % 65535) - 32767);
  std::vector<float> ends(blocks * 2 * kBlock), steps(rows);
  for (auto& end : ends) end = static_cast<float>(random() % 1000) / 300.0f - 1.0f;
  for (auto& step : steps) step = 1e-4f * static_cast<float>(1 + random() % 100);
  const float floor = seed % 2 ? 0.0f : -std::numeric_limits<float>::infinity();
  const Linear layer{pairs, outputs, bytes.data(), ends.data(), floor};

  std::vector<float> expected(rows * outputs);
  portable::multiply(layer, words.data(), steps.data(), rows, expected.data());
  int different = 0;
  const auto compare = [&](const char* name, Multiply multiply) {
    std::vector<float> found(rows * outputs);
    multiply(layer, words.data(), steps.data(), rows, found.data());
    for (int64_t i = 0; i < rows * outputs; ++i) {
      // Some multiply and add in one rounding.
      if (std::abs(found[i] - expected[i]) <= 1e-6f * (1 + std::abs(expected[i]))) continue;
      std::printf("%s differs in output %ld of %ld rows, %ld pairs, %ld outputs\n", name, i, rows,
                  pairs, outputs);
      ++different;
    }
  };
#ifdef KT_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    compare("avx2", avx2::multiply);
  }
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) {
    compare("vnni", vnni::multiply);
  }
#endif
  return different;
}

}  // namespace

int main() {
  int different = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    different += products_that_differ(1 + seed % 9, 1 + seed % 37, 1 + seed % 83, seed);
  }
  for (unsigned seed = 0; seed < 200; ++seed) {
    different += differences(1 + seed % 9, 1 + seed % 37, 1 + seed % 23, seed);
  }
  return different != 0;
}
