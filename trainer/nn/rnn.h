// Recurrent layers (Elman, 1990; LSTM: Hochreiter and Schmidhuber, 1997; GRU: Cho et al., 2014)
// with PyTorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then _reverse, then _l1
// ... Gates are in PyTorch's order; a layer runs as one op, RNN, GRU or LSTM, which ONNX has too.
#pragma once

#include "trainer/nn/module.h"
#include "trainer/nn/packed.h"

namespace wick::nn {

// Options of RNN, GRU and LSTM, with PyTorch's defaults.
struct RnnOptions {
  int64_t num_layers = 1;    // layers, each reading the one before
  bool bias = true;          // two biases for each layer, as PyTorch has
  bool batch_first = false;  // x and output are [B, T, ...], states always [layers * dirs, B, ...]
  double dropout = 0;        // after each layer but the last, in training mode
  bool bidirectional = false;         // a second direction from the last step to the first
  std::string nonlinearity = "tanh";  // for RNN; or "relu"
  int64_t proj_size = 0;              // for LSTM: h is projected to this size (Sak et al., 2014)
};

// The result of RNN, GRU and LSTM. c_n is undefined for RNN and GRU.
struct RnnResult {
  Tensor output;  // [T, B, dirs * hidden]; [B, T, ...] with batch_first
  Tensor h_n;     // [layers * dirs, B, hidden]
  Tensor c_n;     // only for LSTM, the same shape
};
// The result for a PackedSequence: output is packed in the same order, h_n and c_n are as in
// RnnResult, in the order of the batch before packing.
struct PackedRnnResult {
  PackedSequence output;
  Tensor h_n, c_n;
};

// The common part of RNN, GRU and LSTM. Throws Error for sizes below 1, a nonlinearity of another
// name, proj_size outside of LSTM, and states of a wrong shape.
class RNNBase : public Module {
 public:
  // Takes x[T, B, input_size] ([B, T, ...] with batch_first), or [T, input_size] without a batch.
  // Returns only the output; the initial states are 0.
  Tensor forward(const Arg& x) override { return run(x, {}, {}).output; }
  // Also returns the last states: auto [output, h_n, c_n] = lstm.with_state(x, h_0, c_0).
  RnnResult with_state(const Arg& x, const Tensor& h_0 = {}, const Tensor& c_0 = {}) {
    return hooked([this](const auto&... in) { return run(in...); }, x, h_0, c_0);
  }
  // Each sequence runs over its own steps: h_n is the state after its last step, and the reverse
  // direction begins there.
  PackedRnnResult with_state(const PackedSequence& x, const Tensor& h_0 = {},
                             const Tensor& c_0 = {}, Where where = Where::current());
  std::string extra_repr() const override;

  // Return the sizes that the constructor was given.
  int64_t input_size() const { return input_; }
  int64_t hidden_size() const { return hidden_; }

 protected:
  RNNBase(const char* kind, int64_t gates, int64_t input_size, int64_t hidden_size,
          RnnOptions options);

 private:
  struct Direction {
    Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
  };
  RnnResult run(const Arg& x, Tensor h_0, Tensor c_0);
  PackedRnnResult run_packed(const PackedSequence& x, const Tensor& h_0, const Tensor& c_0,
                             const Where& where);
  // x[T, B, ...] has time first; lengths is int32 [B] or undefined.
  RnnResult layers(const Tensor& x, const Tensor& h_0, const Tensor& c_0, const Tensor& lengths,
                   const Where& where);
  RnnResult one_layer(const Tensor& x, int64_t layer, const Tensor& h, const Tensor& c,
                      const Tensor& lengths, const Where& where);
  RnnResult projected(const Tensor& x, const Direction& d, bool reverse, Tensor h, Tensor c,
                      const Tensor& lengths, const Where& where) const;
  Tensor state(const char* name, const Tensor& given, int64_t size, int64_t batch, bool batched,
               const Where& where) const;
  int64_t dirs() const { return options_.bidirectional ? 2 : 1; }
  int64_t out_size() const { return options_.proj_size > 0 ? options_.proj_size : hidden_; }

  const char* kind_;
  int64_t gates_, input_, hidden_;
  RnnOptions options_;
  std::vector<Direction> directions_;  // by layer, then direction
};

// h = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu: torch.nn.RNN.
class RNN : public RNNBase {
 public:
  using Options = RnnOptions;  // of the last argument
  RNN(int64_t input_size, int64_t hidden_size, RnnOptions options = {})
      : RNNBase("RNN", 1, input_size, hidden_size, std::move(options)) {}
};
// torch.nn.GRU: the reset gate multiplies W_hn h + b_hn, as in cuDNN.
class GRU : public RNNBase {
 public:
  using Options = RnnOptions;  // of the last argument
  GRU(int64_t input_size, int64_t hidden_size, RnnOptions options = {})
      : RNNBase("GRU", 3, input_size, hidden_size, std::move(options)) {}
};
// torch.nn.LSTM, with projections where proj_size > 0.
class LSTM : public RNNBase {
 public:
  using Options = RnnOptions;  // of the last argument
  LSTM(int64_t input_size, int64_t hidden_size, RnnOptions options = {})
      : RNNBase("LSTM", 4, input_size, hidden_size, std::move(options)) {}
};

// -- single steps: x[B, input_size] or [input_size], states [B, hidden_size] likewise
// The common part of the cells. Throws Error for an input or a state of another shape.
class RNNCellBase : public Module {
 public:
  std::string extra_repr() const override;
  Tensor weight_ih, weight_hh;  // [gates * hidden, input], [gates * hidden, hidden]
  Tensor bias_ih, bias_hh;      // [gates * hidden], or undefined

 protected:
  RNNCellBase(const char* kind, int64_t gates, int64_t input_size, int64_t hidden_size, bool bias);
  // Returns the given state after checks, or zeros.
  Tensor state(const Arg& x, const Tensor& given) const;

  const char* kind_;
  int64_t input_, hidden_;
  const char* nonlinearity_ = "";
};

// One step of RNN: returns h [B, hidden_size]. An undefined h is zeros.
class RNNCell : public RNNCellBase {
 public:
  RNNCell(int64_t input_size, int64_t hidden_size, bool bias = true,
          const std::string& nonlinearity = "tanh");
  Tensor forward(const Arg& x) override { return forward(x, Tensor()); }
  Tensor forward(const Arg& x, const Tensor& h);
  using Module::operator();
  Tensor operator()(const Arg& x, const Tensor& h) {
    return hooked([this](const auto&... in) { return forward(in...); }, x, h);
  }
};

// One step of GRU: returns h [B, hidden_size]. An undefined h is zeros.
class GRUCell : public RNNCellBase {
 public:
  GRUCell(int64_t input_size, int64_t hidden_size, bool bias = true)
      : RNNCellBase("GRUCell", 3, input_size, hidden_size, bias) {}
  Tensor forward(const Arg& x) override { return forward(x, Tensor()); }
  Tensor forward(const Arg& x, const Tensor& h);
  using Module::operator();
  Tensor operator()(const Arg& x, const Tensor& h) {
    return hooked([this](const auto&... in) { return forward(in...); }, x, h);
  }
};

// The states of LSTMCell, h and c, each [B, hidden_size]; an undefined one is zeros.
struct LstmState {
  Tensor h, c;
};
// One step of LSTM: returns {h, c}.
class LSTMCell : public RNNCellBase {
 public:
  LSTMCell(int64_t input_size, int64_t hidden_size, bool bias = true)
      : RNNCellBase("LSTMCell", 4, input_size, hidden_size, bias) {}
  // Returns only h; the initial states are 0.
  Tensor forward(const Arg& x) override { return forward(x, LstmState()).h; }
  LstmState forward(const Arg& x, const LstmState& before);
  using Module::operator();
  LstmState operator()(const Arg& x, const LstmState& before) {
    return hooked([this](const auto&... in) { return forward(in...); }, x, before);
  }
};

}  // namespace wick::nn
