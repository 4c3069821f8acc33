// Shared by the reference loops and the SIMD rows of RNN, GRU and LSTM: sizes, and the position of
// a sequence's step.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

struct RnnSizes {
  int64_t seq, batch, input, hidden, dirs, gates;
  bool batch_first;

  RnnSizes(Span<const TensorView> in, const RnnAttrs& a)
      : seq(in[0].shape[a.layout == 0 ? 0 : 1]),
        batch(in[0].shape[a.layout == 0 ? 1 : 0]),
        input(in[0].shape[2]),
        hidden(in[2].shape[2]),
        dirs(in[2].shape[0]),
        gates(hidden == 0 ? 0 : in[2].shape[1] / hidden),
        batch_first(a.layout != 0) {}
  int64_t rows() const { return gates * hidden; }
  int64_t x(int64_t t, int64_t b) const {
    return (batch_first ? b * seq + t : t * batch + b) * input;
  }
  int64_t y(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * seq + t) * dirs + d : (t * dirs + d) * batch + b) * hidden;
  }
  int64_t state(int64_t d, int64_t b) const {
    return (batch_first ? b * dirs + d : d * batch + b) * hidden;
  }
};

// Returns the steps of each sequence; null: all have the whole length.
inline const int32_t* rnn_lengths(Span<const TensorView> in) {
  return in.size() > 4 && in[4].present() ? in[4].as<int32_t>() : nullptr;
}
inline Status check_rnn_lengths(Span<const TensorView> in, const RnnSizes& s) {
  const int32_t* lengths = rnn_lengths(in);
  for (int64_t b = 0; lengths != nullptr && b < s.batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > s.seq) {
      return error(Code::kInvalidArgument, "sequence_lens[%lld] is %lld, must be 0 to %lld",
                   static_cast<long long>(b), static_cast<long long>(lengths[b]),
                   static_cast<long long>(s.seq));
    }
  }
  return {};
}

// Returns one of a cell's functions, with its default filled in.
inline RnnFunction rnn_function(const RnnFunctionAttrs& a, RnnFunction fallback) {
  return a.kind == 0 ? fallback : static_cast<RnnFunction>(a.kind);
}

}  // namespace wick
