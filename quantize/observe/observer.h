// Observer sees tensors of one value over many batches, and returns the scale and zero point by
// which integers should represent them: one for the whole tensor, or one for each index of an axis.
#pragma once

#include <string>
#include <vector>

#include "quantize/observe/histogram.h"
#include "quantize/qparams.h"
#include "quantize/recipe.h"

namespace wick::quantize {

// Returns whether an observer of this kind keeps a histogram.
bool keeps_histogram(ObserverKind kind);

class Observer {
 public:
  // axis -1: per tensor.
  explicit Observer(const ObserverSpec& spec, int64_t axis = -1);

  // Adds a part of a batch: float32 of any rank; an empty tensor adds nothing. Throws Error for
  // another dtype, for NaN or infinity (and says where), for an axis that the shape does not have,
  // and for another number of indices than before.
  void add(const HostTensor& x);
  // Ends a batch of what was added since the last one: kMovingAverage averages over batches.
  void end_batch();
  // Does both.
  void observe(const HostTensor& x) {
    add(x);
    end_batch();
  }

  int64_t count() const { return count_; }  // numbers seen
  // Returns the extremes before clipping, over all channels together.
  Range seen() const;
  // Returns whether every number was the same.
  bool constant() const { return count_ > 0 && seen().lo == seen().hi; }
  // Returns one range per channel, clipped as the spec says for integers of that dtype. Throws
  // Error if nothing was seen.
  std::vector<Range> ranges(DType dtype, bool symmetric) const;
  QParams params(DType dtype, bool symmetric) const;
  // Returns what an observer of `spec` would choose that saw the same. This one must keep a
  // histogram (percentile, entropy, mse) if that one does, and average by the same share.
  QParams params(const ObserverSpec& spec, DType dtype, bool symmetric) const;

 private:
  struct Channel {
    Range seen, batch, average;
    bool any = false, any_in_batch = false, averaged = false;
    Histogram histogram;
  };
  void add(Channel& c, const float* x, int64_t n);
  std::vector<Range> ranges(const ObserverSpec& spec, DType dtype, bool symmetric) const;

  ObserverSpec spec_;
  int64_t axis_, count_ = 0;
  std::vector<Channel> channels_;
};

}  // namespace wick::quantize
