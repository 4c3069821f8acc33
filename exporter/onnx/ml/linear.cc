// LinearClassifier and LinearRegressor: a product by constant coefficients. All of it is float32,
// as ONNX Runtime has it.
#include "exporter/onnx/ml/ml.h"

namespace wick::onnx {
namespace {

// Returns x coefficients^T + intercepts, for `targets` rows of coefficients.
ValueId scores_of(ReadCtx& c, int64_t targets) {
  ValueId x = cast(c, rows_of(c), DType::kF32);
  const std::vector<double> weights = c.attr_floats("coefficients"),
                            added = c.attr_floats("intercepts");
  const auto count = static_cast<int64_t>(weights.size());
  if (targets < 1 || count == 0 || count % targets != 0) {
    c.fail("coefficients has " + std::to_string(count) +
           " numbers, must have as many for each of " + std::to_string(targets) + " scores");
  }
  std::vector<ValueId> in = {x, floats_constant(c, weights, Shape{targets, count / targets})};
  if (!added.empty()) {
    if (static_cast<int64_t>(added.size()) != targets)
      c.fail("intercepts has " + std::to_string(added.size()) + " numbers for " +
             std::to_string(targets) + " scores");
    in.push_back(floats_constant(c, added, Shape{targets}));
  }
  return c.emit(OpId::kLinear, in);
}

void linear_regressor(ReadCtx& c) {
  const int64_t targets = c.attr_int("targets", 1);
  c.set(0, transformed_targets(c, transform_of(c), scores_of(c, targets), targets));
}

void linear_classifier(ReadCtx& c) {
  const Classes classes = classes_of(c, "classlabels_strings", "classlabels_ints");
  const auto given = static_cast<int64_t>(c.attr_floats("intercepts").size());
  const int64_t targets = given != 0 ? given : classes.count();
  const Transform how = transform_of(c);
  ValueId s = scores_of(c, targets);
  if (targets > 1) {
    if (targets != classes.count())
      c.fail("has " + std::to_string(targets) + " scores for " + std::to_string(classes.count()) +
             " labels");
    c.set(0, label_of(c, classes, best_of(c, s)));
    return c.set(1, transformed(c, how, s));
  }
  // One score is that of the second class.
  if (classes.count() != 2) c.fail("one row of coefficients needs two labels");
  c.set(0, label_of(c, classes, above(c, s, 0)));
  c.set(1, both_classes(c, how, s, true));
}

}  // namespace

WICK_READ_ML(LinearClassifier, linear_classifier);
WICK_READ_ML(LinearRegressor, linear_regressor);

}  // namespace wick::onnx
