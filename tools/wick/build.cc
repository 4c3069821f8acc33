// wick build, size and targets: a model as a program for another machine.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tools/lib/deploy/made.h"
#include "tools/lib/limits.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/written.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

struct BuildCommand {
  std::string model, target = "x86_64", out, name, weights = "inside", entry;
  std::vector<std::string> dims, inputs, options;
  bool no_build = false, run = false, json = false, verbose = false, lower_qdq = true;
};

nlohmann::json json_of(const Made& made) {
  nlohmann::json doc = {{"program", made.program}, {"file_bytes", made.file_bytes}};
  if (made.sections)
    doc["sections"] = {{"code", made.sections->code},
                       {"data", made.sections->data},
                       {"zeroed", made.sections->zeroed}};
  doc["ran"] = made.ran;
  if (made.ran) {
    doc["passed"] = made.passed;
    doc["memory"] = made.memory;
    if (made.ram != 0) doc["ram"] = made.ram;
    doc["output"] = made.output;
  }
  return doc;
}

void print_made(const Made& made, const Project& project) {
  fmt::print("{}: {} bytes", made.program, made.file_bytes);
  if (made.sections) {
    const Sections& s = *made.sections;
    fmt::print(", code and constants {}{}, data {}, zeroed {}", s.code,
               project.inside ? fmt::format(" (the model {})", project.model_bytes) : "", s.data,
               s.zeroed);
  }
  fmt::print("\n");
  if (made.ran) fmt::print("{}", made.output);
}

// Returns the .wick file that goes into the program: the model itself, or what another model is
// compiled to.
std::string wick_file(const BuildCommand& c, const ScratchFolder& scratch) {
  if (is_wick_file(c.model)) return c.model;
  ir::Graph graph = open_graph(c.model, {.lower_qdq = c.lower_qdq});
  ProgramInfo info = graph_origin(graph, c.model);
  const ir::Graph read = graph;
  Written written({}, c.model);
  info.passed(written.optimize(&graph, false, c.dims));
  std::string file = scratch.file("model.wick");
  write_program(graph, file, info);
  written.verify(read, file, {c.dims, c.lower_qdq}, c.model);
  written.finish();
  return file;
}

std::string model_name(const BuildCommand& c) {
  return c.name.empty() ? fs::path(c.model).stem().string() : c.name;
}

// A program of a model of the newest edition does without the functions of the first, unless an
// option says otherwise.
void drop_first_edition(const Model& model, DeployTarget* target) {
  const auto names_it = [](const std::string& o) { return o.starts_with("WICK_EDITION_1="); };
  if (model.program().edition() != Edition::k1 &&
      std::none_of(target->options.begin(), target->options.end(), names_it))
    target->options.emplace_back("WICK_EDITION_1=OFF");
}

Project write(const BuildCommand& c, const std::string& folder, const ScratchFolder& scratch,
              DeployTarget* target) {
  if (!c.entry.empty() && !is_wick_file(c.model)) wrong_usage("--entry", "is for programs (.wick)");
  const std::string file = wick_file(c, scratch);
  const Model model = Model::open(file);
  if (c.entry.empty()) say_first_entry(model.program());
  drop_first_edition(model, target);
  return write_project(model, *target, folder,
                       {model_name(c), file, c.weights == "inside", c.dims, c.inputs, c.entry});
}

// Ends what --timeout cuts off: a folder that this command made goes, of an older one is said what
// it is. Compilers that end at the same time may still write a file.
void leave_nothing(const std::string& folder, bool made) {
  if (!made) {
    fmt::print(stderr, "wick: {} is unfinished: some of its files are older ones\n", folder);
    return;
  }
  std::error_code failed;
  for (int i = 0; i < 20 && fs::exists(folder, failed); ++i) {
    fs::remove_all(folder, failed);
    if (failed) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void build(const BuildCommand& c) {
  DeployTarget target = deploy_target(c.target, c.options);
  if (c.weights == "beside" && !target.files)
    wrong_usage("--weights", c.target + " has no files: the weights are inside");
  if (c.no_build && c.run) wrong_usage("--run", "needs what --no-build leaves out");
  ScratchFolder scratch;
  std::error_code failed;
  const bool made_here = !fs::exists(c.out, failed);
  const AtTimeUp time_up([&] { leave_nothing(c.out, made_here); });
  const Project project = write(c, c.out, scratch, &target);
  std::optional<Made> made;
  if (!c.no_build) made = make(project, target, c.run, c.verbose);
  if (c.json) {
    nlohmann::json doc = {{"folder", project.folder},
                          {"target", target.name},
                          {"name", project.name},
                          {"ops", project.ops},
                          {"model_bytes", project.model_bytes},
                          {"answers_sha256", project.answers_sha256}};
    if (made) doc["made"] = json_of(*made);
    print_json(doc);
  } else {
    fmt::print("{}: {}.h, {}.c, smoke.c, CMakeLists.txt, Makefile, {} for {}\n", project.folder,
               project.name, project.name, fmt::join(project.ops, " "), target.name);
    if (made) print_made(*made, project);
  }
  if (made && c.run && !made->ran)
    fmt::print(stderr, "note: {} is linked only, its programs do not run here\n", target.name);
  if (made && made->ran && !made->passed) throw Differs{};
}

void size(const BuildCommand& c) {
  DeployTarget target = deploy_target(c.target, c.options);
  ScratchFolder scratch;
  const Project project = write(c, scratch.file("program"), scratch, &target);
  const Made made = make(project, target, true, c.verbose);
  const uint64_t flash =
      made.sections ? made.sections->code + made.sections->data : made.file_bytes;
  const uint64_t fixed = made.sections ? made.sections->data + made.sections->zeroed : 0;
  if (c.json) {
    return print_json({{"target", target.name},
                       {"flash", flash},
                       {"model", project.model_bytes},
                       {"fixed_ram", fixed},
                       {"memory", made.memory},
                       {"made", json_of(made)}});
  }
  fmt::print("{} for {}\n  flash      {:>9}  of it the model {}\n  fixed RAM  {:>9}\n", c.model,
             target.name, flash, project.model_bytes, fixed);
  if (made.ran)
    fmt::print("  memory     {:>9}  of a session: activations, scratch and packed weights\n",
               made.memory);
  if (made.ram != 0)
    fmt::print("  RAM        {:>9}  at most, with the heap and the stack\n", made.ram);
  if (made.ran && !made.passed) {
    fmt::print("{}", made.output);
    throw Differs{};
  }
}

void list(bool json) {
  auto docs = nlohmann::json::array();
  for (const DeployTarget& t : deploy_targets()) {
    const std::vector<std::string> lacking = t.lacking();
    docs.push_back({{"name", t.name},
                    {"title", t.title},
                    {"promise", t.promise},
                    {"runs", t.runs},
                    {"lacking", lacking},
                    {"packages", t.packages}});
    if (json) continue;
    fmt::print("{:<15} {:<39} {:<6} {}\n", t.name, t.title, t.promise,
               !lacking.empty()
                   ? fmt::format("needs {}: {}", fmt::join(lacking, ", "), t.how_to_install())
               : t.runs ? "installed"
                        : "installed, linked only");
  }
  if (json) print_json(docs);
}

void accept(Command command, BuildCommand* c) {
  command.add_option("model", c->model, "model.wick, model.onnx or model.tflite; -: standard input")
      .required()
      .reads_file();
  accept_entry(command, &c->entry);
  command.add_option("--target", c->target, "one of `wick targets`");
  command.add_option("--dim", c->dims, "NAME=N: a size to plan for; a batch is 1 without")
      .one_word()
      .named_size();
  command
      .add_option("--input,-i", c->inputs,
                  "[name=]array.npy: an input of the smoke test; what is not given is made up")
      .one_word()
      .reads_file();
  command
      .add_option("--option", c->options,
                  "NAME=ON or NAME=OFF: a switch of the runtime's build, such as WICK_SMALL=ON")
      .one_word();
  command.add_flag("--json", c->json, "print JSON");
  command.add_flag("-v,--verbose", c->verbose, "print the commands and what compilers say");
  accept_qdq(command, &c->lower_qdq);
  accept_signature(command);
}

}  // namespace

void add_build(CommandLine& app) {
  auto c = std::make_shared<BuildCommand>();
  Command command = app.add_command(
      "build", "Make a program of a model for a target: C functions, its kernels, a smoke test");
  accept(command, c.get());
  command.add_option("-o,--out", c->out, "the folder that is written").required();
  command.add_option("--name", c->name,
                     "what the C functions begin with (default: the model's file name)");
  command.add_option("--weights", c->weights, "inside the program or beside it, as NAME.wick")
      .one_of({"inside", "beside"});
  command.add_flag("--no-build", c->no_build, "write the folder only");
  command.add_flag("--run", c->run, "run the smoke test, on an emulator where the target has one");
  command.footer("Example:\n  wick build lenet.wick --target aarch64 -o lenet-arm --run");
  command.callback([c] { build(*c); });

  auto s = std::make_shared<BuildCommand>();
  Command measure = app.add_command(
      "size", "What a model takes on a target: flash, fixed RAM, a session's memory");
  accept(measure, s.get());
  measure.footer("Example:\n  wick size lenet.wick --target aarch64");
  measure.callback([s] { size(*s); });

  auto json = std::make_shared<bool>(false);
  Command targets =
      app.add_command("targets", "List the machines that wick build makes programs for");
  targets.add_flag("--json", *json, "print JSON");
  targets.footer("Example:\n  wick targets --json");
  targets.callback([json] { list(*json); });
}

}  // namespace wick::tool
