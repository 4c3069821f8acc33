// Small files that ask for much: everything that reads them stays within what such a file may use.
// The counted costs are asserted; SIGALRM ends the process if something is not counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ostream>
#include <set>

#include "tests/bombs/bomb.h"
#include "tests/runtime/programs.h"
#include "wick/compile.h"
#include "wick/error.h"

namespace wick {
namespace bombs {

void PrintTo(const Bomb& b, std::ostream* to) { *to << b.name; }

}  // namespace bombs
namespace {

using bombs::Bomb;
using testing::HasSubstr;

constexpr unsigned kSeconds = 60;  // sanitizers, a busy machine
constexpr size_t kFile = 10 << 10, kMemory = size_t{192} << 20;

class Hurry {
 public:
  explicit Hurry(std::string name) : name_(std::move(name)) { alarm(kSeconds); }
  ~Hurry() {
    alarm(0);
    if (getenv("WICK_BOMBS_VERBOSE") == nullptr) return;
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start_;
    std::fprintf(stderr, "%s: %.2f s, %ld MiB\n", name_.c_str(), t.count(), used.ru_maxrss / 1024);
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Loaded and opened, under an allocator that counts.
void open(const std::vector<uint8_t>& file) {
  const test::AlignedBytes bytes = test::aligned_copy(file);
  test::CountingAllocator allocator;
  {
    LoadOptions load;
    load.allocator = &allocator;
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), load);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_LE(allocator.peak, (size_t{1} << 20) + 64 * file.size());
    SessionOptions options;
    options.allocator = &allocator;
    options.threads = 1;
    options.max_ram = kMemory;
    auto session = Session::create(**program, options);
    if (!session.ok()) {
      EXPECT_STRNE(session.status().message(), "");
    }
    EXPECT_LE(allocator.peak, kMemory + (size_t{1} << 20) + 64 * file.size());
  }
  EXPECT_EQ(allocator.alive, 0);
}

// The most that the exporter may make of a file of kFile bytes: its own constants and what was
// folded.
constexpr size_t kMostMade = size_t{110} << 20;

std::string compiled(const Bomb& b, std::vector<uint8_t>* program) {
  LedgerLimits spent;
  std::string error;
  try {
    const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(b.bytes.data()),
                                    b.bytes.size());
    ir::Graph graph = is_tflite(bytes) ? import_tflite_bytes(bytes, {.spent = &spent})
                                       : import_onnx_bytes(bytes, "", {.spent = &spent});
    const ir::PassReport report = ir::optimize(graph);
    EXPECT_LE(report.spent.bytes, size_t{64} << 20);
    EXPECT_LE(report.spent.work, 4e8);
    *program = program_bytes(graph);
    EXPECT_LE(program->size(), kMostMade);
  } catch (const Error& e) {
    error = e.what();
  }
  EXPECT_LE(spent.work, 1e8);
  EXPECT_LE(spent.visits, (uint64_t{1} << 16) + 8 * b.bytes.size());
  EXPECT_LE(spent.bytes, (uint64_t{1} << 22) + 64 * b.bytes.size());
  return error;
}

TEST(Bombs, AreSmallAndMany) {
  std::set<std::string> names;
  size_t count = 0;
  for (const auto& list :
       {bombs::onnx_bombs(), bombs::tflite_bombs(), bombs::text_bombs(), bombs::wick_bombs()}) {
    for (const Bomb& b : list) {
      EXPECT_LE(b.bytes.size(), kFile) << b.name;
      EXPECT_TRUE(names.insert(b.name).second) << b.name;
      ++count;
    }
  }
  EXPECT_GE(count, 90u);
}

void stays_within_its_budget(const Bomb& b) {
  Hurry hurry(b.name);
  std::vector<uint8_t> program;
  const std::string error = compiled(b, &program);
  if (b.refusal.empty()) {
    EXPECT_EQ(error, "");
    if (!program.empty()) open(program);
  } else {
    EXPECT_THAT(error, HasSubstr(b.refusal));
  }
}

class OnnxBombs : public testing::TestWithParam<Bomb> {};
TEST_P(OnnxBombs, StayWithinTheirBudget) { stays_within_its_budget(GetParam()); }

class TfliteBombs : public testing::TestWithParam<Bomb> {};
TEST_P(TfliteBombs, StayWithinTheirBudget) { stays_within_its_budget(GetParam()); }

class TextBombs : public testing::TestWithParam<Bomb> {};

std::string parsed(const std::string& text) {
  try {
    ir::parse_graph(text);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST_P(TextBombs, StayWithinTheirBudget) {
  Hurry hurry(GetParam().name);
  rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  const std::string error = parsed(GetParam().bytes);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LE(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
  if (GetParam().refusal.empty()) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_THAT(error, HasSubstr(GetParam().refusal));
  }
}

// Each branch knows every size of the model: what is little in a small file is the product of the
// two in a larger one.
TEST(Bombs, BranchesTimesSizes) {
  Hurry hurry("branches and sizes");
  std::vector<uint8_t> program;
  EXPECT_THAT(compiled(bombs::branches(400, 1500).bomb(""), &program), HasSubstr("max_visits"));
  EXPECT_THAT(parsed(bombs::branches_text(3000, 600)), HasSubstr("regions and dimensions"));
}

class WickBombs : public testing::TestWithParam<Bomb> {};

TEST_P(WickBombs, StayWithinTheirBudget) {
  Hurry hurry(GetParam().name);
  open({GetParam().bytes.begin(), GetParam().bytes.end()});
}

std::string name_of(const testing::TestParamInfo<Bomb>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, OnnxBombs, testing::ValuesIn(bombs::onnx_bombs()), name_of);
INSTANTIATE_TEST_SUITE_P(All, TfliteBombs, testing::ValuesIn(bombs::tflite_bombs()), name_of);
INSTANTIATE_TEST_SUITE_P(All, TextBombs, testing::ValuesIn(bombs::text_bombs()), name_of);
INSTANTIATE_TEST_SUITE_P(All, WickBombs, testing::ValuesIn(bombs::wick_bombs()), name_of);

}  // namespace
}  // namespace wick
