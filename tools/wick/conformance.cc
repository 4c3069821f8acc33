// wick conformance: ONNX's node tests through reader, passes, program and session.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/test_case.h"
#include "exporter/program/program_writer.h"
#include "tools/wick/command.h"
#include "tools/wick/model.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

struct ConformanceCommand {
  std::string dir, list, backend = "cpu", mode = "dyn", json, expect, write_expect;
  bool verbose = false;
};

// "" for a pass, else why not.
std::string run_case(const std::string& folder, const ConformanceCommand& c) {
  try {
    OnnxCase test = load_onnx_case(folder, c.mode == "const" ? CaseMode::kConst : CaseMode::kDyn);
    ir::Graph graph = import_onnx_bytes(test.model, folder);
    Model model;
    if (c.mode == "flat") {  // through a saved and reloaded file
      std::string file =
          (fs::temp_directory_path() / fmt::format("wick-conformance-{}.wick", getpid())).string();
      ir::optimize(graph);
      write_program(graph, file);
      model = Model::open(file);
      fs::remove(file);
    } else {
      model = Model::from_graph(graph, true);
    }
    Runner runner(model, {c.backend, 1, false, nullptr});
    if (runner.session().input_count() != test.inputs.size()) {
      // the file may bring fewer inputs than the model has only when the model ignores the rest
      return fmt::format("{} inputs given, the program takes {}", test.inputs.size(),
                         runner.session().input_count());
    }
    std::vector<HostTensor> out = runner.run(test.inputs);
    if (out.size() != test.outputs.size())
      return fmt::format("{} outputs, expected {}", out.size(), test.outputs.size());
    for (size_t i = 0; i < out.size(); ++i) {
      std::string why = case_differs(out[i], test.outputs[i]);
      if (!why.empty()) return fmt::format("output {}: {}", i, why);
    }
    return "";
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

void conformance(const ConformanceCommand& c) {
  if (!fs::is_directory(c.dir)) throw Error("'" + c.dir + "' is not a folder", Code::kNotFound);
  std::set<std::string> passed;
  nlohmann::json failures = nlohmann::json::object();
  auto names = case_names(c);
  for (const std::string& name : names) {
    std::string why = run_case((fs::path(c.dir) / name).string(), c);
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
  if (!c.json.empty()) std::ofstream(c.json) << report.dump(1) << "\n";
  fmt::print("{} of {} pass ({}, {})\n", passed.size(), names.size(), c.mode, c.backend);
  if (!c.write_expect.empty()) {
    std::ofstream out(c.write_expect);
    out << "# ONNX node tests that pass; any other is expected to fail. wick conformance "
           "--write-expect\n";
    for (const auto& name : passed) out << name << "\n";
  }
  if (c.expect.empty()) return;
  ConformanceCommand listed = c;
  listed.list = c.expect;
  auto expected_list = case_names(listed);
  std::set<std::string> expected(expected_list.begin(), expected_list.end()),
      all(names.begin(), names.end());
  int unexpected = 0;
  for (const auto& name : names) {
    bool should = expected.count(name) != 0, did = passed.count(name) != 0;
    if (should == did) continue;
    ++unexpected;
    fmt::print("unexpected {}: {}{}\n", did ? "pass" : "failure", name,
               did ? "" : ": " + failures[name].get<std::string>());
  }
  if (unexpected != 0) throw Differs{};
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
      ->add_option("--mode", c->mode,
                   "dyn, const (inputs but one as constants) or flat (through a saved file)")
      ->check(CLI::IsMember({"dyn", "const", "flat"}));
  command->add_option("--json", c->json, "write the report here");
  command->add_option("--expect", c->expect,
                      "file of the names that must pass, and no others; else exit 3");
  command->add_option("--write-expect", c->write_expect, "write that file");
  command->add_flag("--verbose,-v", c->verbose, "print each failure");
  command->footer("Example:\n  wick conformance onnx/node --mode const -v");
  command->callback([c] { conformance(*c); });
}

}  // namespace wick::tool
