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
#include "trainer/distributed/parallel/part.h"
#include "trainer/nn/module.h"

namespace wick::distributed {

class PartScope;

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
  // finished.
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

  // What a checkpoint keeps to train on with the same bits: {"wick.shards": "8"}; on any number of
  // ranks up to that. check_metadata() throws Error if the checkpoint had another number.
  std::map<std::string, std::string> metadata() const;
  void check_metadata(const std::map<std::string, std::string>& metadata,
                      Where where = Where::current()) const;

 protected:
  struct Impl;
  DataParallel(std::unique_ptr<Impl> impl, const Where& where);
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

  Parts(Parts&&) noexcept;
  ~Parts();

 private:
  friend class DataParallel;
  Parts(Impl* impl, std::vector<Part> list);
  void enter(size_t at);

  Impl* impl_;
  std::vector<Part> list_;
  std::unique_ptr<PartScope> scope_;
};

}  // namespace wick::distributed
