#include "tools/lib/oracle.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

#include "tools/lib/arrays.h"
#include "tools/lib/process.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/text.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

std::string script() {
  const char* given = std::getenv("WICK_ORT_RUN");
  if (given != nullptr) return given;
  std::error_code unknown;  // then only the tree that built this program can have it
  fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  fs::path installed = program.parent_path() / WICK_INSTALLED_SCRIPTS / "ort_run.py";
  if (!unknown && fs::exists(installed)) return installed.string();
  return WICK_SCRIPTS_DIR "/ort_run.py";
}

std::string command(const std::string& model, const std::string& rest) {
  return fmt::format("python3 {} {} {} 2>&1", shell_quote(script()), shell_quote(model), rest);
}

// Writes the inputs to files and returns an --input option for each.
std::string feeds(const ScratchFolder& scratch, const std::vector<std::string>& names,
                  Span<const HostTensor> inputs) {
  std::string rest;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string file = scratch.file(fmt::format("in{}.npy", i));
    write_array(file, inputs[i]);
    rest += fmt::format("--input {} ", shell_quote(names[i] + "=" + file));
  }
  return rest;
}

}  // namespace

std::optional<std::string> onnxruntime_missing() {
  if (!fs::exists(script())) return script() + " is not there";
  Finished f = shell(fmt::format("python3 {} /nonexistent.onnx 2>&1", shell_quote(script())));
  if (f.code == 3 || f.code == 127) return "onnxruntime not installed (make setup tries to)";
  return std::nullopt;
}

bool onnxruntime_saturates() {
  return shell(fmt::format("python3 {} --saturates 2>&1", shell_quote(script()))).code == 4;
}

std::vector<HostTensor> run_onnxruntime(const std::string& model,
                                        const std::vector<std::string>& input_names,
                                        Span<const HostTensor> inputs,
                                        const std::vector<std::string>& output_names) {
  if (auto why = onnxruntime_missing()) throw Error(*why, Code::kNotFound);
  ScratchFolder scratch;
  Finished f = shell(
      command(model, feeds(scratch, input_names, inputs) + "-o " + shell_quote(scratch.path())));
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
  Finished f = shell(command(
      model, fmt::format("{} --values {} --optimize {} -o {}", feeds(scratch, input_names, inputs),
                         shell_quote(scratch.file("values.txt")), optimize ? "all" : "none",
                         shell_quote(scratch.path()))));
  if (f.code != 0) throw Error(fmt::format("ONNX Runtime: {}", f.out));
  OnnxRuntimeValues all;
  for (size_t i = 0; i < names.size(); ++i)
    all.values.push_back(read_array(scratch.file(fmt::format("value.{}.npy", i))));
  all.ran = read_json(f.out.substr(f.out.rfind("\n{") + 1), "ort_run.py");
  return all;
}

ServedOnnxRuntime::ServedOnnxRuntime(const std::string& model,
                                     const std::vector<std::string>& input_names,
                                     Span<const HostTensor> inputs, int threads)
    : peer_(command(model, fmt::format("{} --serve --threads {}",
                                       feeds(scratch_, input_names, inputs), threads))) {
  const std::string said = peer_.ask("");
  if (said.rfind('{', 0) != 0) throw Error(fmt::format("ONNX Runtime: {}", said));
  version_ = read_json(said, "ort_run.py").at("version").get<std::string>();
}

std::vector<double> ServedOnnxRuntime::run_for(double ms, double* cpu_ms) {
  const nlohmann::json said = read_json(peer_.ask(fmt::format("{:.3f}", ms)), "ort_run.py");
  *cpu_ms = said.at("cpu_ms").get<double>();
  return said.at("ms").get<std::vector<double>>();
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
