// Inputs that describe shapes (axes, sizes, pads, bounds) may have any integer dtype: the rules
// accept them. Whatever the dtype, and whether the values are known when the session is created or
// only when it runs, the answer has the bits of the one with int64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/runtime/programs.h"

namespace wick {
namespace {

using test::kSym;
using test::ProgramBuilder;

using Ints = std::vector<int64_t>;

constexpr DType kIntegers[] = {DType::kI64, DType::kI32, DType::kI16, DType::kI8,
                               DType::kU64, DType::kU32, DType::kU16, DType::kU8};

std::vector<uint8_t> as_bytes(const Ints& values, DType dtype) {
  std::vector<uint8_t> bytes;
  const size_t size = dtype_size(dtype);
  for (int64_t v : values) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);  // little-endian: the low bytes first
    bytes.insert(bytes.end(), p, p + size);
  }
  return bytes;
}

struct List {
  Ints values;
  bool absent = false, scalar = false;
  bool negative() const {
    return std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 0; });
  }
};
const List kAbsent{{}, true, false};

struct Case {
  const char* name;
  OpId op;
  std::vector<int64_t> x;  // the shape of the f32 input
  std::vector<List> lists;
  std::function<void(ProgramBuilder&, const std::vector<uint32_t>&, const std::vector<uint32_t>&)>
      node;
  size_t outputs = 1;
};

template <class A>
auto node_of(OpId op, A attrs) {
  return [op, attrs](ProgramBuilder& p, const std::vector<uint32_t>& in,
                     const std::vector<uint32_t>& out) { p.node(op, in, out, attrs, "node"); };
}

template <class A>
Case make(const char* name, OpId op, std::vector<int64_t> x, std::vector<List> lists, A attrs,
          size_t outputs = 1) {
  return {name, op, std::move(x), std::move(lists), node_of(op, attrs), outputs};
}

std::vector<Case> cases() {
  DftAttrs half;
  half.onesided = 1;
  ReduceAttrs noop;
  noop.noop_with_empty_axes = 1;
  PadAttrs edge;
  edge.mode = static_cast<int64_t>(PadMode::kEdge);
  std::vector<Case> all = {
      make("slice", OpId::kSlice, {4, 5, 6}, {{{1, 0}}, {{3, 5}}, {{0, 2}}, {{1, 2}}},
           SliceAttrs{}),
      make("slice backwards", OpId::kSlice, {4, 5}, {{{-1}}, {{-100}}, {{-1}}, {{-2}}},
           SliceAttrs{}),
      make("slice without axes", OpId::kSlice, {4, 5}, {{{1, 2}}, {{2, 4}}}, SliceAttrs{}),
      make("slice of no axes", OpId::kSlice, {4, 5}, {{{}}, {{}}, {{}}, {{}}}, SliceAttrs{}),
      make("pad", OpId::kPad, {3, 4}, {{{1, 2, 0, 3}}}, PadAttrs{}),
      make("pad negative", OpId::kPad, {3, 4}, {{{-1, 2, 0, -3}}}, PadAttrs{}),
      make("pad axes", OpId::kPad, {3, 4, 2}, {{{1, 2}}, kAbsent, {{1}}}, edge),
      make("pad of no axes", OpId::kPad, {3, 4}, {{{}}, kAbsent, {{}}}, PadAttrs{}),
      make("reshape", OpId::kReshape, {3, 4}, {{{2, 6}}}, ReshapeAttrs{}),
      make("expand", OpId::kExpand, {1, 4}, {{{3, 4}}}, ShapeAttrs{}),
      make("squeeze", OpId::kSqueeze, {1, 4, 1}, {{{2}}}, AxesAttrs{}),
      make("unsqueeze", OpId::kUnsqueeze, {4, 2}, {{{0, 2}}}, AxesAttrs{}),
      make("split", OpId::kSplit, {6, 2}, {{{2, 1, 3}}}, SplitAttrs{}, 3),
      make("topk", OpId::kTopK, {3, 5}, {{{2}}}, TopKAttrs{}, 2),
      make("cumsum", OpId::kCumSum, {3, 5}, {{{1}}}, CumulateAttrs{}),
      make("cumsum by a scalar", OpId::kCumSum, {3, 5}, {{{1}, false, true}}, CumulateAttrs{}),
      make("cumprod", OpId::kCumProd, {3, 5}, {{{-2}}}, CumulateAttrs{}),
      make("dft", OpId::kDFT, {2, 6, 3, 1}, {{{5}, false, true}, {{1}, false, true}}, DftAttrs{}),
      make("dft one side", OpId::kDFT, {2, 6, 3, 1}, {{{7}, false, true}, {{2}, false, true}},
           half),
      make("affine grid", OpId::kAffineGrid, {2, 2, 3}, {{{2, 1, 3, 4}}}, AffineGridAttrs{}),
      make("reduce nothing", OpId::kReduceSum, {2, 3}, {{{}}}, noop),
      make("reduce all", OpId::kReduceSum, {2, 3}, {{{}}}, ReduceAttrs{}),
  };
  for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax, OpId::kReduceMin,
                  OpId::kReduceProd}) {
    all.push_back(make("reduce", op, {2, 3, 4, 5}, {{{0, 2}}}, ReduceAttrs{}));
    all.push_back(make("reduce from the end", op, {2, 3, 4}, {{{-1}}}, ReduceAttrs{}));
    all.push_back(make("reduce by a scalar", op, {2, 3, 4}, {{{1}, false, true}}, ReduceAttrs{}));
  }
  return all;
}

struct Answer {
  Status status;
  std::string error;
  std::vector<Shape> shapes;
  std::vector<std::vector<uint8_t>> bytes;
};

// The lists are of `dtype`; `when_run`: inputs of the program rather than constants.
Answer answer_of(const Case& c, DType dtype, bool when_run) {
  ProgramBuilder p;
  std::vector<uint32_t> in, out, ports;
  std::vector<std::vector<uint8_t>> data;
  std::vector<TensorView> given;
  std::vector<float> x(static_cast<size_t>(numel(Shape(Span<const int64_t>(c.x)))));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) + 0.25f;
  ports.push_back(p.value("x", DType::kF32, c.x));
  in.push_back(ports[0]);
  given.emplace_back(x.data(), DType::kF32, Shape(Span<const int64_t>(c.x)));
  data.reserve(c.lists.size());
  constexpr const char* kNames[] = {"first", "second", "third", "fourth"};
  for (const List& list : c.lists) {
    if (list.absent) {
      in.push_back(kNoIndex);
      continue;
    }
    const auto n = static_cast<int64_t>(list.values.size());
    const std::vector<int64_t> dims = list.scalar ? Ints{} : Ints{n};
    data.push_back(as_bytes(list.values, dtype));
    if (when_run) {
      ports.push_back(p.value(kNames[in.size() - 1], dtype, dims));
      given.emplace_back(data.back().data(), dtype, list.scalar ? Shape{} : Shape{n});
      in.push_back(ports.back());
    } else {
      in.push_back(p.value("list", dtype, dims,
                           p.constant_only<uint8_t>("list", dims, data.back(), 0, dtype)));
    }
  }
  for (size_t i = 0; i < c.outputs; ++i) {
    const DType of = c.op == OpId::kTopK && i == 1 ? DType::kI64 : DType::kF32;
    constexpr const char* kOutputs[] = {"y", "z", "u"};
    out.push_back(p.value(kOutputs[i], of, {}, kNoIndex, kNoIndex, 0, true));
  }
  c.node(p, in, out);
  p.entry("main", ports, out);
  const auto l = test::load(p.finish());
  Answer a;
  auto session = Session::create(*l.program);
  if (!session.ok()) return {session.status(), session.status().message(), {}, {}};
  std::vector<TensorView> got(c.outputs);
  a.status = (*session)->run(Span<const TensorView>(given), got);
  a.error = a.status.message();
  for (const TensorView& y : got) {
    if (!a.status.ok()) break;
    a.shapes.push_back(y.shape);
    const auto* bytes = static_cast<const uint8_t*>(y.data);
    a.bytes.emplace_back(bytes, bytes + y.nbytes());
  }
  return a;
}

// Their rule refuses other integers than ONNX's indices have.
bool takes_indices_alone(OpId op) { return op == OpId::kCumSum || op == OpId::kCumProd; }

TEST(ShapeInputs, EveryIntegerDtypeGivesTheSameAnswer) {
  for (const Case& c : cases()) {
    const Answer want = answer_of(c, DType::kI64, false);
    ASSERT_TRUE(want.status.ok()) << c.name << ": " << want.error;
    for (DType dtype : kIntegers) {
      bool fits = is_signed_int(dtype);
      if (!fits)
        fits = std::none_of(c.lists.begin(), c.lists.end(),
                            [](const List& l) { return l.negative(); });
      if (!fits) continue;
      for (bool when_run : {false, true}) {
        const Answer got = answer_of(c, dtype, when_run);
        const std::string what = std::string(c.name) + ", " + dtype_name(dtype) +
                                 (when_run ? ", known when run" : ", constant");
        if (takes_indices_alone(c.op) && dtype != DType::kI64 && dtype != DType::kI32) {
          EXPECT_EQ(got.status.code(), Code::kTypeMismatch) << what;
          continue;
        }
        ASSERT_TRUE(got.status.ok()) << what << ": " << got.error;
        ASSERT_EQ(got.shapes.size(), want.shapes.size()) << what;
        for (size_t i = 0; i < got.shapes.size(); ++i) {
          EXPECT_EQ(got.shapes[i], want.shapes[i]) << what;
          EXPECT_EQ(got.bytes[i], want.bytes[i]) << what;
        }
      }
    }
  }
}

// An axis of one byte, which as int64 would be whatever lies behind it: here a file says what.
TEST(ShapeInputs, WhatLiesBehindANarrowAxisIsNotPartOfIt) {
  for (int64_t behind : {int64_t{0}, int64_t{-1}, int64_t{0x4141414141414141}}) {
    ProgramBuilder p;
    const auto x = p.value("x", DType::kF32, {2, 3});
    const auto axis =
        p.value("axis", DType::kI8, {1}, p.constant_only<uint8_t>("axis", {1}, {1}, 0, DType::kI8));
    p.constant<int64_t>("behind", {1}, {behind});
    const auto y = p.value("y", DType::kF32, {2, 1});
    p.node(OpId::kReduceSum, {x, axis}, {y}, ReduceAttrs{}, "sum");
    p.entry("main", {x}, {y});
    const auto l = test::load(p.finish());
    auto session = test::open(*l.program);
    float data[] = {1, 2, 3, 4, 5, 6}, sums[2] = {};
    const TensorView in(data, DType::kF32, {2, 3});
    TensorView out(sums, DType::kF32, {2, 1});
    const Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(sums[0], 6);
    EXPECT_EQ(sums[1], 15);
  }
}

}  // namespace
}  // namespace wick
