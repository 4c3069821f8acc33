// Attributes of n-gram counting.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

enum class TfIdfMode : int64_t { kTf = 0, kIdf = 1, kTfIdf = 2 };
struct TfIdfAttrs {
  int64_t min_gram_length = 1, max_gram_length = 1, max_skip_count = 0;
  int64_t mode = 0;         // a TfIdfMode
  int64_t output_size = 0;  // the largest of ngram_indexes + 1
};
WICK_ATTR_FIELDS(TfIdfAttrs, WICK_FIELD(TfIdfAttrs, 1, min_gram_length),
                 WICK_FIELD(TfIdfAttrs, 2, max_gram_length),
                 WICK_FIELD(TfIdfAttrs, 3, max_skip_count),
                 WICK_FIELD(TfIdfAttrs, 4, mode).up_to(TfIdfMode::kTfIdf),
                 WICK_FIELD(TfIdfAttrs, 5, output_size));

}  // namespace wick
