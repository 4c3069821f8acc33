// Layers of C++, for the modules of wick/train/nn.py that hold them: their parameters are handles
// of the same tensors, so that initialisation, names and bits are C++'s.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include "bind.h"

namespace wick::python {

namespace {

// C++ keeps the pointer that it is given.
const char* padding_mode_of(const std::string& mode) {
  for (const char* known : {"zeros", "reflect", "replicate", "circular"})
    if (mode == known) return known;
  throw Error("[Conv] padding_mode is '" + mode +
              "', must be 'zeros', 'reflect', 'replicate' or 'circular'");
}

template <class Layer, class Size, class Options>
std::shared_ptr<nn::Module> conv(int64_t in, int64_t out, Size kernel, Size stride,
                                 const std::variant<Size, std::string>& padding, Size dilation,
                                 int64_t groups, bool bias, const std::string& mode) {
  Options o;
  o.stride = stride;
  if (const auto* word = std::get_if<std::string>(&padding)) {
    o.padding = nn::Padding<Size>(word->c_str());
  } else {
    o.padding.size = std::get<Size>(padding);
  }
  o.dilation = dilation;
  o.groups = groups;
  o.bias = bias;
  o.padding_mode = padding_mode_of(mode);
  return std::make_shared<Layer>(in, out, kernel, o);
}

template <class Layer, class Size, class Options>
std::shared_ptr<nn::Module> conv_transpose(int64_t in, int64_t out, Size kernel, Size stride,
                                           Size padding, Size output_padding, int64_t groups,
                                           bool bias, Size dilation) {
  Options o;
  o.stride = stride;
  o.padding = padding;
  o.output_padding = output_padding;
  o.groups = groups;
  o.bias = bias;
  o.dilation = dilation;
  return std::make_shared<Layer>(in, out, kernel, o);
}

template <class Layer>
void bind_batch_norm(nb::module_& m, const char* name) {
  m.def(
      name,
      [](int64_t n, double eps, std::optional<double> momentum, bool affine,
         bool track) -> std::shared_ptr<nn::Module> {
        return std::make_shared<Layer>(n, eps, momentum, affine, track);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

template <class Layer>
std::shared_ptr<nn::Module> instance_norm_layer(int64_t n, double eps, double momentum, bool affine,
                                                bool track) {
  return std::make_shared<Layer>(n, eps, momentum, affine, track);
}

template <class Layer>
void bind_recurrent(nb::module_& m, const char* name) {
  m.def(name,
        [](int64_t input, int64_t hidden, int64_t layers, bool bias, bool batch_first,
           double dropout, bool bidirectional, const std::string& nonlinearity,
           int64_t proj_size) -> std::shared_ptr<nn::Module> {
          nn::RnnOptions o;
          o.num_layers = layers;
          o.bias = bias;
          o.batch_first = batch_first;
          o.dropout = dropout;
          o.bidirectional = bidirectional;
          o.nonlinearity = nonlinearity;
          o.proj_size = proj_size;
          return std::make_shared<Layer>(input, hidden, o);
        });
}

template <class Layer>
Layer& as(nn::Module& self, const char* call) {
  auto* layer = dynamic_cast<Layer*>(&self);
  if (layer == nullptr) throw Error(std::string("[") + call + "] the layer cannot do it");
  return *layer;
}

template <class Layer>
void bind_transformer(nb::module_& m, const char* name) {
  m.def(name,
        [](int64_t d_model, int64_t nhead, int64_t dim_feedforward, double dropout,
           const std::string& activation, double eps, bool batch_first,
           bool norm_first) -> std::shared_ptr<nn::Module> {
          nn::TransformerOptions o;
          o.dim_feedforward = dim_feedforward;
          o.dropout = dropout;
          o.activation = activation;
          o.layer_norm_eps = eps;
          o.batch_first = batch_first;
          o.norm_first = norm_first;
          return std::make_shared<Layer>(d_model, nhead, o);
        });
}

// A PackedSequence as Python has it: data, batch_sizes, and the two orders, or None.
using Packed = std::tuple<Tensor, Tensor, std::optional<Tensor>, std::optional<Tensor>>;
std::optional<Tensor> if_defined(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}
Packed packed(const nn::PackedSequence& s) {
  return {s.data, s.batch_sizes, if_defined(s.sorted_indices), if_defined(s.unsorted_indices)};
}
nn::PackedSequence unpacked(const Packed& p) {
  const auto& [data, sizes, sorted, unsorted] = p;
  return {data, sizes, sorted.value_or(Tensor()), unsorted.value_or(Tensor())};
}

nb::list named_list(const nn::NamedTensors& tensors) {
  nb::list all;
  for (const auto& [name, tensor] : tensors) all.append(nb::make_tuple(name, tensor));
  return all;
}

}  // namespace

void bind_layers(nb::module_& m) {
  nb::class_<nn::Module>(m, "Layer")
      .def("__call__",
           [](nn::Module& self, const Tensor& x) { return free_of_lock([&] { return self(x); }); })
      .def("train", [](nn::Module& self, bool on) { self.train(on); })
      .def("to", [](nn::Module& self, DType dtype) { self.to(dtype); })
      .def("extra_repr", [](nn::Module& self) { return self.extra_repr(); })
      .def("named_parameters", [](nn::Module& self) { return named_list(self.named_parameters()); })
      .def("named_buffers", [](nn::Module& self) { return named_list(self.named_buffers()); })
      .def(
          "with_state",
          [](nn::Module& self, const Tensor& x, const Tensor* h, const Tensor* c) {
            auto& rnn = as<nn::RNNBase>(self, "with_state");
            const nn::RnnResult r =
                free_of_lock([&] { return rnn.with_state(x, or_undefined(h), or_undefined(c)); });
            return nb::make_tuple(r.output, r.h_n, r.c_n.defined() ? nb::cast(r.c_n) : nb::none());
          },
          nb::arg("x"), nb::arg("h").none(), nb::arg("c").none())
      .def(
          "with_packed_state",
          [](nn::Module& self, const Packed& x, const Tensor* h, const Tensor* c) {
            auto& rnn = as<nn::RNNBase>(self, "with_state");
            const nn::PackedRnnResult r = free_of_lock(
                [&] { return rnn.with_state(unpacked(x), or_undefined(h), or_undefined(c)); });
            return nb::make_tuple(packed(r.output), r.h_n,
                                  r.c_n.defined() ? nb::cast(r.c_n) : nb::none());
          },
          nb::arg("x"), nb::arg("h").none(), nb::arg("c").none())
      .def(
          "step",  // of a cell: the next state, of an LSTM's two
          [](nn::Module& self, const Tensor& x, const Tensor* h, const Tensor* c) -> nb::object {
            if (auto* cell = dynamic_cast<nn::LSTMCell*>(&self)) {
              const nn::LstmState r = free_of_lock([&] {
                return (*cell)(x, nn::LstmState{or_undefined(h), or_undefined(c)});
              });
              return nb::make_tuple(r.h, r.c);
            }
            if (auto* cell = dynamic_cast<nn::GRUCell*>(&self))
              return nb::cast(free_of_lock([&] { return (*cell)(x, or_undefined(h)); }));
            auto& cell = as<nn::RNNCell>(self, "step");
            return nb::cast(free_of_lock([&] { return cell(x, or_undefined(h)); }));
          },
          nb::arg("x"), nb::arg("h").none(), nb::arg("c").none())
      .def(
          "of_two",
          [](nn::Module& self, const Tensor& a, const Tensor& b) {
            auto& layer = as<nn::Bilinear>(self, "of_two");
            return free_of_lock([&] { return layer(a, b); });
          },
          nb::arg("input1"), nb::arg("input2"))
      .def(
          "bags",
          [](nn::Module& self, const Tensor& x, const Tensor* offsets, const Tensor* weights) {
            auto& layer = as<nn::EmbeddingBag>(self, "bags");
            return free_of_lock(
                [&] { return layer(x, or_undefined(offsets), or_undefined(weights)); });
          },
          nb::arg("input"), nb::arg("offsets").none(), nb::arg("per_sample_weights").none())
      .def(
          "attend",
          [](nn::Module& self, const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor* padding, bool need_weights, const Tensor* mask, bool average) {
            auto& attention = as<nn::MultiheadAttention>(self, "attend");
            const nn::AttentionResult r = free_of_lock([&] {
              return attention(q, k, v, or_undefined(padding), need_weights, or_undefined(mask),
                               average);
            });
            return nb::make_tuple(r.output, r.weights.defined() ? nb::cast(r.weights) : nb::none());
          },
          nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::arg("key_padding_mask").none(),
          nb::arg("need_weights"), nb::arg("attn_mask").none(), nb::arg("average"))
      .def(
          "encode",
          [](nn::Module& self, const Tensor& x, const Tensor* mask, const Tensor* padding) {
            auto& encoder = as<nn::TransformerEncoderLayer>(self, "encode");
            return free_of_lock(
                [&] { return encoder(x, or_undefined(mask), or_undefined(padding)); });
          },
          nb::arg("src"), nb::arg("src_mask").none(), nb::arg("src_key_padding_mask").none())
      .def(
          "decode",
          [](nn::Module& self, const Tensor& x, const Tensor& memory, const Tensor* mask,
             const Tensor* memory_mask, const Tensor* padding, const Tensor* memory_padding) {
            auto& decoder = as<nn::TransformerDecoderLayer>(self, "decode");
            return free_of_lock([&] {
              return decoder(x, memory, or_undefined(mask), or_undefined(memory_mask),
                             or_undefined(padding), or_undefined(memory_padding));
            });
          },
          nb::arg("tgt"), nb::arg("memory"), nb::arg("tgt_mask").none(),
          nb::arg("memory_mask").none(), nb::arg("tgt_key_padding_mask").none(),
          nb::arg("memory_key_padding_mask").none());

  using Made = std::shared_ptr<nn::Module>;
  m.def("make_linear", [](int64_t in, int64_t out, bool bias) -> Made {
    return std::make_shared<nn::Linear>(in, out, bias);
  });
  m.def("make_conv1d", &conv<nn::Conv1d, int64_t, nn::Conv1dOptions>);
  m.def("make_conv2d", &conv<nn::Conv2d, Pair, nn::Conv2dOptions>);
  m.def("make_conv3d", &conv<nn::Conv3d, Triple, nn::Conv3dOptions>);
  m.def("make_conv_transpose1d",
        &conv_transpose<nn::ConvTranspose1d, int64_t, nn::ConvTranspose1dOptions>);
  m.def("make_conv_transpose2d",
        &conv_transpose<nn::ConvTranspose2d, Pair, nn::ConvTranspose2dOptions>);
  m.def("make_conv_transpose3d",
        &conv_transpose<nn::ConvTranspose3d, Triple, nn::ConvTranspose3dOptions>);
  bind_batch_norm<nn::BatchNorm1d>(m, "make_batch_norm1d");
  bind_batch_norm<nn::BatchNorm2d>(m, "make_batch_norm2d");
  bind_batch_norm<nn::BatchNorm3d>(m, "make_batch_norm3d");
  m.def("make_instance_norm1d", &instance_norm_layer<nn::InstanceNorm1d>);
  m.def("make_instance_norm2d", &instance_norm_layer<nn::InstanceNorm2d>);
  m.def("make_instance_norm3d", &instance_norm_layer<nn::InstanceNorm3d>);
  m.def("make_bilinear", [](int64_t a, int64_t b, int64_t out, bool bias) -> Made {
    return std::make_shared<nn::Bilinear>(a, b, out, bias);
  });
  m.def(
      "make_rms_norm",
      [](const Shape& shape, std::optional<double> eps, bool affine) -> Made {
        return std::make_shared<nn::RMSNorm>(shape, eps, affine);
      },
      nb::arg(), nb::arg().none(), nb::arg());
  m.def("make_layer_norm", [](const Shape& shape, double eps, bool affine, bool bias) -> Made {
    nn::LayerNormOptions o;
    o.eps = eps;
    o.elementwise_affine = affine;
    o.bias = bias;
    return std::make_shared<nn::LayerNorm>(shape, o);
  });
  m.def("make_group_norm", [](int64_t groups, int64_t channels, double eps, bool affine) -> Made {
    return std::make_shared<nn::GroupNorm>(groups, channels, eps, affine);
  });
  m.def(
      "make_embedding",
      [](int64_t n, int64_t d, std::optional<int64_t> padding, std::optional<double> max_norm,
         double norm_type, bool by_freq, bool sparse, const Tensor* weight, bool freeze) -> Made {
        nn::EmbeddingOptions o;
        o.padding_idx = padding;
        o.max_norm = max_norm;
        o.norm_type = norm_type;
        o.scale_grad_by_freq = by_freq;
        o.sparse = sparse;
        o.weight = or_undefined(weight);
        o.freeze = freeze;
        return std::make_shared<nn::Embedding>(n, d, o);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg().none(), nb::arg());
  m.def(
      "make_embedding_bag",
      [](int64_t n, int64_t d, std::optional<double> max_norm, double norm_type, bool by_freq,
         const std::string& mode, bool sparse, const Tensor* weight, bool last_offset,
         std::optional<int64_t> padding, bool freeze) -> Made {
        nn::EmbeddingBagOptions o;
        o.mode = mode;
        o.max_norm = max_norm;
        o.norm_type = norm_type;
        o.scale_grad_by_freq = by_freq;
        o.include_last_offset = last_offset;
        o.padding_idx = padding;
        o.weight = or_undefined(weight);
        o.freeze = freeze;
        o.sparse = sparse;
        return std::make_shared<nn::EmbeddingBag>(n, d, o);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg());
  m.def("make_rnn_cell",
        [](int64_t in, int64_t hidden, bool bias, const std::string& nonlinearity) -> Made {
          return std::make_shared<nn::RNNCell>(in, hidden, bias, nonlinearity);
        });
  m.def("make_gru_cell", [](int64_t in, int64_t hidden, bool bias) -> Made {
    return std::make_shared<nn::GRUCell>(in, hidden, bias);
  });
  m.def("make_lstm_cell", [](int64_t in, int64_t hidden, bool bias) -> Made {
    return std::make_shared<nn::LSTMCell>(in, hidden, bias);
  });
  bind_recurrent<nn::RNN>(m, "make_rnn");
  bind_recurrent<nn::GRU>(m, "make_gru");
  bind_recurrent<nn::LSTM>(m, "make_lstm");
  m.def("make_multihead_attention",
        [](int64_t embed, int64_t heads, double dropout, bool bias, bool bias_kv, bool zero_attn,
           std::optional<int64_t> kdim, std::optional<int64_t> vdim, bool batch_first) -> Made {
          nn::MultiheadAttentionOptions o;
          o.dropout = dropout;
          o.bias = bias;
          o.add_bias_kv = bias_kv;
          o.add_zero_attn = zero_attn;
          o.kdim = kdim;
          o.vdim = vdim;
          o.batch_first = batch_first;
          return std::make_shared<nn::MultiheadAttention>(embed, heads, o);
        });
  bind_transformer<nn::TransformerEncoderLayer>(m, "make_transformer_encoder_layer");
  bind_transformer<nn::TransformerDecoderLayer>(m, "make_transformer_decoder_layer");
  m.def("_pack_padded_sequence", [](const Tensor& x, const std::vector<int64_t>& lengths,
                                    bool batch_first, bool enforce_sorted) {
    return packed(nn::pack_padded_sequence(x, lengths, batch_first, enforce_sorted));
  });
  m.def("_pad_packed_sequence",
        [](const Packed& sequence, bool batch_first, double value, int64_t total_length) {
          const nn::PaddedSequence r =
              nn::pad_packed_sequence(unpacked(sequence), batch_first, value, total_length);
          return std::make_pair(r.padded, r.lengths);
        });
  m.def(
      "clip_grad_norm_",
      [](const std::vector<Tensor>& p, double norm, double type, bool error) {
        return free_of_lock([&] { return nn::clip_grad_norm_(p, norm, type, error); });
      },
      nb::arg("parameters"), nb::arg("max_norm"), nb::arg("norm_type") = 2.0,
      nb::arg("error_if_nonfinite") = false);
  m.def(
      "clip_grad_value_",
      [](const std::vector<Tensor>& p, double value) { nn::clip_grad_value_(p, value); },
      nb::arg("parameters"), nb::arg("clip_value"));
}

}  // namespace wick::python
