// A model as the commands see it: a .wick, an ONNX or a TensorFlow Lite file, opened as a program
// and a session.
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
#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Throws Error with `what` before the status's text.
void check(Status status, const std::string& what);
// Returns the value, or throws Error with `what` before the status's text.
template <class T>
T take(Result<T> result, const std::string& what) {
  check(result.status(), what);
  return std::move(result.value());
}

// Frees memory that aligned allocation gave.
struct AlignedDelete {
  void operator()(uint8_t* p) const;
};

// A model that was opened from a file or made from a graph, ready to run.
class Model {
 public:
  // Opens a file by its content, not its name: .wick is mapped, ONNX and TensorFlow Lite are read,
  // optimised by exact passes and compiled.
  static Model open(const std::string& path, OnnxReadOptions options = {.lower_qdq = true});
  // Does the same; of other files than .wick it keeps the graph that the program was written from,
  // with `keep_read` also the one that was read, and the program has its weights' digest.
  static Model open_whole(const std::string& path, OnnxReadOptions options = {.lower_qdq = true},
                          bool keep_read = true);
  // Makes a program of a graph, which is optimised first if `optimize` is set.
  static Model from_graph(const ir::Graph& graph, bool optimize);

  // Returns the program that sessions run.
  const Program& program() const { return *program_; }
  // For open_whole(): the graph as it was read, QDQ patterns lowered unless the options say
  // otherwise; nothing for .wick and where it was not to be kept.
  const std::optional<ir::Graph>& graph() const { return graph_; }
  // For open_whole() of other files than .wick and from_graph(): the graph that the program was
  // written from.
  const std::optional<ir::Graph>& compiled() const { return compiled_; }
  uint64_t file_bytes() const { return file_bytes_; }
  double load_ms() const { return load_ms_; }

 private:
  static Model open_wick(const std::string& path);
  void load(std::vector<uint8_t> bytes, Span<const LentSegment> lent = {});

  // For a program made in memory; it must outlive the program.
  std::unique_ptr<uint8_t, AlignedDelete> bytes_;
  std::vector<HostTensor> constants_;
  Owned<Program> program_;
  std::optional<ir::Graph> graph_, compiled_;
  uint64_t file_bytes_ = 0;
  double load_ms_ = 0;
};

// Returns the graph of an ONNX or a TensorFlow Lite file, whichever its first bytes say it is; of
// the options a TensorFlow Lite file has lower_qdq, lowered and the limits. Where signatures are
// required (trust.h) its bytes are signed, and an ONNX file has no external data, which no
// signature covers.
ir::Graph open_graph(const std::string& path, OnnxReadOptions options = {});
// Returns what a program made from such a file says of its origin; files that Wick exported have
// the seed.
ProgramInfo graph_origin(const ir::Graph& graph, const std::string& path);
// Returns whether the file begins as a .wick file does.
bool is_wick_file(const std::string& path);
// Returns whether the file begins as a TensorFlow Lite file does.
bool is_tflite_file(const std::string& path);
// Throws Error if the file is none that ONNX Runtime takes: `what` compares with it.
void need_onnx(const std::string& path, const std::string& what);

// Returns the entry point of that name, the first for ""; one that the program lacks is wrong usage
// of --entry.
const EntryDef& entry_named(const Program& program, const std::string& name);

// Options of Runner.
struct RunnerOptions {
  std::string backend = "cpu";  // or "vulkan"
  int threads = 0;              // 0: as many as the process may use
  bool reference = false;       // the reference kernels only
  TraceHook* trace = nullptr;   // is called for each step, if not null
  std::string device = {};      // for Vulkan: index or part of a name; "": the best
  // Without Vulkan or a device, runs on the CPU and says so; but not if a device was asked for by
  // name.
  bool or_cpu = false;
  // The device gets every step that it can run, whatever that costs (VulkanOptions::Offload).
  bool all_it_can = false;
  // Also runs kernels that the device gets wrong, rather than leaving them to the CPU: for finding
  // them.
  bool unchecked = false;
  // A file of `wick devices --warm`: SessionOptions::device_cache; "": none. Says why where it
  // cannot be used.
  std::string device_cache = {};
  // The entry point that runs; "": the first. One that the program lacks is wrong usage of --entry.
  std::string entry = {};
};

// A session with its backend. The constructor throws if the backend that was asked for is not
// there.
class Runner {
 public:
  Runner(const Model& model, const RunnerOptions& options);
  Session& session() { return *session_; }
  // Returns whether the entry point keeps state between runs: it then needs remember().
  bool keeps_state() const { return !kept_.empty(); }
  // Takes what runs begin with and leave behind (tools/lib/kept_state.h makes it).
  void remember(Owned<RecurrentState> state) { state_ = std::move(state); }
  RecurrentState* state() { return state_.get(); }  // null: none
  // Returns copies of the outputs.
  std::vector<HostTensor> run(Span<const HostTensor> inputs);
  // Returns the backend that runs: "cpu" also if the one asked for was not there or was abandoned.
  std::string backend() const;
  const VulkanBackend* vulkan() const;  // null: there is none, or it was abandoned

 private:
  void say_complaints();
  struct BackendHolder;
  std::shared_ptr<BackendHolder> backend_;
  std::string kept_;  // the name of a state of the entry point; "": it keeps none
  Owned<RecurrentState> state_;
  Owned<Session> session_;
};

// Returns the sizes of a port as "[batch,3,32,32]"; "[?]" where the rank is free.
std::string dims_text(const Program& program, const PortInfo& port);

}  // namespace wick::tool
