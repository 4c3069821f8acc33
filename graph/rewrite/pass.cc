#include "graph/rewrite/pass.h"

#include <algorithm>

#include "wick/error.h"

namespace wick::ir {

const char* numerics_name(Numerics n) {
  switch (n) {
    case Numerics::kExact: return "exact";
    case Numerics::kReassociates: return "reassociates";
    case Numerics::kApproximates: return "approximates";
  }
  return "invalid";
}

namespace {

// Regions first: what they become the graph around them sees.
bool run_inside_out(Graph& graph, const Pass& pass, WorkAhead* work) {
  bool changed = false;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    for (Graph& region : graph.node(static_cast<NodeId>(i)).regions)
      changed = run_inside_out(region, pass, work) || changed;
  }
  return (pass.spend != nullptr ? pass.spend(graph, work) : pass.run(graph)) || changed;
}

}  // namespace

PassReport run_passes(Graph& graph, Span<const Pass> passes, WorkAhead* work) {
  if (work == nullptr) {
    WorkAhead own(graph);
    return run_passes(graph, passes, &own);
  }
  work->recount(graph);
  PassReport report;
  for (const Pass& pass : passes) {
    if (!run_inside_out(graph, pass, work)) continue;
    verify(graph, std::string("after the pass ") + pass.name);
    report.numerics = std::max(report.numerics, pass.numerics);
    report.changed.emplace_back(pass.name);
  }
  report.spent = work->spent();
  return report;
}

namespace {

// False when nothing changed.
bool run_round(Graph& graph, Span<const Pass> passes, WorkAhead* work, PassReport* all) {
  PassReport round = run_passes(graph, passes, work);
  all->numerics = std::max(all->numerics, round.numerics);
  all->changed.insert(all->changed.end(), round.changed.begin(), round.changed.end());
  return !round.changed.empty();
}

}  // namespace

PassReport simplify(Graph& graph) {
  constexpr Pass kRound[] = {kIdentity, kBlocks,        kFold,        kControl, kCse,
                             kLayout,   kFuseAttention, kFuseInteger, kFuse,    kDce};
  constexpr int kMaxRounds = 8;  // each one shrinks the graph; a bound all the same
  WorkAhead work(graph);
  PassReport all;
  for (int i = 0; i < kMaxRounds; ++i) {
    if (!run_round(graph, kRound, &work, &all)) break;
  }
  all.spent = work.spent();
  return all;
}

PassReport optimize(Graph& graph) {
  constexpr Pass kLast[] = {kFuseNorm, kFuseElementwise};
  PassReport all = simplify(graph);
  run_round(graph, kLast, nullptr, &all);
  return all;
}

}  // namespace wick::ir
