// Operators of several decode steps. Each step takes the tokens that the one before chose, until there
// is one that the caller must look at.
#pragma once

#include "program.h"

namespace keras_transformer {

// How many steps to make at most (1), the largest id that ends the run, as the caller must look at it
// (1), the newest ids (rows), the number of the step (1), and what else a program of one step of greedy
// search reads → the ids of all steps made, one step's after the other's (steps·rows), and the
// program's results. `next` is the program's value of a step's ids (rows).
class GreedySteps {
 public:
  static constexpr const char* kName = "GreedySteps";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32, ort::kInt32, ort::kInt32, ort::kInt32,
                                                 ort::kAny};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit GreedySteps(const Node& node);
  void compute(Context& context) const;

 private:
  Program program_;
  size_t next_;
};

// The same of beam search: before what else a program reads the hypotheses' log-probabilities (batch,
// beams), which beam's row holds each token (batch, beams, capacity), written in place, and of ends (3)
// the id, which does not end the run, the first step at which it may be chosen, and how many of a
// sentence's hypotheses may end before the run does → of all steps made the ids, log-probabilities and
// beams of the best continuations (steps·batch, count), and the program's results. `next`, `values`
// and `beams` are the program's values of these of one step (batch, count). The best of them that are
// no ends go on, as many as there are beams; an end is chosen if it is among as many of the best. Of
// steps but the last, what goes on comes first, then the ends that are chosen, and -1 fills up.
class BeamSteps {
 public:
  static constexpr const char* kName = "BeamSteps";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32, ort::kInt32, ort::kInt32, ort::kInt32,
                                                 ort::kFloat, ort::kInt32, ort::kInt32, ort::kAny};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kFloat, ort::kInt32, ort::kFloat};
  static constexpr size_t kRequiredInputs = 7;
  explicit BeamSteps(const Node& node);
  void compute(Context& context) const;

 private:
  Program program_;
  size_t next_, values_, beams_;
};

template <>
inline constexpr bool kManyInputs<GreedySteps> = true;
template <>
inline constexpr bool kManyOutputs<GreedySteps> = true;
template <>
inline constexpr bool kManyInputs<BeamSteps> = true;
template <>
inline constexpr bool kManyOutputs<BeamSteps> = true;

}  // namespace keras_transformer
