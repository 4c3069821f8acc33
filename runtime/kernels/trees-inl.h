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

// Moves each row on from the node that `at` has for it, up to kTreeSteps nodes, and up to
// kTreeLanes - 1 numbers behind the last row's with it. Returns whether all are at leaves, below 0.
// `words` has kNodeWords for each node (trees.cc), all of them checked, so that every lane comes to
// a leaf.
static bool walk_on(const TreeWords& words, const float* x, int64_t features, int64_t rows,
                    int32_t* at) {
  const hn::CappedTag<float, kTreeLanes> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(di));
  const auto width = hn::Set(di, static_cast<int32_t>(features));
  const auto zero = hn::Zero(di), one = hn::Set(di, 1), below = hn::Set(di, -1);
  bool done = true;
  for (int64_t first = 0; first < rows; first += lanes) {
    // Lanes beyond the last row walk with it.
    const auto last = hn::Set(di, static_cast<int32_t>(rows - 1 - first));
    const auto row = hn::Mul(hn::Min(hn::Iota(di, 0), last), width);
    const float* base = x + first * features;
    auto node = hn::LoadU(di, at + first);
    auto walks = hn::Gt(node, below);
    for (int step = 0; step < kTreeSteps && !hn::AllFalse(di, walks); ++step) {
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
    hn::StoreU(node, di, at + first);
    done = done && hn::AllFalse(di, walks);
  }
  return done;
}

// Returns the body of the current target, which plan() stores.
static TreeBody tree_body() { return &walk_on; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
