// Translates lines with a portable artefact in C++, without Python. Greedy search, as OnnxTranslator's:
//
//     keras-transformer export runs/demo --format onnx --target portable --output exported/portable
//     c++ -std=c++17 -O2 examples/client.cc -o client -lonnxruntime -lsentencepiece
//     echo "Good morning." | ./client exported/portable
//
// writes a line for each line: the translation, a tab and its token ids. Needs the headers and libraries of
// onnxruntime 1.20 or newer and of SentencePiece.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>
#include <sentencepiece_processor.h>

namespace {

constexpr int kMaxLength = 256;  // tokens of a translation, eos included

using Tensors = std::map<std::string, Ort::Value>;

template <typename Value>
Ort::Value tensor(const std::vector<int64_t>& shape, const std::vector<Value>& values) {
  Ort::AllocatorWithDefaultOptions allocator;
  auto made = Ort::Value::CreateTensor<Value>(allocator, shape.data(), shape.size());
  std::copy(values.begin(), values.end(), made.template GetTensorMutableData<Value>());
  return made;
}

class Graph {
 public:
  Graph(Ort::Env& env, const std::filesystem::path& file)
      : session_(env, file.c_str(), Ort::SessionOptions()) {
    Ort::AllocatorWithDefaultOptions allocator;
    for (size_t place = 0; place < session_.GetInputCount(); ++place)
      inputs_.push_back(session_.GetInputNameAllocated(place, allocator).get());
    for (size_t place = 0; place < session_.GetOutputCount(); ++place)
      outputs_.push_back(session_.GetOutputNameAllocated(place, allocator).get());
  }

  const std::vector<std::string>& inputs() const { return inputs_; }

  std::vector<int64_t> input_shape(size_t place) const {
    return session_.GetInputTypeInfo(place).GetTensorTypeAndShapeInfo().GetShape();
  }

  // Reads the tensors that it needs and puts its outputs among them.
  void run(Tensors& tensors) {
    std::vector<const char*> input_names, output_names;
    std::vector<Ort::Value> inputs;
    for (const auto& name : inputs_) {
      input_names.push_back(name.c_str());
      inputs.push_back(std::move(tensors.at(name)));
    }
    for (const auto& name : outputs_) output_names.push_back(name.c_str());
    auto outputs = session_.Run(Ort::RunOptions(), input_names.data(), inputs.data(),
                                inputs.size(), output_names.data(), output_names.size());
    for (size_t place = 0; place < inputs_.size(); ++place)
      tensors.insert_or_assign(inputs_[place], std::move(inputs[place]));
    for (size_t place = 0; place < outputs_.size(); ++place)
      tensors.insert_or_assign(outputs_[place], std::move(outputs[place]));
  }

 private:
  Ort::Session session_;
  std::vector<std::string> inputs_, outputs_;
};

// The shared tokenizer of an artefact, or that of one side.
void load(sentencepiece::SentencePieceProcessor& processor, const std::filesystem::path& directory,
          const std::string& side) {
  auto file = directory / "tokenizer.model";
  if (!std::filesystem::exists(file)) file = directory / (side + "_tokenizer.model");
  const auto status = processor.Load(file.string());
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

bool begins_with(const std::string& name, const std::string& start) {
  return name.compare(0, start.size(), start) == 0;
}

int largest(Ort::Value& logits, const std::vector<int>& forbidden) {
  float* values = logits.GetTensorMutableData<float>();
  for (int id : forbidden) values[id] = -std::numeric_limits<float>::infinity();
  const size_t size = logits.GetTensorTypeAndShapeInfo().GetElementCount();
  return static_cast<int>(std::max_element(values, values + size) - values);
}

std::vector<int> translate(Graph& encoder, Graph& decoder, std::vector<int> pieces, int pad,
                           int start, int eos) {
  if (pieces.empty()) return {};
  pieces.push_back(eos);
  const auto length = static_cast<int64_t>(pieces.size());
  Tensors tensors;
  tensors.emplace("source_ids", tensor<int32_t>({1, length}, {pieces.begin(), pieces.end()}));
  encoder.run(tensors);
  tensors.emplace("source_mask", tensor({1, length}, std::vector<int32_t>(pieces.size(), 1)));
  for (size_t place = 0; place < decoder.inputs().size(); ++place) {
    const auto& name = decoder.inputs()[place];
    if (!begins_with(name, "cache_")) continue;
    auto shape = decoder.input_shape(place);
    shape[0] = 1;
    if (shape[2] < 0) shape[2] = kMaxLength;
    const auto size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    tensors.emplace(name, tensor(shape, std::vector<float>(size, 0.0f)));
  }
  std::vector<int> ids;
  std::vector<int> never = {pad};
  if (start != eos) never.push_back(start);
  // A translation has at least one token.
  std::vector<int> never_first = never;
  never_first.push_back(eos);
  for (int32_t newest = start, step = 0; step < kMaxLength; ++step) {
    tensors.insert_or_assign("target_ids", tensor<int32_t>({1}, {newest}));
    tensors.insert_or_assign("step", tensor<int32_t>({1}, {step}));
    decoder.run(tensors);
    newest = largest(tensors.at("logits"), step ? never : never_first);
    if (newest == eos) break;
    ids.push_back(newest);
    for (const auto& name : decoder.inputs())
      if (begins_with(name, "cache_")) std::swap(tensors.at(name), tensors.at("new_" + name));
  }
  return ids;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: client ARTEFACT < lines");
  const std::filesystem::path directory = arguments[1];
  setenv("ORT_DISABLE_TELEMETRY", "1", 0);  // onnxruntime reports to its makers otherwise
  sentencepiece::SentencePieceProcessor source, target;
  load(source, directory, "source");
  load(target, directory, "target");
  // As the manifest has them: a vocabulary without a pad gets one after its last piece, and
  // without a begin-of-sentence piece decoding starts with the end-of-sentence piece.
  const int pad = target.pad_id() < 0 ? target.GetPieceSize() : target.pad_id();
  const int eos = target.eos_id(), start = target.bos_id() < 0 ? eos : target.bos_id();
  Ort::Env env(ORT_LOGGING_LEVEL_ERROR);
  Graph encoder(env, directory / "encoder.onnx"), decoder(env, directory / "greedy_scores.onnx");
  for (std::string line; std::getline(std::cin, line);) {
    const auto ids = translate(encoder, decoder, source.EncodeAsIds(line), pad, start, eos);
    std::vector<int> plain;
    for (int id : ids)
      if (!target.IsControl(id) && !target.IsUnknown(id)) plain.push_back(id);
    std::cout << target.DecodeIds(plain) << '\t';
    for (size_t place = 0; place < ids.size(); ++place) std::cout << (place ? " " : "") << ids[place];
    std::cout << std::endl;
  }
} catch (const std::exception& error) {
  std::cerr << "client: " << error.what() << '\n';
  return 1;
}
