// Hostile models: other tools' models are changed at sensitive places and go the whole way: read,
// optimise, interpret, compile, load, open, run. An error that names the place or a right run is
// fine; a crash, a hang, memory beyond the budget, or two paths with different bits is not.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "exporter/onnx/test_case.h"
#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "runtime/exec/session.h"
#include "runtime/registry/registry.h"
#include "tests/exporter/mutate_onnx.h"
#include "tests/support/where.h"
#include "wick/compile.h"
#include "wick/error.h"

namespace wick {
namespace {

using test::Dice;
using test::HostileCase;
namespace fs = std::filesystem;

constexpr uint64_t kMemory = 1 << 23;  // the most that one run may hold
#if defined(__SANITIZE_THREAD__)       // keeps the memory of all tests before
constexpr long kProcessMemory = LONG_MAX;
#else
constexpr long kProcessMemory = 3 << 20;  // KiB, sanitizers' own included
#endif
constexpr unsigned kSeconds = 60;  // sanitizers, a busy machine. SIGALRM ends the process
constexpr size_t kLongestText = 20000;

struct Count {
  int cases = 0, read = 0, interpreted = 0, ran = 0, equal = 0;
};

// The names that an error could mean: of nodes, and of values, which stand for nodes without one.
void collect(const onnx::GraphProto& graph, std::set<std::string>* names);
void collect(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
             std::set<std::string>* names) {
  for (const auto& n : nodes) {
    names->insert(n.name());
    names->insert(n.input().begin(), n.input().end());
    names->insert(n.output().begin(), n.output().end());
    for (const auto& a : n.attribute()) {
      if (a.has_g()) collect(a.g(), names);
    }
  }
}
void collect(const onnx::GraphProto& graph, std::set<std::string>* names) {
  collect(graph.node(), names);
  for (const auto& v : graph.input()) names->insert(v.name());
  for (const auto& v : graph.output()) names->insert(v.name());
  for (const auto& t : graph.initializer()) names->insert(t.name());
}

// Returns whether the error is about the file as a whole.
bool is_of_the_file(const std::string& text) {
  for (const char* fact :
       {"it has no outputs", "it has no graph", "it imports ", "its IR version ",
        "an input has no name", "an output has no name", "initializer ", "sparse initializer ",
        "the file is damaged", "the name of ", "its functions, written out", "it has ", "over "}) {
    if (text.starts_with(std::string("ONNX model: ") + fact)) return true;
  }
  return false;
}

// A name stands in quotes, whole or the beginning of a long one. A node that has none, or that the
// reader made, is told by its op: "[Conv] ...".
bool names_a_place(const std::string& text, const onnx::ModelProto& model) {
  std::set<std::string> names;
  collect(model.graph(), &names);
  for (const auto& f : model.functions()) {
    names.insert(f.name());
    collect(f.node(), &names);
  }
  names.erase("");
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 1)) {
    const std::string rest = text.substr(at + 1);
    for (const std::string& name : names) {
      const std::string shown = name.size() > 40 ? name.substr(0, 40) : name + "'";
      if (rest.starts_with(shown) || rest.find("/" + name + "'") < rest.find('\'')) return true;
    }
  }
  for (const std::string& name : names) {
    if (text.starts_with("input \"" + name + "\"")) return true;
  }
  if (text.starts_with("node ") && text.find(" of its graph: ") < 20) return true;
  if (text.starts_with('[')) {
    const auto end = std::find_if(text.begin() + 1, text.end(), [](unsigned char c) {
      return std::isalnum(c) == 0 && c != ':' && c != '_';
    });
    return op_info(std::string(text.begin() + 1, end).c_str()) != nullptr;
  }
  return is_of_the_file(text);
}

bool is_budget(Code code) {
  return code == Code::kBudgetExceeded || code == Code::kDeadline || code == Code::kOutOfMemory;
}

HostTensor made_up(const ir::Value& v) {
  Shape shape;
  for (const SymDim& d : v.shape) shape.push_back(d.known() ? d.constant() : 2);
  auto bytes = checked_bytes(shape, dtype_bits(v.dtype));
  if (!bytes.ok() || *bytes > kMemory) return {};
  HostTensor t(v.dtype, shape);
  for (int64_t i = 0; v.dtype == DType::kF32 && i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>((i * 37) % 23) / 11.0f - 1;
  return t;
}
bool fits(const HostTensor& t, const ir::Value& v) {
  if (t.dtype() != v.dtype || (v.ranked && t.shape().rank() != v.shape.rank())) return false;
  for (int d = 0; v.ranked && d < v.shape.rank(); ++d) {
    if (v.shape[d].known() && v.shape[d].constant() != t.shape()[d]) return false;
  }
  return true;
}

struct Run {
  bool ok = false;
  Code code = Code::kOk;
  std::string text;
  std::vector<HostTensor> outputs;
};

Run interpret(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  Run r;
  ir::InterpreterOptions options;
  options.max_bytes = kMemory;
  options.max_nodes = 1 << 12;
  try {
    r.outputs = ir::run(graph, inputs, options);
    r.ok = true;
  } catch (const Error& e) {
    r.code = e.code();
    r.text = e.what();
  }
  return r;
}

Run run_session(const std::vector<uint8_t>& bytes, const std::vector<HostTensor>& inputs) {
  Run r;
  auto failed = [&](const Status& s) {
    r.code = s.code();
    r.text = s.message();
    return r;
  };
  auto program = Program::load(Span<const uint8_t>(bytes));
  EXPECT_TRUE(program.ok()) << program.status().message();  // our own output must be readable
  if (!program.ok()) return failed(program.status());
  SessionOptions options;
  options.threads = 1;
  options.max_ram = 4 * kMemory;
  auto session = Session::create(**program, options);
  if (!session.ok()) return failed(session.status());
  std::vector<TensorView> in, out((*session)->output_count());
  for (const HostTensor& t : inputs) in.push_back(t.view());
  RunOptions run;
  run.timeout_ns = 1000000000u;
  if (Status s = (*session)->run(in, out, run); !s.ok()) return failed(s);
  for (const TensorView& v : out) r.outputs.emplace_back(v.dtype, v.shape, v.data, v.nbytes());
  r.ok = true;
  return r;
}

std::string differing(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  if (a.size() != b.size()) return "another number of outputs";
  for (size_t i = 0; i < a.size(); ++i) {
    if (same_bits(a[i], b[i])) continue;
    return "output " + std::to_string(i) + " differs: " + to_text(a[i].shape()).text + " and " +
           to_text(b[i].shape()).text;
  }
  return "";
}

void whole_way(const HostileCase& c, Count* count) {
  std::string file = c.model.SerializeAsString();
  ++count->cases;
  ir::Graph graph;
  std::vector<uint8_t> bytes;
  auto readable = [&](const std::string& text, const char* when) {
    EXPECT_FALSE(text.empty()) << when;
    EXPECT_LT(text.size(), kLongestText) << when << ": " << text.substr(0, 200);
    EXPECT_TRUE(names_a_place(text, c.model)) << when << " names no place: " << text;
  };
  try {
    graph = import_onnx_bytes({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  } catch (const Error& e) {
    return readable(e.what(), "reading");
  }
  ++count->read;
  std::vector<HostTensor> inputs;
  for (ir::ValueId v : graph.inputs()) {
    auto given = c.inputs.find(graph.value(v).name);
    bool use = given != c.inputs.end() && fits(given->second, graph.value(v));
    inputs.push_back(use ? given->second : made_up(graph.value(v)));
    if (!inputs.back().present()) return;  // too large to feed
  }
  Run want = interpret(graph, inputs);
  if (!want.ok) readable(want.text, "interpreting");
  count->interpreted += want.ok ? 1 : 0;
  try {
    bytes = compile_program(graph);
  } catch (const Error& e) {
    readable(e.what(), "compiling");
    EXPECT_TRUE(!want.ok || is_budget(e.code()))
        << "what the interpreter runs cannot be compiled: " << e.what();
    return;
  }
  Run got = run_session(bytes, inputs);
  EXPECT_TRUE(got.ok || !got.text.empty());
  count->ran += got.ok ? 1 : 0;
  if (got.ok && !want.ok && !is_budget(want.code)) {
    // a node that nobody reads may fail: then the optimised graph runs
    ir::Graph optimized = graph;
    ir::optimize(optimized);
    Run again = interpret(optimized, inputs);
    EXPECT_TRUE(again.ok || is_budget(again.code))
        << "the session runs, the interpreter does not: " << again.text;
    EXPECT_TRUE(!again.ok || differing(again.outputs, got.outputs).empty());
  }
  if (want.ok && !got.ok) {
    EXPECT_TRUE(is_budget(got.code)) << "the interpreter runs, the session does not: " << got.text;
  }
  if (!want.ok || !got.ok) return;
  EXPECT_EQ(differing(want.outputs, got.outputs), "");
  ++count->equal;
}

// Returns ONNX's node tests in the order of their names: those of the shared archive, unpacked once
// into the build folder, or else those of Debian's libonnx-testdata. Empty if neither is there.
std::vector<fs::path> node_tests() {
  const char* given = getenv("WICK_SHARED");
  const fs::path shared = given != nullptr ? fs::path(given) : fs::path(source_dir()) / "../shared";
  const fs::path archive = shared / "onnx" / "onnx-node-tests-dev.tar.xz";
  fs::path folder = fs::path(build_dir()) / "test-work" / "hostile-node";
  std::error_code failed;
  if (!fs::exists(archive, failed)) {
    folder = "/usr/share/libonnx-testdata/data";
  } else if (!fs::exists(folder / "unpacked", failed)) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string command =
        "python3 -m tarfile -e '" + archive.string() + "' '" + folder.string() + "' >/dev/null";
    if (std::system(command.c_str()) != 0) return {};
    std::ofstream(folder / "unpacked") << "";
  }
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(folder / "node", failed))
    all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

bool load_case(const fs::path& folder, HostileCase* c) {
  c->source = folder.filename().string();
  OnnxCase from;
  try {
    from = load_onnx_case(folder.string(), CaseMode::kDyn);
  } catch (const Error&) {
    std::ifstream in(folder / "model.onnx", std::ios::binary);  // its data has types we lack
    return c->model.ParseFromIstream(&in);
  }
  if (!c->model.ParseFromArray(from.model.data(), static_cast<int>(from.model.size())))
    return false;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    if (static_cast<int>(i) < c->model.graph().input_size())
      c->inputs[c->model.graph().input(static_cast<int>(i)).name()] = from.inputs[i];
  }
  return true;
}

// Runs the cases first, first + 1, ... of a source, each with a seed of its own.
Count attack(int first, int cases, const std::function<bool(HostileCase*, Dice&)>& source) {
  Count count;
  const char* one = getenv("WICK_HOSTILE_CASE");
  const bool verbose = getenv("WICK_HOSTILE_VERBOSE") != nullptr;
  fs::create_directories(fs::path(build_dir()) / "test-work");
  const std::string note = (fs::path(build_dir()) / "test-work" / "hostile_case").string();
  for (int k = 0; k < cases; ++k) {
    int number = first + k;
    if (one != nullptr && number != std::atoi(one)) continue;
    Dice dice(static_cast<uint64_t>(number));
    HostileCase c;
    if (!source(&c, dice)) continue;
    std::string done = test::mutate(c, dice);
    std::string what = "case " + std::to_string(number) + " (" + c.source + "): " + done;
    std::ofstream(note) << what << "\n";  // this file remains after a crash
    if (one != nullptr)
      std::fprintf(stderr, "%s\n%s\n", what.c_str(),
                   c.model.ShortDebugString().substr(0, 6000).c_str());
    SCOPED_TRACE(what);
    alarm(kSeconds);
    auto start = std::chrono::steady_clock::now();
    whole_way(c, &count);
    auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    if (verbose && (took > 0.5 || one != nullptr))
      std::fprintf(stderr, "%.2f s, %ld MiB  %s\n", took, used.ru_maxrss / 1024, what.c_str());
    EXPECT_LT(used.ru_maxrss, kProcessMemory) << "KiB";
    if (used.ru_maxrss >= kProcessMemory) break;
  }
  alarm(0);
  std::fprintf(stderr, "%d cases: %d read, %d interpreted, %d ran, %d with equal bits\n",
               count.cases, count.read, count.interpreted, count.ran, count.equal);
  return count;
}

int number_of_cases(int few, int many) {
  if (const char* n = getenv("WICK_HOSTILE_CASES")) return std::atoi(n);
  return getenv("WICK_TEST_FULL") != nullptr ? many : few;
}
int first_case() {
  const char* n = getenv("WICK_HOSTILE_FIRST");
  return n != nullptr ? std::atoi(n) : 0;
}

TEST(Hostile, ChangedNodeTests) {
  std::vector<fs::path> tests = node_tests();
  if (tests.empty()) GTEST_SKIP() << "no shared data folder, nor libonnx-testdata";
  Count count = attack(first_case(), number_of_cases(150, 3500),
                       [&](HostileCase* c, Dice& dice) { return load_case(dice.of(tests), c); });
  EXPECT_GE(count.equal, count.cases / 20);
}

TEST(Hostile, ChangedControlFlow) {
  Count count = attack(first_case(), number_of_cases(100, 800), [](HostileCase* c, Dice& dice) {
    *c = test::control_case(dice);
    return true;
  });
  EXPECT_GE(count.equal, count.cases / 20);
}

TEST(Hostile, AnyNodeOnAnyInputs) {
  Count count = attack(first_case(), number_of_cases(200, 1500), [](HostileCase* c, Dice& dice) {
    *c = test::node_case(dice);
    return true;
  });
  EXPECT_GE(count.equal, count.cases / 50);
}

}  // namespace
}  // namespace wick
