// These prepare features: Scaler, Normalizer, Binarizer, Imputer, FeatureVectorizer,
// ArrayFeatureExtractor. ZipMap names probabilities.
#include <cmath>

#include "exporter/onnx/ml/ml.h"
#include "exporter/onnx/operators/table.h"

namespace wick::onnx {
namespace {

// Returns a list attribute that has one number, or one for each feature, as a constant of x's type.
ValueId each_feature(ReadCtx& c, ValueId x, const char* name) {
  const std::vector<double> values = c.attr_floats(name);
  const auto n = static_cast<int64_t>(values.size());
  const SymDim width = shape(c, x)[c.rank(x) - 1];
  if (n == 0 || (n > 1 && width.known() && width.constant() != n)) {
    c.fail(std::string(name) + " has " + std::to_string(n) +
           " numbers, must have one, or one for "
           "each feature of " +
           shape_text(shape(c, x)));
  }
  return cast(c, floats_constant(c, values, Shape{n}), c.dtype(x));
}

ValueId needs_features(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.rank(x) < 1 || c.rank(x) > 2) c.fail("needs [N, F] or [F], got " + shape_text(shape(c, x)));
  return x;
}

void scaler(ReadCtx& c) {  // (x - offset) scale, in float64 if x is
  ValueId x = needs_features(c);
  x = cast(c, x, c.dtype(x) == DType::kF64 ? DType::kF64 : DType::kF32);
  ValueId y = x;
  if (c.attr("offset") != nullptr) y = minus(c, y, each_feature(c, x, "offset"));
  if (c.attr("scale") != nullptr) y = times(c, y, each_feature(c, x, "scale"));
  c.set(0, cast(c, y, DType::kF32));
}

// x over the norm of its row; a row whose norm is 0 stays as it is.
void normalizer(ReadCtx& c) {
  ValueId x = cast(c, needs_features(c), DType::kF32);
  const std::vector<int64_t> last = {-1};
  const std::string norm = c.attr_string("norm", "MAX");
  ValueId size = kNoValue, square = kNoValue;
  if (norm == "MAX") {
    size = reduce(c, OpId::kReduceMax, x, last, true);
  } else if (norm == "L1") {
    size = reduce(c, OpId::kReduceSum, c.emit(OpId::kAbs, {x}), last, true);
  } else if (norm == "L2") {
    square = times(c, x, x);
    size = reduce(c, OpId::kReduceSum, square, last, true);
  } else {
    c.fail("unknown norm '" + norm + "'");
  }
  ValueId y = square == kNoValue ? over(c, x, size) : c.emit(OpId::kSqrt, {over(c, square, size)});
  if (square != kNoValue) {
    ValueId below = c.emit(OpId::kLess, {x, c.scalar(x, 0)});
    y = c.emit(OpId::kWhere, {below, negative(c, y), y});
  }
  ValueId none = c.emit(OpId::kEqual, {size, c.scalar(size, 0)});
  c.set(0, c.emit(OpId::kWhere, {none, x, y}));
}

void binarizer(ReadCtx& c) {
  ValueId x = c.in(0), at = x;
  if (!is_float(c.dtype(x))) at = cast(c, x, DType::kF32);
  ValueId is = c.emit(OpId::kGreater, {at, c.scalar(at, c.attr_float("threshold", 0))});
  c.set(0, cast(c, is, c.dtype(x)));
}

void imputer(ReadCtx& c) {
  ValueId x = needs_features(c), is = kNoValue, value = kNoValue;
  if (is_float(c.dtype(x))) {
    const double replaced = c.attr_float("replaced_value_float", 0);
    is = std::isnan(replaced) ? c.emit(OpId::kIsNaN, {x})
                              : c.emit(OpId::kEqual, {x, c.scalar(x, replaced)});
    value = each_feature(c, x, "imputed_value_floats");
  } else {
    const int64_t replaced = c.attr_int("replaced_value_int64", 0);
    ValueId sought = c.dtype(x) == DType::kI64  // a double does not hold every int64
                         ? int_scalar(c, replaced)
                         : c.scalar(x, static_cast<double>(replaced), "replaced_value_int64");
    is = c.emit(OpId::kEqual, {x, sought});
    const std::vector<int64_t> values = c.attr_ints("imputed_value_int64s");
    const SymDim width = shape(c, x)[c.rank(x) - 1];
    const auto n = static_cast<int64_t>(values.size());
    if (n == 0 || (n > 1 && width.known() && width.constant() != n))
      c.fail("imputed_value_int64s must have one number, or one for each feature");
    value = cast(c, c.int_constant(values), c.dtype(x));
  }
  c.set(0, c.emit(OpId::kWhere, {is, value, x}));
}

// Joins rows of features; one input's features beyond its dimension are left out, missing ones 0.
void feature_vectorizer(ReadCtx& c) {
  const std::vector<int64_t> sizes = c.attr_ints("inputdimensions");
  if (static_cast<int>(sizes.size()) != c.inputs()) {
    c.fail("inputdimensions has " + std::to_string(sizes.size()) + " numbers for " +
           std::to_string(c.inputs()) + " inputs");
  }
  std::vector<ValueId> parts;
  for (int i = 0; i < c.inputs(); ++i) {
    const int64_t want = sizes[static_cast<size_t>(i)];
    ValueId x = cast(c, c.in(i), DType::kF32);
    const int rank = rank_or(c, x, 2);
    if (rank == 0 || want < 0 || want > INT32_MAX) c.fail("needs rows of features, and sizes");
    if (rank == 1) x = reshape(c, x, {1, -1});
    if (rank > 2) x = c.emit(OpId::kFlatten, AxisAttrs{1}, {x});
    const SymDim has = shape(c, x)[1];
    if (!has.known() || has.constant() < want)
      x = pad_axis(c, x, 1, PadSide::kAfter,
                   c.int_constant({has.known() ? want - has.constant() : want}), 0);
    if (!has.known() || has.constant() > want) x = column_range(c, x, 0, want);
    parts.push_back(x);
  }
  c.set(0, parts.size() == 1 ? parts[0] : concat(c, parts, 1));
}

void array_feature_extractor(ReadCtx& c) {
  ValueId x = c.in(0), index = reshape(c, c.in(1), {-1});
  if (c.rank(x) == 0) c.fail("needs rows of features, got a scalar");
  if (c.rank(x) == 1) x = reshape(c, x, {1, -1});
  c.set(0, gather(c, x, index, c.rank(x) - 1));
}

// A sequence of maps from label to score is no tensor. The scores are one, with a column for each
// label, and the labels are kept by the output's name.
void zip_map(ReadCtx& c) {
  const Classes classes = classes_of(c, "classlabels_strings", "classlabels_int64s");
  ValueId x = rows_of(c);
  const SymDim width = shape(c, x)[1];
  if (width.known() && width.constant() != classes.count()) {
    c.fail("has " + std::to_string(classes.count()) + " labels for scores " +
           shape_text(shape(c, x)));
  }
  std::string labels;
  for (int64_t i = 0; i < classes.count(); ++i) {
    labels += classes.labels.dtype() == DType::kString
                  ? classes.labels.string_at(i)
                  : std::to_string(classes.labels.as<int64_t>()[i]);
    labels += '\n';
  }
  const std::string& name = c.node.output(0);
  c.set(0, c.emit(OpId::kIdentity, {x}));
  c.scope.model.maps.insert(name);
  if (!c.g.is_region()) c.g.metadata["classes." + name] = labels;
  c.scope.model.notes.push_back(
      "'" + name +
      "' (ZipMap) is a sequence of maps, which Wick has not: it is the tensor [rows, " +
      std::to_string(classes.count()) +
      "] of the scores instead, a column for each label; the labels are the metadata 'classes." +
      name + "'");
}

}  // namespace

WICK_READ_ML(ArrayFeatureExtractor, array_feature_extractor);
WICK_READ_ML(Binarizer, binarizer);
WICK_READ_ML(FeatureVectorizer, feature_vectorizer);
WICK_READ_ML(Imputer, imputer);
WICK_READ_ML(Normalizer, normalizer);
WICK_READ_ML(Scaler, scaler);
WICK_READ_ML(ZipMap, zip_map);

}  // namespace wick::onnx
