#include "tools/lib/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>

#include "exporter/onnx/onnx.h"
#include "exporter/tflite/tflite.h"
#include "runtime/core/real_text.h"
#include "runtime/core/regular_file.h"
#include "runtime/program/layout.h"
#include "runtime/registry/registry.h"
#include "tools/lib/limits.h"
#include "tools/lib/now_ms.h"
#include "tools/lib/open_vulkan.h"
#include "tools/lib/std_files.h"
#include "tools/lib/trust.h"
#include "tools/lib/usage.h"
#include "wick/error.h"

namespace wick::tool {
void check(Status status, const std::string& what) {
  if (!status.ok()) throw Error(what + ": " + status.message(), status.code());
}

void AlignedDelete::operator()(uint8_t* p) const { std::free(p); }

namespace {

// The first bytes of a file, which say what it is; fewer if it is shorter.
using Head = std::vector<uint8_t>;
Head head_of(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    throw Error(fmt::format("'{}' is a folder, not a model file", path), Code::kIo);
  RegularFile file;
  const Status opened = file.open(path.c_str());
  if (!opened.ok())
    throw Error(fmt::format("cannot open '{}': {}", path, opened.message()), Code::kIo);
  if (file.size() == 0) throw Error(fmt::format("'{}': the file is empty", path), Code::kIo);
  Head head(static_cast<size_t>(std::min<uint64_t>(sizeof(kFileMagic), file.size())));
  check(file.read(0, head.data(), head.size()), fmt::format("cannot read '{}'", path));
  return head;
}

}  // namespace

bool is_wick_file(const std::string& path) {
  const Head head = head_of(path);
  return head.size() == sizeof(kFileMagic) && memcmp(head.data(), kFileMagic, head.size()) == 0;
}
bool is_tflite_file(const std::string& path) { return is_tflite(head_of(path)); }

void need_onnx(const std::string& path, const std::string& what) {
  if (is_tflite_file(path))
    throw Error(
        fmt::format("{} is a TensorFlow Lite file, and {} needs an ONNX one: wick convert {} "
                    "-o model.onnx makes it",
                    path, what, path),
        Code::kUnsupported);
}

ir::Graph open_graph(const std::string& path, OnnxReadOptions options) {
  if (options.max_ram == 0 && memory_limit() != UINT64_MAX) options.max_ram = memory_limit();
  const std::optional<std::vector<uint8_t>> bytes = signed_bytes(path);
  if (bytes ? is_tflite(*bytes) : is_tflite_file(path)) {
    const TfliteReadOptions tflite = {.lower_qdq = options.lower_qdq,
                                      .lowered = options.lowered,
                                      .max_ram = options.max_ram,
                                      .max_visits = options.max_visits,
                                      .spent = options.spent};
    return bytes ? import_tflite_bytes(*bytes, tflite) : import_tflite(path, tflite);
  }
  if (!bytes) return import_onnx(path, options);
  options.weights_stay = false;
  return import_onnx_bytes(*bytes, "", options);
}

ProgramInfo graph_origin(const ir::Graph& graph, const std::string& path) {
  ProgramInfo info{.source = shown(path)};
  auto seed = graph.metadata.find("wick.seed");
  if (seed != graph.metadata.end()) (void)read_integer(seed->second, &info.seed);
  return info;
}

void Model::load(std::vector<uint8_t> bytes, Span<const LentSegment> lent) {
  size_t size = (bytes.size() + 63) / 64 * 64;
  bytes_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, size)));
  if (bytes_ == nullptr) throw Error("out of memory", Code::kOutOfMemory);
  memcpy(bytes_.get(), bytes.data(), bytes.size());
  size = bytes.size();
  bytes = {};
  std::vector<const CustomOp*> ops = registered_ops();
  LoadOptions options;
  options.custom_ops = ops;
  options.lent = lent;
  program_ =
      take(Program::load(Span<const uint8_t>(bytes_.get(), size), options), "the compiled program");
}

Model Model::open_wick(const std::string& path) {
  Model m;
  if (std::optional<std::vector<uint8_t>> bytes = signed_bytes(path)) {
    m.load(std::move(*bytes));
    m.file_bytes_ = m.program_->file_bytes();
    return m;
  }
  std::vector<const CustomOp*> ops = registered_ops();
  LoadOptions options;
  options.custom_ops = ops;
  options.guard = true;  // if the file is cut during the command, that is an error, not a crash
  Result<Owned<Program>> loaded = Program::load(path.c_str(), options);
  check_status(loaded.status());  // the status names the file
  m.program_ = std::move(loaded.value());
  m.file_bytes_ = m.program_->file_bytes();
  return m;
}

Model Model::open(const std::string& path, OnnxReadOptions options) {
  const double begin = now_ms();
  Model m;
  if (is_wick_file(path)) {
    m = open_wick(path);
  } else {
    options.weights_stay = true;
    ir::Graph graph = open_graph(path, options);
    const ProgramInfo info = graph_origin(graph, path);
    ir::optimize(graph);
    LentProgram program = lend_program(std::move(graph), info);
    m.load(std::move(program.bytes), program.segments);
    m.constants_ = std::move(program.constants);
    m.file_bytes_ = std::filesystem::file_size(path);
  }
  m.load_ms_ = now_ms() - begin;
  return m;
}

Model Model::open_whole(const std::string& path, OnnxReadOptions options, bool keep_read) {
  const double begin = now_ms();
  Model m;
  if (is_wick_file(path)) {
    m = open_wick(path);
  } else {
    m.compiled_ = open_graph(path, options);
    const ProgramInfo origin = graph_origin(*m.compiled_, path);
    if (keep_read) m.graph_ = m.compiled_;
    ir::optimize(*m.compiled_);
    m.load(program_bytes(*m.compiled_, origin));
    m.file_bytes_ = std::filesystem::file_size(path);
  }
  m.load_ms_ = now_ms() - begin;
  return m;
}

Model Model::from_graph(const ir::Graph& graph, bool optimize) {
  Model m;
  m.compiled_ = graph;
  if (optimize) ir::optimize(*m.compiled_);
  m.load(program_bytes(*m.compiled_));
  m.file_bytes_ = m.program_->file_bytes();
  return m;
}

Result<std::shared_ptr<VulkanBackend>> open_vulkan(const std::string& device, bool all_it_can,
                                                   bool unchecked) {
  static std::map<std::tuple<std::string, bool, bool>, std::weak_ptr<VulkanBackend>> open;
  std::weak_ptr<VulkanBackend>& one = open[{device, all_it_can, unchecked}];
  if (auto held = one.lock()) return held;
  VulkanOptions options;
  options.check_kernels = !unchecked;
  if (all_it_can) options.offload = VulkanOptions::Offload::kAllItCan;
  if (!device.empty()) options.device = device.c_str();
  auto made = VulkanBackend::create(default_allocator(), options);
  if (!made.ok()) return made.status();
  std::shared_ptr<VulkanBackend> held(made->release(), VulkanBackend::destroy);
  one = held;
  return held;
}

struct Runner::BackendHolder {
  std::shared_ptr<VulkanBackend> vulkan;
  size_t said = 0;    // complaints reported so far
  bool left = false;  // reported, too
};

const EntryDef& entry_named(const Program& program, const std::string& name) {
  if (name.empty()) return program.entries()[0];
  if (const EntryDef* entry = program.find_entry(name.c_str())) return *entry;
  std::string names;
  for (const EntryDef& e : program.entries()) names += fmt::format(" {}", e.name);
  wrong_usage("--entry",
              fmt::format("there is no entry point '{}'; the model has:{}", name, names));
}

namespace {

// Returns the name of the first state that an entry point reads or writes; "": none.
std::string kept_by(const Program& program, const EntryDef& entry) {
  for (const ValueDef& v : entry.values) {
    if (v.state != kNoIndex) return program.states()[v.state].name;
  }
  return entry.state_updates.empty() ? "" : program.states()[entry.state_updates[0].state].name;
}

}  // namespace

Runner::Runner(const Model& model, const RunnerOptions& options)
    : backend_(std::make_shared<BackendHolder>()) {
  static const KernelSet* const kReference[] = {&kReferenceKernels};
  SessionOptions o;
  o.threads = options.threads;
  const EntryDef& entry = entry_named(model.program(), options.entry);
  kept_ = kept_by(model.program(), entry);
  o.entry = entry.name;
  o.trace = options.trace;
  o.max_ram = within_memory(o.max_ram);
  if (options.reference) o.kernels = kReference;
  if (options.backend == "vulkan") {
    auto opened = open_vulkan(options.device, options.all_it_can, options.unchecked);
    const bool none = !opened.ok() && opened.status().code() != Code::kNotFound;
    if (none && options.or_cpu) {
      fmt::print(stderr, "wick: vulkan: {}; all of it runs on the CPU\n",
                 opened.status().message());
    } else if (none) {
      throw Error(
          fmt::format("vulkan: {}; --backend cpu runs on the CPU, as --allow-fallback of wick run, "
                      "bench and compare does",
                      opened.status().message()),
          opened.status().code());
    } else {
      backend_->vulkan = take(std::move(opened), "vulkan");
      backend_->said = backend_->vulkan->complaint_count();
      o.backend = backend_->vulkan.get();
      if (!options.device_cache.empty()) o.device_cache = options.device_cache.c_str();
    }
  } else if (options.backend != "cpu") {
    throw Error(fmt::format("unknown backend '{}': cpu or vulkan", options.backend));
  }
  session_ = take(Session::create(model.program(), o), "session");
  if (session_->refused_cache()[0] != '\0')
    fmt::print(stderr, "wick: {}; kernels are checked anew\n", session_->refused_cache());
  say_complaints();
}

// A kernel that a driver computes wrongly is reported once, when it is found.
void Runner::say_complaints() {
  if (backend_->vulkan == nullptr) return;
  const VulkanBackend& vulkan = *backend_->vulkan;
  for (; backend_->said < vulkan.complaint_count(); ++backend_->said) {
    fmt::print(stderr, "wick: {} computes wrongly, so the CPU runs it: {}\n", vulkan.device_name(),
               vulkan.complaint(backend_->said));
  }
  if (!backend_->left && session_->left_backend()[0] != '\0') {
    backend_->left = true;
    fmt::print(stderr, "wick: {} was left for the CPU: {}\n", vulkan.device_name(),
               session_->left_backend());
  }
}

std::string Runner::backend() const {
  return backend_->vulkan == nullptr || backend_->left ? "cpu" : "vulkan";
}

const VulkanBackend* Runner::vulkan() const {
  return backend() == "cpu" ? nullptr : backend_->vulkan.get();
}

std::vector<HostTensor> Runner::run(Span<const HostTensor> inputs) {
  if (keeps_state() && state_.get() == nullptr) {
    throw Error(fmt::format("the program keeps state between runs ({} ...), and this command runs "
                            "none; wick run, bench and compare do",
                            kept_),
                Code::kUnsupported);
  }
  std::vector<TensorView> in;
  for (const HostTensor& t : inputs) in.push_back(t.view());
  std::vector<TensorView> out(session_->output_count());
  check(session_->run(in, out, {.timeout_ns = time_left_ns(), .state = state_.get()}), "run");
  say_complaints();
  std::vector<HostTensor> results;
  for (const TensorView& v : out) results.emplace_back(v.dtype, v.shape, v.data, v.nbytes());
  return results;
}

std::string dims_text(const Program& program, const PortInfo& port) {
  if (port.unranked) return "[?]";
  std::string text = "[";
  for (const DimDef& d : port.dims) {
    if (text.size() > 1) text += ",";
    text += d.symbol >= 0 ? std::string(program.symbols()[static_cast<size_t>(d.symbol)].name)
                          : std::to_string(d.value);
  }
  return text + "]";
}

}  // namespace wick::tool
