#include "graph/rewrite/pass.h"

#include <algorithm>

#include "graph/rewrite/checked.h"
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

// Runs the pass on the regions first: the graph around them sees the result.
bool run_inside_out(Graph& graph, const Pass& pass, WorkAhead* work) {
  bool changed = false;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    for (Graph& region : graph.node(static_cast<NodeId>(i)).regions)
      changed = run_inside_out(region, pass, work) || changed;
  }
  return (pass.spend != nullptr ? pass.spend(graph, work) : pass.run(graph)) || changed;
}

}  // namespace

PassReport run_passes(Graph& graph, Span<const Pass> passes, WorkAhead* work,
                      const PassWatch& watch) {
  if (work == nullptr) {
    WorkAhead own(graph);
    return run_passes(graph, passes, &own, watch);
  }
  work->recount(graph);
  PassReport report;
  for (const Pass& pass : passes) {
    const Graph before = watch ? graph : Graph();
    if (!run_inside_out(graph, pass, work)) continue;
    verify(graph, std::string("after the pass ") + pass.name);
    if (watch) {
      if (auto fault = watch(pass, before, graph)) {
        graph = before;
        report.undone.push_back(std::move(*fault));
        continue;
      }
    }
    report.numerics = std::max(report.numerics, pass.numerics);
    report.changed.emplace_back(pass.name);
  }
  report.spent = work->spent();
  return report;
}

namespace {

// Runs the passes except those that were undone. Returns whether anything changed.
bool run_round(Graph& graph, Span<const Pass> passes, WorkAhead* work, const PassWatch& watch,
               PassReport* all) {
  std::vector<Pass> sound;
  for (const Pass& pass : passes) {
    const bool undone = std::any_of(all->undone.begin(), all->undone.end(),
                                    [&](const PassFault& f) { return f.pass == pass.name; });
    if (!undone) sound.push_back(pass);
  }
  PassReport round = run_passes(graph, sound, work, watch);
  all->numerics = std::max(all->numerics, round.numerics);
  all->changed.insert(all->changed.end(), round.changed.begin(), round.changed.end());
  all->undone.insert(all->undone.end(), round.undone.begin(), round.undone.end());
  return !round.changed.empty();
}

PassReport simplify(Graph& graph, const PassWatch& watch, uint64_t fold_bytes) {
  constexpr Pass kRound[] = {kIdentity, kBlocks,        kFold,        kControl, kCse,
                             kLayout,   kFuseAttention, kFuseInteger, kFuse,    kDce};
  constexpr int kMaxRounds = 8;  // each round shrinks the graph; this is a bound all the same
  WorkAhead work(graph, fold_bytes);
  PassReport all;
  for (int i = 0; i < kMaxRounds; ++i) {
    if (!run_round(graph, kRound, &work, watch, &all)) break;
  }
  all.spent = work.spent();
  return all;
}

PassReport optimize_watched(Graph& graph, const OptimizeOptions& options, const PassWatch& watch) {
  constexpr Pass kLast[] = {kShuffle, kFuseNorm, kFuseElementwise};
  PassReport all = simplify(graph, watch, options.fold_bytes);
  if (options.chains) run_round(graph, kLast, nullptr, watch, &all);
  const Pass* asked = options.products == Products::kWinograd ? &kWinograd
                      : options.products == Products::kBf16   ? &kBf16Products
                                                              : nullptr;
  if (asked != nullptr) run_round(graph, {asked, 1}, nullptr, watch, &all);
  return all;
}

// Calls `run` with the watch of the options, or with a check on their samples.
PassReport checked(Graph& graph, const OptimizeOptions& options,
                   const std::function<PassReport(const PassWatch&)>& run) {
  if (options.watch || options.samples.empty()) return run(options.watch);
  PassChecker checker(graph, options.samples, options.check_work, options.check_bytes);
  PassReport report =
      run([&](const Pass& pass, const Graph&, Graph& after) { return checker.check(pass, after); });
  report.unchecked = checker.unchecked();
  return report;
}

}  // namespace

PassReport simplify(Graph& graph) { return simplify(graph, {}, 0); }
PassReport optimize(Graph& graph) { return optimize_watched(graph, {}, {}); }

PassReport optimize(Graph& graph, const OptimizeOptions& options) {
  return checked(graph, options,
                 [&](const PassWatch& watch) { return optimize_watched(graph, options, watch); });
}

PassReport run_checked(Graph& graph, Span<const Pass> passes, const OptimizeOptions& options) {
  return checked(graph, options,
                 [&](const PassWatch& watch) { return run_passes(graph, passes, nullptr, watch); });
}

}  // namespace wick::ir
