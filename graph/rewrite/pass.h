// Passes: named rewrites of a graph, each with the promise about numbers it keeps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "runtime/core/ledger.h"

namespace wick::ir {

// Ordered: a later one promises less.
enum class Numerics : uint8_t {
  kExact = 0,         // the same bits
  kReassociates = 1,  // the same real number, rounded elsewhere
  kApproximates = 2,  // another function, close by
};
const char* numerics_name(Numerics n);

// What folding may spend (op_work, bytes): one account for a graph with all of its regions, however
// many rounds there are and however much each of them makes.
struct WorkAhead {
  explicit WorkAhead(const Graph& graph);
  // A round begins: what constants the graph still has, and no others, count against the limit.
  void recount(const Graph& graph);
  // Bytes of constants: as many as there were, times a few, and some that any graph may have.
  Ledger memory;
  uint64_t held = 0;  // taken from it
  double all = 0;     // the steps that there were
  LedgerLimits spent() const { return {0, memory.spent().bytes, all - left - cheap}; }
  double left;   // the same for every file, and a few passes over the constants that it has
  double cheap;  // beside it, of nodes that are next to nothing: shapes are known in the end
};

struct Pass {
  const char* name;
  Numerics numerics;
  // True when the graph changed.
  bool (*run)(Graph&);
  // Instead of run: a pass that runs nodes.
  bool (*spend)(Graph&, WorkAhead*) = nullptr;
};

// What a pass did to values that its class does not allow.
struct PassFault {
  std::string pass;
  std::string node,
      value;        // of the graph behind it: the first that is wrong; "" where it runs no more
  std::string why;  // "element 3 is 1.5, before the pass 1.25, equal bits are promised"
};

struct PassReport {
  // the strongest promise left: only passes that changed something count
  Numerics numerics = Numerics::kExact;
  std::vector<std::string> changed;  // their names, in order
  std::vector<PassFault> undone;     // passes that did not keep their promise: not in `changed`
  std::string unchecked;             // why passes went unchecked from some point on; "": none did
  LedgerLimits spent = {0, 0, 0};    // by folding, of its WorkAhead: bytes and work
};

// Sees the graph before and behind each pass that changed it. A fault takes the graph back to where
// it was, and that pass does not run again.
using PassWatch =
    std::function<std::optional<PassFault>(const Pass&, const Graph& before, Graph& after)>;

// Runs the passes in order, verifying after each; throws Error naming the pass that broke the
// graph. Who calls it in rounds gives them one account of work; null is one for this call.
PassReport run_passes(Graph& graph, Span<const Pass> passes, WorkAhead* work = nullptr,
                      const PassWatch& watch = {});

// identity, blocks, fold, control, cse, layout, fuse_attention, fuse_integer, fuse, dce: all exact,
// to a fixed point.
PassReport simplify(Graph& graph);
// That, then fuse_norm and fuse_elementwise, which leave little that others could see through: all
// exact.
PassReport optimize(Graph& graph);

struct OptimizeOptions {
  bool chains = true;  // false: simplify() alone
  // Each the graph's inputs, in order: every pass is checked on them, by its class, and undone
  // where it breaks its promise (graph/rewrite/checked.h). Throws Error where the graph itself does
  // not run on them.
  std::vector<std::vector<HostTensor>> samples = {};
  double check_work = 1e18;  // steps (op_work) for all checks together
  PassWatch watch = {};      // instead of the check on samples
};
PassReport optimize(Graph& graph, const OptimizeOptions& options);
// The passes that are given, checked on samples (`chains` says nothing here).
PassReport run_checked(Graph& graph, Span<const Pass> passes, const OptimizeOptions& options);

// -- the passes
bool remove_identities(Graph& graph);  // ops that give back what they get
bool keep_blocks(Graph& graph);        // Linear of weights in blocks -> BlockLinear
// nodes of constants, run by the interpreter on the reference kernels
bool fold_constants(Graph& graph, WorkAhead* work);
bool fold_constants(Graph& graph);  // with an account of its own
// constants go into regions, captures that nobody reads go, an If of a known condition is its
// branch
bool simplify_control(Graph& graph);
// The first two of these, in regions within regions too; nothing else changes.
void trim_regions(Graph& graph);
bool share_common(Graph& graph);   // equal nodes on equal inputs become one
bool cancel_layout(Graph& graph);  // transposes and reshapes that undo each other
// MatMul + steps + Softmax + MatMul -> FusedAttention
bool fuse_attention(Graph& g);
// MatMulInteger by constants + Cast + Mul by scales -> QGemm
bool fuse_integer(Graph& graph);
// Conv | Linear | MatMul by a matrix + BatchNorm + Add + activation -> FusedConv | FusedLinear |
// FusedMatMul
bool fuse_epilogues(Graph& graph);
// reductions of rows and the elementwise ops around them -> FusedElementwise
bool fuse_norm(Graph& graph);
bool fuse_elementwise(Graph& graph);  // elementwise ops -> FusedElementwise
bool remove_dead(Graph& graph);       // nodes nobody reads; renumbers

inline constexpr Pass kIdentity = {"identity", Numerics::kExact, remove_identities};
inline constexpr Pass kBlocks = {"blocks", Numerics::kExact, keep_blocks};
inline constexpr Pass kFold = {"fold", Numerics::kExact, nullptr, fold_constants};
inline constexpr Pass kControl = {"control", Numerics::kExact, simplify_control};
inline constexpr Pass kCse = {"cse", Numerics::kExact, share_common};
inline constexpr Pass kLayout = {"layout", Numerics::kExact, cancel_layout};
inline constexpr Pass kFuseAttention = {"fuse_attention", Numerics::kExact, fuse_attention};
inline constexpr Pass kFuseInteger = {"fuse_integer", Numerics::kExact, fuse_integer};
inline constexpr Pass kFuse = {"fuse", Numerics::kExact, fuse_epilogues};
inline constexpr Pass kFuseNorm = {"fuse_norm", Numerics::kExact, fuse_norm};
inline constexpr Pass kFuseElementwise = {"fuse_elementwise", Numerics::kExact, fuse_elementwise};
inline constexpr Pass kDce = {"dce", Numerics::kExact, remove_dead};

}  // namespace wick::ir
