// Several operators of this domain as one: they run one after the other without onnxruntime, which
// takes longer to start them than a small model's decode step takes to compute.
#pragma once

#include <memory>
#include <vector>

#include "operator.h"

namespace keras_transformer {

// Numbers while a program runs.
struct Tensor {
  void* data = nullptr;
  Shape shape;
};

// An operator of a program.
class Part {
 public:
  virtual ~Part() = default;
  virtual void compute(Context& context) const = 0;
};

// Values are numbered: first the node's inputs, then the outputs of one operator after the other.
class Program {
 public:
  // Reads what the node's attributes say: `program`, how many inputs it has, and of each operator its
  // name, how many inputs it has, which values these are (-1 if left out), and how many outputs;
  // `results`, the values that are the node's outputs from `first_result` on; `carried`, pairs of an
  // input and of the result that takes its place in the next step. `least_inputs` are those that the
  // node itself reads and changes.
  Program(const Node& node, size_t least_inputs, size_t first_result);

  size_t values() const { return types_.size(); }

  // Throws unless a value is an input of this type that is not stored in the graph.
  void check_given(const char* name, size_t value, ort::ElementType type) const;

  // Throws unless a value has this type and an operator makes it.
  void check_made(const char* name, size_t value, ort::ElementType type) const;

  // A run of the node.
  class Run {
   public:
    // Reads all inputs; the context must outlive the run.
    Run(const Program& program, Context& context);

    // Computes all operators, and carries values to the next step.
    void step();

    Tensor& operator[](size_t value) { return values_[value]; }

   private:
    friend class Inner;
    void* make(size_t value, const Shape& shape);
    void carry(size_t to, size_t from);

    const Program& program_;
    Context& context_;
    std::vector<Tensor> values_;
    struct Room {
      std::unique_ptr<char[]> bytes;
      size_t size = 0;
    };
    std::vector<Room> rooms_;  // Of each value; none for inputs and results.
  };

 private:
  friend class Inner;
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Call {
    std::unique_ptr<const Part> part;
    std::vector<size_t> inputs;  // Values; kNone if left out.
    size_t first_output, outputs;
    bool updates_in_place;
  };

  void read_call(const Node& node, std::istream& text);
  void read_input(const Node& node, size_t value, ort::ElementType expected);
  void check_carried(size_t to, size_t from) const;

  std::vector<Call> calls_;
  std::vector<ort::ElementType> types_;   // Of each value; kAny for an input that nothing reads.
  std::vector<Tensor> stored_;            // Of each input; without data if it comes with a run.
  std::vector<size_t> results_;           // Of each value the output of the node, or kNone.
  std::vector<std::pair<size_t, size_t>> carried_;
};

}  // namespace keras_transformer
