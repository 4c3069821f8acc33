// The properties that every op has, tested from its row alone.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "runtime/kernels/simd.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"
#include "tests/support/digest.h"

namespace wick::test {
namespace {

// The tests that ran: op, dtype of an input, property.
std::set<std::tuple<OpId, DType, std::string>>& cases() {
  static std::set<std::tuple<OpId, DType, std::string>> all;
  return all;
}

class OpRows : public testing::TestWithParam<const TestRow*> {
 protected:
  const TestRow& row() const { return *GetParam(); }
  std::vector<Sample> samples() const {
    std::string property = testing::UnitTest::GetInstance()->current_test_info()->name();
    property = property.substr(0, property.find('/'));
    std::vector<Sample> all = row().samples();
    for (const Sample& s : all) {
      for (const Input& in : s.in)
        if (in.dtype != DType::kNone) cases().emplace(row().op, in.dtype, property);
    }
    return all;
  }
};

class PrintCases : public testing::Environment {
 public:
  void TearDown() override {
    printf("COUNT: ops: %zu op rows, %zu op x dtype x property cases\n", all_test_rows().size(),
           cases().size());
  }
};
[[maybe_unused]] const testing::Environment* const kPrintCases =
    testing::AddGlobalTestEnvironment(new PrintCases);

std::string row_name(const testing::TestParamInfo<const TestRow*>& info) {
  return find_op(info.param->op)->name;
}

// Element i of a broadcast input.
double broadcast_at(const Value& v, const Shape& out, int64_t i) {
  TensorView in = v.view();
  int64_t offset = 0;
  for (int d = out.rank() - 1; d >= 0; --d) {
    int64_t index = i % out[d];
    i /= out[d];
    int at = d - (out.rank() - in.rank());
    if (at >= 0 && in.shape[at] != 1) offset += index * in.strides[at];
  }
  return v.at(offset);
}

// "" when every element is within bound * 2^-24 of its own magnitude (elementwise) or of the
// largest of the tensor: what is small in a sum of large terms has their error. OpAnswers judges
// those elements by the terms of their own sum.
std::string off_by(const Value& got, const Value& want, double bound, bool own_magnitude) {
  TensorView g = got.view(), w = want.view();
  if (!(g.shape == w.shape))
    return fmt::format("{} vs {}", to_text(g.shape).text, to_text(w.shape).text);
  double largest = 0;
  for (int64_t i = 0; i < w.numel(); ++i) {
    if (std::isfinite(want.at(i))) largest = std::fmax(largest, std::fabs(want.at(i)));
  }
  for (int64_t i = 0; i < w.numel(); ++i) {
    double a = got.at(i), b = want.at(i);
    if (g.dtype == DType::kF32)
      b = std::fabs(b) > 3.4028235677973366e38 ? std::copysign(INFINITY, b) : b;
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double room = bound * 0x1p-24 * (own_magnitude ? std::fabs(b) : largest) + 0x1p-149 * bound;
    if (!is_float(g.dtype) || !(std::fabs(a - b) <= room)) {
      return fmt::format("element {}: {:.9g}, expected {:.9g}, allowed difference {:.3g}", i, a, b,
                         is_float(g.dtype) ? room : 0.0);
    }
  }
  return "";
}

// Without samples every other property would hold.
TEST_P(OpRows, HasSamples) { EXPECT_FALSE(samples().empty()); }

TEST_P(OpRows, ReferenceAgreesWithDoubleOracle) {
  if (row().oracle_apart) return;
  for (const Sample& s : samples()) {
    SCOPED_TRACE(s.name);
    std::vector<Value> got, want;
    auto in = make_inputs(s);
    Status status = run_op(row().op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, &got);
    ASSERT_TRUE(status.ok()) << status.message();
    if (row().oracle != nullptr) {
      Value w(got[0].view().dtype == DType::kF32 ? DType::kF64 : got[0].view().dtype,
              got[0].view().shape);
      for (int64_t i = 0; i < w.view().numel(); ++i) {
        double args[3] = {};
        for (size_t k = 0; k < in.size(); ++k) args[k] = broadcast_at(in[k], w.view().shape, i);
        w.set(i, row().oracle(args));
      }
      want.push_back(w);
    } else {
      status = run_op(row().op, s.attrs.get(), make_inputs(s, DType::kF64), s.outputs,
                      reference_sets(), nullptr, &want);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_EQ(off_by(got[k], want[k], row().bound, row().oracle != nullptr), "")
          << "output " << k;
    }
  }
}

TEST_P(OpRows, EverySimdTargetHasTheReferenceBits) {
  for (const Sample& s : samples()) {
    std::vector<Value> want;
    ASSERT_TRUE(
        run_op(row().op, s.attrs.get(), make_inputs(s), s.outputs, reference_sets(), nullptr, &want)
            .ok());
    for_each_simd_target([&](int64_t target) {
      for (size_t offset : {size_t{0}, size_t{4}}) {
        SCOPED_TRACE(fmt::format("{} {} offset {}", s.name, simd_target_name(target), offset));
        std::vector<Value> got;
        std::string kernel;
        Status status = run_op(row().op, s.attrs.get(), make_inputs(s, DType::kF32, offset),
                               s.outputs, cpu_sets(), nullptr, &got, &kernel, offset);
        ASSERT_TRUE(status.ok()) << status.message();
        for (size_t k = 0; k < want.size(); ++k) {
          if (simd_target_has_fma(target)) {
            EXPECT_EQ(bits_differ(want[k].view(), got[k].view()), "") << kernel;
          } else {  // P3
            EXPECT_EQ(off_by(got[k], want[k], 4 * row().bound + 4, row().oracle != nullptr), "")
                << kernel;
          }
        }
      }
    });
  }
}

// The same for the forms of files of before, where an op has two.
TEST_P(OpRows, TheFirstEditionHasTheReferenceBitsToo) {
  for (const Sample& s : samples()) {
    for (DType t : {DType::kF32, DType::kF16}) {
      const auto run = [&](Span<const KernelSet* const> sets, Edition edition) {
        std::vector<Value> out;
        const Status status = run_op(row().op, s.attrs.get(), make_inputs(s, t), s.outputs, sets,
                                     nullptr, &out, nullptr, 0, edition);
        if (!status.ok()) out.clear();
        return out;
      };
      const auto differ = [](const std::vector<Value>& a, const std::vector<Value>& b) {
        std::string text;
        for (size_t k = 0; k < a.size() && text.empty(); ++k)
          text = bits_differ(a[k].view(), b[k].view());
        return text;
      };
      const std::vector<Value> want = run(reference_sets(), Edition::k1);
      if (differ(want, run(reference_sets(), kNewestEdition)).empty()) continue;
      for_each_simd_target([&](int64_t target) {
        if (!simd_target_has_fma(target)) return;
        const std::vector<Value> got = run(cpu_sets(), Edition::k1);
        ASSERT_EQ(got.size(), want.size());
        EXPECT_EQ(differ(want, got), "") << s.name << " " << simd_target_name(target);
      });
    }
  }
}

// Products on tiles have an order of their own (tests/amp).
TEST_P(OpRows, SixteenBitsHaveTheReferenceBits) {
  for (const Sample& s : samples()) {
    for (DType t : {DType::kF16, DType::kBF16}) {
      std::vector<Value> want;
      if (!run_op(row().op, s.attrs.get(), make_inputs(s, t), s.outputs, reference_sets(), nullptr,
                  &want)
               .ok()) {
        continue;  // an op, or a mix of dtypes, that has no 16-bit row
      }
      for_each_simd_target([&](int64_t target) {
        for (size_t offset : {size_t{0}, size_t{2}}) {
          std::vector<Value> got;
          std::string kernel;
          Status status = run_op(row().op, s.attrs.get(), make_inputs(s, t, offset), s.outputs,
                                 cpu_sets(), nullptr, &got, &kernel, offset);
          ASSERT_TRUE(status.ok()) << status.message();
          if (kernel.ends_with(".tiles") || !simd_target_has_fma(target)) continue;
          for (size_t k = 0; k < want.size(); ++k) {
            EXPECT_EQ(bits_differ(want[k].view(), got[k].view()), "")
                << kernel << " " << s.name << " " << simd_target_name(target);
          }
        }
      });
    }
  }
}

TEST_P(OpRows, ThreadsDoNotChangeBits) {
  for (int threads : {2, 3}) {
    auto pool = ThreadPool::create(default_allocator(), threads_here(threads));
    ASSERT_TRUE(pool.ok());
    for (const Sample& s : samples()) {
      SCOPED_TRACE(s.name);
      std::vector<Value> one, many;
      auto in = make_inputs(s);
      ASSERT_TRUE(run_op(row().op, s.attrs.get(), in, s.outputs, cpu_sets(), nullptr, &one).ok());
      ASSERT_TRUE(run_op(row().op, s.attrs.get(), in, s.outputs, cpu_sets(), *pool, &many).ok());
      for (size_t k = 0; k < one.size(); ++k)
        EXPECT_EQ(bits_differ(one[k].view(), many[k].view()), "");
    }
    ThreadPool::destroy(*pool);
  }
}

// Up to two lines an op: its f32 outputs, which every target with FMA must give (P2), and those
// that are no floats, which every target must ("exact"). f64 and the 16-bit floats promise nothing
// across machines, and what Eigen computes (in double) neither; LU factors and general eigenvalues
// are loops of Wick's.
TEST_P(OpRows, Digest) {
  if (row().op >= OpId::kCholesky && row().op <= OpId::kEigh) return;
  if (row().op == OpId::kRegexFullMatch) return;  // a cross build has no RE2
  uint64_t floats = kDigestSeed, exact = kDigestSeed;
  for (const Sample& s : samples()) {
    std::vector<Value> got;
    Status status =
        run_op(row().op, s.attrs.get(), make_inputs(s), s.outputs, cpu_sets(), nullptr, &got);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const Value& v : got) {
      TensorView t = v.view();
      if (t.dtype == DType::kF32) {
        floats = digest(t.as<float>(), t.numel(), floats);
      } else if (t.dtype == DType::kString) {
        for (int64_t i = 0; i < t.numel(); ++i) {
          const std::string text = v.string_at(i);
          exact = digest_bytes(text.c_str(), text.size() + 1, exact);
        }
      } else if (!is_float(t.dtype)) {
        exact = digest_bytes(t.data, t.nbytes(), exact);
      }
    }
  }
  EXPECT_TRUE(floats != kDigestSeed || exact != kDigestSeed) << "no f32 or integer output";
  const char* name = find_op(row().op)->name;
  if (floats != kDigestSeed) print_digest(name, floats);
  if (exact != kDigestSeed) print_digest((std::string(name) + " exact").c_str(), exact);
}

INSTANTIATE_TEST_SUITE_P(All, OpRows,
                         testing::ValuesIn(all_test_rows().begin(), all_test_rows().end()),
                         row_name);

}  // namespace
}  // namespace wick::test
