// Every layer against PyTorch in float64: repr, state dict, forward in both modes, gradients of
// input and parameters, buffers after a step. Goldens by make_modules.py.
#include <functional>

#include "tests/nn/goldens.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;

struct Case {
  std::string name;
  std::shared_ptr<nn::Module> module;
  std::vector<Shape> shapes;
  double scale = 1;
  std::function<Tensor(const List&)> call = {};  // {}: module(x0)
  double tolerance = 1e-12;
};

template <class M, class... Args>
Case one(const std::string& name, const std::vector<Shape>& shapes, double scale, Args&&... args) {
  return {name, std::make_shared<M>(std::forward<Args>(args)...), shapes, scale};
}
// A module of two inputs.
template <class M, class... Args>
Case two(const std::string& name, const std::vector<Shape>& shapes, Args&&... args) {
  auto m = std::make_shared<M>(std::forward<Args>(args)...);
  return {name, m, shapes, 1, [m](const List& x) { return (*m)(x[0], x[1]); }};
}
Case evaluated(Case c) {
  c.module->eval();
  return c;
}

using Cases = std::vector<Case>;

Cases activations() {
  const std::vector<Shape> wide{{2, 4, 9}};
  Cases all;
#define PLAIN(Name) all.push_back(one<nn::Name>(#Name, wide, 6))
  PLAIN(ReLU);
  PLAIN(ReLU6);
  PLAIN(Sigmoid);
  PLAIN(Tanh);
  PLAIN(SiLU);
  PLAIN(Mish);
  PLAIN(SELU);
  PLAIN(Hardswish);
  PLAIN(Hardsigmoid);
  all.back().tolerance = 4e-9;  // PyTorch's slope is a sixth in float32
  PLAIN(LogSigmoid);
  PLAIN(Softsign);
  PLAIN(Tanhshrink);
  PLAIN(ELU);
  PLAIN(CELU);
  PLAIN(GELU);
  PLAIN(LeakyReLU);
  PLAIN(Hardtanh);
  PLAIN(Softplus);
  PLAIN(Softshrink);
  PLAIN(Hardshrink);
  PLAIN(PReLU);
#undef PLAIN
  all.push_back(one<nn::ELU>("ELU_half", wide, 6, 0.5));
  all.push_back(one<nn::CELU>("CELU_two", wide, 6, 2.0));
  all.push_back(one<nn::GELU>("GELU_tanh", wide, 6, "tanh"));
  all.push_back(one<nn::LeakyReLU>("LeakyReLU_slope", wide, 6, 0.2));
  all.push_back(one<nn::Hardtanh>("Hardtanh_wide", wide, 6, -1.5, 2.25));
  all.push_back(one<nn::Softplus>("Softplus_sharp", wide, 6, 3.0, 5.0));
  all.push_back(one<nn::Threshold>("Threshold", wide, 6, 0.1, 20.0));
  all.push_back(one<nn::PReLU>("PReLU_channels", wide, 6, 4));
  all.push_back(one<nn::Softmax>("Softmax", wide, 6, 1));
  all.push_back(one<nn::Softmin>("Softmin", wide, 6, 2));
  all.push_back(one<nn::LogSoftmax>("LogSoftmax", wide, 6, -1));
  all.push_back(one<nn::Softmax2d>("Softmax2d", {{1, 3, 2, 3}}, 6));
  all.push_back(one<nn::GLU>("GLU", wide, 6, 1));
  all.push_back(evaluated(one<nn::RReLU>("RReLU", wide, 6, 0.125, 0.25)));
  all.push_back(evaluated(one<nn::Dropout>("Dropout", {{2, 3}}, 1, 0.25)));
  all.push_back(evaluated(one<nn::AlphaDropout>("AlphaDropout", {{2, 3}}, 1, 0.25)));
  all.push_back(evaluated(one<nn::FeatureAlphaDropout>("FeatureAlphaDropout", {{2, 3}}, 1, 0.25)));
  all.push_back(evaluated(one<nn::Dropout1d>("Dropout1d", {{2, 3, 2}}, 1)));
  all.push_back(evaluated(one<nn::Dropout2d>("Dropout2d", {{1, 3, 2, 1}}, 1)));
  all.push_back(evaluated(one<nn::Dropout3d>("Dropout3d", {{1, 3, 2, 1, 1}}, 1)));
  return all;
}

Cases linears() {
  Cases all;
  all.push_back(one<nn::Linear>("Linear", {{2, 4}}, 1, 4, 3));
  all.push_back(one<nn::Linear>("Linear_no_bias", {{2, 2, 4}}, 1, 4, 3, false));
  all.push_back(two<nn::Bilinear>("Bilinear", {{2, 3}, {2, 4}}, 3, 4, 2));
  all.push_back(two<nn::Bilinear>("Bilinear_no_bias", {{2, 2, 3}, {2, 2, 2}}, 3, 2, 2, false));
  all.push_back(one<nn::Identity>("Identity", {{2, 3}}, 1));
  all.push_back(one<nn::Flatten>("Flatten", {{2, 3, 2, 2}}, 1, 1, 2));
  all.push_back(one<nn::Unflatten>("Unflatten", {{2, 6}}, 1, 1, Shape{2, 3}));
  all.push_back(two<nn::CosineSimilarity>("CosineSimilarity", {{3, 4}, {3, 4}}));
  all.push_back(two<nn::PairwiseDistance>("PairwiseDistance", {{3, 4}, {3, 4}}, 3.0));
  all.push_back(one<nn::Sequential>("Sequential", {{2, 3}}, 1, nn::Linear(3, 4), nn::Tanh(),
                                    nn::Linear(4, 2, false)));
  using Named = std::initializer_list<std::pair<std::string, std::shared_ptr<nn::Module>>>;
  Named named = {{"fc", std::make_shared<nn::Linear>(3, 2)},
                 {"act", std::make_shared<nn::Softsign>()},
                 {"out", std::make_shared<nn::Sequential>(nn::Linear(2, 2), nn::LeakyReLU())}};
  all.push_back(one<nn::Sequential>("Sequential_named", {{2, 3}}, 1, named));
  return all;
}

Cases convolutions() {
  using O1 = nn::Conv1dOptions;
  using O2 = nn::Conv2dOptions;
  using O3 = nn::Conv3dOptions;
  Cases all;
  all.push_back(one<nn::Conv1d>("Conv1d", {{2, 4, 7}}, 1, 4, 6, 3,
                                O1{.stride = 2, .padding = 1, .groups = 2}));
  all.push_back(one<nn::Conv1d>("Conv1d_same", {{1, 2, 6}}, 1, 2, 3, 4, O1{.padding = "same"}));
  all.push_back(one<nn::Conv1d>("Conv1d_valid", {{2, 6}}, 1, 2, 3, 4, O1{.padding = "valid"}));
  all.push_back(one<nn::Conv1d>("Conv1d_reflect", {{1, 2, 5}}, 1, 2, 3, 3,
                                O1{.padding = 2, .padding_mode = "reflect"}));
  all.push_back(
      one<nn::Conv2d>("Conv2d", {{2, 2, 6, 5}}, 1, 2, 4, Pair(3, 2),
                      O2{.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .bias = false}));
  all.push_back(one<nn::Conv2d>("Conv2d_reflect", {{1, 2, 4, 5}}, 1, 2, 3, 3,
                                O2{.padding = 1, .padding_mode = "reflect"}));
  all.push_back(one<nn::Conv2d>("Conv2d_replicate", {{1, 2, 4, 5}}, 1, 2, 2, 3,
                                O2{.padding = {2, 1}, .padding_mode = "replicate"}));
  all.push_back(one<nn::Conv2d>("Conv2d_circular", {{1, 2, 4, 5}}, 1, 2, 2, 3,
                                O2{.stride = 2, .padding = {0, 1}, .padding_mode = "circular"}));
  all.push_back(one<nn::Conv2d>("Conv2d_same", {{1, 2, 4, 5}}, 1, 2, 2, Pair(2, 3),
                                O2{.padding = "same", .padding_mode = "circular"}));
  all.push_back(one<nn::Conv2d>("Conv2d_same_dilated", {{2, 4, 5}}, 1, 2, 2, 3,
                                O2{.padding = "same", .dilation = 2}));
  all.push_back(
      one<nn::Conv3d>("Conv3d", {{1, 2, 3, 4, 3}}, 1, 2, 2, 2, O3{.stride = 2, .padding = 1}));
  all.push_back(one<nn::Conv3d>("Conv3d_replicate", {{1, 1, 2, 3, 3}}, 1, 1, 2, Triple(1, 2, 3),
                                O3{.padding = {0, 1, 1}, .padding_mode = "replicate"}));
  all.push_back(one<nn::ConvTranspose1d>(
      "ConvTranspose1d", {{2, 2, 4}}, 1, 2, 4, 3,
      nn::ConvTranspose1dOptions{.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}));
  all.push_back(one<nn::ConvTranspose2d>(
      "ConvTranspose2d", {{1, 3, 3, 3}}, 1, 3, 2, Pair(3, 2),
      nn::ConvTranspose2dOptions{
          .stride = {2, 3}, .padding = {1, 0}, .bias = false, .dilation = {1, 2}}));
  all.push_back(one<nn::ConvTranspose3d>("ConvTranspose3d", {{1, 2, 2, 3, 2}}, 1, 2, 2, 2,
                                         nn::ConvTranspose3dOptions{.stride = 2}));
  return all;
}

Cases norms() {
  Cases all;
  const auto average = std::optional<double>();
  all.push_back(one<nn::BatchNorm1d>("BatchNorm1d", {{4, 3}}, 1, 3));
  all.push_back(one<nn::BatchNorm1d>("BatchNorm1d_average", {{3, 3, 4}}, 1, 3, 1e-5, average));
  all.push_back(one<nn::BatchNorm2d>("BatchNorm2d", {{2, 2, 3, 3}}, 1, 2, 1e-3, 0.3));
  all.push_back(one<nn::BatchNorm2d>("BatchNorm2d_plain", {{2, 2, 3, 3}}, 1, 2, 1e-5, 0.1, false));
  all.push_back(
      one<nn::BatchNorm2d>("BatchNorm2d_untracked", {{2, 2, 3, 3}}, 1, 2, 1e-5, 0.1, true, false));
  all.push_back(one<nn::BatchNorm3d>("BatchNorm3d", {{2, 2, 2, 2, 2}}, 1, 2));
  all.push_back(one<nn::InstanceNorm1d>("InstanceNorm1d", {{2, 3, 4}}, 1, 3));
  all.push_back(one<nn::InstanceNorm1d>("InstanceNorm1d_alone", {{3, 5}}, 1, 3, 1e-5, 0.1, true));
  all.push_back(
      one<nn::InstanceNorm2d>("InstanceNorm2d", {{2, 2, 3, 3}}, 1, 2, 1e-5, 0.1, true, true));
  all.push_back(
      one<nn::InstanceNorm3d>("InstanceNorm3d", {{1, 2, 2, 2, 3}}, 1, 2, 1e-5, 0.1, true));
  all.push_back(one<nn::GroupNorm>("GroupNorm", {{2, 4, 3}}, 1, 2, 4));
  all.push_back(one<nn::GroupNorm>("GroupNorm_plain", {{2, 6, 2, 2}}, 1, 3, 6, 1e-5, false));
  all.push_back(
      one<nn::LocalResponseNorm>("LocalResponseNorm", {{2, 5, 2, 2}}, 1, 3, 0.1, 0.75, 2.0));
  return all;
}

Cases pools() {
  Cases all;
  all.push_back(one<nn::MaxPool1d>("MaxPool1d", {{2, 2, 7}}, 1, 3, 2, 1));
  all.push_back(one<nn::MaxPool2d>("MaxPool2d", {{1, 2, 6, 5}}, 1, Pair(3, 2), Pair(2, 1),
                                   Pair(1, 0), 1, true));
  all.push_back(
      one<nn::MaxPool2d>("MaxPool2d_dilated", {{2, 6, 7}}, 1, 2, std::nullopt, 0, 2, true));
  all.push_back(one<nn::MaxPool3d>("MaxPool3d", {{1, 1, 4, 4, 5}}, 1, 2));
  all.push_back(one<nn::AvgPool1d>("AvgPool1d", {{2, 2, 7}}, 1, 3, 2, 1));
  all.push_back(one<nn::AvgPool2d>("AvgPool2d", {{1, 2, 6, 5}}, 1, 3, Pair(2), 1, true));
  all.push_back(
      one<nn::AvgPool2d>("AvgPool2d_no_pad", {{1, 2, 6, 5}}, 1, 3, Pair(2), 1, true, false));
  all.push_back(one<nn::AvgPool3d>("AvgPool3d", {{1, 1, 4, 3, 3}}, 1, 2, Triple(2, 1, 1)));
  all.push_back(one<nn::LPPool1d>("LPPool1d", {{2, 2, 7}}, 1, 2, 3, 2));
  all.push_back(
      one<nn::LPPool2d>("LPPool2d", {{1, 2, 5, 6}}, 1, 2, Pair(2, 3), std::nullopt, true));
  all.push_back(one<nn::AdaptiveAvgPool1d>("AdaptiveAvgPool1d", {{1, 2, 7}}, 1, 3));
  all.push_back(one<nn::AdaptiveAvgPool2d>("AdaptiveAvgPool2d", {{1, 2, 5, 6}}, 1, Pair(2, 3)));
  all.push_back(one<nn::AdaptiveAvgPool3d>("AdaptiveAvgPool3d", {{1, 1, 3, 4, 2}}, 1, 2));
  all.push_back(one<nn::AdaptiveMaxPool1d>("AdaptiveMaxPool1d", {{1, 2, 7}}, 1, 3));
  all.push_back(one<nn::AdaptiveMaxPool2d>("AdaptiveMaxPool2d", {{1, 2, 5, 6}}, 1, Pair(2, 3)));
  all.push_back(one<nn::AdaptiveMaxPool3d>("AdaptiveMaxPool3d", {{1, 1, 3, 4, 2}}, 1, 2));
  all.push_back({"MaxUnpool1d", nullptr, {{2, 2, 6}}, 1, [](const List& x) {
                   auto [y, at] = max_pool1d_with_indices(x[0], 2);
                   return nn::MaxUnpool1d(2)(y, at);
                 }});
  all.push_back({"MaxUnpool2d", nullptr, {{1, 2, 5, 6}}, 1, [](const List& x) {
                   auto [y, at] = max_pool2d_with_indices(x[0], Pair(3, 2), Pair(2));
                   return nn::MaxUnpool2d(Pair(3, 2), Pair(2))(y, at);
                 }});
  all.push_back({"MaxUnpool3d", nullptr, {{1, 1, 2, 4, 4}}, 1, [](const List& x) {
                   auto [y, at] = max_pool3d_with_indices(x[0], 2);
                   return nn::MaxUnpool3d(2)(y, at);
                 }});
  return all;
}

Cases images() {
  using O = InterpolateOptions;
  using P = nn::Pads;
  Cases all;
  auto up = [&](const std::string& name, const Shape& shape, const O& o) {
    all.push_back(one<nn::Upsample>(name, {shape}, 1, o));
  };
  up("Upsample", {1, 2, 2, 3}, O{.scale_factor = {2}});
  up("Upsample_1d", {2, 2, 3}, O{.size = {5}});
  up("Upsample_linear", {1, 2, 4}, O{.scale_factor = {2.5}, .mode = "linear"});
  up("Upsample_bilinear", {1, 2, 2, 3}, O{.size = {5, 4}, .mode = "bilinear"});
  up("Upsample_bilinear_corners", {1, 2, 2, 3},
     O{.scale_factor = {2, 3}, .mode = "bilinear", .align_corners = true});
  up("Upsample_bicubic", {1, 2, 3, 4}, O{.size = {5, 7}, .mode = "bicubic"});
  up("Upsample_bicubic_corners", {1, 1, 3, 4},
     O{.scale_factor = {2}, .mode = "bicubic", .align_corners = true});
  up("Upsample_bicubic_smaller", {1, 1, 5, 4}, O{.size = {2, 3}, .mode = "bicubic"});
  up("Upsample_trilinear", {1, 1, 2, 3, 2}, O{.scale_factor = {2}, .mode = "trilinear"});
  all.push_back(one<nn::PixelShuffle>("PixelShuffle", {{1, 8, 2, 2}}, 1, 2));
  all.push_back(one<nn::PixelUnshuffle>("PixelUnshuffle", {{1, 2, 4, 4}}, 1, 2));
  all.push_back(one<nn::ReflectionPad1d>("ReflectionPad1d", {{2, 2, 4}}, 1, P(2)));
  all.push_back(one<nn::ReflectionPad2d>("ReflectionPad2d", {{2, 3, 4}}, 1, P{1, 2, 0, 1}));
  all.push_back(one<nn::ReflectionPad3d>("ReflectionPad3d", {{1, 1, 2, 3, 2}}, 1, P(1)));
  all.push_back(one<nn::ReplicationPad1d>("ReplicationPad1d", {{2, 2, 4}}, 1, P{3, 1}));
  all.push_back(one<nn::ReplicationPad2d>("ReplicationPad2d", {{1, 2, 3, 4}}, 1, P{1, 2, 0, 1}));
  all.push_back(one<nn::ReplicationPad3d>("ReplicationPad3d", {{1, 1, 2, 3, 2}}, 1, P(1)));
  all.push_back(one<nn::ZeroPad2d>("ZeroPad2d", {{1, 2, 3, 4}}, 1, P{1, -1, 2, 0}));
  all.push_back(one<nn::ConstantPad1d>("ConstantPad1d", {{2, 2, 4}}, 1, P(2), 3.5));
  all.push_back(one<nn::ConstantPad2d>("ConstantPad2d", {{1, 2, 3, 4}}, 1, P{1, 0, 0, 2}, -1.0));
  all.push_back(one<nn::ConstantPad3d>("ConstantPad3d", {{1, 1, 2, 1, 2}}, 1, P(1), 0.25));
  all.push_back(one<nn::Unfold>("Unfold", {{1, 2, 4, 5}}, 1, Pair(2, 3), 1, 1, 2));
  all.push_back(one<nn::Fold>("Fold", {{1, 8, 12}}, 1, Pair(4, 5), 2));
  return all;
}

std::string python_text(const std::string& text) {  // without the quotes, \n in its place
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && text[i + 1] == 'n') {
      out += '\n';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

class Modules : public ::testing::Test {
 protected:
  void near(const Case& c, const std::map<std::string, Golden>& want, const std::string& what,
            const Tensor& got) {
    auto it = want.find(what);
    ASSERT_TRUE(it != want.end()) << c.name << " " << what;
    EXPECT_LE(difference(it->second, got), c.tolerance)
        << c.name << " " << what << ": " << it->second.shape << " beside "
        << (got.defined() ? to_text(got.raw_shape()).text : "nothing");
    ++compared_;
  }

  void check(const Case& c) {
    auto found = goldens().find(c.name);
    ASSERT_TRUE(found != goldens().end()) << c.name;
    const auto& want = found->second;
    nn::Module* m = c.module.get();
    if (m != nullptr) {
      if (c.name != "Fold") {  // PyTorch shows as a tuple what was given as one
        EXPECT_EQ(m->repr(), python_text(want.at("repr").text)) << c.name;
      }
      std::string state;
      for (const auto& [name, t] : m->state_dict()) {
        state += (state.empty() ? "" : " ") + name + ":" + to_text(t.raw_shape()).text;
      }
      EXPECT_EQ(state, want.at("state").text) << c.name;
      m->to(kD);
      NoGrad guard;
      int64_t seed = 11;
      for (const Tensor& p : m->parameters()) p.copy_(number(p.raw_shape(), seed++));
    }
    List x;
    for (const Shape& s : c.shapes) {
      x.push_back((number(s, static_cast<int64_t>(x.size())) * c.scale).requires_grad_());
    }
    auto run = [&] { return c.call ? c.call(x) : (*m)(x[0]); };
    Tensor y = run();
    near(c, want, "out", y);
    sum(y * number(y.raw_shape(), 7)).backward();
    for (size_t i = 0; i < x.size(); ++i) near(c, want, "x" + std::to_string(i), x[i].grad());
    if (m == nullptr) return;
    for (const auto& [name, p] : m->named_parameters()) near(c, want, name, p.grad());
    for (const auto& [name, b] : m->named_buffers()) near(c, want, name, b);
    m->eval();
    near(c, want, want.count("eval") > 0 ? "eval" : "out", run());
  }

  void check_all(const Cases& cases) {
    for (const Case& c : cases) check(c);
    RecordProperty("compared", compared_);
  }
  const Goldens& goldens() {
    static const Goldens all = read_goldens("modules.txt");
    return all;
  }

  int compared_ = 0;
};

TEST_F(Modules, ActivationsMatchPyTorch) { check_all(activations()); }
TEST_F(Modules, LinearsMatchPyTorch) { check_all(linears()); }
TEST_F(Modules, ConvolutionsMatchPyTorch) { check_all(convolutions()); }
TEST_F(Modules, NormsMatchPyTorch) { check_all(norms()); }
TEST_F(Modules, PoolsMatchPyTorch) { check_all(pools()); }
TEST_F(Modules, ImagesMatchPyTorch) { check_all(images()); }

// No golden without its test.
TEST_F(Modules, EveryGoldenIsCompared) {
  size_t count = 0;
  for (const Cases& c : {activations(), linears(), convolutions(), norms(), pools(), images()}) {
    count += c.size();
  }
  EXPECT_EQ(count, goldens().size());
}

}  // namespace
}  // namespace wick
