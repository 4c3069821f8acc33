// Attributes of ensembles of decision trees.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

// How the weights that the trees give to one target become one number; ONNX's numbers.
enum class TreeAggregate : int64_t { kAverage = 0, kSum = 1, kMin = 2, kMax = 3 };

// The results of comparing a feature with a node's split, one bit each: a node goes on to its true
// child for those of its second integer. Not ordered: the feature or the split is NaN.
enum class TreeRelation : int32_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };

struct TreeEnsembleAttrs {
  int64_t n_targets = 1;
  int64_t aggregate_function = 1;  // a TreeAggregate
};
WICK_ATTR_FIELDS(TreeEnsembleAttrs, WICK_FIELD(TreeEnsembleAttrs, 1, n_targets),
                 WICK_FIELD(TreeEnsembleAttrs, 2, aggregate_function).up_to(TreeAggregate::kMax));

}  // namespace wick
