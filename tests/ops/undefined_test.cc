// Values that C++ leaves undefined, and that callers and files may bring: bools of any byte,
// attribute numbers that no integer holds. Each row of bools gives the same for 2, 128 and 255 as
// for 1.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

// Sets every bool of the inputs that holds to a byte of its own.
int make_other_bytes(std::vector<Value>& in) {
  int changed = 0;
  for (Value& v : in) {
    if (v.view().dtype != DType::kBool) continue;
    auto* p = v.view().as<uint8_t>();
    const uint8_t holds[] = {2, 128, 255, 1};
    for (int64_t i = 0; i < v.view().numel(); ++i) {
      if (p[i] == 0) continue;
      p[i] = holds[changed++ % 4];
    }
  }
  return changed;
}

// "" when equal by bits, bools by what they say; sequences are the bytes that went in.
std::string differ(const Value& a, const Value& b) {
  if (is_container(a.view().dtype)) return "";
  if (a.view().dtype != DType::kBool) return bits_differ(a.view(), b.view());
  if (!(a.view().shape == b.view().shape)) return "shapes differ";
  for (int64_t i = 0; i < a.view().numel(); ++i) {
    if ((a.at(i) != 0) != (b.at(i) != 0)) return fmt::format("bool {} differs", i);
  }
  return "";
}

TEST(Undefined, BoolsOfAnyByte) {
  int rows = 0;
  for (const TestRow* row : all_test_rows()) {
    bool ran = false;
    for (const Sample& s : row->samples()) {
      for (DType as : {DType::kF32, DType::kBool}) {  // the sample's own bools; bools for its reals
        for (Span<const KernelSet* const> sets : {reference_sets(), cpu_sets()}) {
          const std::vector<Value> plain = make_inputs(s, as);
          std::vector<Value> other = make_inputs(s, as), want, got;
          if (make_other_bytes(other) == 0) continue;
          std::string kernel;
          const Status first =
              run_op(row->op, s.attrs.get(), plain, s.outputs, sets, nullptr, &want);
          const Status second =
              run_op(row->op, s.attrs.get(), other, s.outputs, sets, nullptr, &got, &kernel);
          ASSERT_EQ(first.ok(), second.ok()) << s.name;
          if (!first.ok()) continue;
          ran = true;
          for (size_t k = 0; k < want.size(); ++k)
            EXPECT_EQ(differ(want[k], got[k]), "") << s.name << " " << kernel << " output " << k;
        }
      }
    }
    rows += ran ? 1 : 0;
  }
  EXPECT_GT(rows, 25);
}

std::vector<double> run(OpId op, const AnyAttrs& attrs, const Input& x) {
  Sample s{"x", attrs, {x}, 1};
  std::vector<Value> out;
  const Status status = run_op(op, attrs.get(), make_inputs(s), 1, reference_sets(), nullptr, &out);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<double> values;
  for (int64_t i = 0; status.ok() && i < out[0].view().numel(); ++i) values.push_back(out[0].at(i));
  return values;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Bounds that are no number of the tensor's dtype.
TEST(Undefined, ClipOfIntegers) {
  for (DType t : {DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kI64, DType::kU64}) {
    const Input x{t, {3}, 0, 0, {0, 5, 100}};
    const std::vector<double> all = {0, 5, 100};
    EXPECT_EQ(run(OpId::kClip, AnyAttrs::of(ClipAttrs{kNan, kNan}), x), all);
    EXPECT_EQ(run(OpId::kClip, AnyAttrs::of(ClipAttrs{-1e30, 1e30}), x), all);
    EXPECT_EQ(run(OpId::kClip, AnyAttrs::of(ClipAttrs{-kInf, kInf}), x), all);
    EXPECT_EQ(run(OpId::kClip, AnyAttrs::of(ClipAttrs{kNan, 7}), x),
              (std::vector<double>{0, 5, 7}));
    EXPECT_EQ(run(OpId::kClip, AnyAttrs::of(ClipAttrs{3, kNan}), x),
              (std::vector<double>{3, 5, 100}));
  }
}

TEST(Undefined, PadsOfIntegers) {
  const auto padded = [](DType t, double value) {
    PadAttrs a;
    a.pads = {0, 1};
    a.value = value;
    return run(OpId::kPad, AnyAttrs::of(a), {t, {1}, 0, 0, {1}})[1];
  };
  EXPECT_EQ(padded(DType::kI64, 1e30), 0x1p63);
  EXPECT_EQ(padded(DType::kI64, -1e30), -0x1p63);
  EXPECT_EQ(padded(DType::kI64, kNan), 0);
  EXPECT_EQ(padded(DType::kI32, -7.9), -7);
  EXPECT_EQ(padded(DType::kU8, 200), 200);
  for (double v : {2.0, -1.0, 0.5, 1e30, kInf}) EXPECT_EQ(padded(DType::kBool, v), 1) << v;
  EXPECT_EQ(padded(DType::kBool, 0), 0);
}

}  // namespace
}  // namespace wick::test
