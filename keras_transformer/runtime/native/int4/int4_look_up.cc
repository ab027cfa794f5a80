// Looks up rows of a table that is packed as weights in 4 bits are, so that a head shares it.
#include <algorithm>
#include <cstring>

#include "layer_operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// One output's weights, which lie four bytes a block of outputs apart.
KT_INLINE void widen(const Int4Matrix& m, const uint8_t* group, int64_t place, int64_t width,
                     float* output) {
  const int64_t size = m.octets * kOctet, bytes_of_octet = kOctet / 2;
  for (int64_t start = 0; start < width; start += size, group += m.of_group()) {
    uint32_t bits = (group[kScaleBytes * place + 1] << 8 | group[kScaleBytes * place]) << 16;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    const int zero = m.has_zeros ? group[kBlock * kScaleBytes + place] : kInt4Middle;
    const uint8_t* bytes = group + m.first_octet() + place * bytes_of_octet;
    for (int64_t i = 0; i < std::min(size, width - start); ++i) {
      const uint8_t two = bytes[i / kOctet * kBlock * bytes_of_octet + i % kOctet / 2];
      const int value = i % 2 ? two >> 4 : two & 15;
      output[start + i] = static_cast<float>(value - zero) * scale;
    }
  }
}

}  // namespace

void Int4LookUp::compute(Context& context) const {
  const Int4Matrix m = weights_.matrix(units_, nullptr, 0);
  const int64_t of_block = m.groups * m.of_group();
  look_up(context, 1, units_, width_, 2.0 * width_, [&](int32_t id, float* row) {
    fastest<widen>(m, m.bytes + id / kBlock * of_block, id % kBlock, width_, row);
  });
}

}  // namespace keras_transformer
