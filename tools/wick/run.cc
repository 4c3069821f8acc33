// wick run: one inference on .npy files.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/lib/arrays.h"
#include "tools/lib/chrome_trace.h"
#include "tools/lib/kept_state.h"
#include "tools/lib/model.h"
#include "tools/lib/node_times.h"
#include "tools/lib/std_files.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/json.h"
#include "tools/wick/placement.h"
#include "tools/wick/places.h"
#include "tools/wick/sizes.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct RunCommand {
  std::string model, out, backend = "cpu", device, trace_file, entry, state, state_out;
  std::vector<std::string> inputs, dims;
  int threads = 0;
  bool trace = false, json = false, lower_qdq = true, explain = false, profile = false;
  bool all_it_can = false;
  Fallback fallback;
  KernelChecks checks;
};

// Prints the steps, and gives them to other hooks.
class StepTrace final : public TraceHook {
 public:
  explicit StepTrace(bool print) : print_(print) {}
  // The hook must outlive the runs.
  void also(TraceHook* hook) { others_.push_back(hook); }
  bool listens() const { return print_ || !others_.empty(); }

  bool takes_blocks() const override { return true; }
  void on_op(const TraceEvent& e) override {
    for (TraceHook* hook : others_) hook->on_op(e);
    if (!print_) return;
    std::string shapes;
    for (const TensorView& v : e.in)
      shapes += fmt::format("{}{}", shapes.empty() ? "" : " ", to_text(v.shape).text);
    fmt::print(stderr, "{:>4} {:<7} {:<16} {:<28} {:>9.1f} us  {} ({})\n", e.index, e.backend, e.op,
               e.kernel, static_cast<double>(e.end_ns - e.begin_ns) / 1e3, shapes,
               one_line(e.node));
  }

 private:
  bool print_;
  std::vector<TraceHook*> others_;
};

// Returns the paths of the outputs, without their endings; none if they are only printed.
std::vector<std::string> paths_of(const std::string& folder,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  if (folder.empty()) return paths;
  make_folder(folder);
  for (const std::string& name : file_names(names))
    paths.push_back((std::filesystem::path(folder) / name).string());
  return paths;
}

// Writes the only output to standard output. Returns its name there.
std::string write_out(const std::vector<HostTensor>& outputs) {
  if (outputs.size() != 1 || is_container(outputs[0].dtype())) {
    wrong_usage("--out", fmt::format("'-' is for a model with one tensor as output, and this one "
                                     "has {} outputs; name a folder",
                                     outputs.size()));
  }
  const std::string file = stdout_file(array_suffix(outputs[0].dtype()));
  write_array(file, outputs[0]);
  return file;
}

// Gives the run what the program remembers of earlier ones.
void remember(const RunCommand& c, const Model& model, Span<const HostTensor> inputs,
              Runner* runner) {
  if (runner->keeps_state()) {
    return runner->remember(
        make_state(model.program(), runner->session(), {inputs, c.dims, c.state}));
  }
  const auto refuse = [](bool given, const char* option, const char* why) {
    if (given) wrong_usage(option, why);
  };
  const char* none = "what runs keeps no state between runs; wick inspect lists states";
  refuse(!c.state.empty(), "--state", none);
  refuse(!c.state_out.empty(), "--state-out", none);
  refuse(!c.dims.empty(), "--dim",
         "is the size of a state, and what runs keeps none; the arrays of --input have their own");
}

void run(const RunCommand& c) {
  check_fallback(c.fallback, c.backend == "vulkan");
  check_device(c.device, c.all_it_can, c.backend == "vulkan");
  check_kernel_checks(c.checks, c.backend);
  // Nothing else is of this kind, so that no input is replaced by mistake.
  if (!c.state_out.empty() && !c.state_out.ends_with(".npz"))
    wrong_usage("--state-out", fmt::format("names an .npz file, got '{}'", c.state_out));
  check_places({c.model}, {{"--trace", c.trace_file}, {"--state-out", c.state_out}});
  Model model = Model::open(c.model, {.lower_qdq = c.lower_qdq});
  NodeTimes times;
  ChromeTrace chrome;
  StepTrace trace(c.trace);
  if (c.profile) trace.also(&times);
  if (!c.trace_file.empty()) trace.also(&chrome);
  const RunnerOptions options = {.backend = c.backend,
                                 .threads = c.threads,
                                 .trace = trace.listens() ? &trace : nullptr,
                                 .device = c.device,
                                 .or_cpu = c.fallback.allowed,
                                 .all_it_can = c.all_it_can,
                                 .unchecked = c.checks.skipped,
                                 .device_cache = c.checks.device_cache,
                                 .entry = c.entry};
  auto running = std::make_unique<Runner>(model, options);
  std::vector<HostTensor> inputs = named_arrays(running->session(), model.program(), c.inputs);
  const std::string why = two_sizes(model.program(), running->session(), inputs);
  if (!why.empty() && !is_wick_file(c.model)) {
    fmt::print(stderr, "wick: note: {}; each dimension is taken for itself\n", why);
    running.reset();
    model = Model::open(c.model, {.own_sizes = true, .lower_qdq = c.lower_qdq});
    running = std::make_unique<Runner>(model, options);
  }
  Runner& runner = *running;
  remember(c, model, inputs, &runner);
  std::vector<HostTensor> outputs = runner.run(inputs);
  std::optional<Placement> placement;
  if (c.explain || runner.backend() != "cpu") placement.emplace(runner.session(), runner.vulkan());
  if (runner.backend() != "cpu")
    fmt::print(stderr, "{} {}\n", runner.backend(), placement->split());
  if (c.fallback.refused) refuse_fallback(&runner);
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) names.push_back(runner.session().output(i).name);
  const bool to_stdout = c.out == "-";
  const std::vector<std::string> paths = paths_of(to_stdout ? "" : c.out, names);
  const bool widened = std::any_of(outputs.begin(), outputs.end(),
                                   [](const HostTensor& t) { return t.dtype() == DType::kBF16; });
  if (widened && !c.out.empty())
    fmt::print(stderr, "wick: note: bfloat16, which numpy lacks, is written as float32\n");
  auto document = nlohmann::json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const char* name = runner.session().output(i).name;
    std::string file;
    if (to_stdout) file = write_out(outputs);
    if (!paths.empty()) file = write_value(paths[i], outputs[i]);
    document.push_back(
        {{"name", name},
         {"dtype", dtype_name(outputs[i].dtype())},
         {"shape", std::vector<int64_t>(outputs[i].shape().begin(), outputs[i].shape().end())},
         {"file", file},
         {"label", top_label(model.program(), outputs[i])}});
    if (file.empty()) document.back()["values"] = preview_json(outputs[i]);
    if (!c.json) {
      fmt::print("{} {}{}{}{}\n", one_line(name), dtype_name(outputs[i].dtype()),
                 to_text(outputs[i].shape()).text, file.empty() ? "" : " -> " + file,
                 top_label(model.program(), outputs[i]).empty()
                     ? ""
                     : "  first row: " + top_label(model.program(), outputs[i]));
      if (file.empty()) fmt::print("  {}\n", preview(outputs[i]));
    }
  }
  if (!c.state_out.empty()) {
    write_state(c.state_out, *runner.state());
    if (!c.json) fmt::print("state -> {}\n", c.state_out);
  }
  if (!c.trace_file.empty()) write_text(c.trace_file, chrome.text());
  if (!c.explain && !c.profile) {
    if (c.json) print_json(document);
    return;
  }
  nlohmann::json all = {{"outputs", document}};
  if (c.explain) {
    if (c.json) all["explain"] = placement->json();
    if (!c.json) fmt::print("\n{}", placement->text());
  }
  if (c.profile) {
    if (c.json) all["profile"] = json_of(times, 1);
    if (!c.json) fmt::print("\n{}", times.table(1));
  }
  if (c.json) print_json(all);
}

}  // namespace

void add_run(CommandLine& app) {
  auto c = std::make_shared<RunCommand>();
  Command command =
      app.add_command("run", "Run a .wick, ONNX or TensorFlow Lite model on .npy inputs");
  command.add_option("model", c->model, "model.wick, model.onnx or model.tflite; -: standard input")
      .required()
      .reads_file();
  accept_ops(command);
  accept_signature(command);
  accept_qdq(command, &c->lower_qdq);
  command
      .add_option("--input,-i", c->inputs,
                  "[name=]array.npy, one an input; strings: .json; sequences and optionals: ONNX's "
                  ".pb; -: standard input")
      .reads_file();
  command.add_option(
      "-o,--out", c->out,
      "folder for the outputs, one .npy each (strings: .json; sequences, optionals: .pb); -: the "
      "only output to standard output");
  accept_entry(command, &c->entry);
  command
      .add_option("--state", c->state,
                  "FILE.npz of --state-out: what an entry point that keeps state begins with "
                  "(default: the program's initial values)")
      .reads_file();
  command
      .add_option("--state-out", c->state_out,
                  "FILE.npz: what the run leaves of the state, an array for each buffer")
      .writes_file(".npz");
  command.add_option("--dim", c->dims, "NAME=N: a size of the state that no input has")
      .one_word()
      .named_size();
  accept_backend(command, &c->backend, &c->device);
  accept_kernel_checks(command, &c->checks);
  command.add_option("--threads", c->threads, "0: as many as there are").at_least(0);
  accept_fallback(command, &c->fallback);
  accept_offload(command, &c->all_it_can);
  command.add_flag_or_json("--trace", c->trace, c->trace_file,
                           "print each step as it ran; with a FILE.json write the steps there for "
                           "Perfetto and chrome://tracing");
  command.add_flag("--explain", c->explain,
                   "print where each step ran, why, and the copies between CPU and device");
  command.add_flag("--profile", c->profile, "print the time of each step, on a device each kernel");
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick run model.wick --input image.npy -o results\n"
      "  wick run model.wick --input image.npy --backend vulkan --explain\n"
      "  wick run gpt.wick --entry decode --input token.npy --state text.npz --state-out text.npz");
  command.callback([c] { run(*c); });
}

}  // namespace wick::tool
