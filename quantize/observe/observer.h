// Observer: sees tensors of one value over many batches, and says by which scale and zero point
// their integers should stand for them. One for the whole tensor, or for each index of an axis.
#pragma once

#include <string>
#include <vector>

#include "quantize/observe/histogram.h"
#include "quantize/qparams.h"
#include "quantize/recipe.h"

namespace wick::quantize {

class Observer {
 public:
  // axis -1: per tensor.
  explicit Observer(const ObserverSpec& spec, int64_t axis = -1);

  // A part of a batch. float32 of any rank; an empty tensor adds nothing. Throws Error: another
  // dtype, NaN or infinity (and where), an axis that the shape has not, another number of indices
  // than before.
  void add(const HostTensor& x);
  // What was added since is one batch: kMovingAverage averages over these.
  void end_batch();
  // Both.
  void observe(const HostTensor& x) {
    add(x);
    end_batch();
  }

  int64_t count() const { return count_; }  // numbers seen
  // The extremes, clipping apart, over the channels together.
  Range seen() const;
  // Every number was the same.
  bool constant() const { return count_ > 0 && seen().lo == seen().hi; }
  // One range a channel, clipped as the spec says for integers of that dtype. Throws Error when
  // nothing was seen.
  std::vector<Range> ranges(DType dtype, bool symmetric) const;
  QParams params(DType dtype, bool symmetric) const;

 private:
  struct Channel {
    Range seen, batch, average;
    bool any = false, any_in_batch = false, averaged = false;
    Histogram histogram;
  };
  void add(Channel& c, const float* x, int64_t n);
  Range range(const Channel& c, DType dtype, bool symmetric) const;

  ObserverSpec spec_;
  int64_t axis_, count_ = 0;
  std::vector<Channel> channels_;
};

}  // namespace wick::quantize
