#include "trainer/nn/rnn.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::nn {
namespace {

void check_sizes(const char* kind, int64_t input, int64_t hidden) {
  if (input >= 1 && hidden >= 1) return;
  refuse(kind, "input_size and hidden_size must be positive, got " + std::to_string(input) +
                   " and " + std::to_string(hidden));
}

void check_options(const char* kind, const RnnOptions& o, int64_t gates, int64_t hidden) {
  if (o.num_layers < 1) {
    refuse(kind, "num_layers must be positive, got " + std::to_string(o.num_layers));
  }
  if (!(o.dropout >= 0 && o.dropout <= 1)) {
    refuse(kind, "dropout must be in [0, 1], got " + repr_float(o.dropout));
  }
  if (o.nonlinearity != "tanh" && (o.nonlinearity != "relu" || gates != 1)) {
    refuse(kind, "unknown nonlinearity '" + o.nonlinearity + "'");
  }
  if (o.proj_size != 0 && (gates != 4 || o.proj_size < 0 || o.proj_size >= hidden)) {
    refuse(kind,
           "proj_size is LSTM's, from 1 to hidden_size - 1; got " + std::to_string(o.proj_size));
  }
}

// The blocks of rows of PyTorch's gates (LSTM i f g o, GRU r z n) in ONNX's order (i o f c, z r h).
Tensor onnx_gates(const Tensor& w, int64_t gates, int64_t hidden, const At& at) {
  static constexpr int kLstm[] = {0, 3, 1, 2}, kGru[] = {1, 0, 2};
  if (gates == 1) return w;
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < gates; ++k) {
    const int from = gates == 4 ? kLstm[k] : kGru[k];
    parts.push_back(w.slice(0, from * hidden, (from + 1) * hidden, 1, at.where));
  }
  return cat(parts, 0, at.where);
}

Tensor slices(const Tensor& states, int64_t from, int64_t count, const At& at) {
  return states.defined() ? states.slice(0, from, from + count, 1, at.where) : states;
}

}  // namespace

RNNBase::RNNBase(const char* kind, int64_t gates, int64_t input, int64_t hidden, RnnOptions options)
    : kind_(kind), gates_(gates), input_(input), hidden_(hidden), options_(std::move(options)) {
  check_sizes(kind, input, hidden);
  check_options(kind, options_, gates, hidden);
  const int64_t rows = gates * hidden, out = out_size();
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    for (int64_t d = 0; d < dirs(); ++d) {
      const std::string end = "_l" + std::to_string(layer) + (d == 1 ? "_reverse" : "");
      const int64_t in = layer == 0 ? input : out * dirs();
      auto add = [&](const char* stem, const Shape& shape) {
        return register_parameter(stem + end, init_uniform(shape, hidden));
      };
      Direction one;
      one.w_ih = add("weight_ih", {rows, in});
      one.w_hh = add("weight_hh", {rows, out});
      if (options_.bias) {
        one.b_ih = add("bias_ih", {rows});
        one.b_hh = add("bias_hh", {rows});
      }
      if (options_.proj_size > 0) one.w_hr = add("weight_hr", {out, hidden});
      directions_.push_back(one);
    }
  }
}

// Returns the given state, with a batch dim.
Tensor RNNBase::state(const char* name, const Tensor& given, int64_t size, int64_t batch,
                      bool batched, const Where& where) const {
  if (!given.defined()) return given;
  const int64_t n = options_.num_layers * dirs();
  const Shape want = batched ? Shape{n, batch, size} : Shape{n, size};
  if (!(given.raw_shape() == want)) {
    bad_shape(kind_, std::string(name) + " must be " + to_text(want).text + ", got " + text(given),
              where);
  }
  return batched ? given : given.unsqueeze(1, where);
}

RnnResult RNNBase::run(const Arg& x, Tensor h_0, Tensor c_0) {
  const int rank = x.tensor.rank(x.where);
  const bool batched = rank == 3;
  if ((rank != 3 && rank != 2) || dim_of(x.tensor, -1) != input_) {
    bad_shape(kind_,
              "takes [time, batch, " + std::to_string(input_) +
                  "] (batch first if asked) or "
                  "[time, " +
                  std::to_string(input_) + "], got " + text(x.tensor),
              x.where);
  }
  Tensor in = x.tensor;
  if (!batched) in = in.unsqueeze(1, x.where);
  if (batched && options_.batch_first) in = in.transpose(0, 1, x.where);
  if (dim_of(in, 0) == 0) bad_shape(kind_, "takes at least one step, got none", x.where);
  if (c_0.defined() && gates_ != 4) throw_error(kind_, "has no cell state c_0", x.where);
  const int64_t batch = dim_of(in, 1);
  h_0 = state("h_0", h_0, out_size(), batch, batched, x.where);
  c_0 = state("c_0", c_0, hidden_, batch, batched, x.where);
  RnnResult r = layers(in, h_0, c_0, Tensor(), x.where);
  if (!batched) {
    r.output = r.output.squeeze(1, x.where);
    r.h_n = r.h_n.squeeze(1, x.where);
    if (r.c_n.defined()) r.c_n = r.c_n.squeeze(1, x.where);
  } else if (options_.batch_first) {
    r.output = r.output.transpose(0, 1, x.where);
  }
  return r;
}

PackedRnnResult RNNBase::with_state(const PackedSequence& x, const Tensor& h_0, const Tensor& c_0,
                                    Where where) {
  PackedRnnResult packed;
  const RnnResult seen = hooked(
      [&](const Arg& data, const Tensor& h, const Tensor& c) {
        PackedSequence in = x;
        in.data = data.tensor;
        packed = run_packed(in, h, c, where);
        return RnnResult{packed.output.data, packed.h_n, packed.c_n};
      },
      Arg(x.data, where), h_0, c_0);
  packed.output.data = seen.output;
  packed.h_n = seen.h_n;
  packed.c_n = seen.c_n;
  return packed;
}

PackedRnnResult RNNBase::run_packed(const PackedSequence& x, const Tensor& h_0, const Tensor& c_0,
                                    const Where& where) {
  const At at(where);
  const std::vector<int64_t> lengths = x.sorted_lengths(where);
  const auto batch = static_cast<int64_t>(lengths.size());
  if (x.data.rank(where) != 2 || dim_of(x.data, 1) != input_) {
    bad_shape(kind_, "takes packed data [n, " + std::to_string(input_) + "], got " + text(x.data),
              where);
  }
  // Moves states to the order of the packed data and back.
  auto ordered = [&](const Tensor& t, const Tensor& order) {
    return t.defined() && order.defined() ? index_select(at(t), 1, at(order)) : t;
  };
  PackedSequence sorted{x.data, x.batch_sizes, {}, {}};
  RnnResult r = layers(pad_packed_sequence(sorted, false, 0, 0, where).padded,
                       ordered(state("h_0", h_0, out_size(), batch, true, where), x.sorted_indices),
                       ordered(state("c_0", c_0, hidden_, batch, true, where), x.sorted_indices),
                       tensor(lengths).to(DType::kI32), where);
  PackedRnnResult packed;
  packed.output = pack_padded_sequence({r.output, where}, lengths);
  packed.output.sorted_indices = x.sorted_indices;
  packed.output.unsorted_indices = x.unsorted_indices;
  packed.h_n = ordered(r.h_n, x.unsorted_indices);
  packed.c_n = ordered(r.c_n, x.unsorted_indices);
  return packed;
}

RnnResult RNNBase::layers(const Tensor& x, const Tensor& h_0, const Tensor& c_0,
                          const Tensor& lengths, const Where& where) {
  const At at(where);
  RnnResult all;
  std::vector<Tensor> h, c;
  all.output = x;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    if (layer > 0 && options_.dropout > 0) {
      all.output = dropout(at(all.output), options_.dropout, training());
    }
    RnnResult one = one_layer(all.output, layer, slices(h_0, layer * dirs(), dirs(), at),
                              slices(c_0, layer * dirs(), dirs(), at), lengths, where);
    all.output = one.output;
    h.push_back(one.h_n);
    c.push_back(one.c_n);
  }
  all.h_n = h.size() == 1 ? h[0] : cat(h, 0, where);
  if (gates_ == 4) all.c_n = c.size() == 1 ? c[0] : cat(c, 0, where);
  return all;
}

RnnResult RNNBase::one_layer(const Tensor& x, int64_t layer, const Tensor& h, const Tensor& c,
                             const Tensor& lengths, const Where& where) {
  const At at(where);
  std::vector<Tensor> w, r, b, outs, hs, cs;
  for (int64_t d = 0; d < dirs(); ++d) {
    const Direction& one = directions_[static_cast<size_t>(layer * dirs() + d)];
    if (options_.proj_size > 0) {
      RnnResult done =
          projected(x, one, d == 1, slices(h, d, 1, at), slices(c, d, 1, at), lengths, where);
      outs.push_back(done.output);
      hs.push_back(done.h_n);
      cs.push_back(done.c_n);
      continue;
    }
    auto gates = [&](const Tensor& t) { return onnx_gates(t, gates_, hidden_, at); };
    w.push_back(gates(one.w_ih).unsqueeze(0, where));
    r.push_back(gates(one.w_hh).unsqueeze(0, where));
    if (!options_.bias) continue;
    b.push_back(cat({at(gates(one.b_ih)), at(gates(one.b_hh))}, 0).unsqueeze(0, where));
  }
  auto both = [&](const std::vector<Tensor>& t, int dim) {
    return t.empty() ? Tensor() : t.size() == 1 ? t[0] : cat(t, dim, where);
  };
  if (options_.proj_size > 0) return {both(outs, 2), both(hs, 0), both(cs, 0)};
  RnnAttrs a;
  a.hidden_size = hidden_;
  a.direction = options_.bidirectional ? 2 : 0;
  a.linear_before_reset = gates_ == 3 ? 1 : 0;
  if (options_.nonlinearity == "relu") {
    a.f.kind = a.back_f.kind = static_cast<int64_t>(RnnFunction::kRelu);
  }
  const OpId op = gates_ == 4 ? OpId::kLSTM : gates_ == 3 ? OpId::kGRU : OpId::kRNN;
  const Tensor ws = both(w, 0), rs = both(r, 0), bs = both(b, 0), none;
  const Tensor* in[] = {&x, &ws, &rs, &bs, &lengths, &h, &c, &none};
  Tensor out[3];
  call(op, &a, Span<const Tensor* const>(in, gates_ == 4 ? 8 : 6),
       Span<Tensor>(out, gates_ == 4 ? 3 : 2), where);
  // Maps [T, dirs, B, hidden] to [T, B, dirs * hidden].
  Tensor y = out[0];
  if (dirs() == 1) {
    y = y.squeeze(1, where);
  } else {
    y = reshape_to(y.permute({0, 2, 1, 3}, where), {kCopy, kCopy, 2 * hidden_}, at);
  }
  return {y, out[1], out[2]};
}

// The LSTM op has no projection, so the steps are computed in ops. h and c are [1, B, size] or
// undefined.
RnnResult RNNBase::projected(const Tensor& x, const Direction& d, bool reverse, Tensor h, Tensor c,
                             const Tensor& lengths, const Where& where) const {
  const At at(where);
  const int64_t steps = dim_of(x, 0), batch = dim_of(x, 1);
  const auto none = [&](int64_t size) {
    return moved_beside(x, zeros({batch, size}, x.dtype()), where);
  };
  h = h.defined() ? h.squeeze(0, where) : none(out_size());
  c = c.defined() ? c.squeeze(0, where) : none(hidden_);
  const Tensor nothing = none(out_size());
  Tensor xs = linear(at(x), at(d.w_ih), d.b_ih), reach;
  if (lengths.defined()) reach = lengths.unsqueeze(1, where);
  std::vector<Tensor> ys(static_cast<size_t>(steps));
  for (int64_t k = 0; k < steps; ++k) {
    const int64_t t = reverse ? steps - 1 - k : k;
    Tensor sums = at(xs.select(0, t, where)) + at(linear(at(h), at(d.w_hh), d.b_hh));
    std::vector<Tensor> gate = chunk(at(sums), 4, 1);
    Tensor cell =
        at(at(sigmoid(at(gate[1]))) * at(c)) + at(at(sigmoid(at(gate[0]))) * at(tanh(at(gate[2]))));
    Tensor next = linear(at(at(sigmoid(at(gate[3]))) * at(tanh(at(cell)))), at(d.w_hr));
    Tensor& y = ys[static_cast<size_t>(t)];
    if (reach.defined()) {  // a sequence that has ended, or not begun, keeps its state
      Tensor valid = gt(at(reach), t);
      y = wick::where(at(valid), at(next), at(nothing));
      h = wick::where(at(valid), at(next), at(h));
      c = wick::where(at(valid), at(cell), at(c));
    } else {
      y = h = next;
      c = cell;
    }
  }
  return {stack(ys, 0, where), h.unsqueeze(0, where), c.unsqueeze(0, where)};
}

std::string RNNBase::extra_repr() const {
  std::string s = std::to_string(input_) + ", " + std::to_string(hidden_);
  if (options_.proj_size != 0) s += ", proj_size=" + std::to_string(options_.proj_size);
  if (options_.num_layers != 1) s += ", num_layers=" + std::to_string(options_.num_layers);
  if (!options_.bias) s += ", bias=False";
  if (options_.batch_first) s += ", batch_first=True";
  if (options_.dropout != 0) s += ", dropout=" + repr_float(options_.dropout);
  if (options_.bidirectional) s += ", bidirectional=True";
  return s;
}

RNNCellBase::RNNCellBase(const char* kind, int64_t gates, int64_t input, int64_t hidden, bool bias)
    : kind_(kind), input_(input), hidden_(hidden) {
  check_sizes(kind, input, hidden);
  auto add = [&](const char* name, const Shape& shape) {
    return register_parameter(name, init_uniform(shape, hidden));
  };
  weight_ih = add("weight_ih", {gates * hidden, input});
  weight_hh = add("weight_hh", {gates * hidden, hidden});
  if (!bias) return;
  bias_ih = add("bias_ih", {gates * hidden});
  bias_hh = add("bias_hh", {gates * hidden});
}

Tensor RNNCellBase::state(const Arg& x, const Tensor& given) const {
  const int rank = x.tensor.rank(x.where);
  if ((rank != 1 && rank != 2) || dim_of(x.tensor, -1) != input_) {
    bad_shape(kind_,
              "takes [batch, " + std::to_string(input_) + "] or [" + std::to_string(input_) +
                  "], got " + text(x.tensor),
              x.where);
  }
  Shape want = x.tensor.raw_shape();
  want[rank - 1] = hidden_;
  if (!given.defined()) return moved_beside(x.tensor, zeros(want, x.tensor.dtype()), x.where);
  if (!(given.raw_shape() == want)) {
    bad_shape(kind_,
              std::string("the state must be ") + to_text(want).text + ", got " + text(given),
              x.where);
  }
  return given;
}

std::string RNNCellBase::extra_repr() const {
  std::string s = std::to_string(input_) + ", " + std::to_string(hidden_);
  if (!bias_ih.defined()) s += ", bias=False";
  if (*nonlinearity_ != 0) s += std::string(", nonlinearity=") + nonlinearity_;
  return s;
}

RNNCell::RNNCell(int64_t input, int64_t hidden, bool bias, const std::string& nonlinearity)
    : RNNCellBase("RNNCell", 1, input, hidden, bias) {
  if (nonlinearity != "tanh" && nonlinearity != "relu") {
    refuse(kind_, "unknown nonlinearity '" + nonlinearity + "'");
  }
  if (nonlinearity == "relu") nonlinearity_ = "relu";
}

Tensor RNNCell::forward(const Arg& x, const Tensor& before) {
  const At at(x);
  Tensor h = state(x, before);
  Tensor sums = at(linear(x, at(weight_ih), bias_ih)) + at(linear(at(h), at(weight_hh), bias_hh));
  return *nonlinearity_ != 0 ? relu(at(sums)) : tanh(at(sums));
}

Tensor GRUCell::forward(const Arg& x, const Tensor& before) {
  const At at(x);
  Tensor h = state(x, before);
  std::vector<Tensor> i = chunk(at(linear(x, at(weight_ih), bias_ih)), 3, -1),
                      g = chunk(at(linear(at(h), at(weight_hh), bias_hh)), 3, -1);
  Tensor r = sigmoid(at(at(i[0]) + at(g[0]))), z = sigmoid(at(at(i[1]) + at(g[1])));
  Tensor n = tanh(at(at(i[2]) + at(at(r) * at(g[2]))));
  return at(at(1 - at(z)) * at(n)) + at(at(z) * at(h));
}

LstmState LSTMCell::forward(const Arg& x, const LstmState& before) {
  const At at(x);
  Tensor h = state(x, before.h), c = state(x, before.c);
  Tensor sums = at(linear(x, at(weight_ih), bias_ih)) + at(linear(at(h), at(weight_hh), bias_hh));
  std::vector<Tensor> gate = chunk(at(sums), 4, -1);
  c = at(at(sigmoid(at(gate[1]))) * at(c)) + at(at(sigmoid(at(gate[0]))) * at(tanh(at(gate[2]))));
  return {at(sigmoid(at(gate[3]))) * at(tanh(at(c))), c};
}

}  // namespace wick::nn
