#include "program.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "kernels.h"

namespace keras_transformer {
namespace {

// More values than this are no program of ours.
constexpr size_t kMostValues = 1 << 16;

// What a program must know of an operator.
struct Kind {
  const ort::ElementType *inputs, *outputs;
  size_t input_count, output_count;
  bool has_many_outputs, updates_in_place;
  std::unique_ptr<const Part> (*make)(const Node&);
};

template <typename Kernel>
class PartOf final : public Part {
 public:
  explicit PartOf(const Node& node) : kernel_(node) {}
  void compute(Context& context) const override { kernel_.compute(context); }

 private:
  Kernel kernel_;
};

template <typename Kernel>
std::unique_ptr<const Part> make_part(const Node& node) {
  return std::make_unique<PartOf<Kernel>>(node);
}

template <typename Kernel>
constexpr Kind kind_of{Kernel::kInputs,
                       Kernel::kOutputs,
                       std::size(Kernel::kInputs),
                       std::size(Kernel::kOutputs),
                       kManyOutputs<Kernel>,
                       kUpdatesInPlace<Kernel>,
                       make_part<Kernel>};

template <typename... Each>
const Kind& find_kind(const std::string& name, List<Each...>) {
  const Kind* found = nullptr;
  ((name == Each::kName ? void(found = &kind_of<Each>) : void()), ...);
  if (found == nullptr) throw std::invalid_argument("a program has no operator '" + name + "'");
  return *found;
}

int64_t read_number(std::istream& text, const char* name, int64_t least, int64_t most) {
  int64_t number = 0;
  if (text >> number && number >= least && number <= most) return number;
  throw std::invalid_argument(std::string(name) + " of a program must be a number from " +
                              std::to_string(least) + " to " + std::to_string(most));
}

size_t size_of(ort::ElementType type) {
  return type == ort::kInt64 ? 8 : type == ort::kUint8 || type == ort::kInt8 ? 1 : 4;
}

// The bytes of a tensor.
size_t bytes_of(const Shape& shape, ort::ElementType type) {
  size_t bytes = size_of(type);
  for (size_t axis = 0; axis < shape.axes; ++axis) {
    if (shape[axis] >= 0 && !__builtin_mul_overflow(bytes, shape[axis], &bytes)) continue;
    throw std::invalid_argument("no tensor has the shape " + shape.text());
  }
  return bytes;
}

}  // namespace

Program::Program(const Node& node, size_t least_inputs, size_t first_result) {
  std::istringstream text(node.text("program"));
  const int64_t inputs = read_number(text, "the inputs", least_inputs, kMostValues);
  types_.assign(inputs, ort::kAny), stored_.resize(inputs);
  while (text >> std::ws && text.peek() != EOF) read_call(node, text);
  results_.assign(values(), kNone);
  const int64_t last = static_cast<int64_t>(values()) - 1;
  std::istringstream results(node.text("results"));
  while (results >> std::ws && results.peek() != EOF) {
    const int64_t value = read_number(results, "a result", inputs, last);
    if (results_[value] != kNone) throw std::invalid_argument("a result must be named once");
    results_[value] = first_result++;
  }
  std::istringstream carried(node.text("carried"));
  while (carried >> std::ws && carried.peek() != EOF) {
    const int64_t to = read_number(carried, "what is replaced", 0, inputs - 1);
    const int64_t from = read_number(carried, "what is carried", inputs, last);
    check_carried(to, from);
    carried_.emplace_back(to, from);
  }
}

void Program::read_call(const Node& node, std::istream& text) {
  std::string name;
  text >> name;
  const Kind& kind = find_kind(name, Kernels());
  Call call;
  call.updates_in_place = kind.updates_in_place;
  call.inputs.resize(
      read_number(text, "an operator's inputs", 0, static_cast<int64_t>(kind.input_count)));
  const int64_t last = static_cast<int64_t>(values()) - 1;
  for (size_t place = 0; place < call.inputs.size(); ++place) {
    const int64_t value = read_number(text, "an operator's input", -1, last);
    call.inputs[place] = value < 0 ? kNone : static_cast<size_t>(value);
    if (value >= 0) read_input(node, value, kind.inputs[place]);
  }
  const size_t most = kind.has_many_outputs ? kMostValues : kind.output_count;
  call.first_output = values();
  call.outputs = read_number(text, "an operator's outputs", 1, static_cast<int64_t>(most));
  if (values() + call.outputs > kMostValues) {
    throw std::invalid_argument("a program has too many values");
  }
  for (size_t place = 0; place < call.outputs; ++place) {
    types_.push_back(kind.outputs[std::min(place, kind.output_count - 1)]);
  }
  std::vector<size_t> places = call.inputs;
  for (size_t& place : places) place = place < stored_.size() ? place : kNone;
  call.part = kind.make(Node(node, calls_.size(), places));
  calls_.push_back(std::move(call));
}

// Learns the type of an input when an operator reads it for the first time, and checks that of others.
void Program::read_input(const Node& node, size_t value, ort::ElementType expected) {
  if (value < stored_.size() && types_[value] == ort::kAny) {
    const ort::ElementType found = node.type(value);
    types_[value] = found == ort::kAny ? expected : found;
    if (found != ort::kAny) {
      const Constant<char> constant = node.constant<char>(value);
      stored_[value] = {const_cast<char*>(constant.data), constant.shape};
    }
  }
  // What takes any type checks it itself, and reads nothing but what is stored.
  if (expected == ort::kAny || types_[value] == expected) return;
  throw std::invalid_argument("value " + std::to_string(value) + " of a program has the element type " +
                              std::to_string(types_[value]) + ", and an operator needs " +
                              std::to_string(expected));
}

void Program::check_given(const char* name, size_t value, ort::ElementType type) const {
  const bool is_input = value < stored_.size();
  if (is_input && types_[value] == type && stored_[value].data == nullptr) return;
  throw std::invalid_argument(std::string(name) + " must be an input of the element type " +
                              std::to_string(type) + " that is not stored in the graph");
}

void Program::check_made(const char* name, size_t value, ort::ElementType type) const {
  if (value >= stored_.size() && value < values() && types_[value] == type) return;
  throw std::invalid_argument(std::string(name) + " must be a value of the element type " +
                              std::to_string(type) + " that an operator makes");
}

// What is carried stays where it was made, so that the next step may write it as soon as it is read: it
// must be a result, which never moves, and be written after all that read it or by an operator that
// does so in place.
void Program::check_carried(size_t to, size_t from) const {
  check_given("what is replaced", to, types_[from]);
  if (results_[from] == kNone) throw std::invalid_argument("what is carried must be a result");
  for (const Call& call : calls_) {
    const bool is_before = call.first_output + call.outputs <= from;
    const bool makes_it = !is_before && call.first_output <= from;
    if (is_before || (makes_it && call.updates_in_place)) continue;
    if (std::find(call.inputs.begin(), call.inputs.end(), to) == call.inputs.end()) continue;
    throw std::invalid_argument("value " + std::to_string(to) + " of a program is read after value " +
                                std::to_string(from) + ", which takes its place, is written");
  }
}

// An operator's own inputs and outputs among a program's values.
class Inner final : public Context {
 public:
  Inner(Program::Run& run, const Program::Call& call)
      : Context(run.context_), run_(run), call_(call) {}

  bool has_input(size_t place) override {
    return place < call_.inputs.size() && call_.inputs[place] != Program::kNone;
  }
  Shape shape(size_t place) override { return at(place).shape; }
  size_t output_count() override { return call_.outputs; }
  void* data(size_t place) override { return at(place).data; }
  void* make(size_t place, const Shape& shape) override {
    if (place < call_.outputs) return run_.make(call_.first_output + place, shape);
    throw std::invalid_argument("output " + std::to_string(place) + " must not be left out");
  }

 private:
  const Tensor& at(size_t place) {
    if (has_input(place)) return run_[call_.inputs[place]];
    throw std::invalid_argument("input " + std::to_string(place) + " must not be left out");
  }

  Program::Run& run_;
  const Program::Call& call_;
};

Program::Run::Run(const Program& program, Context& context)
    : program_(program), context_(context), values_(program.stored_) {
  values_.resize(program.values());
  rooms_.resize(program.values());
  for (size_t value = 0; value < program.stored_.size(); ++value) {
    const ort::ElementType expected = program.types_[value];
    if (values_[value].data != nullptr || expected == ort::kAny) continue;
    const ort::ElementType found = context.type(value);
    if (found != expected) {
      throw std::invalid_argument("input " + std::to_string(value) + " must have the element type " +
                                  std::to_string(expected) + ", got " + std::to_string(found));
    }
    values_[value] = {context.data(value), context.shape(value)};
  }
}

void Program::Run::step() {
  for (const Call& call : program_.calls_) {
    Inner inner(*this, call);
    call.part->compute(inner);
  }
  for (const auto& [to, from] : program_.carried_) carry(to, from);
}

void Program::Run::carry(size_t to, size_t from) {
  check_shape("what is carried", values_[from].shape, values_[to].shape);
  values_[to] = values_[from];
}

void* Program::Run::make(size_t value, const Shape& shape) {
  Tensor& made = values_[value];
  if (made.data != nullptr && made.shape == shape) return made.data;
  const size_t size = bytes_of(shape, program_.types_[value]);
  if (program_.results_[value] != kNone) {
    if (made.data != nullptr) check_shape("a result of a further step", shape, made.shape);
    made.data = context_.make(program_.results_[value], shape);
  } else {
    Room& room = rooms_[value];
    if (room.bytes == nullptr || room.size < size) room = {std::unique_ptr<char[]>(new char[size]), size};
    made.data = room.bytes.get();
  }
  made.shape = shape;
  return made.data;
}

}  // namespace keras_transformer
