// ONNX models changed in the parts that carry their meaning (tests/exporter/mutate_onnx.h), the
// whole way: read, rewritten, written as a program, loaded and run.
#include "exporter/program/program_writer.h"
#include "graph/rewrite/pass.h"
#include "tests/exporter/mutate_onnx.h"
#include "tests/fuzz/feed.h"
#include "tests/fuzz/formats.h"
#include "wick/compile.h"
#include "wick/error.h"

namespace wick::fuzz {
namespace {

enum { kAccepted = kRan + 1 };

GuardAllocator& allocator() {
  static auto& made = *new GuardAllocator;
  return made;
}

// A model of the corpus, of control flow, or of any one operator.
test::HostileCase draw(Dice& dice) {
  if (dice.one_in(4)) return test::control_case(dice);
  if (dice.one_in(2)) return test::node_case(dice);
  static const std::vector<std::string> files = [] {
    for (const Format& f : formats()) {
      if (std::string_view(f.name) == "onnx") return f.seeds();
    }
    return std::vector<std::string>{};
  }();
  test::HostileCase c;
  c.model.ParseFromString(dice.of(files));
  return c;
}

void run(Case& c) {
  test::HostileCase model = draw(c.dice);
  (void)test::mutate(model, c.dice);
  const std::string file = model.model.SerializeAsString();
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  c.file(bytes);
  std::vector<uint8_t> program;
  try {
    std::vector<std::string> warnings;
    OnnxReadOptions options;
    options.warnings = &warnings;
    options.lower_qdq = c.dice.one_in(3);
    ir::Graph g = import_onnx_bytes(bytes, "", options);
    c.count(kAccepted);
    if (c.dice.one_in(2)) ir::optimize(g);
    program = program_bytes(g);
  } catch (const Error& e) {
    if (c.verbose) printf("%.300s\n", e.what());
    return;
  } catch (const std::exception& e) {
    return c.fault(std::string("not an Error: ") + e.what());
  }
  RunWith with;
  with.timeout_ns = 30'000'000;
  Feeder feeder(c.dice);
  run_program(c, allocator(), program, with,
              [&](const PortInfo& port, size_t, int k, Fed& fed) { return feeder(port, k, fed); });
  if (const char* wrong = allocator().check(); wrong != nullptr) c.fault(wrong);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  return wick::fuzz::fuzz_main(argc, argv,
                               {"fuzz_onnx", {"loaded", "opened", "ran", "read"}, wick::fuzz::run});
}
