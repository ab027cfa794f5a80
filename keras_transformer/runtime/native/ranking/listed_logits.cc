// The logits of each sentence's own tokens, those that a shortlist gives it: its rows times some rows
// of the vocabulary's matrix, each read where it stands.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bfloat16.h"
#include "quantize.h"
#include "ranking_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
// The offset that is added to states in bytes.
constexpr int32_t kMiddle = 128;
// More numbers of a row than this have sums that may not fit into 31 bits: 255 · 128 · 2¹⁶ < 2³¹.
constexpr int64_t kMostWidth = 1 << 16;
// Tokens whose weights are fetched ahead: they lie anywhere in the matrix.
constexpr int64_t kAhead = 8, kLine = 64;
// Tokens that are multiplied at a time.
constexpr int64_t kTogether = 4;

// The tokens of a sentence and the rows that are multiplied by their weights.
template <typename Input>
struct Work {
  const int32_t* tokens;
  int64_t count, rows, width;
  const Input* states;  // (rows, width)
  float* logits;        // (rows, stride): `count` of each row are written
  int64_t stride;
};

template <typename Weight>
KT_INLINE void fetch(const Weight* matrix, int64_t width, int32_t token) {
  const char* from = reinterpret_cast<const char*>(matrix + token * width);
  for (int64_t i = 0; i < static_cast<int64_t>(width * sizeof(Weight)); i += kLine) {
    __builtin_prefetch(from + i);
  }
}

// The products of a row with the weights of four tokens: sums that do not wait for each other.
KT_INLINE void dot_bytes(const uint8_t* row, const int8_t* const weights[kTogether], int64_t width,
                         int32_t* sums) {
  const int8_t *a = weights[0], *b = weights[1], *c = weights[2], *d = weights[3];
  int32_t of_a = 0, of_b = 0, of_c = 0, of_d = 0;
  for (int64_t i = 0; i < width; ++i) {
    of_a += row[i] * a[i], of_b += row[i] * b[i], of_c += row[i] * c[i], of_d += row[i] * d[i];
  }
  sums[0] = of_a, sums[1] = of_b, sums[2] = of_c, sums[3] = of_d;
}

// A token's weights; those in bfloat16 are widened into `room`.
KT_INLINE const float* weights_of(const float* matrix, int64_t width, int32_t token, float*) {
  return matrix + token * width;
}
KT_INLINE const float* weights_of(const uint16_t* matrix, int64_t width, int32_t token,
                                  float* room) {
  for (int64_t i = 0; i < width; ++i) room[i] = widened(matrix[token * width + i]);
  return room;
}

template <typename Weight>
KT_INLINE void multiply_floats(const Work<float>& work, const Weight* matrix, float* room) {
  for (int64_t t = 0; t < work.count; ++t) {
    if (t + kAhead < work.count) fetch(matrix, work.width, work.tokens[t + kAhead]);
    const float* weights = weights_of(matrix, work.width, work.tokens[t], room);
    for (int64_t row = 0; row < work.rows; ++row) {
      work.logits[row * work.stride + t] = dot(work.states + row * work.width, weights, work.width);
    }
  }
}

// What a product in bytes needs beside its inputs: a sum for each row and token, and of each token
// what its sums become. The tokens are filled up to whole groups.
struct Room {
  std::vector<int32_t> sums, offsets;
  std::vector<float> scales;

  int64_t reserve(int64_t rows, int64_t count) {
    const int64_t stride = (count + kTogether - 1) / kTogether * kTogether;
    const size_t all = rows * stride;
    if (sums.size() < all) sums.resize(all);
    if (offsets.size() < static_cast<size_t>(stride)) offsets.resize(stride), scales.resize(stride);
    return stride;
  }
};

// Sums come first and logits after all of them, in loops that keep to their registers.
KT_INLINE void multiply_bytes(const Work<uint8_t>& work, const ByteTable& table,
                              const float* steps, Room& room) {
  const int64_t stride = room.reserve(work.rows, work.count), count = work.count;
  int32_t *sums = room.sums.data(), *offsets = room.offsets.data();
  float* scales = room.scales.data();
  for (int64_t first = 0; first < count; first += kTogether) {
    const int8_t* weights[kTogether];
    for (int64_t i = 0; i < kTogether; ++i) {
      const int64_t t = std::min(first + i, count - 1);
      const int32_t token = work.tokens[t];
      weights[i] = table.bytes + token * work.width;
      offsets[first + i] = table.offsets[token], scales[first + i] = table.scales[token];
      if (t + kAhead < count) fetch(table.bytes, work.width, work.tokens[t + kAhead]);
    }
    for (int64_t row = 0; row < work.rows; ++row) {
      dot_bytes(work.states + row * work.width, weights, work.width, sums + row * stride + first);
    }
  }
  for (int64_t row = 0; row < work.rows; ++row) {
    const int32_t* of_row = sums + row * stride;
    float* logits = work.logits + row * work.stride;
    const float step = steps[row];
    for (int64_t t = 0; t < count; ++t) {
      logits[t] = static_cast<float>(of_row[t] - offsets[t]) * scales[t] * step;
    }
  }
}

KT_INLINE void round_rows(const float* states, int64_t rows, int64_t width, uint8_t* bytes,
                          float* steps) {
  for (int64_t row = 0; row < rows; ++row) {
    steps[row] = quantize_row(states + row * width, width, kMiddle, bytes + row * width);
  }
}

// The tokens of each sentence: `places` (batch, most) among `ids` (listed), filled up with -1.
class Lists {
 public:
  Lists(Context& context, size_t ids, size_t places, int64_t rows, int64_t vocabulary)
      : vocabulary_(vocabulary),
        listed_(context.shape(ids, "ids", 1)[0]),
        ids_(context.input<int32_t>(ids)),
        places_(context.input<int32_t>(places)) {
    const Shape shape = context.shape(places, "places", 2);
    batch_ = shape[0], most_ = shape[1];
    if (batch_ == 0 ? rows != 0 : rows % batch_ != 0) {
      throw std::invalid_argument("states must have as many rows for each sentence");
    }
    rows_ = batch_ == 0 ? 0 : rows / batch_;
  }

  int64_t most() const { return most_; }
  int64_t rows() const { return rows_; }

  // Writes the logits (all rows, most): `multiply(first row, tokens, logits)` those of a sentence's
  // own tokens, at `cost` a row and token.
  template <typename Multiply>
  void write(Context& context, float* logits, double cost, const Multiply& multiply) const {
    if (most_ == 0) return;
    context.parallel_for(batch_, cost * most_ * rows_, [&](int64_t first, int64_t last) {
      static thread_local std::vector<int32_t> tokens;
      for (int64_t s = first; s < last; ++s) {
        read(s, tokens);
        float* found = logits + s * rows_ * most_;
        multiply(s * rows_, tokens, found);
        fill_up(found, static_cast<int64_t>(tokens.size()));
      }
    });
  }

 private:
  // Reads a sentence's tokens.
  void read(int64_t sentence, std::vector<int32_t>& tokens) const {
    tokens.clear();
    const int32_t* places = places_ + sentence * most_;
    for (int64_t i = 0; i < most_ && places[i] >= 0; ++i) {
      const int32_t token = places[i] < listed_ ? ids_[places[i]] : -1;
      if (token < 0 || token >= vocabulary_) {
        throw std::invalid_argument("places and ids must lie within the lists they point into");
      }
      tokens.push_back(token);
    }
  }

  // Fills up the logits (rows, most) of a sentence that has `count` tokens.
  void fill_up(float* logits, int64_t count) const {
    for (int64_t row = 0; row < rows_; ++row) {
      std::fill(logits + row * most_ + count, logits + (row + 1) * most_, kNone);
    }
  }

  int64_t vocabulary_, listed_, batch_ = 0, most_ = 0, rows_ = 0;
  const int32_t *ids_, *places_;
};

}  // namespace

ListedLogits::ListedLogits(const Node& node) {
  const ort::ElementType type = node.type(3);
  if (type == ort::kBfloat16) {
    halved_ = node.constant<uint16_t>(3, "matrix", 2);
  } else if (type == ort::kFloat || type == ort::kAny) {  // What is not stored is refused.
    matrix_ = node.constant<float>(3, "matrix", 2);
  } else {
    throw std::invalid_argument("matrix must be float32 or bfloat16, got the element type " +
                                std::to_string(type));
  }
}

void ListedLogits::compute(Context& context) const {
  const bool is_halved = halved_.data != nullptr;
  const Shape shape = context.shape(0, "states", 2);
  const Shape& stored = is_halved ? halved_.shape : matrix_.shape;
  const int64_t rows = shape[0], width = shape[1];
  check_shape("matrix", stored, {stored[0], width});
  const float* states = context.input<float>(0);
  const Lists lists(context, 1, 2, rows, stored[0]);
  float* logits = context.output<float>(0, {rows, lists.most()});
  const auto multiply = [&](int64_t row, const std::vector<int32_t>& tokens, float* found) {
    static thread_local std::vector<float> room;
    room.resize(width);
    const int64_t count = static_cast<int64_t>(tokens.size());
    const Work<float> work{tokens.data(),        count, lists.rows(), width,
                           states + row * width, found, lists.most()};
    if (is_halved) {
      fastest<multiply_floats<uint16_t>>(work, halved_.data, room.data());
    } else {
      fastest<multiply_floats<float>>(work, matrix_.data, room.data());
    }
  };
  lists.write(context, logits, 0.05 * width, multiply);
}

ListedByteLogits::ListedByteLogits(const Node& node)
    : bytes_(node.constant<int8_t>(3, "bytes", 2)),
      scales_(node.constant<float>(4, "scales", {bytes_.shape[0]})),
      offsets_(bytes_.shape[0]) {
  const int64_t width = bytes_.shape[1];
  if (width > kMostWidth) {
    throw std::invalid_argument("width must be at most " + std::to_string(kMostWidth) + ", got " +
                                std::to_string(width));
  }
  for (int64_t token = 0; token < bytes_.shape[0]; ++token) {
    int32_t sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += bytes_.data[token * width + i];
    offsets_[token] = kMiddle * sum;
  }
}

void ListedByteLogits::compute(Context& context) const {
  const Shape shape = context.shape(0, "states", 2);
  const int64_t rows = shape[0], width = shape[1];
  check_shape("bytes", bytes_.shape, {bytes_.shape[0], width});
  const float* states = context.input<float>(0);
  const Lists lists(context, 1, 2, rows, bytes_.shape[0]);
  float* logits = context.output<float>(0, {rows, lists.most()});
  const ByteTable table{bytes_.data, scales_, offsets_.data()};
  const auto multiply = [&](int64_t row, const std::vector<int32_t>& tokens, float* found) {
    static thread_local std::vector<uint8_t> bytes;
    static thread_local std::vector<float> steps;
    static thread_local Room room;
    bytes.resize(lists.rows() * width), steps.resize(lists.rows());
    fastest<round_rows>(states + row * width, lists.rows(), width, bytes.data(), steps.data());
    const int64_t count = static_cast<int64_t>(tokens.size());
    fastest<multiply_bytes>(
        {tokens.data(), count, lists.rows(), width, bytes.data(), found, lists.most()}, table,
        steps.data(), room);
  };
  lists.write(context, logits, 0.02 * width, multiply);
}

void ListedIds::compute(Context& context) const {
  const int64_t listed = context.shape(0, "ids", 1)[0];
  const Shape shape = context.shape(1, "places", 2), columns = context.shape(2);
  const int64_t batch = shape[0], most = shape[1];
  const int64_t each = columns.axes == 1 ? 1 : context.shape(2, "columns", 2)[1];
  check_shape("columns", Shape{2, {columns[0], each}}, {batch, each});
  const int32_t *ids = context.input<int32_t>(0), *places = context.input<int32_t>(1);
  const int32_t* chosen = context.input<int32_t>(2);
  if (listed < 1 && batch * each > 0) throw std::invalid_argument("ids must not be empty");
  int32_t* found = columns.axes == 1 ? context.output<int32_t>(0, {batch})
                                     : context.output<int32_t>(0, {batch, each});
  for (int64_t i = 0; i < batch * each; ++i) {
    const bool is_column = chosen[i] >= 0 && chosen[i] < most;
    const int64_t place = is_column ? places[i / each * most + chosen[i]] : listed;
    if (place >= listed) {
      throw std::invalid_argument("columns and places must lie within the lists they point into");
    }
    found[i] = ids[place < 0 ? listed - 1 : place];
  }
}

}  // namespace keras_transformer
