// The operators of ai.onnx.ml: answers written here, what is refused, and what is written back.
// Whole models of converters are in classical_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "exporter/onnx/operators.h"
#include "tests/exporter/model_builder.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

NodeModel ml(const std::string& op, int64_t version = 1) {
  return NodeModel(op, 17).domain("ai.onnx.ml", version);
}
HostTensor text(Shape shape, const Texts& v) { return HostTensor::strings(shape, v); }
Texts texts(const HostTensor& t) {
  Texts all;
  for (int64_t i = 0; i < t.numel(); ++i) all.push_back(t.string_at(i));
  return all;
}
std::vector<double> reals(const HostTensor& t) {
  std::vector<double> all;
  for (int64_t i = 0; i < t.numel(); ++i) all.push_back(element_as_double(t, i));
  return all;
}
std::string refusal(const NodeModel& m, int outputs = 1) {
  return error_of([&] { import_onnx_bytes(m.bytes(false, outputs)); });
}
// The op_types that the model is written as.
Texts written(const NodeModel& m, int outputs = 1) {
  return onnx_op_types(import_onnx_bytes(m.bytes(false, outputs)));
}

TEST(Ml, Scaler) {
  NodeModel m = ml("Scaler").in(matrix(2, {1, 2, 3, 4}));
  m.set("offset", Floats{1, 0}).set("scale", Floats{2, -1});
  expect_near(m.run()[0], {2, 2}, {0, -2, 4, -4}, 0);
  EXPECT_THAT(written(m), ElementsAre("Sub", "Mul"));
  NodeModel whole_numbers = ml("Scaler").in(whole({3}, {1, 2, 3}));
  whole_numbers.set("offset", Floats{0.5F}).set("scale", Floats{2});
  expect_near(whole_numbers.run()[0], {3}, {1, 3, 5}, 0);
  NodeModel bad = ml("Scaler").in(matrix(2, {1, 2, 3, 4}));
  bad.set("offset", Floats{1, 2, 3});
  EXPECT_THAT(refusal(bad), HasSubstr("one for each feature of [2,2]"));
}

TEST(Ml, Normalizer) {
  const HostTensor x = matrix(3, {3, -4, 0, 0, -2, -1});
  const auto of = [&](const char* norm) {
    NodeModel m = ml("Normalizer").in(x);
    m.set("norm", std::string(norm));
    return m.run()[0];
  };
  expect_near(of("L1"), {3, 2}, {3.0 / 7, -4.0 / 7, 0, 0, -2.0 / 3, -1.0 / 3}, 1e-7);
  expect_near(of("L2"), {3, 2}, {0.6, -0.8, 0, 0, -2 / std::sqrt(5.0), -1 / std::sqrt(5.0)}, 1e-7);
  expect_near(of("MAX"), {3, 2}, {1, -4.0 / 3, 0, 0, 2, 1},
              1e-7);  // the largest, not of magnitudes
}

TEST(Ml, BinarizerAndImputer) {
  NodeModel m = ml("Binarizer").in(whole({4}, {-1, 0, 1, 2}));
  m.set("threshold", 0.5F);
  EXPECT_THAT(reals(m.run()[0]), ElementsAre(0, 0, 1, 1));
  NodeModel missing = ml("Imputer").in(matrix(2, {NAN, 2, 3, NAN}));
  missing.set("replaced_value_float", NAN).set("imputed_value_floats", Floats{7, 8});
  EXPECT_THAT(reals(missing.run()[0]), ElementsAre(7, 2, 3, 8));
  NodeModel ints = ml("Imputer").in(whole({2, 2}, {0, 2, 3, 0}));
  ints.set("imputed_value_int64s", Ints{9});
  EXPECT_THAT(reals(ints.run()[0]), ElementsAre(9, 2, 3, 9));
  constexpr int64_t kNoDouble = (int64_t{1} << 53) + 1;
  NodeModel large = ml("Imputer").in(whole({1, 2}, {kNoDouble, kNoDouble - 1}));
  large.set("imputed_value_int64s", Ints{9}).set("replaced_value_int64", kNoDouble);
  EXPECT_THAT(reals(large.run()[0]), ElementsAre(9, 0x1p53));
}

TEST(Ml, VectorsAndColumns) {
  NodeModel join = ml("FeatureVectorizer").in(matrix(2, {1, 2, 3, 4})).in(whole({2, 1}, {5, 6}));
  join.set("inputdimensions", Ints{1, 2});
  EXPECT_THAT(reals(join.run()[0]), ElementsAre(1, 5, 0, 3, 6, 0));
  NodeModel pick = ml("ArrayFeatureExtractor").in(text({2, 3}, {"a", "b", "c", "d", "e", "f"}));
  pick.constant(whole({2}, {2, 0}));
  EXPECT_THAT(texts(pick.run()[0]), ElementsAre("c", "a", "f", "d"));
  NodeModel row = ml("ArrayFeatureExtractor").in(whole({3}, {10, 20, 30})).in(whole({2}, {1, 1}));
  const HostTensor y = row.run()[0];
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_THAT(reals(y), ElementsAre(20, 20));
}

TEST(Ml, LabelEncoderOfEveryForm) {
  NodeModel one = ml("LabelEncoder").in(text({3}, {"b", "x", "a"}));
  one.set("classes_strings", Texts{"a", "b"});
  EXPECT_THAT(reals(one.run()[0]), ElementsAre(1, -1, 0));
  EXPECT_THAT(written(one), ElementsAre("ai.onnx.ml::LabelEncoder"));
  NodeModel back = ml("LabelEncoder").in(whole({3}, {1, 5, 0}));
  back.set("classes_strings", Texts{"a", "b"}).set("default_string", std::string("?"));
  EXPECT_THAT(texts(back.run()[0]), ElementsAre("b", "?", "a"));
  NodeModel two = ml("LabelEncoder", 2).in(whole({2, 2}, {7, -3, 7, 0}));
  two.set("keys_int64s", Ints{7, -3, 7}).set("values_floats", Floats{0.5F, 1.5F, 2.5F});
  two.set("default_float", -1.0F);  // of two equal keys the first counts
  EXPECT_THAT(reals(two.run()[0]), ElementsAre(0.5, 1.5, 0.5, -1));
  EXPECT_THAT(written(two), ElementsAre("ai.onnx.ml::LabelEncoder", "Gather"));
  NodeModel four = ml("LabelEncoder", 4).in(text({2}, {"a", "c"}));
  four.set("keys_tensor", text({2}, {"c", "b"}));
  four.set("values_tensor", HostTensor::of<int16_t>({2}, {3, 4}));
  four.set("default_tensor", HostTensor::of<int16_t>({1}, {-7}));
  EXPECT_THAT(reals(four.run()[0]), ElementsAre(-7, 3));
  NodeModel wide = ml("LabelEncoder", 4).in(HostTensor::of<double>({3}, {NAN, 2, -0.0}));
  wide.set("keys_tensor", HostTensor::of<double>({2}, {NAN, 0.0}));
  wide.set("values_strings", Texts{"nan", "zero"});
  EXPECT_THAT(texts(wide.run()[0]), ElementsAre("nan", "_Unused", "zero"));
  NodeModel mixed = ml("LabelEncoder", 2).in(text({1}, {"a"}));
  mixed.set("keys_int64s", Ints{1}).set("values_int64s", Ints{1});
  EXPECT_THAT(refusal(mixed), HasSubstr("its keys are int64, its input is string"));
  NodeModel longer = ml("LabelEncoder", 2).in(text({1}, {"a"}));
  longer.set("keys_strings", Texts{"a"}).set("values_int64s", Ints{1, 2});
  EXPECT_THAT(refusal(longer), HasSubstr("has 1 keys and 2 values"));
  NodeModel tiny = ml("LabelEncoder", 4).in(text({1}, {"a"}));
  tiny.set("keys_strings", Texts{"a"}).set("values_tensor", HostTensor(DType::kI4, Shape{1}));
  tiny.set("default_tensor", HostTensor(DType::kI4, Shape{1}));
  EXPECT_THAT(refusal(tiny), HasSubstr("its values are int4"));
}

// Version 2 of LabelEncoder, which is written for all other keys, finds no NaN in ONNX Runtime.
TEST(Ml, KeysThatAreNaNAreWrittenAsVersion4) {
  for (const bool nan : {false, true}) {
    NodeModel m = ml("LabelEncoder", 4).in(HostTensor::of<float>({3}, {NAN, 1, 2}));
    m.set("keys_floats", Floats{nan ? NAN : 2, 1}).set("values_int64s", Ints{7, 8});
    EXPECT_THAT(reals(m.run()[0]), nan ? ElementsAre(7, 8, -1) : ElementsAre(-1, 8, 7));
    const std::vector<uint8_t> bytes = onnx_bytes(import_onnx_bytes(m.bytes(false, 1)));
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    int64_t version = 0;
    for (const auto& import : model.opset_import())
      version = import.domain() == "ai.onnx.ml" ? import.version() : version;
    EXPECT_EQ(version, nan ? 4 : 2);
    EXPECT_TRUE(same_bits(ir::run(import_onnx_bytes(bytes), m.inputs())[0], m.run()[0]));
  }
}

TEST(Ml, CategoryMapperGoesBothWays) {
  NodeModel m = ml("CategoryMapper").in(text({2}, {"y", "z"}));
  m.set("cats_strings", Texts{"x", "y"}).set("cats_int64s", Ints{4, 5});
  EXPECT_THAT(reals(m.run()[0]), ElementsAre(5, -1));
  NodeModel back = ml("CategoryMapper").in(whole({2}, {4, 9}));
  back.set("cats_strings", Texts{"x", "y"}).set("cats_int64s", Ints{4, 5});
  EXPECT_THAT(texts(back.run()[0]), ElementsAre("x", "_Unused"));
}

TEST(Ml, OneHotEncoder) {
  NodeModel m = ml("OneHotEncoder").in(matrix(2, {3.9F, 7}));
  m.set("cats_int64s", Ints{7, 3});
  const HostTensor y = m.run()[0];
  EXPECT_EQ(y.shape(), (Shape{2, 1, 2}));
  EXPECT_THAT(reals(y), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(written(m), ElementsAre("IsNaN", "Where", "Cast", "Unsqueeze", "Equal", "Cast"));
  NodeModel holes = ml("OneHotEncoder").in(matrix(2, {NAN, 0}));
  holes.set("cats_int64s", Ints{0, 3});
  EXPECT_THAT(reals(holes.run()[0]), ElementsAre(0, 0, 1, 0));
  NodeModel words = ml("OneHotEncoder").in(text({3}, {"b", "q", "a"}));
  words.set("cats_strings", Texts{"b", "a"});
  EXPECT_THAT(reals(words.run()[0]), ElementsAre(1, 0, 0, 0, 0, 1));
  NodeModel strict = ml("OneHotEncoder").in(whole({2}, {1, 2}));
  strict.set("cats_int64s", Ints{1, 2}).set("zeros", 0);
  EXPECT_THAT(reals(strict.run()[0]), ElementsAre(1, 0, 0, 1));
  ir::Graph g = import_onnx_bytes(strict.bytes(false, 1));
  const std::vector<HostTensor> unknown = {whole({2}, {1, 3})};
  EXPECT_THAT(error_of([&] { ir::run(g, unknown); }), HasSubstr("out of bounds"));
}

TEST(Ml, LinearModels) {
  const HostTensor x = matrix(2, {1, 2, -1, 0.5F});
  NodeModel r = ml("LinearRegressor").in(x);
  r.set("coefficients", Floats{1, 2, 3, 4}).set("intercepts", Floats{10, 20}).set("targets", 2);
  expect_near(r.run()[0], {2, 2}, {15, 31, 10, 19}, 0);
  NodeModel one = ml("LinearRegressor").in(x);
  one.set("coefficients", Floats{1, 2}).set("post_transform", std::string("LOGISTIC"));
  expect_near(one.run()[0], {2, 1}, {5, 0}, 0);  // ONNX Runtime leaves one score as it is
  NodeModel c = ml("LinearClassifier").in(x);
  c.set("coefficients", Floats{1, 0, 0, 1}).set("intercepts", Floats{0, 0.25F});
  c.set("classlabels_strings", Texts{"no", "yes"}).set("post_transform", std::string("LOGISTIC"));
  const auto y = c.run(2);
  EXPECT_THAT(texts(y[0]), ElementsAre("yes", "yes"));
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  expect_near(y[1], {2, 2}, {sigmoid(1), sigmoid(2.25), sigmoid(-1), sigmoid(0.75)}, 1e-7);
  NodeModel half = ml("LinearClassifier").in(x);
  half.set("coefficients", Floats{1, -1}).set("intercepts", Floats{0.25F});
  half.set("classlabels_ints", Ints{5, 6});
  const auto z = half.run(2);
  EXPECT_THAT(reals(z[0]), ElementsAre(5, 5));
  expect_near(z[1], {2, 2}, {1.75, -0.75, 2.25, -1.25}, 0);
  half.set("post_transform", std::string("LOGISTIC"));
  expect_near(half.run(2)[1], {2, 2},
              {sigmoid(0.75), sigmoid(-0.75), sigmoid(1.25), sigmoid(-1.25)}, 2e-7);
}

// Two vectors on a line: the decision is the difference of their kernels.
TEST(Ml, SupportVectors) {
  const HostTensor x = matrix(3, {0, 1, 2});
  NodeModel r = ml("SVMRegressor").in(x);
  r.set("kernel_type", std::string("RBF")).set("kernel_params", Floats{0.5F, 0, 3});
  r.set("support_vectors", Floats{0, 2}).set("n_supports", 2);
  r.set("coefficients", Floats{1, -1}).set("rho", Floats{0.25F});
  const double far = std::exp(-2.0);
  expect_near(r.run()[0], {3, 1}, {1.25 - far, 0.25, far - 0.75}, 1e-6);
  r.set("one_class", 1);
  EXPECT_THAT(reals(r.run()[0]), ElementsAre(1, 1, -1));
  for (const auto& [kernel, at_one] : {std::pair{"LINEAR", -1.75}, {"POLY", 1 - 27 + 0.25}}) {
    NodeModel k = ml("SVMRegressor").in(matrix(1, {1}));
    k.set("kernel_type", std::string(kernel)).set("kernel_params", Floats{1, 1, 3});
    k.set("support_vectors", Floats{0, 2}).set("n_supports", 2);
    k.set("coefficients", Floats{1, -1}).set("rho", Floats{0.25F});
    expect_near(k.run()[0], {1, 1}, {at_one}, 1e-6);
  }
  NodeModel c = ml("SVMClassifier").in(x);
  c.set("kernel_type", std::string("RBF")).set("kernel_params", Floats{0.5F, 0, 3});
  c.set("support_vectors", Floats{0, 2}).set("vectors_per_class", Ints{1, 1});
  c.set("coefficients", Floats{1, -1}).set("rho", Floats{0}).set("classlabels_ints", Ints{3, 4});
  const auto y = c.run(2);
  EXPECT_THAT(reals(y[0]), ElementsAre(3, 4, 4));  // a decision of 0 is the second class's
  expect_near(y[1], {3, 2}, {far - 1, 1 - far, 0, 0, 1 - far, far - 1}, 1e-6);
  c.set("post_transform", std::string("LOGISTIC"));
  const double above = 1 / (1 + std::exp(far - 1)), below = 1 - above;
  expect_near(c.run(2)[1], {3, 2}, {below, above, 0.5, 0.5, above, below}, 1e-6);
  c.set("prob_a", Floats{1}).set("prob_b", Floats{0});
  EXPECT_THAT(refusal(c, 2), HasSubstr("probability=False"));
}

// Three classes, each with a vector of its own at 0, 1 and 2.
TEST(Ml, SupportVectorsVoteForThreeClasses) {
  NodeModel m = ml("SVMClassifier").in(matrix(3, {0.1F, 1.1F, 1.9F}));
  m.set("kernel_type", std::string("RBF")).set("kernel_params", Floats{4, 0, 3});
  m.set("support_vectors", Floats{0, 1, 2}).set("vectors_per_class", Ints{1, 1, 1});
  // Rows: what a class's vector says about the other classes, in order.
  m.set("coefficients", Floats{1, -1, -1, 1, 1, -1}).set("rho", Floats{0, 0, 0});
  m.set("classlabels_strings", Texts{"a", "b", "c"});
  const auto y = m.run(2);
  EXPECT_THAT(texts(y[0]), ElementsAre("a", "b", "c"));
  EXPECT_EQ(y[1].shape(), (Shape{3, 3}));
  NodeModel hostile = ml("SVMClassifier").in(matrix(1, {0}));
  hostile.set("support_vectors", Floats(2000, 0.5F)).set("kernel_type", std::string("LINEAR"));
  hostile.set("vectors_per_class", Ints(2000, 1)).set("classlabels_ints", Ints(2000, 1));
  hostile.set("coefficients", Floats{1}).set("rho", Floats{0});
  EXPECT_THAT(refusal(hostile, 2), HasSubstr("must have 3998000"));
}

// One split x0 <= 0: the left leaf weighs `left`, the right one `right`, each for the classes or
// targets 0, 1 ...
NodeModel tree(const std::string& op, const std::string& of, const Floats& left,
               const Floats& right) {
  NodeModel m = ml(op, 3).in(matrix(2, {-1, 1}));
  m.set("nodes_treeids", Ints{0, 0, 0}).set("nodes_nodeids", Ints{0, 1, 2});
  m.set("nodes_featureids", Ints{0, 0, 0}).set("nodes_values", Floats{0, 0, 0});
  m.set("nodes_modes", Texts{"BRANCH_LEQ", "LEAF", "LEAF"});
  m.set("nodes_truenodeids", Ints{1, 0, 0}).set("nodes_falsenodeids", Ints{2, 0, 0});
  Ints nodes, ids, trees;
  Floats weights;
  for (const Floats* leaf : {&left, &right}) {
    for (size_t k = 0; k < leaf->size(); ++k) {
      nodes.push_back(leaf == &left ? 1 : 2), trees.push_back(0);
      ids.push_back(static_cast<int64_t>(k)), weights.push_back((*leaf)[k]);
    }
  }
  m.set(of + "_treeids", trees).set(of + "_nodeids", nodes).set(of + "_ids", ids);
  m.set(of + "_weights", weights);
  return m;
}

// The answers are ONNX Runtime's.
TEST(Ml, TreesOfClasses) {
  const auto logistic = std::string("LOGISTIC");
  NodeModel many = tree("TreeEnsembleClassifier", "class", {0.1F, 0.2F, 0.7F}, {0.5F, 0.3F, 0.2F});
  many.set("classlabels_strings", Texts{"a", "b", "c"});
  auto y = many.run(2);
  EXPECT_THAT(texts(y[0]), ElementsAre("c", "a"));
  expect_near(y[1], {2, 3}, {0.1, 0.2, 0.7, 0.5, 0.3, 0.2}, 1e-7);
  many.set("base_values", Floats{0.5F, 0.1F, 0.2F}).set("post_transform", std::string("SOFTMAX"));
  expect_near(many.run(2)[1], {2, 3}, {0.32355, 0.23969, 0.43675, 0.47673, 0.26163, 0.26163}, 2e-5);

  NodeModel share = tree("TreeEnsembleClassifier", "class", {0.3F}, {0.8F});
  share.set("classlabels_int64s", Ints{10, 11});
  y = share.run(2);
  EXPECT_THAT(reals(y[0]), ElementsAre(10, 11));  // above a half
  expect_near(y[1], {2, 2}, {0.7, 0.3, 0.2, 0.8}, 1e-7);
  NodeModel score = tree("TreeEnsembleClassifier", "class", {-0.3F}, {0.8F});
  score.set("classlabels_int64s", Ints{10, 11});
  y = score.run(2);
  EXPECT_THAT(reals(y[0]), ElementsAre(10, 11));  // above 0
  expect_near(y[1], {2, 2}, {0.3, -0.3, -0.8, 0.8}, 1e-7);
  score.set("base_values", Floats{0.1F}).set("post_transform", logistic);
  y = score.run(2);
  EXPECT_THAT(reals(y[0]), ElementsAre(10, 11));
  expect_near(y[1], {2, 2}, {0.54983, 0.45017, 0.28905, 0.71095}, 2e-5);
}

TEST(Ml, TreesOfNumbers) {
  NodeModel m = tree("TreeEnsembleRegressor", "target", {0.3F, 0.2F}, {0.8F, 0});
  m.set("n_targets", 2).set("post_transform", std::string("SOFTMAX_ZERO"));
  expect_near(m.run()[0], {2, 2}, {0.52498, 0.47502, 1, 0}, 2e-5);
  NodeModel one = tree("TreeEnsembleRegressor", "target", {0.3F}, {0.8F});
  one.set("n_targets", 1).set("base_values", Floats{0.1F});
  expect_near(one.run()[0], {2, 1}, {0.4, 0.9}, 1e-7);
  EXPECT_THAT(written(one), ElementsAre("ai.onnx.ml::TreeEnsembleRegressor", "Add"));
  one.set("post_transform", std::string("PROBIT"));
  expect_near(one.run()[0], {2, 1}, {-0.25335, 1.28171}, 1e-4);
}

// Version 5: a set of members, NaN on the true side, float64 and float16.
TEST(Ml, TreeEnsembleOfSets) {
  for (DType t : {DType::kF32, DType::kF64, DType::kF16}) {
    const auto reals_of = [&](const Floats& v) {
      HostTensor f = HostTensor::of({static_cast<int64_t>(v.size())}, v);
      const CastAttrs to{static_cast<int64_t>(t)};
      return ir::run_node(OpId::kCast, &to, {&f, 1}, 1)[0];
    };
    NodeModel m = ml("TreeEnsemble", 5).in(reals_of({1, 2, 3, NAN}).reshaped({4, 1}));
    m.set("n_targets", 1).set("tree_roots", Ints{0}).set("nodes_featureids", Ints{0, 0});
    m.set("nodes_modes", HostTensor::of<uint8_t>({2}, {6, 0}));
    m.set("nodes_splits", reals_of({0, 2})).set("membership_values", reals_of({1, 3, NAN}));
    m.set("nodes_trueleafs", Ints{1, 1}).set("nodes_truenodeids", Ints{0, 1});
    m.set("nodes_falseleafs", Ints{0, 1}).set("nodes_falsenodeids", Ints{1, 2});
    m.set("nodes_missing_value_tracks_true", Ints{0, 1});
    m.set("leaf_targetids", Ints{0, 0, 0}).set("leaf_weights", reals_of({5, 6, 7}));
    const HostTensor y = m.run()[0];
    EXPECT_EQ(y.dtype(), t);
    EXPECT_THAT(reals(y), ElementsAre(5, 6, 5, 6)) << dtype_name(t);
    if (t == DType::kF64) {
      EXPECT_THAT(written(m), ElementsAre("ai.onnx.ml::TreeEnsemble"));
    }
    ir::Graph g = import_onnx_bytes(m.bytes(false, 1));
    EXPECT_TRUE(same_bits(ir::run(import_onnx_bytes(onnx_bytes(g)), m.inputs())[0], y));
  }
}

// A split that is NaN, and a set of nothing: no number is on the true side, what is missing is.
TEST(Ml, OnlyFeaturesAreMissing) {
  for (const uint8_t mode : {0, 6}) {
    NodeModel m = ml("TreeEnsemble", 5).in(matrix(3, {-1, 1, NAN}));
    m.set("n_targets", 1).set("tree_roots", Ints{0}).set("nodes_featureids", Ints{0});
    m.set("nodes_modes", HostTensor::of<uint8_t>({1}, {mode}));
    m.set("nodes_splits", HostTensor::of<float>({1}, {NAN}));
    m.set("membership_values", HostTensor::of<float>({1}, {NAN}));
    m.set("nodes_trueleafs", Ints{1}).set("nodes_truenodeids", Ints{0});
    m.set("nodes_falseleafs", Ints{1}).set("nodes_falsenodeids", Ints{1});
    m.set("nodes_missing_value_tracks_true", Ints{1});
    m.set("leaf_targetids", Ints{0, 0}).set("leaf_weights", HostTensor::of<float>({2}, {5, 6}));
    const HostTensor y = m.run()[0];
    EXPECT_THAT(reals(y), ElementsAre(6, 6, 5)) << int{mode};
    const ir::Graph g = import_onnx_bytes(m.bytes(false, 1));
    EXPECT_TRUE(same_bits(ir::run(import_onnx_bytes(onnx_bytes(g)), m.inputs())[0], y));
  }
}

// Without n_targets, the largest target says how many there are.
TEST(Ml, ATargetThatNoNumberFollowsIsRefused) {
  NodeModel m = ml("TreeEnsemble", 5).in(matrix(1, {0}));
  m.set("tree_roots", Ints{0}).set("nodes_featureids", Ints{0});
  m.set("nodes_modes", HostTensor::of<uint8_t>({1}, {0}));
  m.set("nodes_splits", HostTensor::of<float>({1}, {0}));
  m.set("nodes_trueleafs", Ints{1}).set("nodes_truenodeids", Ints{0});
  m.set("nodes_falseleafs", Ints{1}).set("nodes_falsenodeids", Ints{1});
  m.set("leaf_targetids", Ints{0, INT64_MAX});
  m.set("leaf_weights", HostTensor::of<float>({2}, {5, 6}));
  EXPECT_THAT(refusal(m), HasSubstr("n_targets must be 1 or more"));
}

// float64 leaves of several weights are written as several trees, in the order of every sum.
TEST(Ml, WideTreesAreWrittenBack) {
  NodeModel m = tree("TreeEnsembleRegressor", "target", {0.1F, 0.2F, 0.3F}, {0.4F, 0.5F, 0.6F});
  m.set("n_targets", 3);
  const std::vector<uint8_t> bytes = m.bytes(false, 1);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(DType::kF64));
  const std::string changed = model.SerializeAsString();
  ir::Graph g =
      import_onnx_bytes({reinterpret_cast<const uint8_t*>(changed.data()), changed.size()});
  EXPECT_THAT(onnx_op_types(g), ElementsAre("ai.onnx.ml::TreeEnsemble", "Cast"));
  const std::vector<HostTensor> x = {HostTensor::of<double>({2, 1}, {-1, 1})};
  EXPECT_TRUE(same_bits(ir::run(import_onnx_bytes(onnx_bytes(g)), x)[0], ir::run(g, x)[0]));
}

TEST(Ml, HostileTreesAreRefused) {
  const auto changed = [](const char* name, const Ints& ints) {
    NodeModel m = ml("TreeEnsembleRegressor", 3).in(matrix(1, {0}));
    const auto set = [&](const char* own, const Ints& v) {
      m.set(own, std::string(own) == name ? ints : v);
    };
    set("nodes_treeids", {0, 0, 0}), set("nodes_nodeids", {0, 1, 2});
    set("nodes_featureids", {0, 0, 0}), set("nodes_truenodeids", {1, 2, 0});
    set("nodes_falsenodeids", {2, 2, 0}), set("target_treeids", {0});
    set("target_nodeids", {2}), set("target_ids", {0});
    m.set("nodes_modes", Texts{"BRANCH_LT", "BRANCH_LT", "LEAF"});
    m.set("nodes_values", Floats{0, 0, 0}).set("target_weights", Floats{1}).set("n_targets", 1);
    return refusal(m);
  };
  EXPECT_EQ(changed("", {}), "no error");
  EXPECT_THAT(changed("nodes_truenodeids", {1, 0, 0}), HasSubstr("lead back to node 0"));
  EXPECT_THAT(changed("nodes_truenodeids", {0, 2, 0}), HasSubstr("lead back to node 0"));
  EXPECT_THAT(changed("nodes_falsenodeids", {7, 2, 0}),
              HasSubstr("node 7 of tree 0, which is not there"));
  EXPECT_THAT(changed("nodes_nodeids", {0, 1, 1}), HasSubstr("has node 1 of tree 0 twice"));
  EXPECT_THAT(changed("nodes_featureids", {1, 0, 0}), HasSubstr("compares feature 1"));
  EXPECT_THAT(changed("nodes_featureids", {-1, 0, 0}), HasSubstr("compares feature -1"));
  EXPECT_THAT(changed("nodes_featureids", {0}), HasSubstr("has 1 entries, must have 3"));
  EXPECT_THAT(changed("target_ids", {1}), HasSubstr("has target 1, there are 1"));
  EXPECT_THAT(changed("target_nodeids", {9}), HasSubstr("node 9 of tree 0"));
}

// A model that ends in a ZipMap: the scores as a tensor, the labels by name, and a note.
TEST(Ml, ZipMapIsATensorAndANote) {
  Build b;
  auto* import = b.model.add_opset_import();
  import->set_domain("ai.onnx.ml"), import->set_version(1);
  b.input("p", DType::kF32, {"N", "2"});
  NodeProto n = node("ZipMap", {"p"}, {"scores"});
  n.set_domain("ai.onnx.ml");
  AttributeProto& labels = attribute(n, "classlabels_strings", AttributeProto::STRINGS);
  labels.add_strings("cat"), labels.add_strings("dog");
  b.add(n).output("scores");
  auto* map = b.graph().mutable_output(0)->mutable_type()->mutable_sequence_type();
  map->mutable_elem_type()->mutable_map_type()->set_key_type(8);
  std::vector<std::string> warnings;
  OnnxReadOptions options;
  options.warnings = &warnings;
  const ir::Graph g = import_onnx_bytes(b.bytes(), "", options);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("'scores' (ZipMap) is a sequence of maps"));
  EXPECT_EQ(g.metadata.at("classes.scores"), "cat\ndog\n");
  const std::vector<HostTensor> p = {matrix(2, {0.25F, 0.75F, 1, 0})};
  EXPECT_TRUE(same_bits(ir::run(g, p)[0], p[0]));
  EXPECT_EQ(import_onnx_bytes(onnx_bytes(g)).metadata.at("classes.scores"), "cat\ndog\n");
}

TEST(Ml, OperatorsOfMapsAreNamedWithAReason) {
  for (const char* op : {"CastMap", "DictVectorizer"})
    EXPECT_THAT(refusal(ml(op).in(matrix(1, {1}))), HasSubstr("maps are no tensors"));
  EXPECT_THAT(refusal(ml("Scalr").in(matrix(1, {1}))), HasSubstr("is 'Scaler' meant?"));
  NodeModel none = NodeModel("Scaler", 17).in(matrix(1, {1}));
  EXPECT_THAT(refusal(none), HasSubstr("ai.onnx.ml has one: is it the node's domain"));
}

}  // namespace
}  // namespace wick::test
