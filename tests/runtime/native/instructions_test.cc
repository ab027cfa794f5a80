// Multiplies random matrices, and ranks random logits, with every set of instructions that this
// processor has: all of them must find what plain code does.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "bfloat16.h"
#include "float32.h"
#include "int4.h"
#include "linear.h"
#include "ranking.h"

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

struct Named {
  const char* name;
  Instructions set;
  SumBytes sum_bytes;
  Multiply multiply;
  RankLogits rank;
};

// Every set but plain code; of the three functions some have the first only, or the first two.
std::vector<Named> sets() {
#if defined(KT_X86)
  return {{"avx2", Instructions::kAvx2, avx2::sum_bytes, avx2::multiply, avx2::rank_logits},
          {"avxvnni", Instructions::kAvxVnni, avxvnni::sum_bytes, avxvnni::multiply, nullptr},
          {"vnni", Instructions::kVnni, vnni::sum_bytes, vnni::multiply, vnni::rank_logits},
          {"amx", Instructions::kAmx, amx::sum_bytes, nullptr, nullptr}};
#elif defined(KT_ARM)
  return {{"dotprod", Instructions::kDotprod, dotprod::sum_bytes, dotprod::multiply, nullptr},
          {"i8mm", Instructions::kI8mm, i8mm::sum_bytes, nullptr, nullptr}};
#else
  return {};
#endif
}

int sums_that_differ(int64_t rows, int64_t quads, int64_t blocks, unsigned seed) {
  std::mt19937 random(seed);
  const auto bytes = random_bytes(random, blocks * quads * kTokens * kBytes);
  std::vector<uint8_t> states(rows * quads * kBytes);
  for (auto& byte : states) byte = static_cast<uint8_t>(random());
  std::vector<int32_t> starts(blocks * kTokens);
  for (auto& start : starts) start = static_cast<int32_t>(random() % 10000) - 5000;
  const ByteMatrix matrix{blocks, quads, bytes.data(), starts.data()};
  const int64_t first = seed % blocks, count = blocks - first;

  std::vector<int32_t> expected(rows * kSumsOfRow), found(rows * kSumsOfRow);
  portable::sum_bytes(matrix, first, count, states.data(), rows, expected.data());
  int different = 0;
  for (const Named& set : sets()) {
    if (!is_usable(set.set)) continue;
    std::fill(found.begin(), found.end(), 0);
    set.sum_bytes(matrix, first, count, states.data(), rows, found.data());
    if (found == expected) continue;
    std::printf("%s differs: %ld rows, %ld quads, %ld blocks\n", set.name, rows, quads, blocks);
    ++different;
  }
  return different;
}

int rankings_that_differ(int64_t count, int64_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> logits(3 * count);
  // Few values, so that some are equal.
  for (auto& logit : logits) logit = static_cast<float>(random() % 50) / 3.0f;
  const auto rank = [&](RankLogits rank, std::vector<Token>& best) {
    List list{best.data(), 0, most};
    float total = 0;
    for (const int64_t chunk : {2, 0, 1}) {
      const Normaliser found = rank(logits.data() + chunk * count, count, chunk * count, list);
      total += found.total * std::exp(found.top);
    }
    best.resize(list.held);
    return total;
  };
  std::vector<Token> expected(most);
  const float total = rank(portable::rank_logits, expected);
  int different = 0;
  for (const Named& set : sets()) {
    if (!is_usable(set.set) || set.rank == nullptr) continue;
    std::vector<Token> found(most);
    const bool near = std::abs(rank(set.rank, found) - total) <= 1e-5f * total;
    const auto same = [](const Token& a, const Token& b) {
      return a.id == b.id && a.logit == b.logit;
    };
    if (near && std::equal(found.begin(), found.end(), expected.begin(), expected.end(), same)) {
      continue;
    }
    std::printf("%s ranks %ld of %ld logits otherwise\n", set.name, most, count);
    ++different;
  }
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
  for (const Named& set : sets()) {
    if (!is_usable(set.set) || set.multiply == nullptr) continue;
    std::vector<float> found(rows * outputs);
    set.multiply(layer, words.data(), steps.data(), rows, found.data());
    for (int64_t i = 0; i < rows * outputs; ++i) {
      // Some multiply and add in one rounding.
      if (std::abs(found[i] - expected[i]) <= 1e-6f * (1 + std::abs(expected[i]))) continue;
      std::printf("%s differs in output %ld of %ld rows, %ld pairs, %ld outputs\n", set.name, i,
                  rows, pairs, outputs);
      ++different;
    }
  }
  return different;
}

struct NamedBfloat16 {
  const char* name;
  bool is_usable;
  MultiplyBfloat16 multiply;
};

std::vector<NamedBfloat16> sets_of_bfloat16() {
  std::vector<NamedBfloat16> sets{{"widened", true, multiply_widened}};
#ifdef KT_X86
  sets.push_back({"bf16", is_usable(Instructions::kBf16), bf16::multiply});
  sets.push_back({"amx", has_bfloat16_tiles(), amx::multiply});
#endif
  return sets;
}

// Against the sums in float64; blocks that are not asked for must stay as they are.
int bfloat16_products_that_differ(int64_t rows, int64_t pairs, int64_t outputs, unsigned seed) {
  std::mt19937 random(seed);
  const auto numbers = [&](size_t count) {
    std::vector<uint16_t> numbers(count);
    for (auto& number : numbers) number = to_bfloat16(static_cast<float>(random() % 2001) / 1e3f - 1);
    return numbers;
  };
  const int64_t blocks = (outputs + kBlock - 1) / kBlock, width = kPair * pairs;
  const auto weights = numbers(blocks * pairs * kBlock * kPair);
  const auto values = numbers((rows + kRowsOfTile - 1) / kRowsOfTile * kRowsOfTile * width);
  std::vector<float> biases(blocks * kBlock);
  for (auto& bias : biases) bias = static_cast<float>(random() % 100) / 50.0f - 1;
  const Bfloat16Matrix matrix{pairs, outputs, weights.data(), biases.data()};
  const int64_t first = seed % blocks;

  int different = 0;
  for (const NamedBfloat16& set : sets_of_bfloat16()) {
    if (!set.is_usable) continue;
    std::vector<float> found(rows * outputs, 7.0f);
    set.multiply(matrix, first, blocks, values.data(), rows, found.data());
    for (int64_t i = 0; i < rows * outputs; ++i) {
      const int64_t output = i % outputs, block = output / kBlock, place = output % kBlock;
      const uint16_t* row = values.data() + i / outputs * width;
      double expected = biases[output];
      for (int64_t k = 0; k < width; ++k) {
        const uint16_t* pair = matrix.block(block) + k / kPair * kPair * kBlock + place * kPair;
        expected += static_cast<double>(widened(row[k])) * widened(pair[k % kPair]);
      }
      if (block < first) expected = 7;
      if (std::abs(found[i] - expected) <= 1e-5 * static_cast<double>(width)) continue;
      std::printf("%s differs in output %ld of %ld rows, %ld pairs, %ld outputs\n", set.name, i,
                  rows, pairs, outputs);
      ++different;
    }
  }
  return different;
}

struct NamedInt4 {
  const char* name;
  Instructions set;
  MultiplyInt4 multiply;
};

std::vector<NamedInt4> sets_of_int4() {
  std::vector<NamedInt4> sets{{"portable", Instructions::kPortable, portable::multiply_int4}};
#if defined(KT_X86)
  sets.push_back({"avx2", Instructions::kAvx2, avx2::multiply_int4});
  sets.push_back({"avxvnni", Instructions::kAvxVnni, avxvnni::multiply_int4});
  sets.push_back({"vnni", Instructions::kVnni, vnni::multiply_int4});
#elif defined(KT_ARM)
  sets.push_back({"dotprod", Instructions::kDotprod, dotprod::multiply_int4});
#endif
  return sets;
}

// Against the sums in float64; blocks that are not asked for must stay as they are.
int int4_products_that_differ(int64_t rows, int64_t groups, int64_t outputs, unsigned seed) {
  std::mt19937 random(seed);
  const int64_t octets = seed % 3 ? 4 : 16, blocks = (outputs + kBlock - 1) / kBlock;
  Int4Matrix matrix{groups, octets, outputs, seed % 2 != 0, nullptr, nullptr, -50.0f};
  std::vector<uint8_t> bytes(blocks * groups * matrix.of_group());
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  for (int64_t group = 0; group < blocks * groups; ++group) {
    uint8_t* of_group = bytes.data() + group * matrix.of_group();
    for (int i = 0; i < kBlock; ++i) of_group[kScaleBytes * i + 1] = 0x3c + random() % 2 * 0x80;
  }
  std::vector<float> biases(blocks * kBlock), steps(rows * groups);
  for (auto& bias : biases) bias = static_cast<float>(random() % 100) / 50.0f - 1;
  for (auto& step : steps) step = static_cast<float>(1 + random() % 100) / 1e4f;
  matrix.bytes = bytes.data(), matrix.biases = biases.data();
  std::vector<int8_t> values(rows * groups * octets * kOctet);
  for (auto& value : values) value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  std::vector<int32_t> sums(rows * groups);
  const int64_t size = octets * kOctet, first = seed % blocks;
  for (size_t i = 0; i < values.size(); ++i) sums[i / size] += values[i];

  int different = 0;
  for (const NamedInt4& set : sets_of_int4()) {
    if (!is_usable(set.set)) continue;
    std::vector<float> found(rows * outputs, 7.0f);
    set.multiply(matrix, first, blocks, {values.data(), sums.data(), steps.data()}, rows,
                 found.data());
    for (int64_t i = 0; i < rows * outputs; ++i) {
      const int64_t row = i / outputs, block = i % outputs / kBlock, place = i % outputs % kBlock;
      double expected = biases[i % outputs];
      for (int64_t k = 0; k < groups * size; ++k) {
        const int64_t group = k / size, octet = k % size / kOctet, of = k % kOctet;
        const uint8_t* from = bytes.data() + (block * groups + group) * matrix.of_group();
        uint16_t half;
        std::memcpy(&half, from + kScaleBytes * place, sizeof half);
        const int zero = matrix.has_zeros ? from[kScaleBytes * kBlock + place] : kInt4Middle;
        const uint8_t two = from[matrix.first_octet() + (octet * kBlock + place) * 4 + of / 2];
        const int weight = (of % 2 ? two >> 4 : two & 15) - zero;
        const int8_t value = values[row * groups * size + k / kOctet * kOctet + of % 2 * 4 + of / 2];
        expected += static_cast<double>(weight * value) * widened(half) * steps[row * groups + group];
      }
      expected = block < first ? 7 : std::max(expected, -50.0);
      if (std::abs(found[i] - expected) <= 1e-5 * (std::abs(expected) + 100)) continue;
      std::printf("%s differs in output %ld of %ld rows, %ld groups, %ld outputs in 4 bits\n",
                  set.name, i, rows, groups, outputs);
      ++different;
    }
  }
  return different;
}

struct NamedFloat32 {
  const char* name;
  Instructions set;
  MultiplyFloat32 multiply;
};

std::vector<NamedFloat32> sets_of_float32() {
  std::vector<NamedFloat32> sets{{"portable", Instructions::kPortable, portable::multiply_float32}};
#ifdef KT_X86
  sets.push_back({"avx2", Instructions::kAvx2, avx2::multiply_float32});
  sets.push_back({"vnni", Instructions::kVnni, vnni::multiply_float32});
#endif
  return sets;
}

// Against the sums in float64; what lies between the outputs of two rows must stay as it is.
int float32_products_that_differ(int64_t rows, int64_t inputs, int64_t outputs, unsigned seed) {
  std::mt19937 random(seed);
  const auto numbers = [&](size_t count) {
    std::vector<float> numbers(count);
    for (auto& number : numbers) number = static_cast<float>(random() % 2001) / 1e3f - 1;
    return numbers;
  };
  const int64_t blocks = (outputs + kBlock - 1) / kBlock, first = seed % blocks;
  const auto weights = numbers(blocks * inputs * kBlock), biases = numbers(blocks * kBlock);
  const int64_t of_row = inputs + seed % 3, written = outputs - first * kBlock;
  const auto values = numbers(rows * of_row);
  const Float32Matrix matrix{inputs, outputs, weights.data(), biases.data()};
  const float floor = seed % 2 ? 0.0f : -std::numeric_limits<float>::infinity();

  int different = 0;
  for (const NamedFloat32& set : sets_of_float32()) {
    if (!is_usable(set.set)) continue;
    std::vector<float> found(rows * (written + 1), 7.0f);
    set.multiply(matrix, first, blocks,
                 {values.data(), rows, of_row, found.data(), written + 1, floor});
    for (int64_t i = 0; i < rows * (written + 1); ++i) {
      const int64_t row = i / (written + 1), output = first * kBlock + i % (written + 1);
      double expected = 7;
      if (output < outputs) {
        expected = biases[output];
        for (int64_t k = 0; k < inputs; ++k) {
          expected += static_cast<double>(values[row * of_row + k]) *
                      weights[(output / kBlock * inputs + k) * kBlock + output % kBlock];
        }
        expected = std::max(expected, static_cast<double>(floor));
      }
      if (std::abs(found[i] - expected) <= 1e-6 * static_cast<double>(inputs)) continue;
      std::printf("%s differs in output %ld of %ld rows, %ld inputs, %ld outputs\n", set.name, i,
                  rows, inputs, outputs);
      ++different;
    }
  }
  return different;
}

}  // namespace

// The set that products of bytes are made with.
const char* chosen() {
  for (const Named& set : sets()) {
    if (set.sum_bytes == fastest_sum_bytes()) return set.name;
  }
  return "portable";
}

int main(int count, char**) {
  if (count > 1) return std::puts(chosen()) < 0;
  int different = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    different += products_that_differ(1 + seed % 9, 1 + seed % 37, 1 + seed % 83, seed);
  }
  for (unsigned seed = 0; seed < 200; ++seed) {
    different += sums_that_differ(1 + seed % 32, kQuads * (1 + seed % 5), 1 + seed % 16, seed);
  }
  for (unsigned seed = 0; seed < 200; ++seed) {
    different += rankings_that_differ(kTokens * (1 + seed % 16), 1 + seed % 23, seed);
  }
  for (unsigned seed = 0; seed < 100; ++seed) {
    different += bfloat16_products_that_differ(1 + seed % 50, kPairs * (1 + seed % 3),
                                               1 + 7 * seed % 83, seed);
  }
  for (unsigned seed = 0; seed < 200; ++seed) {
    different += float32_products_that_differ(1 + seed % 31, 1 + seed % 57, 1 + 7 * seed % 83, seed);
  }
  for (unsigned seed = 0; seed < 100; ++seed) {
    different += int4_products_that_differ(1 + seed % 31, 1 + seed % 3, 1 + 7 * seed % 83, seed);
  }
  return different != 0;
}
