#include <algorithm>

#include "quantize/passes/passes.h"

namespace wick::quantize {

ir::Graph prepare(ir::Graph graph, const Recipe& recipe, ir::PassReport* report) {
  check(recipe);
  constexpr ir::Pass kRound[] = {ir::kIdentity, ir::kFold, ir::kControl,   ir::kCse,
                                 ir::kLayout,   ir::kDce,  kMatMulToLinear};
  constexpr int kMaxRounds = 8;
  ir::WorkAhead work(graph);
  ir::PassReport all;
  const auto run = [&](Span<const ir::Pass> passes) {
    const ir::PassReport r = ir::run_passes(graph, passes, &work);
    all.numerics = std::max(all.numerics, r.numerics);
    all.changed.insert(all.changed.end(), r.changed.begin(), r.changed.end());
    return !r.changed.empty();
  };
  for (int i = 0; i < kMaxRounds && run(kRound); ++i) {
  }
  if (recipe.fold_batch_norm) run({&kFoldBatchNorm, 1});
  const bool tables = recipe.mode == Mode::kStatic || recipe.mode == Mode::kQat;
  constexpr ir::Pass kFuse[] = {kFuseActivations, ir::kDce};
  if (tables) run(kFuse);
  if (recipe.equalize) run({&kEqualize, 1});
  if (report != nullptr) *report = std::move(all);
  return graph;
}

}  // namespace wick::quantize
