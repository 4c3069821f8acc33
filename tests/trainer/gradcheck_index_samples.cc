#include "tests/trainer/gradcheck_samples.h"

namespace wick::gradchecks {

void add_index_samples(Samples& all) {
  auto add = [&](const char* name, Fn f, List in, Second second = Second::kYes) {
    all.push_back({name, std::move(f), std::move(in), second});
  };
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
      {tensor({2., 3., 4.}, DType::kF64), ints({0, 0, 1, 1, 2}, {5}),
       tensor({0., 5., 0., 0., 3.}, DType::kF64)});
  add("TopK",
      [](const List& in) {
        return List{row(OpId::kTopK, TopKAttrs{2, 0, 1, 1}, 2)(in)[0]};
      },
      {distinct({4, 3})});
  for (int64_t n : {4, 6, 9}) {
    add("DFT", row(OpId::kDFT, DftAttrs{1, n, 0, 0}), {random({2, 6, 2})});
    add("DFT inverse", row(OpId::kDFT, DftAttrs{1, n, 1, 0}), {random({2, 6, 2})});
    add("DFT onesided", row(OpId::kDFT, DftAttrs{1, n, 0, 1}), {random({2, 6, 1})});
    add("DFT to reals", row(OpId::kDFT, DftAttrs{0, n, 1, 1}), {random({4, 2, 2})});
  }
  for (int64_t exclusive : {0, 1}) {
    for (int64_t reverse : {0, 1}) {
      CumulateAttrs a{1, exclusive, reverse};
      add("CumSum", row(OpId::kCumSum, a), {random({2, 4, 2})});
      add("CumProd", row(OpId::kCumProd, a), {random({2, 4, 2}, 0.5, 2)});
      add("CumProd zeros", row(OpId::kCumProd, a),
          {tensor({{1., 0., 3.}, {0., 2., 0.}}, DType::kF64)});
    }
  }
  add("Trilu", row(OpId::kTrilu, TriluAttrs{0, 1}), {random({2, 3, 4})});
  add("LinearAttention", row(OpId::kLinearAttention, LinearAttentionAttrs{4, 2, 3, 0}, 2),
      {random({2, 3, 8}), random({2, 3, 4}), random({2, 3, 6}), random({2, 2, 2, 3}),
       random({2, 3, 2}), random({2, 3, 1})});
}

void add_linalg_samples(Samples& all) {
  auto add = [&](const char* name, Fn f, List in, Second second = Second::kYes) {
    all.push_back({name, std::move(f), std::move(in), second});
  };
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
      {tensor({{1., 2., 3.}, {2., 4., 6.}, {1., 0., 1.}}, DType::kF64)});
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
  auto factors = [](const List& in) { return List{row(OpId::kLuFactor, NoAttrs{}, 3)(in)[0]}; };
  add("LuFactor", factors, {regular});
  add("LuFactor wide", factors, {cat({spread, random({3, 2})}, 1)});
  add("LuFactor tall", factors, {cat({spread, random({2, 3})}, 0)});
  // the values, and what does not depend on the vectors' phases
  auto phaseless = [=](const List& in) {
    List out = row(OpId::kEig, NoAttrs{}, 2)(in);
    out[1] = sum(out[1] * out[1], {-1});
    return out;
  };
  add("Eig", phaseless, {regular});
  add("Eig complex", phaseless,
      {tensor({{0.5, -2., 0.25}, {1.5, 0.75, 1.}, {-0.5, 0.25, -1.}}, DType::kF64)});
  add("SliceScatter",
      row(OpId::kSliceScatter, SliceAttrs{{1, -1}, {3, INT64_MIN}, {0, 1}, {1, -2}}),
      {random({4, 5}), random({2, 3})});
  add("AsStrided", row(OpId::kAsStrided, StridedAttrs{{2, 3}, {4, 1}, 2}), {random({3, 4})});
  add("AsStrided windows", row(OpId::kAsStrided, StridedAttrs{{4, 3}, {2, 1}, 1}), {random({10})});
  add("AsStridedScatter", row(OpId::kAsStridedScatter, StridedAttrs{{2, 3}, {5, 2}, 1}),
      {random({3, 4}), random({2, 3})});
}

}  // namespace wick::gradchecks
