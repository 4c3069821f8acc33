// DataParallel: training of one net by several ranks, each with its parts of every batch.
//
//   distributed::DataParallel ddp(net, world, {.shards = 8});
//   for (distributed::Batch& batch : loader) {
//     for (distributed::Part& part : ddp.parts(batch)) {
//       Tensor loss = cross_entropy(ddp(part.x), part.y);
//       ddp.backward(loss, part);
//     }
//     ddp.finish();
//     optimizer.step();
//     optimizer.zero_grad();
//   }
//
// Every batch is cut into `shards` parts, each with a forward and a backward of its own, and their
// gradients are summed by one fixed tree over the parts. Ranks share the parts, so that 1, 2, 3 or
// 8 ranks end with the same bits in every weight. One shard on one rank is training without this
// class, bit for bit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "trainer/distributed/group.h"
#include "trainer/distributed/parallel/checkpoint.h"
#include "trainer/distributed/parallel/part.h"
#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"

namespace wick::distributed {

class PartScope;
struct Snapshot;  // parallel/checkpoint_files.h

// Options of DataParallel.
struct DataParallelOptions {
  // Parts of a batch, at least as many as ranks. The number is a part of the model's recipe, like
  // the batch size: another one gives other bits, and other statistics of a batch norm that is not
  // synchronized. 0: as many as ranks, and then the bits depend on their number.
  int shards = 0;
  int64_t bucket_bytes = int64_t{25} << 20;  // gradients are sent in buckets of about this size
  // Whether a parameter may be without a gradient in a part. Then it counts as zeros there, and
  // where no part used it, its grad() stays as it was. Costs one small message a step.
  bool find_unused = false;
  // Gradients travel as bfloat16: half the bytes. It gives up 16 bits of each sum, and the promise:
  // what is rounded depends on the number of ranks. Sums are still made in float32, in one order.
  bool bf16_gradients = false;
  // Whether the loss of a part is a mean over its samples: each part then counts by its samples.
  // false: losses are sums.
  bool mean = true;
  // Whether a loss that is not finite ends all ranks, with a report that names the part and the
  // rank. false: it goes into the weights.
  bool check_loss = true;
};

// Trains one net on several ranks: torch.nn.parallel.DistributedDataParallel. For use by one
// thread.
class DataParallel {
 public:
  // `net` must outlive this. Its parameters and buffers become those of rank 0, and so does the
  // default generator. Throws Error if the ranks' nets differ in names, shapes or dtypes, if a
  // tensor is not on the CPU, or, with several shards, if a batch norm keeps running statistics of
  // its own part: call convert_sync_batchnorm() first.
  DataParallel(nn::Module& net, const Group& group, const DataParallelOptions& options = {},
               Where where = Where::current());
  virtual ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Runs the net's forward.
  virtual Tensor operator()(const Arg& x);
  // Return the net, and the number of parts of a batch.
  nn::Module& module();
  int shards() const;

  // The parts of a loop: a range that makes each part the one that runs, with the random numbers of
  // its own.
  class Parts;
  // Begins a batch, of which this rank has these parts; or all of the samples, along dimension 0 of
  // every field, and takes its own. Throws Error for no samples, and where the last batch is not
  // finished. A batch that an exception ends is given up, with what no_sync() has kept: the next
  // one begins anew, which all ranks must do.
  Parts parts(const Batch& batch, Where where = Where::current());
  Parts parts(const data::Batch& whole, Where where = Where::current());
  // Runs backward of the part's loss, which is a scalar. Buckets are sent meanwhile if it is the
  // last part.
  void backward(const Tensor& loss, const Part& part, Where where = Where::current());
  // Ends a batch: adds the gradient of the whole batch to every parameter's grad(), on all ranks,
  // and returns its loss (a mean over the samples, or with mean = false a sum). Throws Error if a
  // part had no backward, and on all ranks if a parameter had no gradient (find_unused).
  double finish(Where where = Where::current());

  // parts(), f(part), which returns the part's loss, backward() and finish(). The form that
  // SyncBatchNorm needs where a rank has several parts, as these wait for each other within f: each
  // runs on a thread of its own, one at a time.
  template <class B, class F>
  double step(const B& batch, F f, Where where = Where::current()) {
    run_parts(
        parts(batch, where), [&](Part& part) { backward(f(part), part, where); }, where);
    return finish(where);
  }

  // While it lives, finish() sends nothing and leaves grad() alone: gradients are kept, one for
  // each part of this rank, and added to those of the next batch. Returns 0 from finish().
  class NoSync {
   public:
    explicit NoSync(DataParallel* ddp);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DataParallel* ddp_;
    bool before_;
  };
  // Returns one: `auto guard = ddp.no_sync();`.
  [[nodiscard]] NoSync no_sync() { return NoSync(this); }

  // Scales the gradients of finish() by max_norm / (norm + 1e-6) if that is less than 1, and
  // returns their norm: 1, 2 or infinity. Sums are made without rounding, and rounded once, so that
  // any number of ranks, and FullyShard of any stage (which scales its segments'), has the same
  // bits. Every rank calls it.
  double clip_grad_norm(double max_norm, double norm_type = 2, Where where = Where::current());

  // What a checkpoint keeps to train on with the same bits: {"wick.shards": "8"}; on any number of
  // ranks up to that. check_metadata() throws Error if the checkpoint had another number.
  std::map<std::string, std::string> metadata() const;
  void check_metadata(const std::map<std::string, std::string>& metadata,
                      Where where = Where::current()) const;

  // Writes a checkpoint of parameters, buffers, the optimizer's state, the default generator and
  // notes into FOLDER, which is replaced as a whole when all is written: an interrupted save leaves
  // the one before, in FOLDER or FOLDER.old. Every rank calls it. Throws Error, on every rank,
  // within a batch, where a file cannot be written, and where FOLDER (or FOLDER.old or FOLDER.new)
  // has anything but shards of a checkpoint, which the save would remove.
  void save(const std::string& folder, const optim::Optimizer& optimizer, const Notes& notes = {},
            Where where = Where::current());
  // The same, written by a thread while training goes on: costs a copy of what is saved. Waits for
  // the one before.
  Saving save_async(const std::string& folder, const optim::Optimizer& optimizer,
                    const Notes& notes = {}, Where where = Where::current());
  // Reads one that any number of ranks wrote, and returns its notes once all ranks have read.
  // Throws Error, with nothing changed, where there is none, it does not fit, or a file's SHA-256
  // is not that of its tensors.
  virtual Notes load(const std::string& folder, optim::Optimizer& optimizer,
                     Where where = Where::current());

 protected:
  struct Impl;
  DataParallel(std::unique_ptr<Impl> impl, const Where& where);
  // The gradients that an optimizer sees; of_all: every rank has all of them.
  virtual std::vector<Tensor> own_gradients(bool* of_all) const;
  // Returns what this rank writes into a checkpoint.
  virtual Snapshot snapshot(const optim::Optimizer& optimizer);
  // What load() reads: the folder that there is, and by how many ranks it was written.
  std::string checkpoint_folder(const std::string& folder, int* ranks, const Where& where);
  // load() of one file, without waiting for the other ranks. `readers`: the ranks that each read a
  // file of one save; null: it is the only one.
  Notes load_file(const std::string& path, optim::Optimizer& optimizer, Group* readers,
                  const Where& where);
  static Notes notes_of(const std::map<std::string, std::string>& metadata);
  std::unique_ptr<Impl> impl_;

 private:
  void run_parts(Parts parts, const std::function<void(Part&)>& f, const Where& where);
};

// The parts of a batch, to loop over once: see DataParallel::parts().
class DataParallel::Parts {
 public:
  // Makes the part that it stands at the one that runs.
  class Iterator {
   public:
    Iterator(Parts* parts, size_t at) : parts_(parts), at_(at) { parts_->enter(at_); }
    Part& operator*() { return parts_->list_[at_]; }
    Iterator& operator++() {
      parts_->enter(++at_);
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return at_ < parts_->list_.size(); }

   private:
    Parts* parts_;
    size_t at_;
  };
  Iterator begin() { return Iterator(this, 0); }
  std::nullptr_t end() { return nullptr; }
  size_t size() const { return list_.size(); }

  Parts(Parts&& from) noexcept;
  ~Parts();  // by an exception: gives the batch up

 private:
  friend class DataParallel;
  Parts(Impl* impl, std::vector<Part> list);
  void enter(size_t at);

  Impl* impl_;  // null: moved from
  std::vector<Part> list_;
  std::unique_ptr<PartScope> scope_;
  int exceptions_;  // under way when it was made
};

}  // namespace wick::distributed
