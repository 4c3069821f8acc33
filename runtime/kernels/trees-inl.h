// SIMD body of TreeEnsemble, once per target: rows walk through one tree together, a row a lane.
#if defined(WICK_KERNELS_TREES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_TREES_INL_H_
#undef WICK_KERNELS_TREES_INL_H_
#else
#define WICK_KERNELS_TREES_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes the leaf of each row, and up to kTreeLanes - 1 more numbers. `words` has kNodeWords for
// each node (trees.cc), all of them checked, so that every lane ends at a leaf.
static void find_leaves(const TreeWords& words, int32_t root, const float* x, int64_t features,
                        int64_t rows, int32_t* leaves) {
  const hn::CappedTag<float, kTreeLanes> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(di));
  const auto width = hn::Set(di, static_cast<int32_t>(features));
  const auto zero = hn::Zero(di), one = hn::Set(di, 1), below = hn::Set(di, -1);
  for (int64_t at = 0; at < rows; at += lanes) {
    // Lanes beyond the last row walk with it.
    const auto last = hn::Set(di, static_cast<int32_t>(rows - 1 - at));
    const auto row = hn::Mul(hn::Min(hn::Iota(di, 0), last), width);
    const float* base = x + at * features;
    auto node = hn::Set(di, root);
    auto walks = hn::Gt(node, below);
    while (!hn::AllFalse(di, walks)) {
      const auto word = hn::ShiftLeft<2>(hn::IfThenElse(walks, node, zero));
      const auto split = hn::GatherIndex(df, words.splits, word);
      const auto test = hn::GatherIndex(di, words.tests, word);
      const auto value = hn::GatherIndex(df, base, hn::Add(row, hn::ShiftRight<4>(test)));
      const auto less = hn::RebindMask(di, hn::Lt(value, split));
      const auto equal = hn::RebindMask(di, hn::Eq(value, split));
      const auto greater = hn::RebindMask(di, hn::Gt(value, split));
      const auto relation =
          hn::IfThenElse(less, one,
                         hn::IfThenElse(equal, hn::Set(di, 2),
                                        hn::IfThenElse(greater, hn::Set(di, 4), hn::Set(di, 8))));
      const auto fails = hn::Eq(hn::And(test, relation), zero);
      const auto child = hn::Add(word, hn::IfThenElse(fails, one, zero));
      node = hn::IfThenElse(walks, hn::GatherIndex(di, words.children, child), node);
      walks = hn::Gt(node, below);
    }
    hn::StoreU(hn::Sub(below, node), di, leaves + at);
  }
}

// Returns the body of the current target, which plan() stores.
static TreeBody tree_body() { return &find_leaves; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
