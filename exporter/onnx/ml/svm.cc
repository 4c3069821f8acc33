// SVMClassifier and SVMRegressor: a kernel between rows and support vectors, then products by
// coefficients. Distances and decisions are computed in float64, which hides how they are summed.
#include <algorithm>

#include "exporter/onnx/ml/ml.h"
#include "exporter/onnx/operators/table.h"

namespace wick::onnx {
namespace {

struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

Kernel kernel_of(ReadCtx& c) {
  Kernel k;
  k.type = c.attr_string("kernel_type", "LINEAR");
  if (k.type != "LINEAR" && k.type != "POLY" && k.type != "RBF" && k.type != "SIGMOID")
    c.fail("unknown kernel_type '" + k.type + "'");
  const std::vector<double> p = c.attr_floats("kernel_params");
  if (p.size() >= 3) k.gamma = p[0], k.coef0 = p[1], k.degree = p[2];
  if (p.size() < 3 && k.type != "LINEAR") c.fail("kernel_params must have gamma, coef0 and degree");
  return k;
}

ValueId doubles(ReadCtx& c, const std::vector<double>& values, const Shape& shape) {
  return c.constant(HostTensor::of(shape, values));
}

// Returns the kernel of each row with each of `count` support vectors: float64 [rows, count].
ValueId kernels(ReadCtx& c, int64_t count) {
  const Kernel k = kernel_of(c);
  const std::vector<double> vectors = c.attr_floats("support_vectors");
  const auto n = static_cast<int64_t>(vectors.size());
  if (n == 0 || n % count != 0) {
    c.fail("support_vectors has " + std::to_string(n) + " numbers, must have as many for each of " +
           std::to_string(count));
  }
  const int64_t width = n / count;
  ValueId x = cast(c, cast(c, rows_of(c), DType::kF32), DType::kF64);
  ValueId dot = c.emit(OpId::kLinear, {x, doubles(c, vectors, Shape{count, width})});
  if (k.type == "LINEAR") return dot;
  if (k.type == "RBF") {  // e^(-gamma |x - v|^2)
    std::vector<double> sizes(static_cast<size_t>(count));
    for (size_t i = 0; i < vectors.size(); ++i)
      sizes[i / static_cast<size_t>(width)] += vectors[i] * vectors[i];
    ValueId size = reduce(c, OpId::kReduceSum, times(c, x, x), {1}, true);
    ValueId both = plus(c, size, doubles(c, sizes, Shape{count}));
    ValueId apart = minus(c, both, times(c, dot, c.scalar(dot, 2)));
    apart = c.emit(OpId::kMax, {apart, c.scalar(apart, 0)});
    ValueId exponent = cast(c, times(c, apart, c.scalar(apart, -k.gamma)), DType::kF32);
    return cast(c, c.emit(OpId::kExp, {exponent}), DType::kF64);
  }
  ValueId sum = plus(c, times(c, dot, c.scalar(dot, k.gamma)), c.scalar(dot, k.coef0));
  if (k.type == "SIGMOID") return c.emit(OpId::kTanh, {sum});
  return c.emit(OpId::kPow, {sum, c.scalar(sum, k.degree)});
}

// Returns rho, of which at least `count` numbers are needed.
std::vector<double> rho_of(ReadCtx& c, size_t count) {
  std::vector<double> rho = c.attr_floats("rho");
  if (rho.size() < count)
    c.fail("rho has " + std::to_string(rho.size()) + " numbers, must have " +
           std::to_string(count));
  return rho;
}

void svm_regressor(ReadCtx& c) {
  const int64_t supports = c.attr_int("n_supports", 0);
  const std::vector<double> coefficients = c.attr_floats("coefficients");
  const auto n = static_cast<int64_t>(coefficients.size());
  if (n == 0) c.fail("coefficients are missing");
  if (supports < 0 || (supports > 0 && supports != n))
    c.fail("has " + std::to_string(supports) + " support vectors and " + std::to_string(n) +
           " coefficients");
  ValueId of =
      supports > 0 ? kernels(c, supports) : cast(c, cast(c, rows_of(c), DType::kF32), DType::kF64);
  ValueId y = c.emit(OpId::kLinear, {of, doubles(c, coefficients, Shape{1, n}),
                                     doubles(c, {rho_of(c, 1)[0]}, Shape{1})});
  y = cast(c, y, DType::kF32);
  if (c.attr_int("one_class", 0) != 0) {
    ValueId inside = c.emit(OpId::kGreater, {y, c.scalar(y, 0)});
    y = c.emit(OpId::kWhere, {inside, c.scalar(y, 1), c.scalar(y, -1)});
  }
  c.set(0, y);
}

// The decisions between pairs of classes, i < j in order. Class i's vectors have a coefficient for
// each other class: in row j - 1 of the coefficients for j > i, in row j for j < i.
ValueId decisions(ReadCtx& c, const std::vector<int64_t>& of_class, int64_t vectors) {
  const auto classes = static_cast<int64_t>(of_class.size()), others = classes - 1;
  const std::vector<double> coefficients = c.attr_floats("coefficients");
  if (static_cast<int64_t>(coefficients.size()) < others * vectors) {
    c.fail("coefficients has " + std::to_string(coefficients.size()) + " numbers, must have " +
           std::to_string(others * vectors));
  }
  // One for each pair, which the file must have before lists of pairs are made.
  const int64_t pairs = classes * others / 2;
  std::vector<double> rho = rho_of(c, static_cast<size_t>(pairs));
  rho.resize(static_cast<size_t>(pairs));
  ValueId k = kernels(c, vectors);
  std::vector<ValueId> parts;
  int64_t first = 0;
  for (int64_t count : of_class) {  // what class i's vectors say about each other class
    std::vector<double> own;
    for (int64_t row = 0; row < others; ++row) {
      const auto at = coefficients.begin() + row * vectors + first;
      own.insert(own.end(), at, at + count);
    }
    c.scope.model.visit(static_cast<uint64_t>(others));
    parts.push_back(c.emit(OpId::kLinear, {column_range(c, k, first, first + count),
                                           doubles(c, own, Shape{others, count})}));
    first += count;
  }
  ValueId all = concat(c, parts, 1);
  std::vector<int64_t> mine, theirs;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) {
      mine.push_back(i * others + j - 1);
      theirs.push_back(j * others + i);
    }
  }
  ValueId sum =
      plus(c, gather(c, all, c.int_constant(mine), 1), gather(c, all, c.int_constant(theirs), 1));
  return cast(c, plus(c, sum, doubles(c, rho, Shape{pairs})), DType::kF32);
}

// Returns the class that wins most of its pairs.
ValueId voted(ReadCtx& c, ValueId decision, int64_t classes) {
  ValueId wins = cast(c, c.emit(OpId::kGreater, {decision, c.scalar(decision, 0)}), DType::kF32);
  ValueId both = concat(c, {wins, minus(c, c.scalar(wins, 1), wins)}, 1);
  const int64_t pairs = classes * (classes - 1) / 2;
  std::vector<int64_t> of_class;  // the pairs of each class: those that it wins as the second one
  const auto pair = [&](int64_t i, int64_t j) { return i * classes - i * (i + 1) / 2 + j - i - 1; };
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = 0; j < classes; ++j) {
      if (i != j) of_class.push_back(i < j ? pair(i, j) : pairs + pair(j, i));
    }
  }
  ValueId each = gather(c, both, c.int_constant(of_class), 1);
  ValueId votes =
      reduce(c, OpId::kReduceSum, reshape(c, each, {-1, classes, classes - 1}), {2}, false);
  return best_of(c, votes);
}

void svm_classifier(ReadCtx& c) {
  const Classes classes = classes_of(c, "classlabels_strings", "classlabels_ints");
  const int64_t count = classes.count();
  const Transform how = transform_of(c);
  const std::vector<int64_t> of_class = c.attr_ints("vectors_per_class");
  int64_t vectors = 0;
  for (int64_t n : of_class) {
    if (n < 0 || n > INT32_MAX - vectors) c.fail("vectors_per_class is out of range");
    vectors += n;
  }
  if (c.attr("prob_a") != nullptr || c.attr("prob_b") != nullptr)
    c.fail(
        "prob_a and prob_b are not supported: they are found by a search of up to 100 steps "
        "for each row. Convert with probability=False, or calibrate with a logistic model");
  if (vectors == 0) {  // a row of coefficients for each class
    const std::vector<double> coefficients = c.attr_floats("coefficients");
    const auto n = static_cast<int64_t>(coefficients.size());
    if (n == 0 || n % count != 0) c.fail("coefficients must have as many numbers for each class");
    ValueId x = cast(c, rows_of(c), DType::kF32);
    ValueId s =
        c.emit(OpId::kLinear, {x, floats_constant(c, coefficients, Shape{count, n / count})});
    s = plus(c, s, c.scalar(s, rho_of(c, 1)[0]));
    c.set(0, label_of(c, classes, best_of(c, s)));
    return c.set(1, transformed(c, how, s));
  }
  if (count < 2 || static_cast<int64_t>(of_class.size()) != count)
    c.fail("vectors_per_class has " + std::to_string(of_class.size()) + " numbers for " +
           std::to_string(count) + " classes, which are two or more");
  ValueId s = decisions(c, of_class, vectors);
  c.set(0, label_of(c, classes, voted(c, s, count)));
  if (count > 2) return c.set(1, transformed(c, how, s));
  c.set(1, both_classes(c, how, s, how != Transform::kNone));
}

}  // namespace

WICK_READ_ML(SVMClassifier, svm_classifier);
WICK_READ_ML(SVMRegressor, svm_regressor);

}  // namespace wick::onnx
