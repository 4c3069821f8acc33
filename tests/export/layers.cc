// Every layer, with every size free that may be.
#include "trainer/nn/layers.h"
#include "tests/export/corpus.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/nn/positional.h"
#include "trainer/nn/rnn.h"
#include "trainer/nn/transformer.h"

namespace wick::test {
namespace {

template <class M, class... A>
std::shared_ptr<nn::Module> make(A&&... a) {
  return std::make_shared<M>(std::forward<A>(a)...);
}

void activations(std::vector<Program>* all) {
  const Shape s = {2, 6, 4};
  auto add = [&](const char* name, std::shared_ptr<nn::Module> m) {
    all->push_back(layer(name, std::move(m), s, batch_time()));
  };
  add("ReLU", make<nn::ReLU>());
  add("ReLU6", make<nn::ReLU6>());
  add("Sigmoid", make<nn::Sigmoid>());
  add("Tanh", make<nn::Tanh>());
  add("SiLU", make<nn::SiLU>());
  add("Mish", make<nn::Mish>());
  add("SELU", make<nn::SELU>());
  add("Hardswish", make<nn::Hardswish>());
  add("Hardsigmoid", make<nn::Hardsigmoid>());
  add("LogSigmoid", make<nn::LogSigmoid>());
  add("Softsign", make<nn::Softsign>());
  add("Tanhshrink", make<nn::Tanhshrink>());
  add("LeakyReLU", make<nn::LeakyReLU>(0.1));
  add("ELU", make<nn::ELU>());
  add("CELU", make<nn::CELU>(0.7));
  add("GELU", make<nn::GELU>());
  add("GELU_tanh", make<nn::GELU>("tanh"));
  add("Hardtanh", make<nn::Hardtanh>());
  add("Softplus", make<nn::Softplus>());
  add("Softshrink", make<nn::Softshrink>());
  add("Hardshrink", make<nn::Hardshrink>());
  add("Threshold", make<nn::Threshold>(0.1, 2.0));
  add("RReLU", make<nn::RReLU>());
  add("Softmax", make<nn::Softmax>(-1));
  add("Softmax_over_time", make<nn::Softmax>(1));
  add("Softmin", make<nn::Softmin>(1));
  add("LogSoftmax", make<nn::LogSoftmax>(1));
  add("GLU", make<nn::GLU>());
  add("Dropout", make<nn::Dropout>());
  add("Identity", make<nn::Identity>());
  all->push_back(layer("PReLU", make<nn::PReLU>(3), {2, 3, 8, 9}, batch_image()));
  all->push_back(layer("Softmax2d", make<nn::Softmax2d>(), {2, 3, 8, 9}, batch_image()));
  all->push_back(layer("GLU_over_time", make<nn::GLU>(1), {2, 6, 4}, {batch()}));
}

void dense(std::vector<Program>* all) {
  all->push_back(layer("Linear", make<nn::Linear>(4, 5), {2, 4}, {batch()}));
  all->push_back(layer("Linear_of_time", make<nn::Linear>(4, 5), {2, 6, 4}, batch_time()));
  all->push_back(layer("Linear_of_rank_4", make<nn::Linear>(4, 5, false), {2, 3, 6, 4},
                       {batch(), {2, "time"}}));
  all->push_back(layer("Flatten", make<nn::Flatten>(), {2, 3, 4}, {batch()}));
  all->push_back(layer("Flatten_free", make<nn::Flatten>(1), {2, 3, 8, 9}, batch_image(1)));
  all->push_back(layer("LayerNorm", make<nn::LayerNorm>(4), {2, 6, 4}, batch_time()));
  all->push_back(
      layer("LayerNorm_of_two", make<nn::LayerNorm>(Shape{3, 4}), {2, 6, 3, 4}, batch_time()));
  all->push_back(layer("RMSNorm", make<nn::RMSNorm>(4), {2, 6, 4}, batch_time()));
  all->push_back(ids_layer("Embedding", make<nn::Embedding>(11, 4), {2, 6}, 11, batch_time()));
  all->push_back(
      ids_layer("EmbeddingBag", make<nn::EmbeddingBag>(11, 4), {2, 6}, 11, batch_time()));
  all->push_back(ids_layer("EmbeddingLayer", make<nn::EmbeddingLayer>(11, 4), {2, 6}, 11,
                           {batch(), {1, "time", 1, 64}}));
  all->push_back(layer("PositionalEncoding", make<nn::PositionalEncoding>(64, 4), {2, 6, 4},
                       {batch(), {1, "time", 1, 64}}));
}

void images(std::vector<Program>* all) {
  const Shape s = {2, 4, 12, 10};
  auto add = [&](const char* name, std::shared_ptr<nn::Module> m) {
    all->push_back(layer(name, std::move(m), s, batch_image()));
  };
  add("Conv2d", make<nn::Conv2d>(4, 6, 3));
  add("Conv2d_same", make<nn::Conv2d>(4, 6, 3, nn::Conv2dOptions{.padding = "same"}));
  add("Conv2d_strided", make<nn::Conv2d>(4, 6, 3, nn::Conv2dOptions{.stride = 2, .padding = 1}));
  add("Conv2d_dilated", make<nn::Conv2d>(4, 6, 3, nn::Conv2dOptions{.padding = 2, .dilation = 2}));
  add("Conv2d_depthwise", make<nn::Conv2d>(4, 4, 3, nn::Conv2dOptions{.padding = 1, .groups = 4}));
  add("Conv2d_reflect",
      make<nn::Conv2d>(4, 6, 3, nn::Conv2dOptions{.padding = 1, .padding_mode = "reflect"}));
  add("Conv2d_circular",
      make<nn::Conv2d>(4, 6, 3, nn::Conv2dOptions{.padding = 1, .padding_mode = "circular"}));
  add("ConvTranspose2d", make<nn::ConvTranspose2d>(4, 6, 3));
  add("ConvTranspose2d_by_2",
      make<nn::ConvTranspose2d>(4, 6, 2, nn::ConvTranspose2dOptions{.stride = 2}));
  add("ConvTranspose2d_output_padding",
      make<nn::ConvTranspose2d>(
          4, 6, 3, nn::ConvTranspose2dOptions{.stride = 2, .padding = 1, .output_padding = 1}));
  add("ConvTranspose2d_groups",
      make<nn::ConvTranspose2d>(
          4, 6, 4, nn::ConvTranspose2dOptions{.stride = 2, .padding = 1, .groups = 2}));
  add("BatchNorm2d", make<nn::BatchNorm2d>(4));
  add("InstanceNorm2d", make<nn::InstanceNorm2d>(4));
  add("GroupNorm", make<nn::GroupNorm>(2, 4));
  add("GroupNorm_each", make<nn::GroupNorm>(4, 4));
  add("LocalResponseNorm", make<nn::LocalResponseNorm>(3));
  add("MaxPool2d", make<nn::MaxPool2d>(2));
  add("MaxPool2d_padded", make<nn::MaxPool2d>(3, 2, 1));
  add("AvgPool2d", make<nn::AvgPool2d>(2));
  add("AvgPool2d_padded", make<nn::AvgPool2d>(3, 2, 1));
  add("LPPool2d", make<nn::LPPool2d>(2.0, 2));
  add("AdaptiveAvgPool2d_1", make<nn::AdaptiveAvgPool2d>(1));
  add("AdaptiveMaxPool2d_1", make<nn::AdaptiveMaxPool2d>(1));
  add("ZeroPad2d", make<nn::ZeroPad2d>(nn::Pads{1, 2, 0, 1}));
  add("ConstantPad2d", make<nn::ConstantPad2d>(nn::Pads{1, 2, 0, 1}, 0.5));
  add("ReflectionPad2d", make<nn::ReflectionPad2d>(2));
  add("ReplicationPad2d", make<nn::ReplicationPad2d>(2));
  add("CircularPad2d", make<nn::CircularPad2d>(2));
  add("PixelShuffle", make<nn::PixelShuffle>(2));
  add("ChannelShuffle", make<nn::ChannelShuffle>(2));
  add("Upsample_nearest", make<nn::Upsample>(InterpolateOptions{.scale_factor = {2}}));
  add("Upsample_bilinear",
      make<nn::Upsample>(InterpolateOptions{.scale_factor = {2}, .mode = "bilinear"}));
  add("Upsample_bilinear_corners",
      make<nn::Upsample>(
          InterpolateOptions{.scale_factor = {2}, .mode = "bilinear", .align_corners = true}));
  add("Upsample_bicubic",
      make<nn::Upsample>(InterpolateOptions{.scale_factor = {2}, .mode = "bicubic"}));
  add("Upsample_to_a_size",
      make<nn::Upsample>(InterpolateOptions{.size = {9, 7}, .mode = "bilinear"}));
  all->push_back(layer("PixelUnshuffle", make<nn::PixelUnshuffle>(2), {2, 3, 12, 10}, {batch()}));
  all->push_back(layer("AdaptiveAvgPool2d_3", make<nn::AdaptiveAvgPool2d>(3), s, {batch()}));
  all->push_back(layer("Unfold", make<nn::Unfold>(3), s, {batch()}));
  const std::vector<DynamicDim> line = {batch(), {2, "length", 8}};
  auto add_1d = [&](const char* name, std::shared_ptr<nn::Module> m) {
    all->push_back(layer(name, std::move(m), {2, 4, 12}, line));
  };
  add_1d("Conv1d", make<nn::Conv1d>(4, 6, 3));
  add_1d("Conv1d_same", make<nn::Conv1d>(4, 6, 3, nn::Conv1dOptions{.padding = 1}));
  add_1d("ConvTranspose1d",
         make<nn::ConvTranspose1d>(4, 6, 4, nn::ConvTranspose1dOptions{.stride = 2, .padding = 1}));
  add_1d("BatchNorm1d", make<nn::BatchNorm1d>(4));
  add_1d("InstanceNorm1d", make<nn::InstanceNorm1d>(4));
  add_1d("GroupNorm_1d", make<nn::GroupNorm>(2, 4));
  add_1d("MaxPool1d", make<nn::MaxPool1d>(2));
  add_1d("AvgPool1d", make<nn::AvgPool1d>(2));
  add_1d("AdaptiveAvgPool1d_1", make<nn::AdaptiveAvgPool1d>(1));
  add_1d("ZeroPad1d", make<nn::ZeroPad1d>(2));
  add_1d("ReflectionPad1d", make<nn::ReflectionPad1d>(2));
  add_1d("Upsample_linear",
         make<nn::Upsample>(InterpolateOptions{.scale_factor = {2}, .mode = "linear"}));
  const std::vector<DynamicDim> volume = {
      batch(), {2, "depth", 6}, {3, "height", 6}, {4, "width", 6}};
  auto add_3d = [&](const char* name, std::shared_ptr<nn::Module> m) {
    all->push_back(layer(name, std::move(m), {2, 2, 6, 7, 8}, volume));
  };
  add_3d("Conv3d", make<nn::Conv3d>(2, 3, 3));
  add_3d("ConvTranspose3d",
         make<nn::ConvTranspose3d>(2, 3, 2, nn::ConvTranspose3dOptions{.stride = 2}));
  add_3d("BatchNorm3d", make<nn::BatchNorm3d>(2));
  add_3d("MaxPool3d", make<nn::MaxPool3d>(2));
  add_3d("AvgPool3d", make<nn::AvgPool3d>(2));
  add_3d("AdaptiveAvgPool3d_1", make<nn::AdaptiveAvgPool3d>(1));
}

void sequences(std::vector<Program>* all) {
  auto add = [&](const char* name, std::shared_ptr<nn::Module> m, std::vector<DynamicDim> dims) {
    all->push_back(layer(name, std::move(m), {2, 6, 8}, std::move(dims)));
  };
  const nn::RnnOptions first{.batch_first = true};
  add("RNN", make<nn::RNN>(8, 5, first), batch_time());
  add("GRU", make<nn::GRU>(8, 5, first), batch_time());
  add("LSTM", make<nn::LSTM>(8, 5, first), batch_time());
  add("LSTM_time_first", make<nn::LSTM>(8, 5), {time(0), batch(1)});
  add("LSTM_both_ways",
      make<nn::LSTM>(8, 5,
                     nn::RnnOptions{.num_layers = 2, .batch_first = true, .bidirectional = true}),
      batch_time());
  add("LSTM_projected", make<nn::LSTM>(8, 5, nn::RnnOptions{.batch_first = true, .proj_size = 3}),
      {batch()});
  all->push_back(layer("RNNCell", make<nn::RNNCell>(8, 5), {2, 8}, {batch()}));
  all->push_back(layer("GRUCell", make<nn::GRUCell>(8, 5), {2, 8}, {batch()}));
  all->push_back(layer("LSTMCell", make<nn::LSTMCell>(8, 5), {2, 8}, {batch()}));
  add("MultiheadAttention",
      make<nn::MultiheadAttention>(8, 2, nn::MultiheadAttentionOptions{.batch_first = true}),
      batch_time());
  add("MultiheadAttention_time_first", make<nn::MultiheadAttention>(8, 2), {time(0), batch(1)});
  const nn::TransformerOptions small{.dim_feedforward = 16, .batch_first = true};
  add("TransformerEncoderLayer", make<nn::TransformerEncoderLayer>(8, 2, small), batch_time());
  add("TransformerEncoder",
      make<nn::TransformerEncoder>(nn::TransformerEncoderLayer(8, 2, small), 2), batch_time());
  add("TransformerBlock", make<nn::TransformerBlock>(8, 2), batch_time());
  add("MLP_block", make<nn::MLP>(8), batch_time());
}

}  // namespace

std::vector<Program> layer_programs() {
  std::vector<Program> all;
  activations(&all);
  dense(&all);
  images(&all);
  sequences(&all);
  return all;
}

}  // namespace wick::test
