// ONNX's node tests for machines that have only the runtime.
//
//   node_cases write TESTS LIST FOLDER     writes each test that this machine passes, as a program
//                                          (NAME.wick), its inputs (.in), what ONNX expects
//                                          (.want), this machine's outputs (.out) and its name in
//                                          `list`
//   node_cases check FOLDER OUTPUTS bits   compares what node_run left in OUTPUTS with what ONNX
//                                          expects, within the suite's bound, and with this
//                                          machine's outputs: f32 and everything that is no float,
//                                          by `bits` (or not, by `close`)
#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/test_case.h"
#include "exporter/program/program_writer.h"
#include "graph/interpreter/interpreter.h"
#include "tests/targets/tensor_file.h"
#include "tools/wick/sizes.h"
#include "wick/error.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;

std::vector<HostTensor> host(const TensorFile& file) {
  std::vector<HostTensor> tensors;
  for (const TensorView& t : file.tensors)
    tensors.emplace_back(t.dtype, t.shape, t.data, t.nbytes());
  return tensors;
}

std::vector<TensorView> views(const std::vector<HostTensor>& tensors) {
  std::vector<TensorView> out;
  for (const HostTensor& t : tensors) out.push_back(t.view());
  return out;
}

std::string expected_differs(const std::vector<HostTensor>& out,
                             const std::vector<HostTensor>& want) {
  if (out.size() != want.size())
    return fmt::format("{} outputs, expected {}", out.size(), want.size());
  for (size_t i = 0; i < out.size(); ++i) {
    std::string why = case_differs(out[i], want[i]);
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
  }
  return "";
}

// Every NaN is one value; of f64 and the 16-bit floats no machine promises another's bits.
std::string bits_differ(const TensorView& a, const TensorView& b) {
  if (is_container(a.dtype)) {
    auto x = PackedSequence::open(a), y = PackedSequence::open(b);
    if (!x.ok() || !y.ok() || x->count() != y->count()) return "other elements than here";
    for (int64_t i = 0; i < x->count(); ++i) {
      std::string why = bits_differ(x->at(i), y->at(i));
      if (!why.empty()) return why;
    }
    return "";
  }
  if (a.dtype == DType::kString) return "";  // exact by the suite's rule
  if (is_float(a.dtype) && a.dtype != DType::kF32) return "";
  if (a.dtype != DType::kF32)
    return a.nbytes() == 0 || memcmp(a.data, b.data, a.nbytes()) == 0 ? "" : "other bits than here";
  for (int64_t i = 0; i < a.numel(); ++i) {
    const float x = a.as<float>()[i], y = b.as<float>()[i];
    if (memcmp(&x, &y, sizeof(x)) != 0 && !(std::isnan(x) && std::isnan(y)))
      return fmt::format("element {}: {:.9g}, here {:.9g}", i, x, y);
  }
  return "";
}

std::vector<HostTensor> run_program(const std::string& path, const std::vector<HostTensor>& in) {
  auto program = Program::load(path.c_str());
  if (!program.ok()) throw Error(program.status().message());
  auto session = Session::create(**program);
  if (!session.ok()) throw Error(session.status().message());
  std::vector<TensorView> out((*session)->output_count());
  const Status status = (*session)->run(views(in), out);
  if (!status.ok()) throw Error(status.message());
  std::vector<HostTensor> results;
  for (const TensorView& t : out) results.emplace_back(t.dtype, t.shape, t.data, t.nbytes());
  return results;
}

// "" where the case was written, else why this machine does not have it.
std::string write_case(const std::string& path, const std::string& to) {
  const OnnxCase test = load_onnx_case(path, CaseMode::kDyn);
  ir::Graph graph = import_onnx_bytes(test.model, test.folder);
  if (!tool::two_sizes(graph, test.inputs).empty())
    graph = import_onnx_bytes(test.model, test.folder, {.own_sizes = true});
  ir::optimize(graph);
  write_program(graph, to + ".wick");
  const std::vector<HostTensor> out = run_program(to + ".wick", test.inputs);
  std::string why = expected_differs(out, test.outputs);
  if (!why.empty()) return why;
  for (const auto* tensors : {&test.inputs, &test.outputs, &out}) {
    for (const HostTensor& t : *tensors) {
      if (!fits_a_file(t.view())) return "sequences of strings stay on their machine";
    }
  }
  const bool written = write_tensors(to + ".in", views(test.inputs)) &&
                       write_tensors(to + ".want", views(test.outputs)) &&
                       write_tensors(to + ".out", views(out));
  return written ? "" : "its files cannot be written";
}

int write(const std::string& tests, const std::string& list, const std::string& folder) {
  fs::create_directories(folder);
  std::ifstream names(list);
  std::ofstream written(folder + "/list");
  int count = 0;
  for (std::string line; std::getline(names, line);) {
    const std::string name = line.substr(0, line.find_first_of(" \t\r"));
    if (name.empty() || name[0] == '#') continue;
    std::string why;
    try {
      why = write_case(tests + "/" + name, folder + "/" + name);
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (why.empty()) {
      written << name << "\n";
      ++count;
    } else {
      fmt::print("left out: {}: {}\n", name, why);
    }
  }
  fmt::print("{} cases\n", count);
  return 0;
}

std::string check_case(const std::string& from, const std::string& out, bool bits) {
  const TensorFile got(out + ".out"), here(from + ".out"), want(from + ".want");
  if (!got.ok) return "no outputs";
  std::string why = expected_differs(host(got), host(want));
  for (size_t i = 0; why.empty() && bits && i < got.tensors.size(); ++i) {
    why = bits_differ(got.tensors[i], here.tensors[i]);
    if (!why.empty()) why = fmt::format("output {}: {}", i, why);
  }
  return why;
}

int check(const std::string& folder, const std::string& outputs, bool bits) {
  std::ifstream list(folder + "/list");
  int passed = 0, failed = 0;
  for (std::string name; std::getline(list, name);) {
    const std::string why = check_case(folder + "/" + name, outputs + "/" + name, bits);
    ++(why.empty() ? passed : failed);
    if (!why.empty()) fmt::print("{}: {}\n", name, why);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed != 0 ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[0] == "write") return write(words[1], words[2], words[3]);
  if (words.size() == 4 && words[0] == "check" && (words[3] == "bits" || words[3] == "close"))
    return check(words[1], words[2], words[3] == "bits");
  fmt::print("usage: node_cases write TESTS LIST FOLDER | check FOLDER OUTPUTS bits|close\n");
  return 2;
}

}  // namespace
}  // namespace wick::test

int main(int argc, char** argv) {
  try {
    return wick::test::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print("{}\n", e.what());
    return 1;
  }
}
