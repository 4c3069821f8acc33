// Tensor parallel: layers of one net cut over ranks, by a plan over the names of modules.
//
//   distributed::TensorParallel tp(net, mesh.axis("tensor"), distributed::gpt_plan(),
//                                  {.shards = 4});
//   Tensor logits = net(tokens);       // the same on every rank of the axis
//
// A split layer has `shards` = T virtual shards, and sums over them are made by the fixed tree over
// T. 1, 2 or T ranks therefore have the same bits. Against the net that is not split, column splits
// have its bits; row splits are within a bound (docs/numerics.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/distributed/group.h"
#include "trainer/nn/module.h"

namespace wick::distributed {

// How a layer is cut.
enum class Split {
  kColumn,         // a Linear by its outputs, which stay on their ranks: for a kRow behind it
  kColumnWhole,    // a Linear by its outputs, which all ranks get: a head
  kRow,            // a Linear by its inputs, which a kColumn has left on the ranks
  kRowWhole,       // a Linear by its inputs, which all ranks have
  kEmbedding,      // an Embedding by its rows
  kHeads,          // a MultiheadAttention by its heads
  kNorm,           // a LayerNorm or RMSNorm of a cut sequence: the rows lie on the ranks
  kSequenceBegin,  // the module's input is cut along dimension 1
  kSequenceEnd,    // the module's output is gathered along dimension 1
};
// Returns "column".
const char* to_text(Split split);

// One line of a plan.
struct SplitRule {
  std::string module;          // a path, in which * stands for any text without a dot
  Split how = Split::kColumn;  // what becomes of it
  // Whether activations before and behind the layer are cut along the sequence: between
  // kSequenceBegin and kSequenceEnd. kNorm always is.
  bool sequence = false;
};
using SplitPlan = std::vector<SplitRule>;

// The plan of nn::GPT: table, heads, both layers of the MLPs and the head; with `sequence` the
// norms, too, and what lies between blocks is cut along the sequence (Korthikanti et al., 2022).
// `prefix` is the path of the GPT in the net: "gpt.".
SplitPlan gpt_plan(bool sequence = false, const std::string& prefix = "");

// Options of TensorParallel.
struct TensorParallelOptions {
  // T, which divides outputs, inputs, rows, heads and (sequence) positions, and is at least the
  // number of ranks: a part of the recipe, like the shards of a batch. 0: as many as ranks, and
  // then the bits depend on their number.
  int shards = 0;
  // Whether a rule may match no module: the net is a stage of a pipeline, the plan is for all.
  bool partial = false;
};

// Cuts layers of a net (Shoeybi et al., 2019). The split parameters have a new shape, [own shards,
// ...], under their names; make optimizers and DataParallel afterwards. A layer's hooks go on to
// run, with the layer that has taken its place and what it gets and gives on this rank: what a
// column split leaves on the ranks is cut. A dropout on a split activation is an error in training;
// attention's own is not: each shard has numbers of its own.
class TensorParallel {
 public:
  // Every rank of `group` calls it, with the same net: the values become those of rank 0, and so
  // does the default generator. Throws Error where a rule matches no module, or not its kind, where
  // T does not divide, where two rules cut a module, for a parameter that another module shares or
  // that a parametrization computes, for a class derived from the layer, and for hooks of the
  // out_proj of split heads; the net is then as it was.
  TensorParallel(nn::Module& net, const Group& group, const SplitPlan& plan,
                 const TensorParallelOptions& options = {}, Where where = Where::current());
  ~TensorParallel();
  TensorParallel(const TensorParallel&) = delete;
  TensorParallel& operator=(const TensorParallel&) = delete;

  int shards() const;
  // Returns the state dict of the net that is not split, on every rank of the group, which all call
  // it: to save, to export, or to load into a net that is cut for another number of ranks.
  nn::NamedTensors state_dict(Where where = Where::current()) const;

  // DataParallel::clip_grad_norm() for a net that is split, whose gradients lie on several ranks:
  // scales grad() of all of the net's parameters by max_norm / (norm + 1e-6) if that is less than
  // 1, and returns the norm of the whole net's: 1, 2 or infinity, the same bits for any number of
  // ranks. Every rank of the group calls it; under DataParallel behind its finish(). Throws Error
  // where no parameter has a gradient.
  double clip_grad_norm(double max_norm, double norm_type = 2, Where where = Where::current());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick::distributed
