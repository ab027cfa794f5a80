// Self-attention within whole sequences, for encoders and prompts: two products and the softmax between them.
// A head's keys and values are copied into panels first.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "attention.h"
#include "attention_operators.h"
#include "panels.h"
#include "sentences.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Which keys a query sees, and what becomes of their scores.
struct Sight {
  int64_t window;  // keys so many places away or more are hidden from a query; 0 for none
  bool looks_back;  // keys after the query are hidden, too
  Scores scores;
  Distances distances;
};

struct Sequences {
  const float* packed;  // (rows, (heads + 2 · shared) · width): queries, keys and values
  int64_t heads, shared, width;
  float* output;  // (rows, heads · width)
  Sight sight;

  int64_t stride() const { return (heads + 2 * shared) * width; }
  int64_t key_head(int64_t head) const { return head / (heads / shared); }
};

// What one head reads and writes of a text whose queries are its last places.
struct Text {
  const float* queries;  // (length, width), `stride` from one to the next
  int64_t stride, length;
  const float *keys, *values;  // (count, width), `key_stride` from one to the next
  int64_t key_stride, count;
  float* output;  // (length, width), `across` from one to the next
  int64_t across;
  const int32_t* mask;    // (count), nonzero for tokens; null if all are
  const int32_t* places;  // (count) of the tokens; null if they are 0, 1, …

  int64_t before() const { return count - length; }
  int64_t place(int64_t t) const { return places == nullptr ? t : places[t]; }
};

constexpr int kMostQueries = 8;

// One head of one text.
struct Head {
  const Text& text;
  const Sight& sight;
  int64_t number;
  Panels keys, values;  // (width, room), transposed, and (count, width)
  const float* hidden;  // (room): mask, added to scores
  float* scores;        // (kMostQueries, room)
  Span span;            // of distances
  float *answered, *asked;  // (count, span) and (kMostQueries, span): products with the vectors of distances
};

// Hides the scores of the keys from `first` on that are outside the window of the query at a place.
inline void hide_far(const Head& h, int64_t query, int64_t first, int64_t count, float* scores) {
  const int64_t here = h.text.place(query);
  for (int64_t t = 0; t < count; ++t) {
    if (std::abs(h.text.place(first + t) - here) >= h.sight.window) scores[t] = kMasked;
  }
}

// Adds what the distances between the query at a place, whose products with their vectors are given, and
// the keys from `first` on add to scores.
KT_INLINE void add_distances(const Head& h, int64_t query, const float* asked, int64_t first,
                             int64_t count, float* scores) {
  const int64_t here = h.text.place(query);
  const float* answered = h.answered + first * h.span.count;
  for (int64_t t = 0; t < count; ++t, answered += h.span.count) {
    const int64_t column = h.sight.distances.column(here - h.text.place(first + t)) - h.span.first;
    scores[t] += asked[column] + answered[column];
  }
}

// Makes scores of the products of the query at a place with the keys from `first` on.
template <typename Vector>
KT_INLINE void change(const Head& h, int64_t query, int64_t first, int64_t count, float* scores) {
  const Scores& rule = h.sight.scores;
  if (rule.has_cap()) {
    rule.bound<Vector>(scores, count);
    for (int64_t t = 0; t < count; ++t) scores[t] += h.hidden[first + t];
  }
  if (const int32_t* places = h.text.places) {
    rule.add_biases(h.number, places[query], places + first, count, scores);
  } else {
    rule.add_biases(h.number, first - query, count, scores);
  }
  if (h.sight.window > 0) hide_far(h, query, first, count, scores);
  if (!h.sight.looks_back) return;
  for (int64_t t = query + 1 - first; t < count; ++t) scores[t] = kMasked;
}

template <typename Vector, int kCount>
KT_INLINE void attend_some(const Head& h, int64_t number) {
  constexpr int64_t kStep = kLanesOf<Vector>;
  const Text& text = h.text;
  const int64_t query = text.before() + number;
  int64_t first = 0, last = text.count;
  if (h.sight.window > 0) {
    first = std::max<int64_t>(0, query - h.sight.window + 1) / kStep * kStep;
    last = std::min(last, query + kCount - 1 + h.sight.window);
  }
  if (h.sight.looks_back) last = std::min(last, query + kCount);
  const int64_t count = last - first, room = rounded_up(count, kStep);
  Panels keys = h.keys, values = h.values;
  keys.data += first / kStep * keys.panel, keys.columns = room;
  values.data += first * values.row, values.rows = count;
  const float* queries = text.queries + number * text.stride;
  if (h.span.count > 0) {
    const Panels vectors = h.sight.distances.asked(h.number, h.span, kStep);
    multiply<Vector, kCount>(queries, text.stride, vectors, nullptr, h.asked, h.span.count);
  }
  // A cap bounds the products alone.
  const float* start = h.sight.scores.has_cap() ? nullptr : h.hidden + first;
  multiply<Vector, kCount>(queries, text.stride, keys, start, h.scores, room);
  for (int q = 0; q < kCount; ++q) {
    float* scores = h.scores + q * room;
    if (h.span.count > 0) {
      add_distances(h, query + q, h.asked + q * h.span.count, first, count, scores);
    }
    change<Vector>(h, query + q, first, count, scores);
    softmax<Vector>(scores, count);
  }
  multiply<Vector, kCount>(h.scores, room, values, nullptr, text.output + number * text.across,
                           text.across);
}

template <typename Vector, int kQueries>
KT_INLINE void attend_head(const Text& text, const Sight& sight, int64_t head, int64_t width,
                           float* hidden) {
  constexpr int64_t kStep = kLanesOf<Vector>;
  const int64_t count = text.count, room = rounded_up(count, kStep);
  float *keys = hidden + room, *values = keys + room * width;
  float* scores = values + rounded_up(width, kStep) * count;
  for (int64_t t = 0; t < room; ++t) {
    const bool is_token = t < count && (text.mask == nullptr || text.mask[t]);
    hidden[t] = is_token ? 0.0f : kMasked;
    const float* key = text.keys + t * text.key_stride;
    float* to = keys + t / kStep * kStep * width + t % kStep;
    for (int64_t i = 0; i < width; ++i) to[i * kStep] = t < count ? key[i] : 0.0f;
  }
  for (int64_t t = 0; t < count; ++t) {
    const float* value = text.values + t * text.key_stride;
    for (int64_t i = 0; i < width; i += kStep) {
      float* to = values + i * count + t * kStep;
      const int64_t some = std::min(kStep, width - i);
      if (some == kStep) {
        store(to, load<Vector>(value + i));
      } else {
        std::fill(std::copy(value + i, value + i + some, to), to + kStep, 0.0f);
      }
    }
  }
  const Span span = sight.distances.span(text.place(count - 1) + 1, kStep);
  float* answered = scores + kMostQueries * room;
  const Head h{text, sight, head, {keys, width, room, kStep, width * kStep},
               {values, count, width, kStep, count * kStep}, hidden, scores, span, answered,
               answered + count * span.count};
  if (span.count > 0) {
    const Panels vectors = sight.distances.answered(head, span, kStep);
    in_groups<kQueries>(count, [&](auto size, int64_t t) KT_INLINE_LAMBDA {
      const float* key = text.keys + t * text.key_stride;
      multiply<Vector, decltype(size)::value>(key, text.key_stride, vectors, nullptr,
                                              answered + t * span.count, span.count);
    });
  }
  in_groups<kQueries>(text.length, [&](auto size, int64_t query) KT_INLINE_LAMBDA {
    attend_some<Vector, decltype(size)::value>(h, query);
  });
}

void attend_head(const Text& text, const Sight& sight, int64_t head, int64_t width, float* room) {
  static const bool is_wide = has_wide_registers();
  if (is_wide) {
    fastest<attend_head<Wide, kMostQueries>>(text, sight, head, width, room);
  } else {
    fastest<attend_head<Floats, 4>>(text, sight, head, width, room);
  }
}

// Of a sentence; `first` is its row that `packed` and `output` begin with.
void attend_head(const Sequences& s, const Sentence& sentence, int64_t first, int64_t head,
                 float* room) {
  const int64_t model = s.heads * s.width, start = sentence.start - first;
  const float* rows = s.packed + start * s.stride();
  const float* keys = rows + model + s.key_head(head) * s.width;
  const Text text{rows + head * s.width, s.stride(), sentence.rows,
                  keys, keys + s.shared * s.width, s.stride(), sentence.rows,
                  s.output + start * model + head * s.width, model,
                  sentence.mask, sentence.places.empty() ? nullptr : sentence.places.data()};
  attend_head(text, s.sight, head, s.width, room);
}

// Room for a head of a sentence, one for each thread.
float* room_for_head(int64_t length, int64_t width, const Distances& distances) {
  static thread_local std::vector<float> room;
  const int64_t keys = rounded_up(length, kMostLanes), values = rounded_up(width, kMostLanes);
  const int64_t columns = distances.span(length, kMostLanes).count;
  const size_t size = keys * (1 + width + kMostQueries) + length * values +
                      (length + kMostQueries) * columns;
  if (room.size() < size) room.resize(size);
  return room.data();
}

// Nanoseconds that a head of a sentence takes.
double cost_of_head(double queries, double keys, int64_t width) {
  return queries * keys * (1 + width * 0.05);
}

// All heads of all sentences, on all of onnxruntime's threads.
void attend_all(Context& context, const Sequences& s, const Sentences& sentences) {
  // Products with the vectors of distances cost as much again, each.
  const int products = s.sight.distances.are_given() ? 3 : 1;
  const double each = products * cost_of_head(sentences.length, sentences.length, s.width);
  context.parallel_for(sentences.count() * s.heads, each, [&](int64_t first, int64_t last) {
    float* room = room_for_head(sentences.length, s.width, s.sight.distances);
    for (int64_t part = first; part < last; ++part) {
      attend_head(s, sentences.each[part / s.heads], 0, part % s.heads, room);
    }
  });
}

// Sentences that pass through a sub-layer together: as few as have rows enough for a product.
struct Group {
  int64_t first, last, row, rows;  // sentences, and the rows of them all
};

std::vector<Group> groups_of(const Sentences& sentences) {
  std::vector<Group> groups;
  for (int64_t number = 0; number < sentences.count(); ++number) {
    const Sentence& sentence = sentences.each[number];
    if (groups.empty() || groups.back().rows >= kMostRows) {
      groups.push_back({number, number, sentence.start, 0});
    }
    ++groups.back().last, groups.back().rows += sentence.rows;
  }
  return groups;
}

}  // namespace

SequenceAttention::SequenceAttention(const Node& node)
    : heads_(node.count("heads")),
      shared_(check_positive("shared", node.attribute<int64_t>("shared", heads_))),
      window_(node.attribute<int64_t>("window", 0)),
      looks_back_(node.attribute<int64_t>("looks_back", 0) != 0),
      scores_(node, kBiases),
      distances_(node, kDistances) {
  if (heads_ % shared_) {
    throw std::invalid_argument("heads must be a multiple of " + std::to_string(shared_) +
                                ", which is shared, got " + std::to_string(heads_));
  }
}

void SequenceAttention::compute(Context& context) const {
  const Shape shape = context.shape(0, "packed", 2);
  const int64_t rows = shape[0], heads = heads_ + 2 * shared_, width = shape[1] / heads;
  check_shape("packed", shape, {rows, heads * width});
  check_heads(heads_, width);
  scores_.check(context, kBiases, heads_);
  distances_.check(context, kDistances, heads_, width);
  const Sentences sentences = read_sentences(context, 1, rows);
  attend_all(context, {context.input<float>(0), heads_, shared_, width,
                       context.output<float>(0, {rows, heads_ * width}),
                       {window_, looks_back_, scores_, distances_}}, sentences);
}

void PromptAttention::compute(Context& context) const {
  const Prompt prompt = Prompt::read(context, 1);
  const int64_t width = prompt.width, capacity = prompt.capacity, length = prompt.length;
  const Sequences s{context.input<float>(0), prompt.heads, prompt.shared, width,
                    context.output<float>(0, {prompt.rows * length, prompt.heads * width}),
                    {window_, true, scores_, {}}};
  scores_.check(context, kBiases, prompt.heads);
  const float *keys = context.input<float>(1), *values = context.input<float>(2);
  const int64_t model = s.heads * width, count = prompt.first + length;
  const double each = cost_of_head(length, count, width);
  context.parallel_for(prompt.rows * s.heads, each, [&](int64_t first, int64_t last) {
    float* room = room_for_head(count, width, {});
    for (int64_t part = first; part < last; ++part) {
      const int64_t row = part / s.heads, head = part % s.heads, start = row * length;
      const int64_t there = (row * s.shared + s.key_head(head)) * capacity * width;
      const Text text{s.packed + start * s.stride() + head * width, s.stride(), length,
                      keys + there, values + there, width, count,
                      s.output + start * model + head * width, model, nullptr, nullptr};
      attend_head(text, s.sight, head, width, room);
    }
  });
}

void SequenceAttentionSubLayer::compute(Context& context) const {
  const int64_t width = units_ / (3 * heads_), model = heads_ * width;
  if (units_ != 3 * model) {
    throw std::invalid_argument("units must be a multiple of " + std::to_string(3 * heads_) +
                                ", three for each head, got " + std::to_string(units_));
  }
  const auto rows = layer_.rows(context, context.shape(0)[0], units_, kLinear, model);
  const Sentences sentences = read_sentences(context, SubLayer::kOwnInputs, rows.count);
  const std::vector<Group> groups = groups_of(sentences);
  if (groups.size() < 2) {
    return layer_.in_steps(context, rows, [&](const float* packed, float* output) {
      attend_all(context, {packed, heads_, heads_, width, output, {window_, false, {}, {}}}, sentences);
      return output;
    });
  }
  const int64_t count = static_cast<int64_t>(groups.size());
  const double each = rows.count * layer_.cost() / count;
  context.parallel_for(count, each, [&](int64_t first, int64_t last) {
    float* room = room_for_head(sentences.length, width, {});
    for (int64_t place = first; place < last; ++place) {
      const Group& g = groups[place];
      layer_.some(rows, g.row, g.rows, [&](int64_t, int64_t, const float* packed, float* output) {
        const Sequences s{packed, heads_, heads_, width, output, {window_, false, {}, {}}};
        for (int64_t part = g.first * heads_; part < g.last * heads_; ++part) {
          attend_head(s, sentences.each[part / heads_], g.row, part % heads_, room);
        }
        return output;
      });
    }
  });
}

}  // namespace keras_transformer
