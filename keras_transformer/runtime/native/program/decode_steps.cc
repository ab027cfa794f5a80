#include "decode_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace keras_transformer {
namespace {

// The inputs' places, which are their values in the program as well; greedy search has the first four.
enum Place : size_t { kMost, kLastSpecial, kIds, kStep, kTotals, kTable, kEnds };

constexpr int32_t kMostSteps = 1 << 16, kNoId = -1;
constexpr float kImpossible = -std::numeric_limits<float>::infinity();

// Counts the steps of a run.
class Steps {
 public:
  Steps(Context& context, Program::Run& run)
      : most_(*context.input<int32_t>(kMost, "the most steps", {1})),
        last_special_(*context.input<int32_t>(kLastSpecial, "the last special id", {1})),
        step_(*context.input<int32_t>(kStep, "step", {1})) {
    if (most_ < 1 || most_ > kMostSteps || step_ < 0 ||
        step_ > std::numeric_limits<int32_t>::max() - most_) {
      throw std::invalid_argument("there must be from 1 to " + std::to_string(kMostSteps) +
                                  " steps, and step must be at least 0, got " +
                                  std::to_string(most_) + " and " + std::to_string(step_));
    }
    run[kStep] = {&step_, {1, {1}}};
  }

  // Whether another step may follow this one, which found `count` ids; `end` is no reason to stop.
  bool may_go_on(const int32_t* ids, int64_t count, int32_t end = kNoId) {
    const auto is_special = [&](int32_t id) { return id <= last_special_ && id != end; };
    return --most_ > 0 && count > 0 && std::none_of(ids, ids + count, is_special);
  }

  void go_on() { ++step_; }

  // The tokens before the step's.
  int32_t step() const { return step_; }

 private:
  int32_t most_, last_special_, step_;
};

template <typename T>
const T* read(Program::Run& run, size_t value, const char* name, std::initializer_list<int64_t> sizes) {
  check_shape(name, run[value].shape, sizes);
  return static_cast<const T*>(run[value].data);
}

template <typename T>
void write(Context& context, size_t place, const std::vector<T>& values,
           std::initializer_list<int64_t> sizes) {
  std::copy(values.begin(), values.end(), context.output<T>(place, sizes));
}

// A step's best continuations of each sentence, best first (batch, count).
struct Found {
  const int32_t* ids;
  const float* values;
  const int32_t* parents;
  int64_t batch, count;
};

// The same of all steps, one after the other (rows, count).
struct AllFound {
  std::vector<int32_t> ids, parents;
  std::vector<float> values;
  int64_t rows = 0, count = 0;

  void add(const Found& found) {
    if (ids.empty()) count = found.count;
    if (found.count != count) {
      throw std::invalid_argument("all steps must find as many continuations, " +
                                  std::to_string(count) + ", got " + std::to_string(found.count));
    }
    rows += found.batch;
    const int64_t all = found.batch * found.count;
    ids.insert(ids.end(), found.ids, found.ids + all);
    values.insert(values.end(), found.values, found.values + all);
    parents.insert(parents.end(), found.parents, found.parents + all);
  }

  // Puts a sentence's continuations `order`, `count` of them, first in the last step; there are no
  // others then.
  void keep(const Found& found, int64_t sentence, const int32_t* order, int64_t count) {
    const int64_t first = sentence * found.count;
    const int64_t last = static_cast<int64_t>(ids.size()) - found.batch * found.count + first;
    for (int64_t i = 0; i < found.count; ++i) {
      const bool is_kept = i < count;
      ids[last + i] = is_kept ? found.ids[first + order[i]] : kNoId;
      values[last + i] = is_kept ? found.values[first + order[i]] : kImpossible;
      parents[last + i] = is_kept ? found.parents[first + order[i]] : 0;
    }
  }
};

// The hypotheses of a batch while steps are made.
class Beams {
 public:
  Beams(Context& context, int64_t batch, int64_t beams, int64_t capacity)
      : batch_(batch), beams_(check_positive("beams", beams)), capacity_(capacity),
        table_(const_cast<int32_t*>(context.input<int32_t>(kTable))),
        ends_(context.input<int32_t>(kEnds, "ends", {3})) {
    // Before room is made: an empty table may be said to be of any number of hypotheses.
    context.input<float>(kTotals, "totals", {batch, beams});
    context.input<int32_t>(kIds, "ids", {batch * beams});
    ended_.resize(batch), kept_.resize(batch);
    ids_.resize(batch * beams), totals_.resize(batch * beams);
  }

  int32_t end() const { return ends_[0]; }

  // Chooses what goes on after `step` tokens; returns whether the caller need not look at it.
  bool choose(const Found& found, int64_t step) {
    if (found.count < beams_) return false;
    order_.resize(batch_ * found.count);
    for (int64_t sentence = 0; sentence < batch_; ++sentence) {
      const int32_t* ids = found.ids + sentence * found.count;
      const float* values = found.values + sentence * found.count;
      int32_t* order = order_.data() + sentence * found.count;
      int64_t held = 0, rank = 0, kept = beams_;
      for (; rank < found.count && held < beams_; ++rank) {
        if (ids[rank] != end()) {
          order[held++] = static_cast<int32_t>(rank);
        } else if (step >= ends_[1] && rank < beams_ && std::isfinite(values[rank])) {
          if (kept == found.count) return false;
          order[kept++] = static_cast<int32_t>(rank), ++ended_[sentence];
        }
      }
      if (held < beams_) return false;
      const bool has_end = rank > held, is_possible = std::isfinite(values[order[0]]);
      if (has_end && (!is_possible || ended_[sentence] >= ends_[2])) return false;
      kept_[sentence] = kept;
    }
    return true;
  }

  // Goes on with what was chosen, whose rows hold `step` tokens and the one after.
  void follow(Program::Run& run, const Found& found, int64_t step, AllFound& all) {
    if (step >= capacity_) throw std::invalid_argument("there are more steps than room for beams");
    std::vector<int32_t> old(beams_ * capacity_);
    for (int64_t sentence = 0; sentence < batch_; ++sentence) {
      const int32_t* order = order_.data() + sentence * found.count;
      int32_t* own = table_ + sentence * beams_ * capacity_;
      std::copy_n(own, beams_ * capacity_, old.begin());
      for (int64_t beam = 0; beam < beams_; ++beam, own += capacity_) {
        const int64_t place = sentence * found.count + order[beam], row = sentence * beams_ + beam;
        const int32_t parent = found.parents[place];
        if (parent < 0 || parent >= beams_) {
          throw std::invalid_argument("parents must be beams of their sentence");
        }
        std::copy_n(old.begin() + parent * capacity_, step, own);
        own[step] = parent, ids_[row] = found.ids[place], totals_[row] = found.values[place];
      }
      all.keep(found, sentence, order, kept_[sentence]);
    }
    run[kIds] = {ids_.data(), {1, {batch_ * beams_}}};
    run[kTotals] = {totals_.data(), {2, {batch_, beams_}}};
  }

 private:
  int64_t batch_, beams_, capacity_;
  int32_t* table_;       // Which row holds each token: (batch, beams, capacity).
  const int32_t* ends_;  // The id, the first step of one, and how many may end.
  std::vector<int32_t> ended_;  // How many hypotheses of each sentence have.
  std::vector<int64_t> kept_;
  std::vector<int32_t> order_, ids_;
  std::vector<float> totals_;
};

}  // namespace

GreedySteps::GreedySteps(const Node& node)
    : program_(node, kRequiredInputs, 1), next_(node.count("next")) {
  program_.check_made("next", next_, ort::kInt32);
}

void GreedySteps::compute(Context& context) const {
  const int64_t rows = context.shape(kIds, "ids", 1)[0];
  Program::Run run(program_, context);
  Steps steps(context, run);
  std::vector<int32_t> said;
  const int32_t* next;
  do {
    run.step();
    next = read<int32_t>(run, next_, "next", {rows});
    said.insert(said.end(), next, next + rows);
    run[kIds] = {said.data() + said.size() - rows, {1, {rows}}};
    steps.go_on();
  } while (steps.may_go_on(next, rows));
  write(context, 0, said, {static_cast<int64_t>(said.size())});
}

BeamSteps::BeamSteps(const Node& node)
    : program_(node, kRequiredInputs, 3),
      next_(node.count("next")),
      values_(node.count("values")),
      beams_(node.count("beams")) {
  program_.check_made("next", next_, ort::kInt32);
  program_.check_made("values", values_, ort::kFloat);
  program_.check_made("beams", beams_, ort::kInt32);
  program_.check_given("the table of beams", kTable, ort::kInt32);
}

void BeamSteps::compute(Context& context) const {
  const Shape shape = context.shape(kTable, "the table of beams", 3);
  const int64_t batch = shape[0];
  Beams beams(context, batch, shape[1], shape[2]);
  Program::Run run(program_, context);
  Steps steps(context, run);
  AllFound all;
  Found found{nullptr, nullptr, nullptr, batch, 0};
  do {
    if (!all.ids.empty()) beams.follow(run, found, steps.step(), all), steps.go_on();
    run.step();
    found.count = check_axes("next", run[next_].shape, 2)[1];
    found.ids = read<int32_t>(run, next_, "next", {batch, found.count});
    found.values = read<float>(run, values_, "values", {batch, found.count});
    found.parents = read<int32_t>(run, beams_, "beams", {batch, found.count});
    all.add(found);
  } while (steps.may_go_on(found.ids, batch * found.count, beams.end()) &&
           beams.choose(found, steps.step()));
  write(context, 0, all.ids, {all.rows, all.count});
  write(context, 1, all.values, {all.rows, all.count});
  write(context, 2, all.parents, {all.rows, all.count});
}

}  // namespace keras_transformer
