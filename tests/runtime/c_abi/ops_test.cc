// wick/c/ops.h: ops of C callbacks, good ones and wrong ones.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <numeric>

#include "tests/runtime/c_abi/opened.h"
#include "tests/support/output_of.h"
#include "tests/support/temp_folder.h"
#include "wick/c/ops.h"

namespace wick {
namespace {

using test::CSession;
using test::ProgramBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct AffineAttrs {
  double scale = 2;
  IntList<4> shifts;
};

}  // namespace
WICK_ATTR_FIELDS(AffineAttrs, WICK_FIELD(AffineAttrs, 1, scale),
                 WICK_FIELD(AffineAttrs, 2, shifts));
namespace {

// y = Affine(x), with shifts of the file and the scale that the op has by itself.
std::vector<uint8_t> affine() {
  ProgramBuilder p;
  p.custom_op("example", "Affine");
  auto x = p.value("x", DType::kF32, {5});
  auto y = p.value("y", DType::kF32, {5});
  AffineAttrs attrs;
  attrs.shifts = {100, 20};
  p.node_of(static_cast<OpId>(kFirstCustomOp), AttrFields<AffineAttrs>::kType, &attrs, {x}, {y},
            "affine");
  p.entry("main", {x}, {y});
  return p.finish(kFeatureCustomOps);
}

TEST(COps, ACProgramHasAnOpOfItsOwn) {
  const std::string path = test::temp_folder() + "wick_c_op.wick";
  const auto file = affine();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  EXPECT_EQ(test::output_of(std::string(WICK_C_OP) + " '" + path + "'"),
            "example::Affine\n"
            "given: 1\n"
            "122 124 126 128 130\n"
            "invalid argument: node affine (example::Affine): x begins with a negative number\n"
            "122\n");
}

// x[n] -> [n, 2], with scratch of its own: each element and its square.
struct Squares {
  std::atomic<int> plans{0}, shapes{0}, runs{0};
};
int squares_shape(wick_op_call* c) {
  ++static_cast<Squares*>(c->user)->shapes;
  EXPECT_EQ(c->in[0].data, nullptr);
  c->out[0] = {nullptr, WICK_FLOAT32, 2, {c->in[0].dims[0], 2}};
  return WICK_OK;
}
int squares_plan(wick_op_call* c) {
  ++static_cast<Squares*>(c->user)->plans;
  c->scratch_bytes = static_cast<size_t>(c->elements) * sizeof(float);
  return WICK_OK;
}
int squares_run(wick_op_call* c) {
  ++static_cast<Squares*>(c->user)->runs;
  EXPECT_EQ(c->scratch_bytes, 3 * sizeof(float));
  auto* scratch = static_cast<float*>(c->scratch);
  const auto* x = static_cast<const float*>(c->in[0].data);
  for (int64_t i = 0; i < c->elements; ++i) scratch[i] = x[i] * x[i];
  auto* y = static_cast<float*>(c->out[0].data);
  for (int64_t i = 0; i < c->elements; ++i) {
    y[2 * i] = x[i];
    y[2 * i + 1] = scratch[i];
  }
  return WICK_OK;
}

class CallbackOps : public ::testing::Test {
 protected:
  void SetUp() override {
    def_.user = &squares_;
    def_.domain = "my";
    def_.name = "Squares";
    def_.version = 2;
    def_.shape = squares_shape;
    def_.plan = squares_plan;
    def_.run = squares_run;
  }
  void TearDown() override { wick_ops_free(ops_); }
  int create() {
    const wick_op_def* defs[] = {&def_};
    return wick_ops_create(defs, 1, &ops_);
  }
  static std::vector<uint8_t> program() {
    ProgramBuilder p;
    p.custom_op("my", "Squares", 2);
    auto x = p.value("x", DType::kF32, {3});
    auto y = p.value("y", DType::kF32, {3, 2});
    p.node_raw(kFirstCustomOp, {x}, {y}, {}, "squares");
    p.entry("main", {x}, {y});
    return p.finish(kFeatureCustomOps);
  }
  // Runs the program; returns the code.
  int run() {
    wick_load_options load = WICK_INIT(wick_load_options);
    load.ops = &ops_;
    load.ops_count = 1;
    CSession s(program(), nullptr, &load);
    if (s.session == nullptr) return WICK_INTERNAL;
    float x[3] = {1, 2, 3};
    wick_tensor in = {x, WICK_FLOAT32, 1, {3}}, out = {y_, WICK_FLOAT32, 2, {3, 2}};
    return wick_session_run(s.session, &in, 1, &out, 1, nullptr);
  }
  // wick_ops_create() refuses the op, for this reason.
  void refused(const char* why) {
    EXPECT_EQ(create(), WICK_INVALID_ARGUMENT) << why;
    EXPECT_THAT(wick_last_error(), HasSubstr(why));
    EXPECT_EQ(ops_, nullptr);
  }
  Squares squares_;
  wick_op_def def_ = WICK_INIT(wick_op_def);
  wick_ops* ops_ = nullptr;
  float y_[6] = {};
};

TEST_F(CallbackOps, ShapesPlansAndRuns) {
  ASSERT_EQ(create(), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_ops_count(ops_), 1u);
  EXPECT_STREQ(wick_ops_name(ops_, 0), "my::Squares");
  ASSERT_EQ(run(), WICK_OK) << wick_last_error();
  EXPECT_THAT(y_, ElementsAre(1, 1, 2, 4, 3, 9));
  EXPECT_GE(squares_.shapes, 1);
  EXPECT_GE(squares_.plans, 1);
  EXPECT_EQ(squares_.runs, 1);
}

TEST_F(CallbackOps, ErrorsOfCallbacksNameTheNode) {
  def_.run = [](wick_op_call*) { return static_cast<int>(WICK_DEVICE); };
  ASSERT_EQ(create(), WICK_OK);
  EXPECT_EQ(run(), WICK_DEVICE);
  EXPECT_STREQ(wick_last_error(), "node squares (my::Squares): device error");
  wick_ops_free(ops_);
  ops_ = nullptr;
  def_.run = [](wick_op_call*) { return 1234; };
  ASSERT_EQ(create(), WICK_OK);
  EXPECT_EQ(run(), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("its run callback returns 1234, which is no wick_code"));
  EXPECT_THAT(y_, ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST_F(CallbackOps, ShapesOutOfRangeAreErrors) {
  struct Case {
    int32_t dtype, rank;
    const char* why;
  };
  static Case now;
  def_.shape = [](wick_op_call* c) {
    c->out[0].dtype = now.dtype;
    c->out[0].rank = now.rank;
    for (int64_t& d : c->out[0].dims) d = 1;
    return static_cast<int>(WICK_OK);
  };
  ASSERT_EQ(create(), WICK_OK);
  for (const Case& c : {Case{300, 1, "rank 1 and dtype 300: out of range"},
                        Case{1, 9, "rank 9 and dtype 1: out of range"},
                        Case{1, -1, "rank -1 and dtype 1: out of range"},
                        Case{22, 1, "leaves output 0 without a dtype"}}) {
    now = c;
    wick_load_options load = WICK_INIT(wick_load_options);
    load.ops = &ops_;
    load.ops_count = 1;
    test::CProgram p(program(), &load);
    wick_session* session = nullptr;
    EXPECT_EQ(wick_session_create(p.program, nullptr, &session), WICK_INVALID_ARGUMENT);
    EXPECT_THAT(wick_last_error(), HasSubstr(c.why));
    EXPECT_EQ(session, nullptr);
  }
}

TEST_F(CallbackOps, WhatTakesRefusesHasNoKernel) {
  def_.takes = [](wick_op_call* c) {
    c->why = "x is a list, and has to be a matrix";
    return static_cast<int>(WICK_TYPE_MISMATCH);
  };
  ASSERT_EQ(create(), WICK_OK);
  wick_load_options load = WICK_INIT(wick_load_options);
  load.ops = &ops_;
  load.ops_count = 1;
  test::CProgram p(program(), &load);
  wick_session* session = nullptr;
  EXPECT_EQ(wick_session_create(p.program, nullptr, &session), WICK_UNSUPPORTED);
  EXPECT_STREQ(
      wick_last_error(),
      "1 steps have no kernel: my::Squares of float32 (node squares): x is a list, and has "
      "to be a matrix");
}

TEST_F(CallbackOps, MalformedDefinitions) {
  const wick_op_def good = def_;
  def_.run = nullptr;
  refused("my::Squares: run is null");
  def_ = good;
  def_.name = "not a name";
  refused("is named \"not a name\"");
  def_.name = nullptr;
  refused("a custom op of my is named \"\"");
  def_ = good;
  def_.domain = nullptr;
  refused("a custom op's domain is \"\"");
  def_ = good;
  def_.max_inputs = 256 + 1;  // would be 1 in the narrower field
  refused("takes 0 to 257 inputs");
  def_ = good;
  def_.outputs = 9;
  refused("has 9 outputs");
  def_ = good;
  def_.attrs_size = 16;
  refused("init is null");
  def_.init = [](void*) {};
  const wick_attr_field beyond = {"a", 1, WICK_ATTR_FLOAT, 16, 0};
  def_.fields = &beyond;
  def_.field_count = 1;
  refused("does not lie within its struct");
  // The number of a list that another field writes would be believed.
  wick_attr_field two[] = {{"a", 1, WICK_ATTR_INT, 8, 0}, {"b", 2, WICK_ATTR_INTS, 0, 1}};
  def_.fields = two;
  def_.field_count = 2;
  refused("attributes a and b have one place in the struct");
  two[1] = {"a", 2, WICK_ATTR_INT, 0, 0};
  refused("attributes a and a have one name");
  two[1] = {"b", 1, WICK_ATTR_INT, 0, 0};
  refused("attributes a and b have one id");
  def_.field_count = 1;
  const wick_attr_field strange = {"a", 1, 256 + 1, 0, 0};
  def_.fields = &strange;
  refused("attribute field 0 is of kind 257");
  def_.fields = nullptr;
  refused("fields is null");
  def_.field_count = SIZE_MAX;
  refused("at most 544 and 64 are possible");
  def_ = good;
  def_.size = 3;
  refused("op 0: def.size is 3");
  def_ = good;
  const wick_op_def* twice[] = {&def_, &def_};
  EXPECT_EQ(wick_ops_create(twice, 2, &ops_), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "two custom ops are named my::Squares: which one is meant?");
  EXPECT_EQ(wick_ops_create(twice, 0, &ops_), WICK_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wick
