#include "tools/lib/oracle.h"

#include <fmt/core.h>

#include "tools/lib/arrays.h"
#include "tools/lib/peer.h"
#include "tools/lib/process.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/text.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string command(const std::string& model, const std::string& rest) {
  return peer_command(kOnnxRuntime, model, rest);
}

}  // namespace

std::optional<std::string> onnxruntime_missing() { return peer_missing(kOnnxRuntime); }

bool onnxruntime_saturates() { return shell(command("", "--saturates")).code == 4; }

std::vector<HostTensor> run_onnxruntime(const std::string& model,
                                        const std::vector<std::string>& input_names,
                                        Span<const HostTensor> inputs,
                                        const std::vector<std::string>& output_names) {
  if (auto why = onnxruntime_missing()) throw Error(*why, Code::kNotFound);
  ScratchFolder scratch;
  Finished f = shell(command(
      model, peer_inputs(scratch, input_names, inputs) + "-o " + shell_quote(scratch.path())));
  if (f.code != 0) throw Error(fmt::format("ONNX Runtime: {}", f.out));
  std::vector<HostTensor> outputs;
  for (const std::string& name : output_names) {
    std::string file = name;
    for (char& c : file) c = c == '/' ? '_' : c;
    outputs.push_back(read_array(scratch.file(file + ".npy")));
  }
  return outputs;
}

OnnxRuntimeValues onnxruntime_values(const std::string& model,
                                     const std::vector<std::string>& input_names,
                                     Span<const HostTensor> inputs,
                                     const std::vector<std::string>& names, bool optimize) {
  if (auto why = onnxruntime_missing()) throw Error(*why, Code::kNotFound);
  ScratchFolder scratch;
  std::string list;
  for (const std::string& name : names) list += name + "\n";
  write_text(scratch.file("values.txt"), list);
  Finished f =
      shell(command(model, fmt::format("{} --values {} --optimize {} -o {}",
                                       peer_inputs(scratch, input_names, inputs),
                                       shell_quote(scratch.file("values.txt")),
                                       optimize ? "all" : "none", shell_quote(scratch.path()))));
  if (f.code != 0) throw Error(fmt::format("ONNX Runtime: {}", f.out));
  OnnxRuntimeValues all;
  for (size_t i = 0; i < names.size(); ++i)
    all.values.push_back(read_array(scratch.file(fmt::format("value.{}.npy", i))));
  all.ran = read_json(f.out.substr(f.out.rfind("\n{") + 1), "ort_run.py");
  return all;
}

double bench_onnxruntime(const std::string& model, const HostTensor& input, int threads,
                         double seconds) {
  ScratchFolder scratch;
  std::string file = scratch.file("in.npy");
  write_array(file, input);
  Finished f = shell(command(model, fmt::format("--input {} --bench --threads {} --seconds {}",
                                                shell_quote(file), threads, seconds)));
  if (f.code != 0) throw Error(fmt::format("ONNX Runtime: {}", f.out));
  return read_json(f.out.substr(f.out.find('{')), "ort_run.py").at("median_ms").get<double>();
}

}  // namespace wick::tool
