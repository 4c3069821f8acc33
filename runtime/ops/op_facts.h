// OpFacts: a fact that a layer states about every op (how autocast treats it, its cost, whether it
// has an integer form). The layer lists the ops under each answer; an op of ops.def that is in no
// list, or in two, does not compile, so that adding an op shows which layers need to know about it.
#pragma once

#include "runtime/ops/op_id.h"

#include <cstddef>
#include <initializer_list>

namespace wick {

namespace ops_def {
// Never read: the compiler's error shows the array's name and, as the out-of-range index, the op's
// id.
inline constexpr bool kNoListHoldsTheOpOfId[1] = {}, kTwoListsHoldTheOpOfId[1] = {};
inline constexpr OpId kIds[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) OpId::k##Name,
#include "runtime/ops/ops.def"
#undef WICK_OP
};
inline constexpr size_t kCount = sizeof(kIds) / sizeof(kIds[0]);
inline constexpr size_t kSpan = static_cast<size_t>(kIds[kCount - 1]) + 1;
}  // namespace ops_def

template <class Fact>
struct OpList {
  Fact fact;
  std::initializer_list<OpId> ops;
};

// Facts by op; custom ops share one.
template <class Fact>
class OpFacts {
 public:
  consteval OpFacts(Fact of_custom, std::initializer_list<OpList<Fact>> lists)
      : of_custom_(of_custom) {
    bool listed[ops_def::kSpan] = {};
    for (const OpList<Fact>& list : lists) {
      for (OpId op : list.ops) {
        // The index is out of range on purpose, here and below: compilation stops with an error
        // that shows the array's name.
        if (listed[static_cast<size_t>(op)])
          // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
          listed[0] = ops_def::kTwoListsHoldTheOpOfId[static_cast<size_t>(op)];
        listed[static_cast<size_t>(op)] = true;
        facts_[static_cast<size_t>(op)] = list.fact;
      }
    }
    for (OpId op : ops_def::kIds) {
      if (!listed[static_cast<size_t>(op)])
        // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
        listed[0] = ops_def::kNoListHoldsTheOpOfId[static_cast<size_t>(op)];
    }
  }
  constexpr const Fact& operator[](OpId op) const {
    const auto at = static_cast<size_t>(op);
    return at < ops_def::kSpan ? facts_[at] : of_custom_;
  }

 private:
  Fact facts_[ops_def::kSpan] = {};
  Fact of_custom_;
};

}  // namespace wick
