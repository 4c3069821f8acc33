// Operators of the domain ai.onnx.ml: classical models, as converters of scikit-learn, XGBoost and
// LightGBM write them. Trees and dictionaries have ops of their own (TreeEnsemble, LookUp); the
// others are formulas over our ops. Where ONNX leaves something open, ONNX Runtime decides.
#pragma once

#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {

inline ValueId negative(ReadCtx& c, ValueId v) { return c.emit(OpId::kNeg, {v}); }

// Returns input 0 as rows of features: one row alone becomes [1, F].
ValueId rows_of(ReadCtx& c);
// Returns a list attribute as a constant float32 vector, or in another shape.
ValueId floats_constant(ReadCtx& c, const std::vector<double>& values, const Shape& shape);
// Returns columns [from, to) of rows.
ValueId column_range(ReadCtx& c, ValueId rows, int64_t from, int64_t to);
ValueId gather(ReadCtx& c, ValueId v, ValueId index, int64_t axis);

// Classes are the labels of a classifier, strings or int64.
struct Classes {
  HostTensor labels;
  int64_t count() const { return labels.numel(); }
};
// Reads them from the one of two attributes that the node has; fails if it has none, or both.
Classes classes_of(ReadCtx& c, const char* strings, const char* ints);
// Returns the label of each row's class, whose number is `index` [rows].
ValueId label_of(ReadCtx& c, const Classes& classes, ValueId index);
// Returns the first of a row's largest scores.
ValueId best_of(ReadCtx& c, ValueId scores);
// Returns 1 where a row's score [rows, 1] is above the threshold, else 0: [rows].
ValueId above(ReadCtx& c, ValueId score, double threshold);

enum class Transform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
// Reads post_transform where it is a string.
Transform transform_of(ReadCtx& c);
// Applies it to float32 scores [rows, n].
ValueId transformed(ReadCtx& c, Transform how, ValueId scores);
// Does the same for a node that gives one score a row: ONNX Runtime applies PROBIT alone then.
ValueId transformed_targets(ReadCtx& c, Transform how, ValueId scores, int64_t targets);
// Returns the scores of two classes, float32 [rows, 2], from that of the second one [rows, 1]: for
// LOGISTIC the function of minus the score and of the score; else 1 - score (`shares`) or -score,
// and the score as it is. Fails for PROBIT.
ValueId both_classes(ReadCtx& c, Transform how, ValueId score, bool shares);

}  // namespace wick::onnx
