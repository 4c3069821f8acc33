// Every differentiable row against central differences in float64, first and second order, on one
// small sample a row; a row of ops.def without a sample here fails.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "trainer/autograd/grad_table.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;
using Fn = std::function<List(const List&)>;

// Why a sample has no second order.
enum class Second : uint8_t { kYes, kPiecewiseConstant, kThroughFloat32, kNonSmooth, kTrainHelper };

struct Sample {
  std::string name;  // the row, then what varies
  Fn f;
  List inputs;
  Second second = Second::kYes;
};

constexpr DType kD = DType::kF64;

Tensor random(const Shape& shape, double lo = -1, double hi = 1) {
  static Generator g{7, 0};
  return uniform(shape, lo, hi, kD, g);
}
// Distinct values at least 0.05 apart, shuffled: extrema do not change within a difference step.
Tensor distinct(const Shape& shape) {
  static Generator g{8, 0};
  int64_t n = numel(shape);
  Tensor t = (randperm(n, g).to(kD) - (0.5 * static_cast<double>(n) - 0.25)) * 0.05;
  return t.reshape(shape);
}
// Away from 0 by 0.1 at least.
Tensor off_zero(const Shape& shape) {
  Tensor t = random(shape);
  return t + sign(t) * 0.1;
}

template <class A>
Fn row(OpId op, const A& attrs, size_t outputs = 1) {
  return [op, attrs, outputs](const List& in) {
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : in) pointers.push_back(&t);
    List out(outputs);
    call(op, &attrs, pointers, out, Where::current());
    return out;
  };
}

Tensor ints(std::initializer_list<int64_t> v, const Shape& s) { return tensor(v).reshape(s); }

std::vector<Sample> samples() {
  std::vector<Sample> all;
  auto add = [&](const char* name, Fn f, List in, Second second = Second::kYes) {
    all.push_back({name, std::move(f), std::move(in), second});
  };
  auto unary = [&](const char* name, double lo, double hi) {
    const OpInfo* info = find_op(name);
    all.push_back({name, row(info->id, NoAttrs{}), {random({2, 3}, lo, hi)}});
  };
  for (const char* name : {"Identity", "Sigmoid", "Tanh", "Silu", "Softplus", "Exp", "Erf", "Sin",
                           "Cos", "Tan", "Atan", "Erfc", "Expm1", "Sinh", "Cosh", "Asinh", "Neg"}) {
    unary(name, -1, 1);
  }
  for (const char* name : {"Log", "Log1p", "Log2", "Log10", "Sqrt", "Reciprocal"})
    unary(name, 0.5, 2);
  for (const char* name : {"Asin", "Acos", "Atanh"}) unary(name, -0.8, 0.8);
  unary("Acosh", 1.5, 3);
  for (const char* name : {"Floor", "Ceil", "Round", "Sign"}) {
    // constant around 0.2 .. 0.4
    all.push_back({name,
                   row(find_op(name)->id, NoAttrs{}),
                   {random({2, 3}, 0.2, 0.4)},
                   Second::kPiecewiseConstant});
  }
  add("Relu", row(OpId::kRelu, NoAttrs{}), {off_zero({3, 4})});
  add("Abs", row(OpId::kAbs, NoAttrs{}), {off_zero({3, 4})});
  add("LeakyRelu", row(OpId::kLeakyRelu, LeakyReluAttrs{0.2}), {off_zero({3, 4})});
  add("Elu", row(OpId::kElu, EluAttrs{0.7}), {off_zero({3, 4})});
  add("Gelu erf", row(OpId::kGelu, GeluAttrs{0}), {random({3, 4}, -2, 2)});
  add("Gelu tanh", row(OpId::kGelu, GeluAttrs{1}), {random({3, 4}, -2, 2)});
  add("HardSwish", row(OpId::kHardSwish, NoAttrs{}), {tensor({-4., -2., -0.5, 0.5, 2., 4.})});
  add("HardSigmoid", row(OpId::kHardSigmoid, HardSigmoidAttrs{}),
      {tensor({-4., -2., -0.5, 0.5, 2., 4.})});
  add("Clip", row(OpId::kClip, ClipAttrs{-0.5, 0.5}), {tensor({-0.9, -0.3, 0.1, 0.45, 0.7})});
  add(
      "Cast", [](const List& in) { return List{in[0].to(DType::kF32).to(kD)}; },
      {tensor({0.5, -0.25})}, Second::kThroughFloat32);

  for (const char* name : {"Add", "Sub", "Mul"}) {
    all.push_back({name, row(find_op(name)->id, NoAttrs{}), {random({2, 1, 3}), random({4, 1})}});
  }
  add("Div", row(OpId::kDiv, NoAttrs{}), {random({2, 3}), random({3}, 0.5, 2)});
  add("Pow", row(OpId::kPow, NoAttrs{}), {random({2, 3}, 0.5, 2), random({3}, -2, 2)});
  // quotients away from whole numbers
  for (int64_t fmod : {0, 1}) {
    add(fmod != 0 ? "Mod fmod" : "Mod", row(OpId::kMod, ModAttrs{fmod}),
        {tensor({2.5, -2.5, 7.25, -1.0}), tensor({1.0, 1.0, -2.0, -3.0})});
  }
  add("Atan2", row(OpId::kAtan2, NoAttrs{}), {off_zero({2, 3}), off_zero({3})});
  add("Max", row(OpId::kMax, NoAttrs{}), {distinct({2, 3}), random({1, 3}, 0.011, 0.014)});
  add("Min", row(OpId::kMin, NoAttrs{}), {distinct({2, 3}), random({1, 3}, 0.011, 0.014)});
  add("Where", row(OpId::kWhere, NoAttrs{}),
      {gt(distinct({2, 3}), 0), random({2, 3}), random({3})});

  add("MatMul", row(OpId::kMatMul, NoAttrs{}), {random({3, 4}), random({4, 2})});
  add("MatMul batch", row(OpId::kMatMul, NoAttrs{}), {random({2, 1, 2, 3}), random({2, 3, 2})});
  add("MatMul vectors", row(OpId::kMatMul, NoAttrs{}), {random({3}), random({3})});
  add("MatMul row", row(OpId::kMatMul, NoAttrs{}), {random({3}), random({2, 3, 2})});
  add("MatMul column", row(OpId::kMatMul, NoAttrs{}), {random({2, 2, 3}), random({3})});
  add("Linear", row(OpId::kLinear, NoAttrs{}), {random({2, 2, 3}), random({4, 3}), random({4})});
  add("Linear vector", row(OpId::kLinear, NoAttrs{}), {random({3}), random({4, 3})});
  add("FusedLinear",
      row(OpId::kFusedLinear, EpilogueAttrs{static_cast<int64_t>(Activation::kSilu), 0, 0}),
      {random({2, 3}), random({4, 3}), random({4}), random({4}), random({4}), random({2, 4})});
  add("FusedMatMul",
      row(OpId::kFusedMatMul, EpilogueAttrs{static_cast<int64_t>(Activation::kSilu), 0, 0}),
      {random({2, 3}), random({3, 4}), random({4}), random({4}), random({4}), random({2, 4})});

  ConvAttrs conv;
  conv.strides = {2, 1};
  conv.pads = {1, 0, 1, 1};
  add("Conv", row(OpId::kConv, conv), {random({2, 2, 5, 4}), random({3, 2, 3, 2}), random({3})});
  ConvAttrs grouped;
  grouped.group = 2;
  grouped.dilations = {1, 2};
  add("Conv groups", row(OpId::kConv, grouped), {random({1, 4, 3, 5}), random({2, 2, 2, 2})});
  FusedConvAttrs fused;
  fused.conv = conv;
  fused.epilogue.activation = static_cast<int64_t>(Activation::kTanh);
  add("FusedConv", row(OpId::kFusedConv, fused),
      {random({1, 2, 5, 4}), random({3, 2, 3, 2}), random({3}), random({3}), random({3}),
       random({1, 3, 3, 4})});
  add("ConvInputGrad", row(OpId::kConvInputGrad, ConvGradAttrs{conv, {5, 4}}),
      {random({1, 3, 3, 4}), random({3, 2, 3, 2})});
  add("ConvWeightGrad", row(OpId::kConvWeightGrad, ConvGradAttrs{conv, {3, 2}}),
      {random({1, 2, 5, 4}), random({1, 3, 3, 4})});

  ConvTransposeAttrs transposed;
  transposed.conv = conv;
  transposed.output_padding = {1, 0};
  add("ConvTranspose", row(OpId::kConvTranspose, transposed),
      {random({2, 3, 3, 4}), random({3, 2, 3, 2}), random({2})});
  ConvTransposeAttrs padded;  // what is added at the end lies beyond every tap
  padded.conv = grouped;
  padded.conv.strides = {1, 1};
  padded.output_padding = {0, 1};
  add("ConvTranspose groups", row(OpId::kConvTranspose, padded),
      {random({1, 4, 2, 3}), random({4, 1, 2, 2})});
  ConvTransposeAttrs sized;
  sized.conv.strides = {2, 2};
  sized.output_shape = {5, 6};
  add("ConvTranspose output_shape", row(OpId::kConvTranspose, sized),
      {random({1, 2, 3, 3}), random({2, 1, 2, 3})});
  for (auto mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    ResizeAttrs resize;
    resize.mode = static_cast<int64_t>(mode);
    auto resized = [](const ResizeAttrs& a, const Tensor& scales, const Tensor& sizes) -> Fn {
      return [=](const List& in) {
        return row(OpId::kResize, a)({in[0], Tensor(), scales, sizes});
      };
    };
    add("Resize", resized(resize, {}, ints({1, 2, 5, 3}, {4})), {random({1, 2, 3, 4})});
    resize.axes = {3, -2};
    add("Resize axes", resized(resize, tensor({2.0f, 1.5f}), {}), {random({1, 2, 3, 4})});
  }
  MaxPoolIndicesAttrs places;
  places.pool.kernel_shape = {2, 2};
  add("MaxPoolIndices", row(OpId::kMaxPoolIndices, places, 2), {distinct({2, 1, 3, 3})});
  RnnAttrs both;
  both.direction = 2;
  add("RNN", row(OpId::kRNN, both, 2),
      {random({3, 2, 2}), random({2, 3, 2}), random({2, 3, 3}), random({2, 6})});
  add("GRU", row(OpId::kGRU, both, 2),
      {random({3, 2, 2}), random({2, 6, 2}), random({2, 6, 2}), random({2, 12}), tensor({2, 3}),
       random({2, 2, 2})});
  add("LSTM", row(OpId::kLSTM, both, 3),
      {random({3, 2, 2}), random({2, 8, 2}), random({2, 8, 2}), random({2, 16}), tensor({3, 1}),
       random({2, 2, 2}), random({2, 2, 2}), random({2, 6})});
  for (int64_t align : {0, 1}) {
    add("AffineGrid", row(OpId::kAffineGrid, AffineGridAttrs{align}),
        {random({2, 2, 3}), ints({2, 1, 3, 4}, {4})});
  }
  add("AffineGrid 3d", row(OpId::kAffineGrid, AffineGridAttrs{}),
      {random({1, 3, 4}), ints({1, 1, 2, 1, 3}, {5})});

  PoolAttrs pool;
  pool.kernel_shape = {2, 3};
  pool.strides = {2, 1};
  pool.pads = {1, 1, 0, 1};
  pool.count_include_pad = 1;
  PoolAttrs ceil = pool;
  ceil.pads = {0, 0, 0, 0};
  ceil.strides = {2, 2};
  ceil.ceil_mode = 1;
  add("MaxPool", row(OpId::kMaxPool, pool), {distinct({1, 2, 5, 4})});
  add("MaxPool ceil", row(OpId::kMaxPool, ceil), {distinct({1, 2, 5, 4})});
  add("AveragePool", row(OpId::kAveragePool, pool), {random({1, 2, 5, 4})});
  add("AveragePool ceil", row(OpId::kAveragePool, ceil), {random({1, 2, 5, 4})});
  Tensor x = distinct({1, 2, 5, 4});
  add("MaxPoolGrad",
      [=](const List& in) {
        return row(OpId::kMaxPoolGrad, pool)({in[0], x});
      },
      {random({1, 2, 3, 4})});
  add("AveragePoolGrad",
      [=](const List& in) {
        return row(OpId::kAveragePoolGrad, pool)({in[0], x});
      },
      {random({1, 2, 3, 4})});

  add("BatchNorm", row(OpId::kBatchNorm, BatchNormAttrs{}),
      {random({2, 3, 2, 2}), random({3}), random({3}), random({3}), random({3}, 0.5, 2)});
  add("BatchNormTrain", row(OpId::kBatchNormTrain, BatchNormAttrs{}, 3),
      {random({3, 2, 2, 2}), random({2}), random({2})});
  add("BatchNormTrain 2d",
      [](const List& in) { return List{row(OpId::kBatchNormTrain, BatchNormAttrs{}, 3)(in)[0]}; },
      {random({4, 2}), random({2}), random({2})});
  add("BatchNormGrad", row(OpId::kBatchNormGrad, BatchNormAttrs{}, 3),
      {random({2, 2, 3}), random({2, 2, 3}), random({2}), random({2}), random({2}, 0.5, 2)},
      Second::kTrainHelper);
  // outside of the range, where the output is what it was: a bound times the scale
  add(
      "FakeQuantize",
      [](const List& in) {
        return row(OpId::kFakeQuantize,
                   FakeQuantizeAttrs{0, -1, 1, 1})({in[0], in[1], tensor({0.0, 0.0})});
      },
      {tensor({7.0, -9.0}), tensor({0.5, 0.25})}, Second::kPiecewiseConstant);
  for (int64_t of : {0, 1, 2}) {  // linear in the gradient
    const Tensor at = random({2, 3, 2}), scale = random({3}, 0.05, 0.1), zero = full({3}, 0, kD);
    add("FakeQuantizeGrad",
        [=](const List& in) {
          return row(OpId::kFakeQuantizeGrad,
                     FakeQuantizeAttrs{1, -8, 7, 1, of})({in[0], at, scale, zero});
        },
        {random({2, 3, 2})});
  }
  {
    const Tensor one = random({3});
    add("FoldedBatchNorm",
        [=](const List& in) {
          return row(OpId::kFoldedBatchNorm, BatchNormAttrs{})({in[0], in[1], one, one, one, one});
        },
        {random({2, 3, 2}), random({3})});
  }
  for (int64_t axis : {0, -1}) {
    add("Softmax", row(OpId::kSoftmax, AxisAttrs{axis}), {random({3, 4})});
    add("LogSoftmax", row(OpId::kLogSoftmax, AxisAttrs{axis}), {random({3, 4})});
  }

  for (const char* name : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    OpId id = find_op(name)->id;
    ReduceAttrs middle{{1}, 0, 0}, two{{0, -1}, 1, 0};
    all.push_back({name, row(id, middle), {distinct({2, 3, 2})}});
    all.push_back({name, row(id, two), {distinct({2, 3, 2})}});
    all.push_back({name, row(id, ReduceAttrs{}), {distinct({2, 3})}});
  }
  // a zero's own gradient is the product of the rest; two zeros leave none
  add("ReduceProd zeros", row(OpId::kReduceProd, ReduceAttrs{{1}, 0, 0}),
      {tensor({{1., 0., 3.}, {0., 2., 0.}, {4., 5., 6.}})}, Second::kNonSmooth);

  add("Reshape", row(OpId::kReshape, ReshapeAttrs{{3, -1}, 0}), {random({2, 3, 2})});
  add("Flatten", row(OpId::kFlatten, AxisAttrs{1}), {random({2, 3, 2})});
  add("Squeeze", row(OpId::kSqueeze, AxesAttrs{{1}}), {random({2, 1, 3})});
  add("Unsqueeze", row(OpId::kUnsqueeze, AxesAttrs{{0, 2}}), {random({2, 3})});
  add("Transpose", row(OpId::kTranspose, TransposeAttrs{{2, 0, 1}}), {random({2, 3, 2})});
  add("Expand", row(OpId::kExpand, ShapeAttrs{{2, 3, 4}}), {random({3, 1})});
  add("Concat", row(OpId::kConcat, AxisAttrs{1}), {random({2, 1}), random({2, 3}), random({2, 2})});
  add("Split", row(OpId::kSplit, SplitAttrs{1, {1, 3}, 0}, 2), {random({2, 4})});
  add("Slice", row(OpId::kSlice, SliceAttrs{{1, 3}, {3, 0}, {0, 1}, {1, -2}}), {random({4, 5})});
  add("Pad", row(OpId::kPad, PadAttrs{{1, -1, 0, 2}, 0, 0.5, {}}), {random({2, 3})});
  add("Gather", row(OpId::kGather, AxisAttrs{1}), {random({2, 3, 2}), ints({2, 0, 2, 1}, {2, 2})});
  add("GatherElements", row(OpId::kGatherElements, AxisAttrs{1}),
      {random({2, 3}), ints({2, 0, 2, 1}, {2, 2})});
  add("ScatterElements add", row(OpId::kScatterElements, ScatterAttrs{1, 1}),
      {random({2, 3}), ints({2, 0, 2, 2}, {2, 2}), random({2, 2})});
  add("ScatterElements", row(OpId::kScatterElements, ScatterAttrs{1, 0}),
      {random({2, 3}), ints({2, 0, 2, 1}, {2, 2}), random({2, 2})});
  add("GatherND", row(OpId::kGatherND, GatherNDAttrs{}),
      {random({3, 2, 2}), ints({2, 0, 0, 1, -1, 0}, {3, 2})});
  add("GatherND batch", row(OpId::kGatherND, GatherNDAttrs{1}),
      {random({2, 3, 2}), ints({2, 0, 1, 1}, {2, 2, 1})});
  add("ScatterND", row(OpId::kScatterND, ScatterNDAttrs{0}),
      {random({3, 2}), ints({2, 0}, {2, 1}), random({2, 2})});
  add("ScatterND add", row(OpId::kScatterND, ScatterNDAttrs{1}),
      {random({3, 2}), ints({2, 0, 2}, {3, 1}), random({3, 2})});
  for (int64_t how : {2, 3, 4}) {  // mul, max, min; one place twice, one with a zero
    add("ScatterND reduced", row(OpId::kScatterND, ScatterNDAttrs{how}),
        {distinct({3, 2}), ints({2, 0, 2}, {3, 1}), distinct({3, 2}) + 0.013});
    add("ScatterElements reduced", row(OpId::kScatterElements, ScatterAttrs{1, how}),
        {distinct({2, 3}), ints({2, 0, 2, 2, 1, 2}, {2, 3}), distinct({2, 3}) + 0.013});
  }
  add("ScatterElements zeros", row(OpId::kScatterElements, ScatterAttrs{0, 2}),
      {tensor({2., 3., 4.}), ints({0, 0, 1, 1, 2}, {5}), tensor({0., 5., 0., 0., 3.})},
      Second::kNonSmooth);
  add("TopK",
      [](const List& in) {
        return List{row(OpId::kTopK, TopKAttrs{2, 0, 1, 1}, 2)(in)[0]};
      },
      {distinct({4, 3})});
  for (int64_t exclusive : {0, 1}) {
    for (int64_t reverse : {0, 1}) {
      CumulateAttrs a{1, exclusive, reverse};
      add("CumSum", row(OpId::kCumSum, a), {random({2, 4, 2})});
      add("CumProd", row(OpId::kCumProd, a), {random({2, 4, 2}, 0.5, 2)});
      add("CumProd zeros", row(OpId::kCumProd, a), {tensor({{1., 0., 3.}, {0., 2., 0.}})});
    }
  }
  add("Trilu", row(OpId::kTrilu, TriluAttrs{0, 1}), {random({2, 3, 4})});
  add("LinearAttention", row(OpId::kLinearAttention, LinearAttentionAttrs{4, 2, 3, 0}, 2),
      {random({2, 3, 8}), random({2, 3, 4}), random({2, 3, 6}), random({2, 2, 2, 3}),
       random({2, 3, 2}), random({2, 3, 1})});

  // symmetric where the row reads one triangle, far from singular, eigenvalues apart
  auto of_symmetric = [](Fn f) {
    return [f](const List& in) { return f({in[0] + in[0].transpose(-2, -1) + eye(3, kD) * 4.0}); };
  };
  Tensor spread = tensor<double>({1, 2.5, 4.5}).reshape({3, 1}) * eye(3, kD);
  Tensor regular = random({2, 3, 3}) * 0.4 + spread;
  add("Cholesky", of_symmetric(row(OpId::kCholesky, NoAttrs{})), {random({2, 3, 3})});
  add("TriangularSolve", row(OpId::kTriangularSolve, TriangularAttrs{}),
      {regular, random({2, 3, 2})});
  add("TriangularSolve upper", row(OpId::kTriangularSolve, TriangularAttrs{1, 1, 0}),
      {regular, random({2, 3, 2})});
  add("TriangularSolve unit", row(OpId::kTriangularSolve, TriangularAttrs{0, 1, 1}),
      {regular, random({2, 3, 1})});
  add("Solve", row(OpId::kSolve, NoAttrs{}), {regular, random({2, 3, 2})});
  add("Inverse", row(OpId::kInverse, NoAttrs{}), {regular});
  add("Det", row(OpId::kDet, NoAttrs{}), {regular});
  add("Det singular", row(OpId::kDet, NoAttrs{}),
      {tensor({{1., 2., 3.}, {2., 4., 6.}, {1., 0., 1.}})}, Second::kNonSmooth);
  add("SlogDet", row(OpId::kSlogDet, NoAttrs{}, 2), {regular});
  add("Qr", row(OpId::kQr, FactorAttrs{0}, 2), {random({2, 4, 3})});
  // what does not depend on the vectors' signs
  auto squares = [](List out, size_t from) {
    for (size_t i = from; i < out.size(); i += 2) out[i] = out[i] * out[i];
    return out;
  };
  add("Svd", [=](const List& in) { return squares(row(OpId::kSvd, FactorAttrs{0}, 3)(in), 0); },
      {regular});
  add("Svd tall",
      [=](const List& in) { return squares(row(OpId::kSvd, FactorAttrs{0}, 3)(in), 0); },
      {cat({spread, random({1, 3})}, 0)});
  add("Svd wide",
      [=](const List& in) { return squares(row(OpId::kSvd, FactorAttrs{0}, 3)(in), 0); },
      {cat({spread, random({3, 1})}, 1)});
  // the second order would need the gradient of a full U
  add(
      "Svd full", [](const List& in) { return List{row(OpId::kSvd, FactorAttrs{1}, 3)(in)[1]}; },
      {cat({spread, random({3, 1})}, 1)}, Second::kTrainHelper);
  add("Eigh",
      [=](const List& in) {
        Tensor a = in[0] + in[0].transpose(-2, -1);
        return squares(row(OpId::kEigh, NoAttrs{}, 2)({a}), 1);
      },
      {regular});
  add("SliceScatter",
      row(OpId::kSliceScatter, SliceAttrs{{1, -1}, {3, INT64_MIN}, {0, 1}, {1, -2}}),
      {random({4, 5}), random({2, 3})});
  add("AsStrided", row(OpId::kAsStrided, StridedAttrs{{2, 3}, {4, 1}, 2}), {random({3, 4})});
  add("AsStrided windows", row(OpId::kAsStrided, StridedAttrs{{4, 3}, {2, 1}, 1}), {random({10})});
  add("AsStridedScatter", row(OpId::kAsStridedScatter, StridedAttrs{{2, 3}, {5, 2}, 1}),
      {random({3, 4}), random({2, 3})});
  return all;
}

TEST(Gradcheck, EveryDifferentiableRow) {
  set_num_threads(1);
  std::set<std::string> seen;
  std::map<Second, int> without;
  double first = 0, second = 0;
  for (const Sample& s : samples()) {
    seen.insert(s.name.substr(0, s.name.find(' ')));
    SCOPED_TRACE(s.name);
    GradcheckOptions o;
    if (s.name == "Cast") {  // through float32: its step and its rounding
      o.eps = 1e-2;
      o.atol = 1e-4;
    }
    GradcheckResult r = gradcheck(s.f, s.inputs, o);
    EXPECT_TRUE(r.ok) << r.message;
    if (s.second != Second::kThroughFloat32) first = std::max(first, r.worst_relative);
    if (s.second != Second::kYes) {
      ++without[s.second];
      continue;
    }
    o.second_order = true;
    // A formula is linear where its own gradient has no history; then only the first order exists.
    try {
      r = gradcheck(s.f, s.inputs, o);
      EXPECT_TRUE(r.ok) << r.message;
      second = std::max(second, r.worst_relative);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("no output depends"), std::string::npos) << e.what();
    }
  }
  std::map<NonDiff, int> marked;
  for (const OpInfo& op : all_ops()) {
    const GradRow& row = grad_row(op.id);
    if (row.formula == nullptr) {
      EXPECT_NE(row.why, NonDiff::kUnmarked) << op.name << " has neither a gradient nor a reason";
      ++marked[row.why];
    } else {
      EXPECT_TRUE(seen.count(op.name)) << op.name << " has a gradient and no sample";
    }
  }
  printf(
      "COUNT: ops: %zu differentiable, worst gradcheck error %.2g, worst gradgradcheck error %.2g; "
      "no gradient: %d integer output, %d piecewise constant, %d random, %d of a size that depends "
      "on data, %d for inference only; first order only: %d piecewise constant, %d through "
      "float32, %d non-smooth points, "
      "%d train helper\n",
      seen.size(), first, second, marked[NonDiff::kIntegerOutput],
      marked[NonDiff::kPiecewiseConstant], marked[NonDiff::kRandom], marked[NonDiff::kSizeFromData],
      marked[NonDiff::kInferenceOnly], without[Second::kPiecewiseConstant],
      without[Second::kThroughFloat32], without[Second::kNonSmooth], without[Second::kTrainHelper]);
}

TEST(Gradcheck, SeesAWrongGradient) {
  // |x| with its value's history cut: the gradient misses a factor.
  auto wrong = [](const List& in) { return List{in[0].detach() * in[0]}; };
  GradcheckResult r = gradcheck(wrong, {random({3}, 0.5, 1)});
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("finite difference"), std::string::npos);
}

TEST(Gradcheck, LeNetInFloat64) {
  manual_seed(3);
  auto model = nn::lenet();
  model->to(kD);
  // Few pixels are varied: the parameters' gradients are compared along one random direction each.
  Tensor x = random({2, 1, 28, 28});
  Tensor target = tensor<int64_t>({3, 7});
  auto loss = [&] { return cross_entropy((*model)(x), target); };
  loss().backward();
  for (auto& [name, p] : model->named_parameters()) {
    Tensor direction = random(p.raw_shape());
    double slope = (p.grad() * direction).sum().item();
    NoGrad guard;
    constexpr double kStep = 1e-7;
    Tensor before = p.clone();
    p.copy_(before + direction * kStep);
    double up = loss().item();
    p.copy_(before - direction * kStep);
    double down = loss().item();
    p.copy_(before);
    EXPECT_NEAR(slope, (up - down) / (2 * kStep), 1e-6 + 1e-5 * std::abs(slope)) << name;
  }
}

}  // namespace
}  // namespace wick
