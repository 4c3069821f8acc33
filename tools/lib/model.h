// A model as the commands see it: a .wick or an ONNX file, opened as a program and a session.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "runtime/backend/vulkan/backend.h"
#include "runtime/exec/session.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Throws Error with the status's text behind `what`.
void check(Status status, const std::string& what);
template <class T>
T take(Result<T> result, const std::string& what) {
  check(result.status(), what);
  return std::move(result.value());
}

struct AlignedDelete {
  void operator()(uint8_t* p) const;
};

class Model {
 public:
  // By the file's content, not its name: .wick is mapped, ONNX is read, optimised by exact passes
  // and compiled.
  static Model open(const std::string& path, OnnxReadOptions options = {.lower_qdq = true});
  // The same; of an ONNX file it keeps the graph, and the program knows its weights' digest.
  static Model open_whole(const std::string& path, OnnxReadOptions options = {.lower_qdq = true});
  static Model from_graph(const ir::Graph& graph, bool optimize);

  const Program& program() const { return *program_; }
  // open_whole(): the graph as it was read, QDQ patterns lowered unless the options say otherwise;
  // nothing for .wick.
  const std::optional<ir::Graph>& graph() const { return graph_; }
  // open_whole() of an ONNX file, from_graph(): the graph that the program was written from.
  const std::optional<ir::Graph>& compiled() const { return compiled_; }
  uint64_t file_bytes() const { return file_bytes_; }
  double load_ms() const { return load_ms_; }

 private:
  static Model open_wick(const std::string& path);
  void load(std::vector<uint8_t> bytes, Span<const LentSegment> lent = {});

  // of a program made in memory; must outlive it
  std::unique_ptr<uint8_t, AlignedDelete> bytes_;
  std::vector<HostTensor> constants_;
  Owned<Program> program_;
  std::optional<ir::Graph> graph_, compiled_;
  uint64_t file_bytes_ = 0;
  double load_ms_ = 0;
};

// The graph of an ONNX file, of bytes that are signed where that is required (trust.h): these have
// no external data, which no signature covers.
ir::Graph open_onnx(const std::string& path, OnnxReadOptions options = {});
// What a program made of an ONNX file says of its origin; the seed is in files that Wick exported.
ProgramInfo onnx_origin(const ir::Graph& graph, const std::string& path);
bool is_wick_file(const std::string& path);

struct RunnerOptions {
  std::string backend = "cpu";  // or "vulkan"
  int threads = 0;
  bool reference = false;  // the reference kernels only
  TraceHook* trace = nullptr;
  std::string device = {};  // of Vulkan: index or part of a name; "": the best
  // Without Vulkan or a device, run on the CPU and say so. Not for a device asked for by name.
  bool or_cpu = false;
  // The device gets every step that it can run, what that costs or not (VulkanOptions::Offload).
  bool all_it_can = false;
  // Kernels that the device gets wrong run, too, rather than on the CPU: for who looks for them.
  bool unchecked = false;
};

// A session with its backend. Throws when the backend is asked for and not there.
class Runner {
 public:
  Runner(const Model& model, const RunnerOptions& options);
  Session& session() { return *session_; }
  // Copies the outputs out.
  std::vector<HostTensor> run(Span<const HostTensor> inputs);
  // What runs: "cpu" also where the backend asked for was not there or was left.
  std::string backend() const;
  const VulkanBackend* vulkan() const;  // null: there is none, or it was left

 private:
  void say_complaints();
  struct BackendHolder;
  std::shared_ptr<BackendHolder> backend_;
  Owned<Session> session_;
};

std::string dims_text(const Program& program, const PortInfo& port);

}  // namespace wick::tool
