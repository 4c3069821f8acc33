// Rare forms of operators and tensors: sparse tensors, inputs of old opsets, inputs without shapes,
// random numbers, rarely used types.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "runtime/core/half.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using testing::HasSubstr;

HostTensor f32(Shape shape, std::vector<float> v) { return HostTensor::of<float>(shape, v); }
HostTensor u8(Shape shape, std::vector<uint8_t> v) { return HostTensor::of<uint8_t>(shape, v); }
HostTensor i16(int16_t v) { return HostTensor::of<int16_t>({}, {v}); }

onnx::ModelProto parsed(const NodeModel& m, bool symbols = false, int outputs = 1) {
  auto bytes = m.bytes(symbols, outputs);
  onnx::ModelProto model;
  model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return model;
}
ir::Graph read(const onnx::ModelProto& model) {
  std::string s = model.SerializeAsString();
  return import_onnx_bytes({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
}
std::vector<HostTensor> results(const ir::Graph& g, const std::vector<HostTensor>& in) {
  return ir::run(g, in);
}
std::string error_reading(const onnx::ModelProto& model) {
  return error_of([&] { read(model); });
}
void put(onnx::TensorProto* to, const HostTensor& t) {
  to->set_data_type(static_cast<int32_t>(t.dtype()));
  for (int64_t d : t.shape()) to->add_dims(d);
  to->set_raw_data(t.data(), t.nbytes());
}
void put(onnx::SparseTensorProto* to, const HostTensor& values, const HostTensor& indices,
         std::vector<int64_t> dims) {
  put(to->mutable_values(), values);
  put(to->mutable_indices(), indices);
  for (int64_t d : dims) to->add_dims(d);
}

// A node without a name is told by its first output, and without any by its first input.
TEST(Nodes, HaveAPlaceInErrors) {
  onnx::ModelProto model =
      parsed(NodeModel("Cast", 13).in(f32({1}, {1})).set("to", std::string("FLOAT")));
  EXPECT_THAT(error_reading(model), HasSubstr("Cast 'y0': attribute 'to' is STRING"));
  model.mutable_graph()->mutable_node(0)->clear_output();
  EXPECT_THAT(error_reading(model), HasSubstr("Cast 'x0': attribute 'to' is STRING"));
}

// docs/numerics.md has this table.
TEST(Reductions, OfNothing) {
  const double inf = INFINITY, least = INT32_MIN, most = INT32_MAX;
  const struct {
    const char* op;
    double of_floats, of_integers;
  } kOps[] = {{"ReduceL1", 0, 0},
              {"ReduceL2", 0, 0},
              {"ReduceLogSum", -inf, least},
              {"ReduceLogSumExp", -inf, least},
              {"ReduceMax", -inf, least},
              {"ReduceMean", NAN, 0},
              {"ReduceMin", inf, most},
              {"ReduceProd", 1, 1},
              {"ReduceSum", 0, 0},
              {"ReduceSumSquare", 0, 0}};
  for (const auto& o : kOps) {
    SCOPED_TRACE(o.op);
    for (DType dtype : {DType::kF32, DType::kI32}) {
      NodeModel m(o.op, 18);
      m.in(HostTensor(dtype, {2, 0, 3})).constant(whole({1}, {1})).set("keepdims", 0);
      const HostTensor y = m.run()[0];
      ASSERT_TRUE(y.shape() == (Shape{2, 3}));
      for (int64_t i = 0; i < y.numel(); ++i) {
        const double want = dtype == DType::kF32 ? o.of_floats : o.of_integers;
        if (std::isnan(want))
          EXPECT_TRUE(std::isnan(element_as_double(y, i)));
        else
          EXPECT_EQ(element_as_double(y, i), want);
      }
    }
  }
}

TEST(Sparse, TensorsAreReadDense) {
  const HostTensor three = f32({3}, {5, 6, 7});
  for (const HostTensor& at : {whole({3}, {1, 3, 5}), whole({3, 2}, {0, 1, 1, 0, 1, 2})}) {
    onnx::ModelProto constant = parsed(NodeModel("Constant", 13));
    auto* a = constant.mutable_graph()->mutable_node(0)->add_attribute();
    a->set_name("sparse_value");
    a->set_type(onnx::AttributeProto::SPARSE_TENSOR);
    put(a->mutable_sparse_tensor(), three, at, {2, 3});
    expect_near(results(read(constant), {})[0], {2, 3}, {0, 5, 0, 6, 0, 7});

    onnx::ModelProto add = parsed(NodeModel("Add", 13).in(f32({2, 3}, {1, 1, 1, 1, 1, 1})));
    add.mutable_graph()->mutable_node(0)->add_input("w");
    auto* w = add.mutable_graph()->add_sparse_initializer();
    put(w, three, at, {2, 3});
    w->mutable_values()->set_name("w");
    expect_near(results(read(add), {f32({2, 3}, {1, 2, 3, 4, 5, 6})})[0], {2, 3},
                {1, 7, 3, 10, 5, 13});
  }
}

TEST(Sparse, BadOnesAreErrors) {
  auto with = [](const HostTensor& values, const HostTensor& at, std::vector<int64_t> dims) {
    onnx::ModelProto m = parsed(NodeModel("Identity", 13).in(f32({}, {1})));
    auto* w = m.mutable_graph()->add_sparse_initializer();
    put(w, values, at, std::move(dims));
    w->mutable_values()->set_name("w");
    return error_reading(m);
  };
  const HostTensor one = f32({1}, {5});
  EXPECT_EQ(with(one, whole({1}, {5}), {2, 3}), "no error");
  EXPECT_THAT(with(one, whole({1}, {6}), {2, 3}), HasSubstr("lies outside"));
  EXPECT_THAT(with(one, whole({1}, {-1}), {2, 3}), HasSubstr("lies outside"));
  EXPECT_THAT(with(one, whole({1, 2}, {2, 0}), {2, 3}), HasSubstr("lies outside"));
  EXPECT_THAT(with(one, whole({1, 2}, {0, 3}), {2, 3}), HasSubstr("lies outside"));
  EXPECT_THAT(with(one, whole({2}, {0, 1}), {2, 3}), HasSubstr("need int64 indices"));
  EXPECT_THAT(with(one, f32({1}, {0}), {2, 3}), HasSubstr("need int64 indices"));
  EXPECT_THAT(with(one, whole({1}, {0}), {1 << 20, 1 << 20}), HasSubstr("bytes when dense"));
  EXPECT_NE(with(one, whole({1}, {0}), {int64_t{1} << 62, 8}), "no error");
  EXPECT_NE(with(one, whole({1}, {0}), {-2, 3}), "no error");
}

// Each small enough, and together memory without end: 50 bytes of file for 48 MiB of tensor.
TEST(Sparse, TogetherTheyAreBounded) {
  const HostTensor one = f32({1}, {5});
  for (bool initializers : {true, false}) {
    onnx::ModelProto m = parsed(NodeModel("Identity", 13).in(f32({}, {1})));
    for (int k = 0; k < 12; ++k) {
      const std::string name = "w" + std::to_string(k);
      if (initializers) {
        auto* w = m.mutable_graph()->add_sparse_initializer();
        put(w, one, whole({1}, {0}), {3 << 10, 1 << 12});
        w->mutable_values()->set_name(name);
        continue;
      }
      auto* n = m.mutable_graph()->add_node();
      n->set_op_type("Constant");
      n->add_output(name);
      auto* a = n->add_attribute();
      a->set_name("sparse_value");
      a->set_type(onnx::AttributeProto::SPARSE_TENSOR);
      put(a->mutable_sparse_tensor(), one, whole({1}, {0}), {3 << 10, 1 << 12});
    }
    EXPECT_THAT(error_reading(m),
                testing::AllOf(HasSubstr("50331648 bytes when dense"), HasSubstr("max_ram")));
    const std::string file = m.SerializeAsString();
    OnnxReadOptions more;
    more.max_ram = uint64_t{12} * 50331648;
    EXPECT_NO_THROW(
        import_onnx_bytes({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "", more));
  }
}

TEST(OldForms, SplitAndTileTakeTheirNumbersInTheTensorsType) {
  const HostTensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  auto parts = NodeModel("Split", 1).set("axis", int64_t{0}).in(x).in(f32({2}, {1, 2})).run(2);
  expect_near(parts[0], {1, 2}, {1, 2});
  expect_near(parts[1], {2, 2}, {3, 4, 5, 6});
  auto tiled = NodeModel("Tile", 1).in(x).in(f32({}, {2})).in(f32({}, {1})).run();
  expect_near(tiled[0], {3, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6});
}

// They are summed as wider ones: ONNX has no sums of them.
TEST(RareForms, EinsumOfShortIntegers) {
  const HostTensor x = HostTensor::of<uint16_t>({2, 2}, {40000, 40000, 1, 2});
  NodeModel m = NodeModel("Einsum", 12).set("equation", std::string("ij->j")).in(x);
  onnx::ModelProto written;
  std::vector<uint8_t> bytes = onnx_bytes(import_onnx_bytes(m.bytes(false, 1)));
  ASSERT_TRUE(written.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  std::vector<std::string> ops;
  for (const auto& node : written.graph().node()) ops.push_back(node.op_type());
  EXPECT_THAT(ops, testing::IsSupersetOf({"Cast", "ReduceSum"}));
  EXPECT_TRUE(same_bits(results(import_onnx_bytes(bytes), {x})[0],
                        HostTensor::of<uint16_t>({2}, {40001, 40002})));
  const HostTensor big = HostTensor::of<uint16_t>({2, 1}, {40000, 40000});
  EXPECT_TRUE(
      same_bits(NodeModel("Einsum", 12).set("equation", std::string("ij->j")).in(big).run()[0],
                HostTensor::of<uint16_t>({1}, {14464})));
}

TEST(RareForms, TileOfEveryRank) {
  auto y = NodeModel("Tile", 13)
               .in(f32({1, 1, 2, 1, 2}, {1, 2, 3, 4}))
               .in(whole({5}, {2, 1, 1, 0, 3}))
               .run();
  EXPECT_EQ(y[0].shape(), (Shape{2, 1, 2, 0, 6}));
  y = NodeModel("Tile", 13)
          .in(f32({1, 1, 1, 2, 2}, {1, 2, 3, 4}))
          .in(whole({5}, {1, 2, 1, 1, 2}))
          .run();
  expect_near(y[0], {1, 2, 1, 2, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4});
}

TEST(RareForms, HardmaxOfSizesKnownWhenRunning) {
  const HostTensor x = f32({2, 3}, {1, 4, 4, 9, -1, 2});
  expect_near(NodeModel("Hardmax", 13).in(x).run()[0], {2, 3}, {0, 1, 0, 1, 0, 0});
  auto by_rows = NodeModel("Hardmax", 13).set("axis", int64_t{0}).in(x).run();
  expect_near(by_rows[0], {2, 3}, {0, 1, 1, 1, 0, 0});
  auto all = NodeModel("Hardmax", 11).set("axis", int64_t{0}).in(x).run();
  expect_near(all[0], {2, 3}, {0, 0, 0, 1, 0, 0});
}

TEST(RareForms, SqueezeWithoutAxesOfOpenSizes) {
  auto y = NodeModel("Squeeze", 13).in(f32({1, 3, 1}, {1, 2, 3})).run();
  expect_near(y[0], {3}, {1, 2, 3});
}

TEST(RareForms, BoundsBetweenIntegers) {
  auto y = NodeModel("Shrink", 9).set("lambd", 1.5f).set("bias", 0.5f).in(u8({4}, {0, 1, 2, 9}));
  expect_near(y.run()[0], {4}, {0, 0, 1, 8});
  auto gemm = NodeModel("Gemm", 13).set("alpha", 0.5f).in(whole({1, 2}, {3, 4}));
  expect_near(gemm.in(whole({2, 1}, {5, 4})).run()[0], {1, 1}, {15});
}

TEST(RareForms, RangesOfShortIntegers) {
  onnx::ModelProto m = parsed(NodeModel("Range", 11).in(i16(5)).in(i16(-4)).in(i16(-3)));
  auto* g = m.mutable_graph();
  const int16_t numbers[] = {5, -4, -3};
  for (int i = 0; i < 3; ++i) {
    auto* t = g->add_initializer();
    put(t, i16(numbers[i]));
    t->set_name(g->input(i).name());
  }
  g->clear_input();
  EXPECT_TRUE(same_bits(results(read(m), {})[0], HostTensor::of<int16_t>({3}, {5, 2, -1})));
}

// Numbers that float16 cannot count to are rounded only once.
TEST(RareForms, RangesOfHalfsAreStashedInFloat) {
  auto half = [](float v) {
    const Half h(v);
    return HostTensor(DType::kF16, {}, &h, sizeof(h));
  };
  auto y = NodeModel("Range", 27).in(half(0)).in(half(4096)).in(half(1)).run();
  ASSERT_EQ(y[0].numel(), 4096);
  for (int64_t i : {2047, 2051, 4095})
    EXPECT_EQ(element_as_double(y[0], i), static_cast<float>(Half(static_cast<float>(i)))) << i;
  auto own = NodeModel("Range", 27).set("stash_type", int64_t{10}).in(half(0.25f)).in(half(3));
  expect_near(own.in(half(1)).run()[0], {3}, {0.25, 1.25, 2.25});
}

TEST(RareForms, CachesOfPackedElements) {
  const uint8_t cache[] = {0x21, 0x43, 0x65}, update[] = {0x0F};  // 1 .. 6; -1
  auto y = NodeModel("TensorScatter", 24)
               .set("axis", int64_t{-1})
               .in(HostTensor(DType::kI4, {2, 3}, cache, 3))
               .in(HostTensor(DType::kI4, {2, 1}, update, 1))
               .in(whole({2}, {2, 0}))
               .run();
  const uint8_t want[] = {0x21, 0x0F, 0x65};  // [1, 2, -1], [0, 5, 6]
  EXPECT_TRUE(same_bits(y[0], HostTensor(DType::kI4, {2, 3}, want, 3)));
}

// A fixed rank is what an input without a shape then has; others need none.
TEST(RareForms, InputsWithoutShapes) {
  const HostTensor x = f32({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<NodeModel> models = {
      NodeModel("DepthToSpace", 13).set("blocksize", int64_t{2}).in(x),
      NodeModel("SpaceToDepth", 13).set("blocksize", int64_t{1}).in(x),
      NodeModel("Einsum", 12).set("equation", std::string("abcd->dc")).in(x),
      NodeModel("Softmax", 11).in(x),
      NodeModel("Hardmax", 13).set("axis", int64_t{-3}).in(x),
      NodeModel("Tile", 13).in(x).in(whole({4}, {1, 1, 2, 1})),
      NodeModel("CenterCropPad", 18).in(x).in(whole({4}, {1, 2, 2, 2})),
  };
  for (const NodeModel& m : models) {
    onnx::ModelProto bare = parsed(m);
    SCOPED_TRACE(bare.graph().node(0).op_type());
    auto want = m.run();
    for (auto& info : *bare.mutable_graph()->mutable_input())
      info.mutable_type()->mutable_tensor_type()->clear_shape();
    std::vector<HostTensor> in = {x};
    if (bare.graph().input_size() > 1)
      in.push_back(bare.graph().node(0).op_type() == "Tile" ? whole({4}, {1, 1, 2, 1})
                                                            : whole({4}, {1, 2, 2, 2}));
    if (bare.graph().node(0).op_type() == "Tile") {  // its repeats give its rank
      auto* type = bare.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type();
      type->mutable_shape()->add_dim()->set_dim_value(4);
    }
    EXPECT_TRUE(same_bits(results(read(bare), in)[0], want[0]));
  }
}

TEST(RareForms, OpsetsLeftOut) {
  onnx::ModelProto m = parsed(NodeModel("Identity", 13).in(f32({1}, {3})));
  m.clear_opset_import();
  EXPECT_THAT(error_reading(m), HasSubstr("imports no opset"));
  m.set_ir_version(2);
  EXPECT_EQ(error_reading(m), "no error");  // opset 1
  m.set_ir_version(8);
  auto* other = m.add_opset_import();
  other->set_domain("ai.onnx");
  other->set_version(13);
  m.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  EXPECT_EQ(error_reading(m), "no error");
  other->set_domain("com.example");
  EXPECT_THAT(error_reading(m), HasSubstr("imports no opset of the default domain"));
}

HostTensor complex(DType t, Shape shape, std::vector<double> parts) {
  if (t == DType::kC128) return HostTensor(t, shape, parts.data(), parts.size() * sizeof(double));
  std::vector<float> narrow(parts.begin(), parts.end());
  return HostTensor(t, shape, narrow.data(), narrow.size() * sizeof(float));
}

// Operators that only move and compare elements take complex ones.
TEST(RareForms, ComplexNumbers) {
  for (DType t : {DType::kC64, DType::kC128}) {
    SCOPED_TRACE(dtype_name(t));
    const HostTensor x = complex(t, {3}, {1, 2, 0, -0.0, 1, -2}), one = complex(t, {1}, {7, 8});
    auto run = [&](const NodeModel& m, std::vector<HostTensor> in, int outputs = 1) {
      return results(import_onnx_bytes(m.bytes(true, outputs)), in);
    };
    auto expect = [&](const HostTensor& got, Shape shape, std::vector<double> want) {
      EXPECT_TRUE(same_bits(got, complex(t, shape, std::move(want))));
    };
    HostTensor yes(DType::kBool, {3});
    yes.as<uint8_t>()[1] = 1;
    expect(run(NodeModel("Where", 16).in(yes).in(x).in(one), {yes, x, one})[0], {3},
           {7, 8, 0, -0.0, 7, 8});
    const HostTensor last = whole({1}, {-1}), row = whole({1, 1}, {-1});
    expect(run(NodeModel("Gather", 13).in(x).in(last), {x, last})[0], {1}, {1, -2});
    expect(run(NodeModel("GatherElements", 13).in(x).in(last), {x, last})[0], {1}, {1, -2});
    expect(run(NodeModel("GatherND", 13).in(x).in(row), {x, row})[0], {1}, {1, -2});
    const std::vector<double> put = {1, 2, 0, -0.0, 7, 8};
    expect(run(NodeModel("ScatterElements", 18).in(x).in(last).in(one), {x, last, one})[0], {3},
           put);
    expect(run(NodeModel("ScatterND", 18).in(x).in(row).in(one), {x, row, one})[0], {3}, put);
    EXPECT_TRUE(same_bits(run(NodeModel("NonZero", 13).in(x), {x})[0], whole({1, 2}, {0, 2})));
    const HostTensor pads = whole({2}, {1, 0});
    expect(run(NodeModel("Pad", 18).in(x).in(pads), {x, pads})[0], {4},
           {0, 0, 1, 2, 0, -0.0, 1, -2});
    const HostTensor square = complex(t, {2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    expect(run(NodeModel("Trilu", 14).in(square), {square})[0], {2, 2}, {1, 2, 3, 4, 0, 0, 7, 8});
    auto unique = run(NodeModel("Unique", 11).in(x), {x}, 2);
    expect(unique[0], {3}, {0, -0.0, 1, -2, 1, 2});
    EXPECT_TRUE(same_bits(unique[1], whole({3}, {1, 2, 0})));
  }
}

struct Moments {
  double mean = 0, variance = 0, least = INFINITY, largest = -INFINITY;
};
Moments moments(const HostTensor& t) {
  Moments m;
  const auto n = static_cast<double>(t.numel());
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = element_as_double(t, i);
    m.mean += v / n;
    m.variance += v * v / n;
    m.least = std::fmin(m.least, v), m.largest = std::fmax(m.largest, v);
  }
  m.variance -= m.mean * m.mean;
  return m;
}

NodeModel random(const std::string& op, HostTensor like, float seed) {
  NodeModel m(op, 22);
  return m.set("seed", seed).in(std::move(like));
}

// A number of an attribute that the input's integers lack.
TEST(Numbers, MustFitTheIntegersTheyMeet) {
  auto clipped = [](float least) {
    NodeModel m = NodeModel("Clip", 6).set("min", least).in(HostTensor::of<int8_t>({2}, {-5, 100}));
    return error_of([&] {
      const auto y = m.run();
      EXPECT_TRUE(same_bits(y[0], HostTensor::of<int8_t>({2}, {static_cast<int8_t>(least), 100})));
    });
  };
  EXPECT_EQ(clipped(-2), "no error");
  EXPECT_EQ(clipped(1e30f), "Clip 'y0': min is 1.0000000150474662e+30, which is no int8");
  EXPECT_THAT(clipped(128), HasSubstr("min is 128, which is no int8"));
  EXPECT_THAT(clipped(0.5f), HasSubstr("min is 0.5, which is no int8"));
  EXPECT_THAT(clipped(NAN), HasSubstr("which is no int8"));
}

TEST(Numbers, ADtypeThatIsNoneIsNotCutToOne) {
  for (int64_t dtype : {int64_t{257}, int64_t{0}, int64_t{-1}, int64_t{1} << 32 | 1}) {
    NodeModel m = NodeModel("EyeLike", 9).set("dtype", dtype).in(f32({2, 2}, {1, 2, 3, 4}));
    EXPECT_THAT(error_of([&] { m.run(); }),
                HasSubstr("attribute 'dtype' is " + std::to_string(dtype) + ", which is no dtype"));
  }
}

TEST(Random, NumbersHaveTheirDistribution) {
  const HostTensor like = floats({64, 128}, 1);
  auto uniform = moments(random("RandomUniformLike", like, 1).set("low", -1.0f).run()[0]);
  EXPECT_NEAR(uniform.mean, 0, 0.02);
  EXPECT_NEAR(uniform.variance, 4.0 / 12, 0.02);
  EXPECT_GE(uniform.least, -1);
  EXPECT_LE(uniform.largest, 1);
  auto normal =
      moments(random("RandomNormalLike", like, 1).set("mean", 3.0f).set("scale", 2.0f).run()[0]);
  EXPECT_NEAR(normal.mean, 3, 0.1);
  EXPECT_NEAR(normal.variance, 4, 0.2);
  EXPECT_GT(normal.largest, 3 + 2 * 3);
  HostTensor p(DType::kF32, {64, 128});
  for (int64_t i = 0; i < p.numel(); ++i) p.as<float>()[i] = 0.25f;
  EXPECT_NEAR(moments(random("Bernoulli", p, 1).run()[0]).mean, 0.25, 0.02);
  // classes at odds of 1 : 0 : 3
  auto drawn = random("Multinomial", f32({1, 3}, {0, -INFINITY, std::log(3.0f)}), 7)
                   .set("sample_size", int64_t{4096})
                   .run();
  EXPECT_EQ(drawn[0].dtype(), DType::kI32);
  EXPECT_NEAR(moments(drawn[0]).mean, 1.5, 0.05);
  EXPECT_NEAR(moments(drawn[0]).variance, 0.75, 0.05);
}

TEST(Random, TheSeedDecides) {
  const HostTensor like = floats({4, 5}, 1);
  auto draw = [&](float seed) { return random("RandomNormalLike", like, seed).run()[0]; };
  EXPECT_TRUE(same_bits(draw(1), draw(1)));
  EXPECT_FALSE(same_bits(draw(1), draw(2)));
  // without one, the node's name
  NodeModel unseeded = NodeModel("RandomUniformLike", 22).in(like);
  EXPECT_TRUE(same_bits(unseeded.run()[0], unseeded.run()[0]));
  // the writer spells the formula out: a third runtime draws the same
  ir::Graph g = import_onnx_bytes(random("RandomNormalLike", like, 3).bytes(false, 1));
  auto back = results(import_onnx_bytes(onnx_bytes(g)), {like});
  EXPECT_TRUE(same_bits(back[0], draw(3)));
}

TEST(Random, ShapesAndTypes) {
  NodeModel m("RandomNormal", 22);
  m.set("dtype", int64_t{10});
  onnx::ModelProto model = parsed(m);
  auto* a = model.mutable_graph()->mutable_node(0)->add_attribute();
  a->set_name("shape");
  a->set_type(onnx::AttributeProto::INTS);
  for (int64_t d : {2, 0, 3}) a->add_ints(d);
  auto y = results(read(model), {});
  EXPECT_EQ(y[0].dtype(), DType::kF16);
  EXPECT_EQ(y[0].shape(), (Shape{2, 0, 3}));
  a->set_ints(1, -1);
  EXPECT_THAT(error_reading(model), HasSubstr("negative dimension"));
  a->set_ints(1, 1);
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(7);
  EXPECT_THAT(error_reading(model), HasSubstr("cannot draw int64"));
}

}  // namespace
}  // namespace wick::test
