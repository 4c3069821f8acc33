// Passes are named rewrites of a graph, each with the promise about numbers that it keeps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "runtime/core/ledger.h"
#include "runtime/ops/attrs.h"

namespace wick::ir {

// They are ordered: a later one promises less.
enum class Numerics : uint8_t {
  kExact = 0,         // the same bits
  kReassociates = 1,  // the same real number, rounded elsewhere
  kApproximates = 2,  // another function, close to it
};
// Returns the name of a class of numerics as reports print it.
const char* numerics_name(Numerics n);

// WorkAhead is what folding may spend (op_work, bytes): one account for a graph with all of its
// regions, however many rounds there are and however much each of them makes.
struct WorkAhead {
  // `most` is the limit for bytes of constants; 0: five times as many as there are, elements of
  // less than a byte as reals, and 16 MiB.
  explicit WorkAhead(const Graph& graph, uint64_t most = 0);
  // Starts a round: only the constants that the graph still has count against the limit.
  void recount(const Graph& graph);
  // Of all constants of the graph, those that were there included.
  Ledger memory;
  uint64_t held = 0;  // taken from it
  double all = 0;     // all steps at the start
  // Returns the bytes and steps spent so far, those of the extra below included.
  LedgerLimits spent() const { return {0, memory.spent().bytes, all - left - cheap}; }
  double left;  // the same for every file, plus a few passes over its constants
  // An extra for nodes that cost next to nothing, so that shapes are always known in the end.
  double cheap;
};

// A change to a graph, and what it promises about results.
struct Pass {
  const char* name;   // "fuse"
  Numerics numerics;  // its class
  // True when the graph changed.
  bool (*run)(Graph&);
  // Used instead of run: a pass that runs nodes.
  bool (*spend)(Graph&, WorkAhead*) = nullptr;
};

// PassFault is what a pass did to values that its class does not allow.
struct PassFault {
  std::string pass;
  std::string node,
      value;        // in the graph after it: the first that is wrong; "" if the graph runs no more
  std::string why;  // "element 3 is 1.5, before the pass 1.25, equal bits are promised"
};

// Says what passes did to a graph.
struct PassReport {
  // The strongest promise left: only passes that changed something count.
  Numerics numerics = Numerics::kExact;
  std::vector<std::string> changed;  // their names, in order
  std::vector<PassFault> undone;     // passes that broke their promise: not in `changed`
  std::string unchecked;             // why passes went unchecked from some point on; "": none did
  LedgerLimits spent = {0, 0, 0};    // by folding, from its WorkAhead: bytes and work
};

// Sees the graph before and after each pass that changed it. A fault restores the graph as it was,
// and that pass does not run again.
using PassWatch =
    std::function<std::optional<PassFault>(const Pass&, const Graph& before, Graph& after)>;

// Runs the passes in order and verifies after each; throws Error that names the pass which broke
// the graph. A caller that runs rounds passes them one account of work; null is one for this call.
PassReport run_passes(Graph& graph, Span<const Pass> passes, WorkAhead* work = nullptr,
                      const PassWatch& watch = {});

// Runs identity, blocks, fold, control, cse, layout, fuse_attention, fuse_integer, fuse and dce,
// all exact, to a fixed point.
PassReport simplify(Graph& graph);
// Runs simplify(), then shuffle, fuse_norm and fuse_elementwise, whose ops other passes can hardly
// see through: all exact. The passes of OptimizeOptions::products follow.
PassReport optimize(Graph& graph);

// Options of optimize().
struct OptimizeOptions {
  bool chains = true;  // false: simplify() alone
  // The order of products that float layers get, last, where it applies and pays; each node states
  // its own (ConvAttrs::products, EpilogueAttrs::products).
  Products products = Products::kExact;
  // Each sample has the graph's inputs, in order: every pass is checked on them, by its class, and
  // undone if it breaks its promise (graph/rewrite/checked.h). Throws Error if the graph itself
  // does not run on them.
  std::vector<std::vector<HostTensor>> samples = {};
  double check_work = 1e18;  // steps (op_work) for all checks together
  PassWatch watch = {};      // used instead of the check on samples
  // The most bytes that the values of the graph before a pass, and those behind it, may take.
  uint64_t check_bytes = UINT64_MAX;
  // The most bytes that all constants may come to by folding; 0: WorkAhead's own limit. Nodes
  // beyond it stay and are run.
  uint64_t fold_bytes = 0;
};
// Optimizes a graph by these options.
PassReport optimize(Graph& graph, const OptimizeOptions& options);
// Runs the given passes, checked on samples (`chains` has no effect).
PassReport run_checked(Graph& graph, Span<const Pass> passes, const OptimizeOptions& options);

// -- the passes
bool remove_identities(Graph& graph);  // ops that return their input
bool keep_blocks(Graph& graph);        // Linear of weights in blocks -> BlockLinear
// Folds nodes of constants, which the interpreter runs on the reference kernels.
bool fold_constants(Graph& graph, WorkAhead* work);
bool fold_constants(Graph& graph);  // with an account of its own
// Moves constants into regions, removes captures that nothing reads, and replaces an If of a known
// condition by its branch.
bool simplify_control(Graph& graph);
// Does the first two of these only, in regions within regions, too.
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
bool gather_shuffles(Graph& graph);  // Reshape + Transpose + Reshape of channels -> Gather
// reductions of rows and the elementwise ops around them -> FusedElementwise
bool fuse_norm(Graph& graph);
bool fuse_elementwise(Graph& graph);  // elementwise ops -> FusedElementwise
bool remove_dead(Graph& graph);       // nodes that nothing reads; renumbers
// Convolutions of f32, 3x3 by stride 1: Products::kWinograd
bool winograd_convolutions(Graph& graph);
// Convolutions, Linear and MatMul by a constant matrix, of f32: Products::kBf16
bool bf16_products(Graph& graph);
// FusedConv, FusedLinear, FusedMatMul, FusedAttention, FusedElementwise, BlockLinear -> the nodes
// that they stand for. Throws Error for one that has no such form.
bool unfuse(Graph& graph);

// The passes by name, with their promise.
inline constexpr Pass kIdentity = {"identity", Numerics::kExact, remove_identities};
inline constexpr Pass kBlocks = {"blocks", Numerics::kExact, keep_blocks};
inline constexpr Pass kFold = {"fold", Numerics::kExact, nullptr, fold_constants};
inline constexpr Pass kControl = {"control", Numerics::kExact, simplify_control};
inline constexpr Pass kCse = {"cse", Numerics::kExact, share_common};
inline constexpr Pass kLayout = {"layout", Numerics::kExact, cancel_layout};
inline constexpr Pass kFuseAttention = {"fuse_attention", Numerics::kExact, fuse_attention};
inline constexpr Pass kFuseInteger = {"fuse_integer", Numerics::kExact, fuse_integer};
inline constexpr Pass kFuse = {"fuse", Numerics::kExact, fuse_epilogues};
inline constexpr Pass kShuffle = {"shuffle", Numerics::kExact, gather_shuffles};
inline constexpr Pass kFuseNorm = {"fuse_norm", Numerics::kExact, fuse_norm};
inline constexpr Pass kFuseElementwise = {"fuse_elementwise", Numerics::kExact, fuse_elementwise};
inline constexpr Pass kDce = {"dce", Numerics::kExact, remove_dead};
inline constexpr Pass kWinograd = {"winograd", Numerics::kReassociates, winograd_convolutions};
inline constexpr Pass kBf16Products = {"bf16_products", Numerics::kApproximates, bf16_products};
inline constexpr Pass kUnfuse = {"unfuse", Numerics::kExact, unfuse};

}  // namespace wick::ir
