// wick conformance: ONNX's node tests through reader, passes, program and session.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/test_case.h"
#include "exporter/program/program_writer.h"
#include "graph/interpreter/interpreter.h"
#include "tools/wick/command.h"
#include "tools/wick/model.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModes[] = {"dyn", "const", "flat", "bits", "round"};

struct ConformanceCommand {
  std::string dir, list, backend = "cpu", mode = "dyn", json, expect, write_expect, keep;
  bool verbose = false;
};

Model through_a_file(const ir::Graph& graph) {
  std::string file =
      (fs::temp_directory_path() / fmt::format("wick-conformance-{}.wick", getpid())).string();
  write_program(graph, file);
  Model model = Model::open(file);
  fs::remove(file);
  return model;
}

// Where two texts first differ: their lines, from shortly before that on.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  for (std::string x, y;;) {
    bool more = static_cast<bool>(std::getline(left, x));
    more = static_cast<bool>(std::getline(right, y)) || more;
    if (!more) return "";
    if (x == y) {
      x.clear(), y.clear();
      continue;
    }
    size_t at = 0;
    while (at < x.size() && at < y.size() && x[at] == y[at]) ++at;
    at = at > 100 ? at - 100 : 0;
    return fmt::format("read: {:.200}\n  written and read again: {:.200}", x.substr(at),
                       y.substr(at));
  }
}

// "" where these are the same bits.
std::string bits_differ(const std::vector<HostTensor>& out, const std::vector<HostTensor>& want,
                        const char* whose) {
  for (size_t i = 0; i < out.size(); ++i) {
    const bool strings = out[i].dtype() == DType::kString;
    if (!(out[i].shape() == want[i].shape()) || out[i].dtype() != want[i].dtype() ||
        (strings
             ? !same_bits(out[i], want[i])
             : out[i].nbytes() != 0 && memcmp(out[i].data(), want[i].data(), out[i].nbytes()) != 0))
      return fmt::format("output {}: other bits than {}", i, whose);
  }
  return "";
}

// "" where these are what the test expects.
std::string outputs_differ(const std::vector<HostTensor>& out, const OnnxCase& test) {
  if (out.size() != test.outputs.size())
    return fmt::format("{} outputs, expected {}", out.size(), test.outputs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    std::string why = case_differs(out[i], test.outputs[i]);
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
  }
  return "";
}

std::vector<HostTensor> run_model(const Model& model, const OnnxCase& test,
                                  const ConformanceCommand& c) {
  Runner runner(model, {c.backend, 1, false, nullptr});
  if (runner.session().input_count() != test.inputs.size()) {
    // the file may bring fewer inputs than the model has only when the model ignores the rest
    throw Error(fmt::format("{} inputs given, the program takes {}", test.inputs.size(),
                            runner.session().input_count()));
  }
  return runner.run(test.inputs);
}

// "" where reading, writing and reading again gives the same graph, and that gives the same bits
// (which mode dyn compares with what the test expects).
std::string round_trip(const ir::Graph& graph, const OnnxCase& test, const std::string& name,
                       const ConformanceCommand& c) {
  const std::vector<uint8_t> file = onnx_bytes(graph);
  if (!c.keep.empty()) {
    std::ofstream out(fs::path(c.keep) / (name + ".onnx"), std::ios::binary);
    if (!out.write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size())))
      throw Error("cannot write to '" + c.keep + "'", Code::kIo);
  }
  ir::Graph again = import_onnx_bytes(file);
  again.metadata = graph.metadata;  // the writer adds its own version
  std::string why = first_difference(ir::print(graph, true), ir::print(again, true));
  if (!why.empty()) return why;
  return bits_differ(run_model(Model::from_graph(again, true), test, c),
                     run_model(Model::from_graph(graph, true), test, c), "before it was written");
}

// "" for a pass, else why not.
std::string run_case(const std::string& name, const ConformanceCommand& c, CaseMode form) {
  const std::string folder = (fs::path(c.dir) / name).string();
  OnnxCase test = load_onnx_case(folder, form);
  const ir::Graph graph = import_onnx_bytes(test.model, folder);
  if (c.mode == "round")
    return round_trip(graph, test, form == CaseMode::kConst ? name + "-const" : name, c);
  if (c.mode == "dyn" || c.mode == "const")
    return outputs_differ(run_model(Model::from_graph(graph, true), test, c), test);
  ir::Graph optimized = graph;
  ir::optimize(optimized);
  std::vector<HostTensor> out = run_model(through_a_file(optimized), test, c);
  return c.mode == "flat" ? outputs_differ(out, test)
                          : bits_differ(out, ir::run(graph, test.inputs), "the interpreter's");
}

std::string run_case(const std::string& name, const ConformanceCommand& c) {
  try {
    std::string why = run_case(name, c, c.mode == "const" ? CaseMode::kConst : CaseMode::kDyn);
    if (!why.empty() || c.mode != "round") return why;
    why = run_case(name, c, CaseMode::kConst);
    return why.empty() ? "" : "inputs as constants: " + why;
  } catch (const std::exception& e) {
    std::string why = e.what();
    return why.empty() ? "failed" : why;
  }
}

std::vector<std::string> case_names(const ConformanceCommand& c) {
  std::vector<std::string> names;
  if (!c.list.empty()) {
    std::ifstream in(c.list);
    if (!in) throw Error("cannot open '" + c.list + "'", Code::kIo);
    for (std::string line; std::getline(in, line);) {
      line = line.substr(0, line.find_first_of(" \t\r"));
      if (!line.empty() && line[0] != '#') names.push_back(line);
    }
  } else {
    for (const auto& entry : fs::directory_iterator(c.dir)) {
      if (fs::exists(entry.path() / "model.onnx"))
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
  }
  if (names.empty())
    throw Error("no test cases (folders with model.onnx) in '" + c.dir + "'", Code::kNotFound);
  return names;
}

// By test, the modes in which it passes; what is not in the file is expected to fail.
using Expectations = std::map<std::string, std::set<std::string>>;

Expectations read_expectations(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error("cannot open '" + path + "'", Code::kIo);
  Expectations expected;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name[0] == '#') continue;
    for (std::string mode; words >> mode;) {
      if (std::find(std::begin(kModes), std::end(kModes), mode) == std::end(kModes))
        throw Error(fmt::format("{}:{}: there is no mode '{}'", path, number, mode));
      expected[name].insert(mode);
    }
  }
  return expected;
}

// This run's mode of this run's tests; the rest of the file stays.
void update_expectations(const ConformanceCommand& c, const std::vector<std::string>& names,
                         const std::set<std::string>& passed) {
  Expectations expected;
  if (fs::exists(c.write_expect)) expected = read_expectations(c.write_expect);
  for (const auto& name : names) {
    if (passed.count(name) != 0)
      expected[name].insert(c.mode);
    else
      expected[name].erase(c.mode);
  }
  std::string text =
      "# ONNX's node tests and the modes in which they pass; any other is expected to fail, "
      "because "
      "it is\n# not implemented. Written by: wick conformance DIR --list LIST --mode MODE "
      "--write-expect THIS\n";
  for (const auto& [name, modes] : expected) {
    if (modes.empty()) continue;
    text += name;
    for (const char* mode : kModes) {
      if (modes.count(mode) != 0) text += std::string(" ") + mode;
    }
    text += "\n";
  }
  write_text(c.write_expect, text);
}

// Prints what came out otherwise, and what to do.
bool as_expected(const ConformanceCommand& c, const std::vector<std::string>& names,
                 const std::set<std::string>& passed, const nlohmann::json& failures) {
  Expectations expected = read_expectations(c.expect);
  int unexpected = 0;
  for (const auto& name : names) {
    bool should = expected[name].count(c.mode) != 0, did = passed.count(name) != 0;
    if (should == did) continue;
    ++unexpected;
    if (did)
      fmt::print("unexpected pass: {}\n", name);
    else
      fmt::print("unexpected failure: {}: {}\n", name, failures[name].get<std::string>());
  }
  std::set<std::string> all(names.begin(), names.end());
  for (const auto& [name, modes] : expected) {
    if (modes.count(c.mode) == 0 || all.count(name) != 0) continue;
    ++unexpected;
    fmt::print("expected to pass, but not among the tests (if it is gone, remove its line): {}\n",
               name);
  }
  if (unexpected != 0) {
    fmt::print(
        "{} results differ from {} in mode {}. Mend a failure; where the new result is right, "
        "run this command with --write-expect {} and commit the file.\n",
        unexpected, c.expect, c.mode, c.expect);
  }
  return unexpected == 0;
}

void conformance(const ConformanceCommand& c) {
  if (!fs::is_directory(c.dir)) throw Error("'" + c.dir + "' is not a folder", Code::kNotFound);
  if (!c.keep.empty()) fs::create_directories(c.keep);
  std::set<std::string> passed;
  nlohmann::json failures = nlohmann::json::object();
  auto names = case_names(c);
  for (const std::string& name : names) {
    std::string why = run_case(name, c);
    if (why.empty()) {
      passed.insert(name);
    } else {
      failures[name] = why;
      if (c.verbose) fmt::print("FAIL {}: {}\n", name, why);
    }
  }
  nlohmann::json report = {{"mode", c.mode},        {"backend", c.backend},
                           {"total", names.size()}, {"passed", passed.size()},
                           {"passing", passed},     {"failures", failures}};
  if (!c.json.empty()) write_text(c.json, report.dump(1) + "\n");
  fmt::print("{} of {} pass ({}, {})\n", passed.size(), names.size(), c.mode, c.backend);
  if (!c.write_expect.empty()) update_expectations(c, names, passed);
  if (!c.expect.empty() && !as_expected(c, names, passed, failures)) throw Differs{};
}

}  // namespace

void add_conformance(CLI::App& app) {
  auto c = std::make_shared<ConformanceCommand>();
  CLI::App* command = app.add_subcommand("conformance", "Run ONNX's node tests");
  command->add_option("dir", c->dir, "folder of test cases")->required();
  command->add_option("--list", c->list, "file of case names, one a line");
  command->add_option("--backend", c->backend, "cpu or vulkan")
      ->check(CLI::IsMember({"cpu", "vulkan"}));
  command
      ->add_option(
          "--mode", c->mode,
          "dyn, const (inputs but one as constants), flat (through a saved file), bits "
          "(flat against "
          "the interpreter on plain loops) or round (read, written, read again: the same text, "
          "and what is expected; both as it is and with constants)")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kModes), std::end(kModes))));
  command->add_option("--json", c->json, "write the report here");
  command->add_option("--expect", c->expect,
                      "file of the tests that must pass, by mode, and no others; else exit 3");
  command->add_option("--write-expect", c->write_expect, "bring that file up to date");
  command->add_option("--keep", c->keep, "folder for the models that mode round writes");
  command->add_flag("--verbose,-v", c->verbose, "print each failure");
  command->footer("Example:\n  wick conformance onnx/node --list dev_tests.txt --mode const -v");
  command->callback([c] { conformance(*c); });
}

}  // namespace wick::tool
