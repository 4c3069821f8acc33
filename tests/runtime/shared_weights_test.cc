// Packed weights belong to the program: its sessions, one after the other or all at once, pack each
// of them once, and count what they use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/kernels/kernel.h"
#include "tests/runtime/small_cnn.h"

namespace wick {
namespace {

using test::ramp;
using test::same_bits;
using test::small_cnn;
using ::testing::HasSubstr;

std::vector<float> run(Session& session, int64_t batch) {
  std::vector<float> x = ramp(static_cast<size_t>(batch) * 4 * 16 * 16, 0.03f), y(batch * 10);
  TensorView in(x.data(), DType::kF32, {batch, 4, 16, 16});
  TensorView out(y.data(), DType::kF32, {batch, 10});
  Status s = session.run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  EXPECT_TRUE(s.ok()) << s.message();
  return y;
}

// x + w, where w comes packed, twice as large. What its pack() does is told below.
std::atomic<int> g_packings{0}, g_failures{0}, g_inside{0};
std::atomic<bool> g_hold{false};

const KernelSet& packing_add() {
  static const KernelRow row = {
      "add.f32.packing",
      kContiguous,
      [](const KernelQuery&) { return true; },
      [](const KernelQuery& q, KernelPlan* p) -> Status {
        p->packs[0] = {1, 77, q.in[1].nbytes()};
        return {};
      },
      [](const KernelQuery& q, const KernelPlan&, int, void* to) -> Status {
        g_inside.fetch_add(1);
        while (g_hold.load()) std::this_thread::yield();
        if (g_failures.load() > 0) {
          g_failures.fetch_sub(1);
          return Status(Code::kOutOfMemory, "told to fail");
        }
        g_packings.fetch_add(1);
        for (int64_t i = 0; i < q.in[1].numel(); ++i)
          static_cast<float*>(to)[i] = 2 * q.in[1].as<float>()[i];
        return {};
      },
      [](const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
         const void*) -> Status {
        const auto* w = static_cast<const float*>(ctx.packed[0]);
        for (int64_t i = 0; i < out[0].numel(); ++i)
          out[0].as<float>()[i] = in[0].as<float>()[i] + w[i];
        return {};
      }};
  static const Span<const KernelRow> rows{&row, 1};
  static const KernelEntry entry{OpId::kAdd, &rows};
  static const KernelSet set{"packing", {&entry, 1}};
  return set;
}

// x[n] + w0 + w1 + ...: as many forms as weights, all of them 2.
std::vector<uint8_t> sums(int weights, int64_t n) {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {n});
  const uint32_t first = x;
  const std::vector<float> twos(static_cast<size_t>(n), 2);
  for (int i = 0; i < weights; ++i) {
    const std::string number = std::to_string(i);
    auto w = p.constant<float>(("w" + number).c_str(), {n}, twos);
    auto y = p.value(("y" + number).c_str(), DType::kF32, {n});
    p.node(OpId::kAdd, {x, w}, {y}, NoAttrs{}, ("add" + number).c_str());
    x = y;
  }
  p.entry("main", {first}, {x});
  return p.finish();
}

class SharedWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    g_packings = g_failures = g_inside = 0;
    g_hold = false;
  }
};

TEST_F(SharedWeights, ArePackedOnceAndFreedWithTheLastSession) {
  auto l = test::load(small_cnn());
  EXPECT_EQ(l.program->packed().bytes, 0u);
  auto first = test::open(*l.program);
  const std::vector<float> want = run(*first, 3);
  const PackedTotals once = l.program->packed();
  if (once.forms == 0) GTEST_SKIP() << "not supported by this CPU";
  EXPECT_EQ(once.packings, once.forms);
  EXPECT_GE(once.bytes, first->shared_bytes());
  EXPECT_LE(first->shared_bytes(), first->packed_bytes());
  std::vector<Owned<Session>> more;
  for (int i = 0; i < 7; ++i) {
    more.push_back(test::open(*l.program));
    EXPECT_TRUE(same_bits(run(*more.back(), 3), want));
    EXPECT_EQ(more.back()->shared_bytes(), first->shared_bytes());
  }
  EXPECT_EQ(l.program->packed().packings, once.packings) << "a later session packed again";
  EXPECT_EQ(l.program->packed().bytes, once.bytes) << "charged twice";
  first.reset();
  EXPECT_EQ(l.program->packed().bytes, once.bytes) << "others use them";
  EXPECT_TRUE(same_bits(run(*more.back(), 3), want)) << "after the session that packed them";
  more.clear();
  EXPECT_EQ(l.program->packed().bytes, 0u);
  EXPECT_EQ(l.program->packed().forms, 0u);
  auto again = test::open(*l.program);
  EXPECT_TRUE(same_bits(run(*again, 3), want));
  EXPECT_EQ(l.program->packed().packings, 2 * once.packings);
}

// Eight sessions hold the weights of one, and their own activations.
TEST_F(SharedWeights, EightSessionsHoldThemOnce) {
  constexpr int64_t kWide = 512;
  constexpr int kLayers = 8;
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {1, kWide});
  const uint32_t first = x;
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string n = std::to_string(layer);
    auto w = p.constant<float>(("w" + n).c_str(), {kWide, kWide}, ramp(kWide * kWide, 0.01f));
    auto y = p.value(("y" + n).c_str(), DType::kF32, {1, kWide});
    p.node(OpId::kMatMul, {x, w}, {y}, NoAttrs{}, ("product" + n).c_str());
    x = y;
  }
  p.entry("main", {first}, {x});
  auto l = test::load(p.finish());
  test::CountingAllocator own;
  SessionOptions options;
  options.allocator = &own;
  options.threads = 1;
  std::vector<Owned<Session>> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(test::open(*l.program, options));
  if (l.program->packed().forms == 0) GTEST_SKIP() << "not supported by this CPU";
  constexpr size_t kWeights = kLayers * kWide * kWide * sizeof(float);
  EXPECT_GE(l.program->packed().bytes, kWeights);
  EXPECT_LT(l.program->packed().bytes, kWeights + kWeights / 8);
  // A product's scratch has room for one weight, as it may be no constant; nobody writes to it
  // here.
  EXPECT_LT(own.held, 8 * (kWeights / kLayers + (size_t{1} << 18))) << "256 KiB besides";
  EXPECT_EQ(sessions[7]->shared_bytes(), sessions[0]->shared_bytes());
}

TEST_F(SharedWeights, AreKeptWhereThatIsAsked) {
  const auto file = small_cnn();
  const auto bytes = test::aligned_copy(file);
  test::CountingAllocator allocator;
  LoadOptions options;
  options.allocator = &allocator;
  options.keep_packed = true;
  {
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), options);
    ASSERT_TRUE(program.ok());
    const std::vector<float> want = run(*test::open(**program), 2);
    const PackedTotals once = (*program)->packed();
    if (once.forms == 0) GTEST_SKIP() << "not supported by this CPU";
    EXPECT_GT(once.bytes, 0u) << "no session is left";
    EXPECT_TRUE(same_bits(run(*test::open(**program), 2), want));
    EXPECT_EQ((*program)->packed().packings, once.packings);
  }
  EXPECT_EQ(allocator.alive, 0);
}

TEST_F(SharedWeights, OfSessionsThatOpenAtOnceArePackedOnce) {
  constexpr int kWeights = 40, kThreads = 8;
  auto l = test::load(sums(kWeights, 4));
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      // All of them use the forms until the last one has: else a form is freed in between.
      const KernelSet* sets[] = {&packing_add()};
      SessionOptions options;
      options.kernels = sets;
      options.threads = 1;
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      auto session = test::open(*l.program, options);
      float x[4] = {};
      TensorView in(x, DType::kF32, {4}), out;
      Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
      EXPECT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(out.as<float>()[1], 4.0f * kWeights);
      ready.fetch_add(1);
      while (ready.load() < 2 * kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(g_packings.load(), kWeights);
  EXPECT_EQ(l.program->packed().packings, static_cast<uint64_t>(kWeights));
  EXPECT_EQ(l.program->packed().bytes, 0u);
}

// While a session packs, another one waits: it takes over what the first could not do, and its own
// deadline ends its wait.
TEST_F(SharedWeights, WhoWaitsTakesOverAndHasADeadline) {
  test::ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {test::kSym, 4});
  auto w = p.constant<float>("w", {4}, {1, 2, 3, 4});
  auto y = p.value("y", DType::kF32, {test::kSym, 4});
  p.node(OpId::kAdd, {x, w}, {y}, NoAttrs{}, "add");
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish());
  g_hold = true;
  g_failures = 2;  // an error's text is made by a second try
  auto call = [&](uint64_t timeout_ns) {
    return [&l, timeout_ns]() -> Code {
      const KernelSet* sets[] = {&packing_add()};
      SessionOptions options;
      options.kernels = sets;
      options.threads = 1;
      auto session = test::open(*l.program, options);
      float data[4] = {};
      TensorView in(data, DType::kF32, {1, 4}), out;
      RunOptions soon;
      soon.timeout_ns = timeout_ns;
      Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1), soon);
      EXPECT_TRUE(!s.ok() || out.as<float>()[3] == 8);
      return s.code();
    };
  };
  Code packs{}, waits{};
  std::thread first([&] { packs = call(0)(); });
  while (g_inside.load() == 0) std::this_thread::yield();
  EXPECT_EQ(call(20'000'000)(), Code::kDeadline);
  EXPECT_EQ(g_inside.load(), 1) << "it packed what another session was packing";
  std::thread second([&] { waits = call(0)(); });
  g_hold = false;
  first.join();
  second.join();
  EXPECT_EQ(packs, Code::kOutOfMemory);
  EXPECT_EQ(waits, Code::kOk);
  EXPECT_EQ(g_packings.load(), 1);
}

// A session's budget does not depend on who packed what it uses.
TEST_F(SharedWeights, CountInTheBudgetOfEachSession) {
  constexpr size_t kEach = 16384;
  auto l = test::load(sums(40, kEach / sizeof(float)));
  const KernelSet* sets[] = {&packing_add()};
  SessionOptions options;
  options.kernels = sets;
  options.threads = 1;
  options.max_ram = 39 * kEach;
  auto alone = Session::create(*l.program, options);
  EXPECT_EQ(alone.status().code(), Code::kBudgetExceeded);
  const std::string text = alone.status().message();
  EXPECT_THAT(text, HasSubstr("max_ram: 16384 bytes more than"));
  options.max_ram = uint64_t{1} << 20;
  auto large = test::open(*l.program, options);
  EXPECT_EQ(large->shared_bytes(), 40 * kEach);
  options.max_ram = 39 * kEach;
  auto beside = Session::create(*l.program, options);
  EXPECT_EQ(beside.status().code(), Code::kBudgetExceeded) << "others have packed all of them";
  EXPECT_EQ(beside.status().message(), text);
}

// Weights of a file that somebody lends.
class Lender final : public LentBytes {
 public:
  explicit Lender(Span<uint8_t> place, std::vector<float> values)
      : place_(place), values_(std::move(values)) {}
  bool filled() const override { return fills > 0; }
  Status fill() override {
    ++fills;
    return read(place_.data());
  }
  Status read(void* to) override {
    ++reads;
    memcpy(to, values_.data(), values_.size() * sizeof(float));
    return {};
  }
  int fills = 0, reads = 0;

 private:
  Span<uint8_t> place_;
  std::vector<float> values_;
};

// They are read once to be packed, for all sessions; a kernel set that packs nothing still finds
// them.
TEST_F(SharedWeights, LentOnesAreReadOnceAndFilledForAnotherKernelSet) {
  constexpr int64_t kK = 64, kN = 512;
  const std::vector<float> w = ramp(kK * kN, 0.25f);
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2, kK}), y = p.value("y", DType::kF32, {2, kN});
  auto c = p.constant<float>("w", {kK, kN}, w);
  p.node(OpId::kMatMul, {x, c}, {y}, NoAttrs{}, "product");
  p.entry("main", {x}, {y});
  const auto file = p.finish(kFeatureLent);
  const auto bytes = test::aligned_copy(file);
  const std::vector<uint8_t> nothing(w.size() * sizeof(float), 0xFF);
  const auto place = test::aligned_copy(nothing);
  Lender lender({place.get(), nothing.size()}, w);
  const LentSegment lent[] = {{{place.get(), nothing.size()}, &lender}};
  LoadOptions load;
  load.lent = lent;
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto product = [&](Session& session) {
    std::vector<float> in = ramp(2 * kK, 0.5f), out(2 * kN);
    TensorView a(in.data(), DType::kF32, {2, kK}), b(out.data(), DType::kF32, {2, kN});
    Status s = session.run(Span<const TensorView>(&a, 1), Span<TensorView>(&b, 1));
    EXPECT_TRUE(s.ok()) << s.message();
    return out;
  };
  auto fast = test::open(**program), other = test::open(**program);
  if (fast->packed_form_count() == 0) GTEST_SKIP() << "not supported by this CPU";
  const std::vector<float> want = product(*fast);
  EXPECT_TRUE(same_bits(product(*other), want));
  EXPECT_EQ(lender.reads, 1);
  EXPECT_EQ(lender.fills, 0);
  const KernelSet* sets[] = {&kReferenceKernels};
  SessionOptions reference;
  reference.kernels = sets;
  auto plain = test::open(**program, reference);
  EXPECT_EQ(lender.fills, 1);
  const std::vector<float> slow = product(*plain);
  if (test::vectors_promise_bits()) {
    EXPECT_TRUE(same_bits(slow, want));
  }
  for (size_t i = 0; i < slow.size(); ++i) EXPECT_NEAR(slow[i], want[i], 1e-3);
}

}  // namespace
}  // namespace wick
