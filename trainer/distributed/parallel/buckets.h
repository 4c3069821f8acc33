// The gradients of a net on their way: cut into buckets, each with a buffer for every part of this
// rank, summed by the tree of shards, and sent while backward computes the next bucket. Internal to
// DataParallel.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trainer/distributed/comm/communicator.h"
#include "trainer/nn/module.h"

namespace wick::distributed {

// Who gets the sums: all of them every rank, or each rank those of its segment of every bucket.
enum class SumsTo { kAll, kSegments };

class Buckets {
 public:
  // Indices of parameters by bucket, each of one dtype.
  using Lists = std::vector<std::vector<size_t>>;
  // Buckets of at least `bytes` (the last: fewer) in the reverse order of the parameters, which is
  // about that of backward.
  static Lists by_size(const nn::NamedTensors& parameters, int shards, int64_t bytes);
  Buckets(Communicator& communicator, int shards, const nn::NamedTensors& parameters,
          const Lists& lists, bool bf16_wire, SumsTo to);

  // Begins a batch of `total` samples. sync = false: gradients are only kept, for a later batch
  // that sends the sums.
  void begin(int64_t total, bool sync);
  // Takes the gradient of a parameter in a part. May send.
  void take(int part, size_t parameter, const Tensor& gradient, const Where& where);
  // The backward of a part is over: what was not taken counts as zeros in it. Returns the
  // parameters that this part did not use, in this batch or in one that was kept.
  std::vector<size_t> end_part(int part, const Where& where);
  // Waits for the sums. gradient(i) is then that of parameter i, a view of a bucket.
  void finish(const Where& where);
  Tensor gradient(size_t parameter) const;
  // The sum of a bucket's elements that are this rank's: segment_of(rank, ranks, elements).
  Tensor segment(size_t bucket) const;
  // Frees the buffers, after finish() or after an error.
  void clear();

  // Copies between a flat tensor of a bucket's elements and its parameters.
  Tensor flatten(size_t bucket) const;
  void unflatten(size_t bucket, const Tensor& flat) const;
  // Remembers the bytes and versions that the bucket's parameters have now.
  void mark(size_t bucket);
  // Returns the name of a parameter of the bucket that was written, or got other bytes, since
  // mark(); empty: there is none.
  std::string written(size_t bucket) const;
  // The parameters' names, with windows of `flat`.
  nn::NamedTensors named_windows(size_t bucket, const Tensor& flat) const;
  int64_t elements(size_t bucket) const { return buckets_[bucket].count; }
  // Names, dtypes and shapes of all parameters, by bucket: what a checkpoint must agree with.
  std::string layout() const;
  size_t count() const { return buckets_.size(); }
  size_t bucket_of(size_t parameter) const { return places_[parameter].bucket; }
  // Called with a bucket when a part has brought all gradients of it; may be empty.
  std::function<void(size_t)> on_complete;
  // Makes the bucket's parameters windows of `flat`, without a copy; undefined: unreadable
  // stand-ins of their shapes, which need no memory.
  void point_to(size_t bucket, const Tensor& flat) const;
  // Whether the parameter was used by any part of this rank since the last clear().
  bool used(size_t parameter) const { return used_[parameter]; }

 private:
  struct Leaf {
    Tensor bytes;            // of all parameters of the bucket
    std::vector<bool> has;   // by place: it has a gradient, of this batch or of earlier ones
    std::vector<bool> came;  // by place: that of this batch has come
    size_t waiting = 0;      // gradients of this batch that have not come
  };
  struct Bucket {
    DType dtype = DType::kF32;
    int64_t count = 0;
    std::vector<size_t> parameters;
    std::vector<int64_t> offsets;
    std::map<int, Leaf> leaves;  // by part
    Forest<Tensor> forest;
    Tensor sum;
    Handle handle;
    bool sent = false;
    std::string name;
  };
  struct Place {
    size_t bucket = 0, index = 0;
  };
  struct Mark {
    const void* data = nullptr;
    uint32_t version = 0;
  };

  Leaf& leaf_of(Bucket& bucket, int part);
  void push_ready(Bucket& bucket, const Where& where);
  void send_ready(const Where& where);

  Communicator& communicator_;
  int shards_;
  Shards own_;
  nn::NamedTensors parameters_;
  bool bf16_wire_;
  SumsTo to_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // by parameter
  std::vector<bool> used_;     // by parameter
  std::vector<Mark> marks_;    // by parameter
  int64_t total_ = 0;
  bool sync_ = true;
  size_t next_ = 0;  // the first bucket that is not sent
};

}  // namespace wick::distributed
