// wick conformance: ONNX's node tests through reader, passes, program and session.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/test_case.h"
#include "exporter/program/program_writer.h"
#include "graph/interpreter/interpreter.h"
#include "runtime/core/regular_file.h"
#include "tools/lib/model.h"
#include "tools/lib/open_vulkan.h"
#include "tools/lib/scratch_folder.h"
#include "tools/wick/command.h"
#include "tools/wick/device_share.h"
#include "tools/wick/placement.h"
#include "tools/wick/sizes.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModes[] = {"dyn", "const", "flat", "bits", "round"};

// Why a test may fail. Tests of the first two classes are not counted: nothing that runs programs
// could pass them.
constexpr const char* kClasses[] = {"excluded domain", "nondeterministic", "ambiguous",
                                    "not implemented"};
bool counted(const std::string& why) { return why != kClasses[0] && why != kClasses[1]; }

struct ConformanceCommand {
  std::vector<std::string> dirs;
  std::string list, backend = "cpu", device, mode = "dyn", json, expect, write_expect, keep,
                    rounded;
  std::map<std::string, double> absolute;  // the contents of `rounded`, by test
  double bar = 0, device_bar = 0;
  bool verbose = false;
  DeviceShare* share = nullptr;  // set if a device runs them
};

Model through_a_file(const ir::Graph& graph) {
  const ScratchFolder folder;
  const std::string file = folder.file("case.wick");
  write_program(graph, file);
  return Model::open(file);
}

// Returns where two texts first differ: their lines, from shortly before that point on.
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

// Compares values; every NaN counts as the same.
bool same_values(const HostTensor& a, const HostTensor& b) {
  if (!is_float(a.dtype())) return false;
  const size_t size = a.nbytes() / static_cast<size_t>(std::max<int64_t>(a.numel(), 1));
  const auto* x = static_cast<const char*>(a.data());
  const auto* y = static_cast<const char*>(b.data());
  for (int64_t i = 0; i < a.numel(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (memcmp(x + at, y + at, size) != 0 &&
        !(std::isnan(element_as_double(a, i)) && std::isnan(element_as_double(b, i))))
      return false;
  }
  return true;
}

// Returns "" if these are the same bits.
std::string bits_differ(const std::vector<HostTensor>& out, const std::vector<HostTensor>& want,
                        const char* whose) {
  for (size_t i = 0; i < out.size(); ++i) {
    const bool strings = out[i].dtype() == DType::kString;
    if (!(out[i].shape() == want[i].shape()) || out[i].dtype() != want[i].dtype() ||
        (strings ? !same_bits(out[i], want[i])
                 : out[i].nbytes() != 0 &&
                       memcmp(out[i].data(), want[i].data(), out[i].nbytes()) != 0 &&
                       !same_values(out[i], want[i])))
      return fmt::format("output {}: other bits than {}", i, whose);
  }
  return "";
}

// Returns "" if these are what the test expects.
std::string outputs_differ(const std::vector<HostTensor>& out, const OnnxCase& test,
                           double absolute) {
  if (out.size() != test.outputs.size())
    return fmt::format("{} outputs, expected {}", out.size(), test.outputs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto bound = test.bounds.find(i);
    std::string why = case_differs(out[i], test.outputs[i],
                                   bound == test.bounds.end() ? nullptr : &bound->second, absolute);
    if (!why.empty()) return fmt::format("output {}: {}", i, why);
  }
  return "";
}

std::vector<HostTensor> run_model(const Model& model, const OnnxCase& test,
                                  const ConformanceCommand& c) {
  Runner runner(model, {.backend = c.backend,
                        .threads = 1,
                        .trace = c.share,
                        .device = c.device,
                        .all_it_can = true});
  if (runner.session().input_count() != test.inputs.size()) {
    // A file may have fewer inputs than the model only if the model ignores the rest.
    throw Error(fmt::format("{} inputs given, the program takes {}", test.inputs.size(),
                            runner.session().input_count()));
  }
  return runner.run(test.inputs);
}

// Returns "" if reading, writing and reading again gives the same graph, and that gives the same
// bits (which mode dyn compares with what the test expects).
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
  const std::string why =
      bits_differ(run_model(Model::from_graph(again, true), test, c),
                  run_model(Model::from_graph(graph, true), test, c), "before it was written");
  return why.empty() ? first_difference(ir::print(graph, true), ir::print(again, true)) : why;
}

std::string path_of(const std::string& name, const ConformanceCommand& c) {
  for (const std::string& dir : c.dirs) {
    if (is_onnx_case((fs::path(dir) / name).string())) return (fs::path(dir) / name).string();
  }
  return (fs::path(c.dirs[0]) / name).string();
}

// Returns "" for a pass, else why it failed.
std::string run_case(const std::string& name, const ConformanceCommand& c, CaseMode form) {
  OnnxCase test = load_onnx_case(path_of(name, c), form);
  if (c.share != nullptr) c.share->begin(test.inputs);
  ir::Graph graph = import_onnx_bytes(test.model, test.folder);
  if (!two_sizes(graph, test.inputs).empty())
    graph = import_onnx_bytes(test.model, test.folder, {.own_sizes = true});
  if (c.mode == "round")
    return round_trip(graph, test, form == CaseMode::kConst ? name + "-const" : name, c);
  auto given = c.absolute.find(name);
  const double absolute = given == c.absolute.end() ? 1e-7 : given->second;
  if (c.mode == "dyn" || c.mode == "const")
    return outputs_differ(run_model(Model::from_graph(graph, true), test, c), test, absolute);
  ir::Graph optimized = graph;
  ir::optimize(optimized);
  std::vector<HostTensor> out = run_model(through_a_file(optimized), test, c);
  return c.mode == "flat" ? outputs_differ(out, test, absolute)
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

std::string text_of(const std::string& path) {
  std::string text;
  check_status(read_regular_file(path.c_str(), &text));
  return text;
}

std::vector<std::string> case_names(const ConformanceCommand& c) {
  std::vector<std::string> names;
  if (!c.list.empty()) {
    std::istringstream in(text_of(c.list));
    for (std::string line; std::getline(in, line);) {
      line = line.substr(0, line.find_first_of(" \t\r"));
      if (!line.empty() && line[0] != '#') names.push_back(line);
    }
  } else {
    for (const std::string& dir : c.dirs) {
      for (const auto& entry : fs::directory_iterator(dir)) {
        std::string path = entry.path().string();
        if (ends_with(path, ".onnx")) path.resize(path.size() - strlen(".onnx"));
        if (is_onnx_case(path)) names.push_back(fs::path(path).filename().string());
      }
    }
    std::sort(names.begin(), names.end());
  }
  if (names.empty())
    throw Error("no test cases (folders with model.onnx, or light models) in '" + c.dirs[0] + "'",
                Code::kNotFound);
  return names;
}

// Reads the tests whose expected values are rounded, each with its tolerance and the reason.
std::map<std::string, double> read_rounded(const std::string& path) {
  std::istringstream in(text_of(path));
  std::map<std::string, double> rounded;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words(line);
    std::string name, why;
    double absolute = 0;
    if (!(words >> name) || name[0] == '#') continue;
    if (!(words >> absolute >> why) || !(absolute > 0 && absolute <= 1e-3))
      throw Error(
          fmt::format("{}:{}: needs a test, a number up to 1e-3, and a reason", path, number));
    rounded[name] = absolute;
  }
  return rounded;
}

// Has, by test, the modes in which it passes and why it fails in the others; a test that is not in
// the file is expected to fail because it is not implemented.
struct Expected {
  std::set<std::string> modes;
  std::string why, text;  // a class, and the detail or reason in the file
};
using Expectations = std::map<std::string, Expected>;

Expectations read_expectations(const std::string& path) {
  std::istringstream in(text_of(path));
  Expectations expected;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const size_t fails = line.find("fails: ");
    std::istringstream words(line.substr(0, fails));
    std::string name;
    if (!(words >> name) || name[0] == '#') continue;
    Expected& e = expected[name];
    for (std::string mode; words >> mode;) {
      if (std::find(std::begin(kModes), std::end(kModes), mode) == std::end(kModes))
        throw Error(fmt::format("{}:{}: there is no mode '{}'", path, number, mode));
      e.modes.insert(mode);
    }
    if (fails == std::string::npos) continue;
    const std::string rest = line.substr(fails + strlen("fails: "));
    const size_t colon = rest.find(": ");
    e.why = rest.substr(0, colon);
    if (colon != std::string::npos) e.text = rest.substr(colon + 2);
    if (std::find(std::begin(kClasses), std::end(kClasses), e.why) == std::end(kClasses))
      throw Error(fmt::format("{}:{}: there is no class '{}' of failures", path, number, e.why));
  }
  return expected;
}

// Updates this run's mode for this run's tests; the rest of the file stays.
void update_expectations(const ConformanceCommand& c, const std::vector<std::string>& names,
                         const std::set<std::string>& passed) {
  Expectations expected;
  if (fs::exists(c.write_expect)) expected = read_expectations(c.write_expect);
  for (const auto& name : names) {
    if (passed.count(name) != 0)
      expected[name].modes.insert(c.mode);
    else
      expected[name].modes.erase(c.mode);
  }
  std::string text =
      "# ONNX's tests and the modes in which they pass; any other is expected to fail, because it "
      "is"
      "\n# not implemented or for the reason at its line's end. Written by: wick conformance "
      "DIR... "
      "\n# --list LIST --mode MODE --write-expect THIS; the reasons are kept.\n";
  for (const auto& [name, e] : expected) {
    if (e.modes.empty() && e.why.empty()) continue;
    text += name;
    for (const char* mode : kModes) {
      if (e.modes.count(mode) != 0) text += std::string(" ") + mode;
    }
    if (!e.why.empty()) text += " fails: " + e.why + (e.text.empty() ? "" : ": " + e.text);
    text += "\n";
  }
  write_text(c.write_expect, text);
}

// Prints the results that were not expected, and what to do.
bool as_expected(const ConformanceCommand& c, const std::vector<std::string>& names,
                 const std::set<std::string>& passed, const nlohmann::json& failures) {
  Expectations expected = read_expectations(c.expect);
  int unexpected = 0;
  for (const auto& name : names) {
    bool should = expected[name].modes.count(c.mode) != 0, did = passed.count(name) != 0;
    if (should == did) continue;
    ++unexpected;
    if (did)
      fmt::print("unexpected pass: {}\n", name);
    else
      fmt::print("unexpected failure: {}: {}\n", name, failures[name].get<std::string>());
  }
  std::set<std::string> all(names.begin(), names.end());
  for (const auto& [name, e] : expected) {
    if (e.modes.count(c.mode) == 0 || all.count(name) != 0) continue;
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

// Compares the share of the counted tests that pass with the required one.
bool above_bar(const ConformanceCommand& c, const std::vector<std::string>& names,
               const std::set<std::string>& passed) {
  Expectations expected;
  if (!c.expect.empty()) expected = read_expectations(c.expect);
  size_t all = 0, good = 0;
  std::map<std::string, size_t> left_out;
  for (const auto& name : names) {
    const std::string why = expected[name].why;
    if (counted(why)) {
      ++all;
      good += passed.count(name);
    } else {
      ++left_out[why];
    }
  }
  std::string text;
  for (const auto& [why, count] : left_out) text += fmt::format(", {} {} left out", count, why);
  const double share = all == 0 ? 0 : 100.0 * static_cast<double>(good) / static_cast<double>(all);
  fmt::print("{:.1f} %: {} of {} that count{}\n", share, good, all, text);
  if (share >= c.bar) return true;
  fmt::print("at least {} % must pass\n", c.bar);
  return false;
}

void conformance(ConformanceCommand c) {
  check_device(c.device, false, c.backend == "vulkan");
  if (c.device_bar != 0 && c.backend != "vulkan")
    wrong_usage("--device-bar", "is for --backend vulkan");
  for (const std::string& dir : c.dirs) {
    if (!fs::is_directory(dir))
      throw Error("'" + dir + "' is not a folder; give folders with a test case in each of theirs",
                  Code::kNotFound);
  }
  if (!c.keep.empty()) make_folder(c.keep);
  std::set<std::string> passed;
  nlohmann::json failures = nlohmann::json::object();
  auto names = case_names(c);
  DeviceShare share;
  std::shared_ptr<VulkanBackend> device;  // one for all tests
  if (c.backend == "vulkan") {
    device = take(open_vulkan(c.device, true), "vulkan");
    c.share = &share;
  }
  for (const std::string& name : names) {
    std::string why = run_case(name, c);
    if (device != nullptr) share.end(name);
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
  if (device != nullptr) report["device"] = share.json();
  if (!c.json.empty())
    write_text(c.json, report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  fmt::print("{} of {} pass ({}, {})\n", passed.size(), names.size(), c.mode, c.backend);
  if (device != nullptr) share.print();
  if (!c.write_expect.empty()) update_expectations(c, names, passed);
  const bool as_listed = c.expect.empty() || as_expected(c, names, passed, failures);
  const bool enough = c.bar == 0 || above_bar(c, names, passed);
  const bool on_device = device == nullptr || share.percent() >= c.device_bar;
  if (!on_device) fmt::print("at least {} % of them must\n", c.device_bar);
  if (!as_listed || !enough || !on_device) throw Differs{};
}

}  // namespace

void add_conformance(CommandLine& app) {
  auto c = std::make_shared<ConformanceCommand>();
  Command command = app.add_command("conformance", "Run ONNX's node tests");
  command.add_option("dir", c->dirs, "folders of test cases").required();
  command.add_option("--list", c->list, "file of case names, one a line").reads_file();
  accept_backend(command, &c->backend, &c->device);
  command
      .add_option(
          "--mode", c->mode,
          "dyn, const (inputs but one as constants), flat (through a saved file), bits "
          "(flat against "
          "the interpreter on plain loops) or round (read, written, read again: the same text, "
          "and what is expected; both as it is and with constants)")
      .one_of(std::vector<std::string>(std::begin(kModes), std::end(kModes)));
  command.add_option("--json", c->json, "write the report here").writes_file(".json");
  command
      .add_option("--expect", c->expect,
                  "file of the tests that must pass, by mode, and no others; else exit 3")
      .reads_file();
  command.add_option("--bar", c->bar,
                     "percent that must pass, else exit 3; what --expect's file calls of an "
                     "excluded domain or nondeterministic does not count");
  command.add_option("--device-bar", c->device_bar,
                     "percent of the tests with float inputs that must run every float op on "
                     "Vulkan, else exit 3");
  command.add_option("--write-expect", c->write_expect, "bring that file up to date");
  command.add_option("--rounded", c->rounded,
                     "file of tests whose expected values are rounded: name, the absolute error "
                     "to allow (1e-7 otherwise), reason");
  command.add_option("--keep", c->keep, "folder for the models that mode round writes");
  command.add_flag("--verbose,-v", c->verbose, "print each failure");
  command.footer("Example:\n  wick conformance onnx/node --list dev_tests.txt --mode const -v");
  command.callback([c] {
    if (!c->rounded.empty()) c->absolute = read_rounded(c->rounded);
    conformance(*c);
  });
}

}  // namespace wick::tool
