// The paths that a session's kernels take: rows that pack constant weights get every packed form
// that they asked for. Each row of the library that packs is wrapped by one that looks and then
// calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/prepared.h"
#include "tests/runtime/programs.h"

namespace wick {
namespace {

using test::ProgramBuilder;

struct Seen {
  int asked = 0, given = 0;
};
std::vector<std::pair<const KernelRow*, Seen>> g_seen;  // by wrapped row

constexpr size_t kMostRows = 64;  // rows of the library that pack

template <size_t I>
Status look(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const void* attrs) {
  auto& [row, seen] = g_seen[I];
  for (int slot = 0; slot < kMaxPacked; ++slot) {
    seen.asked += ctx.plan->packs[slot].bytes != 0 ? 1 : 0;
    seen.given += ctx.packed[slot] != nullptr ? 1 : 0;
  }
  return run_inner(*row, ctx, in, out, attrs);
}
template <size_t... I>
constexpr auto runs(std::index_sequence<I...>) {
  return std::array{look<I>...};
}

// The CPU's rows with those wrapped that pack.
const KernelSet& looking() {
  static std::vector<std::vector<KernelRow>> rows;
  static std::vector<Span<const KernelRow>> spans;
  static std::vector<KernelEntry> entries;
  static const KernelSet set = [] {
    constexpr auto kRuns = runs(std::make_index_sequence<kMostRows>());
    for (const KernelEntry& entry : kCpuKernels.entries) {
      rows.emplace_back(entry.rows->begin(), entry.rows->end());
      for (size_t i = 0; i < rows.back().size(); ++i) {
        if (rows.back()[i].pack == nullptr) continue;
        EXPECT_LT(g_seen.size(), kMostRows);
        rows.back()[i].run = kRuns[g_seen.size()];
        g_seen.emplace_back(&(*entry.rows)[i], Seen());
      }
    }
    for (size_t i = 0; i < rows.size(); ++i) spans.emplace_back(rows[i]);
    for (size_t i = 0; i < rows.size(); ++i)
      entries.push_back({kCpuKernels.entries[i].op, &spans[i]});
    return KernelSet{"looking", entries};
  }();
  return set;
}

std::vector<float> reals(size_t n, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * static_cast<float>((i * 37 + 11) % 64) - scale * 30;
  return v;
}

// Runs the program over x: with the wrapped rows, and with the reference's. The same bits, and
// every form that was asked for was given.
void expect_packed(const std::string& what, const std::vector<uint8_t>& file, const Shape& x_shape,
                   int forms) {
  auto l = test::load(file);
  std::vector<float> x = reals(static_cast<size_t>(numel(x_shape)), 0.125f);
  const TensorView in[] = {TensorView(x.data(), DType::kF32, x_shape)};
  std::vector<std::vector<uint8_t>> bytes;
  const KernelSet* const looking_sets[] = {&looking(), &kReferenceKernels};
  const KernelSet* const plain_sets[] = {&kReferenceKernels};
  for (auto& [row, seen] : g_seen) seen = {};
  for (Span<const KernelSet* const> sets :
       {Span<const KernelSet* const>(looking_sets), Span<const KernelSet* const>(plain_sets)}) {
    SessionOptions options;
    options.kernels = sets;
    auto session = test::open(*l.program, options);
    ASSERT_TRUE(session) << what;
    TensorView out[1];
    const Status s = session->run(in, out);
    ASSERT_TRUE(s.ok()) << what << ": " << s.message();
    const auto* p = static_cast<const uint8_t*>(out[0].data);
    bytes.emplace_back(p, p + out[0].nbytes());
  }
  EXPECT_EQ(bytes[0], bytes[1]) << what;
  int asked = 0;
  for (const auto& [row, seen] : g_seen) {
    asked += seen.asked;
    EXPECT_EQ(seen.given, seen.asked) << what << ": " << row->name;
  }
  EXPECT_EQ(asked, forms) << what;
}

bool simd() {
  return !kCpuKernels.entries.empty() && !looking().entries.empty() && !g_seen.empty();
}

TEST(PackPaths, WeightsInBlocksWithZeroPoints) {
  if (!test::vectors_promise_bits()) GTEST_SKIP() << test::kNoBits;
  if (!simd()) GTEST_SKIP() << "not supported by this CPU";
  constexpr int64_t kN = 48, kK = 96, kBlock = 32;
  for (DType dtype : {DType::kU4, DType::kI4, DType::kU8, DType::kI8}) {
    for (bool zeros : {true, false}) {
      for (int64_t rows : {int64_t{1}, int64_t{3}, int64_t{40}}) {
        ProgramBuilder p;
        const auto bits = static_cast<size_t>(dtype_bits(dtype));
        auto integers = [&](const char* name, int64_t n) {
          std::vector<uint8_t> data(static_cast<size_t>(kN * n) * bits / 8);
          for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 73 + 29);
          return p.value(name, dtype, {kN, n}, p.constant_only(name, {kN, n}, data, 0, dtype));
        };
        const auto x = p.value("x", DType::kF32, {rows, kK}),
                   y = p.value("y", DType::kF32, {rows, kN});
        std::vector<uint32_t> in = {x, integers("w", kK)};
        in.push_back(p.constant<float>("scale", {kN, kK / kBlock}, reals(kN * kK / kBlock, 0.01f)));
        in.push_back(zeros ? integers("zero", kK / kBlock) : kNoIndex);
        in.push_back(p.constant<float>("bias", {kN}, reals(kN, 1)));
        BlockLinearAttrs a;
        a.block_size = kBlock;
        p.node(OpId::kBlockLinear, in, {y}, a, "linear");
        p.entry("main", {x}, {y});
        expect_packed(std::string(dtype_name(dtype)) + (zeros ? " with zeros, rows " : ", rows ") +
                          std::to_string(rows),
                      p.finish(kFeatureNonTensor), {rows, kK}, zeros ? 3 : 2);
      }
    }
  }
}

TEST(PackPaths, ProductsAndCells) {
  if (!test::vectors_promise_bits()) GTEST_SKIP() << test::kNoBits;
  if (!simd()) GTEST_SKIP() << "not supported by this CPU";
  {
    ProgramBuilder p;
    const auto x = p.value("x", DType::kF32, {8, 64}), y = p.value("y", DType::kF32, {8, 96});
    p.node(OpId::kMatMul, {x, p.constant<float>("w", {64, 96}, reals(64 * 96, 0.02f))}, {y});
    p.entry("main", {x}, {y});
    expect_packed("MatMul", p.finish(), {8, 64}, 1);
  }
  ProgramBuilder p;
  RnnAttrs a;
  a.hidden_size = 32;
  const auto x = p.value("x", DType::kF32, {5, 2, 16}),
             y = p.value("y", DType::kF32, {5, 1, 2, 32}),
             h = p.value("h", DType::kF32, {1, 2, 32}), c = p.value("c", DType::kF32, {1, 2, 32});
  p.node(OpId::kLSTM,
         {x, p.constant<float>("w", {1, 128, 16}, reals(128 * 16, 0.01f)),
          p.constant<float>("r", {1, 128, 32}, reals(128 * 32, 0.01f))},
         {y, h, c}, a);
  p.entry("main", {x}, {y});
  expect_packed("LSTM", p.finish(), {5, 2, 16}, 2);
}

}  // namespace
}  // namespace wick
