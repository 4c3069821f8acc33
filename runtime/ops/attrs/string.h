// Attributes of string ops.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct StringSplitAttrs {
  int64_t maxsplit = -1;  // negative: no limit
};
WICK_ATTR_FIELDS(StringSplitAttrs, WICK_FIELD(StringSplitAttrs, 1, maxsplit));

enum class CaseChange : int64_t { kNone = 0, kLower = 1, kUpper = 2 };
struct StringNormalizerAttrs {
  int64_t case_change_action = 0;  // a CaseChange
  int64_t is_case_sensitive = 0;   // for the comparison with stop words
  IntList<32> locale;              // its characters: "tr_TR"
};
WICK_ATTR_FIELDS(StringNormalizerAttrs,
                 WICK_FIELD(StringNormalizerAttrs, 1, case_change_action).up_to(CaseChange::kUpper),
                 WICK_FIELD(StringNormalizerAttrs, 2, is_case_sensitive),
                 WICK_FIELD(StringNormalizerAttrs, 3, locale));

}  // namespace wick
