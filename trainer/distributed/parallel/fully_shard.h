// ZeRO: the state of training cut into segments, one for each rank.
//
//   distributed::FullyShard fs(net, world, {.shards = 8, .stage = 2});
//   optim::Adam optimizer(fs.segments(), {.lr = 1e-3});
//   for (distributed::Batch& batch : loader) {
//     fs.step(batch, [&](distributed::Part& p) { return cross_entropy(fs(p.x), p.y); });
//     optimizer.step();
//     optimizer.zero_grad();
//   }
#pragma once

#include "trainer/distributed/parallel/data_parallel.h"

namespace wick::distributed {

class ParamUnits;

// Options of FullyShard; those that DataParallelOptions has too mean the same.
struct FullyShardOptions {
  int shards = 0;  // parts of a batch; 0: as many as ranks
  // 1: each rank keeps the optimizer's state of its segments; gradients are summed on every rank.
  // 2: each rank keeps also the gradients of its segments only, and grad() of the net's parameters
  // stays as it was. 3: a layer's parameters are whole only while it runs.
  int stage = 2;
  int64_t bucket_bytes = int64_t{25} << 20;
  bool mean = true;
  bool check_loss = true;
  // kBF16 or kF16: the net's parameters and buffers become of this dtype, and travel in it, while
  // segments, gradients' sums and the optimizer stay in float32 (master weights). Stages 2 and 3.
  DType compute = DType::kNone;
  // Stage 3: a layer's parameters are gathered while the layer before computes, in the order of the
  // batch before. Costs the memory of one more layer.
  bool prefetch = true;
};

// DataParallel whose optimizer works on this rank's segments of the parameters (Rajbhandari et al.,
// 2020). The net's own parameters follow by an all-gather before the next forward through this; in
// stage 3 by one for each layer before its forward, and one before its backward. With an optimizer
// whose update is elementwise, all parameters in one group, the weights have the bits of
// DataParallel's.
//
// What is written into the net's parameters (load_state_dict()) after gather(), on every rank, goes
// into the segments with the next gather, batch or save. It is an Error then where the optimizer
// has made a step since the last gather, where `compute` has rounded it, and where ranks have
// loaded other numbers or some of them nothing.
class FullyShard : public DataParallel {
 public:
  // As DataParallel's. Throws Error also for another stage. In stage 3 a step needs the form of
  // step() where a rank has several parts, and parameters may be read within calls of their layers
  // only: elsewhere they are NaN, which an error of backward tells.
  FullyShard(nn::Module& net, const Group& group, const FullyShardOptions& options = {},
             Where where = Where::current());
  ~FullyShard() override;

  // Returns what to make the optimizer of: this rank's segments of all parameters, as flat leaves,
  // one for each bucket.
  const std::vector<Tensor>& segments() const;
  // Runs the net's forward, on gathered parameters.
  Tensor operator()(const Arg& x) override;
  // Gives the net the parameters that the optimizer's last step made, if it does not have them:
  // every rank calls it, before the net is used by itself (evaluated, saved). In stage 3 all layers
  // then stay whole until the next batch; call it before this goes, or the net has no weights.
  void gather(Where where = Where::current());
  // Returns the state dict with the segments' own values, in float32 also where the net computes in
  // another dtype; every rank calls it.
  nn::NamedTensors state_dict(Where where = Where::current());

  // save() writes FOLDER/shard-R-of-N.safetensors: each rank its segments and the optimizer's state
  // of them, rank 0 also the buffers and the default generator. load() reads what any number of
  // ranks wrote, with the same net, shards and bucket_bytes.
  Notes load(const std::string& folder, optim::Optimizer& optimizer,
             Where where = Where::current()) override;

 protected:
  Snapshot snapshot(const optim::Optimizer& optimizer) override;
  std::vector<Tensor> own_gradients(bool* of_all) const override;

 private:
  void take_over_written(const Where& where);
  static std::unique_ptr<Impl> make(nn::Module& net, const Group& group,
                                    const FullyShardOptions& options, const Where& where);
  std::unique_ptr<ParamUnits> units_;  // of stage 3
};

}  // namespace wick::distributed
