// Pipeline parallel: stages of a net on ranks, through which the parts of a batch go one after the
// other.
//
//   auto stage = distributed::take_stage(net, mesh.axis("pipe"));
//   distributed::Pipeline pipe(*stage, mesh.axis("pipe"), mesh.axis("data"), {.shards = 8});
//   optim::Adam optimizer(stage->parameters(), {.lr = 1e-3});
//   for (distributed::Batch& batch : loader) {
//     pipe.step(batch, [](const Tensor& y, distributed::Part& p) {
//       return cross_entropy(y, p.y);
//     });
//     optimizer.step();
//     optimizer.zero_grad();
//   }
//
// The micro-batches are the virtual shards of DataParallel, and their gradients are summed by the
// same tree: the weights are those of one process with as many shards, bit for bit.
#pragma once

#include <functional>
#include <string>

#include "trainer/distributed/parallel/data_parallel.h"
#include "trainer/distributed/pipeline/pipe_steps.h"

namespace wick::distributed {

// Options of Pipeline; those that DataParallelOptions has too mean the same.
struct PipelineOptions {
  int shards = 0;  // micro-batches of a batch, of all data ranks; 0: twice as many as all ranks
  PipeSchedule schedule = PipeSchedule::k1F1B;  // the order of forwards and backwards
  // Keeps a micro-batch's input instead of all that its forward computes, and runs the forward
  // again before the backward. The bits stay.
  bool checkpoint = false;
  int64_t bucket_bytes = int64_t{25} << 20;  // as in DataParallelOptions
  bool mean = true;
  bool check_loss = true;  // the same
};

// Runs a stage of a net. For use by one thread.
class Pipeline : private DataParallel {
 public:
  // Every rank of `pipe` has a stage, in order; ranks of `data` have the same stage, and share the
  // parts. `stage` must outlive this. Throws Error as DataParallel does, for SyncBatchNorm, and
  // with several stages for fewer than two micro-batches.
  Pipeline(nn::Module& stage, const Group& pipe, const Group& data,
           const PipelineOptions& options = {}, Where where = Where::current());

  // The loss of a part, of what the last stage gives for it; called on the ranks of the last stage.
  using Loss = std::function<Tensor(const Tensor& output, Part& part)>;
  // Runs forward and backward of a batch, which every rank gives (the first stage reads its x, the
  // last one what `loss` reads), adds the gradients to grad(), and returns the batch's loss on
  // every rank. Activations between stages are one floating-point tensor each. Throws Error, on all
  // ranks, as DataParallel does.
  double step(const Batch& batch, const Loss& loss, Where where = Where::current());
  double step(const data::Batch& whole, const Loss& loss, Where where = Where::current());

  // Writes a checkpoint of all stages into FOLDER, as DataParallel::save() does: a file for each
  // stage, and for each rank of a layer that is split. `world` has all ranks of the mesh, which all
  // call it.
  void save(const Group& world, const std::string& folder, const optim::Optimizer& optimizer,
            const Notes& notes = {}, Where where = Where::current());
  // Reads one of as many stages and ranks of split layers; the data ranks may be others. Returns
  // its notes once all ranks have read. Throws Error as DataParallel::load() does.
  Notes load(const Group& world, const std::string& folder, optim::Optimizer& optimizer,
             Where where = Where::current());

  // What the last step was like.
  struct Report {
    PipeSchedule schedule = PipeSchedule::k1F1B;  // the options'
    int stages = 1;                               // of the pipeline
    size_t micro_batches = 0;                     // of this rank
    size_t in_flight = 0;      // activations that this stage held at a time, at most
    double bubble = 0;         // (stages - 1) / (micro_batches + stages - 1)
    double waited = 0;         // the part of the step that this rank waited for other stages
    std::string text() const;  // one line of all of it
  };
  // Returns that; before a step its defaults.
  const Report& report() const { return report_; }

  using DataParallel::check_metadata;
  using DataParallel::metadata;
  using DataParallel::shards;

 private:
  using DataParallel::load;  // of one stage: not for others
  struct MicroBatch;
  int file_of(const Group& world, int* files, const Where& where);
  double run(std::vector<Part> parts, int64_t total, const Loss& loss, const Where& where);
  void forward(MicroBatch& m, const Loss& loss, const Where& where);
  void backward(MicroBatch& m, const Loss& loss, const Where& where);
  Tensor receive_activation(MicroBatch& m, const Where& where);
  void send_activation(MicroBatch& m, const Tensor& y, const Where& where);
  bool first() const { return pipe_.rank() == 0; }
  bool last() const { return pipe_.rank() == pipe_.size() - 1; }

  Group pipe_;
  PipelineOptions options_;
  Report report_;
  std::vector<std::pair<Tensor, Handle>> under_way_;  // messages of this step
};

}  // namespace wick::distributed
