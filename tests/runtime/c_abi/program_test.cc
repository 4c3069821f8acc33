// wick/c/program.h: what a program says of itself, in C as in C++.
#include <gmock/gmock.h>

#include "tests/runtime/c_abi/opened.h"
#include "wick/c/program.h"

namespace wick {
namespace {

using test::CProgram;
using test::kSym;
using test::ProgramBuilder;
using ::testing::HasSubstr;

// A packed form, a quantized input, a state, a custom op, and two entry points.
std::vector<uint8_t> everything() {
  ProgramBuilder p;
  p.symbol("batch", 2, 9);
  p.symbol("time");
  p.custom_op("my", "Halve", 3);
  const uint32_t packed = p.constant_only<float>("w", {2}, {1, 2}, 77);
  const uint32_t start = p.constant_only<float>("start", {2}, {5, 6});
  p.state("memory", DType::kF32, {2}, start);
  auto quant = fbs::CreateQuantization(p.fb(), p.fb().CreateVector(std::vector<float>{0.5f, 2}),
                                       p.fb().CreateVector(std::vector<int64_t>{3, 4}), 1);
  auto q = p.value("q", DType::kU8, {kSym, 2}, kNoIndex, kNoIndex, quant);
  auto h = p.value("h", DType::kU8, {kSym, 2});
  auto w = p.value("w", DType::kF32, {2}, packed);
  auto m = p.value("m", DType::kF32, {2}, kNoIndex, 0);
  auto s = p.value("s", DType::kF32, {2});
  p.node_raw(kFirstCustomOp, {q, kNoIndex}, {h}, {}, "half");
  p.node(OpId::kAdd, {w, m}, {s}, NoAttrs{}, "sum");
  p.entry("main", {q}, {h, s});
  auto x = p.value("x", DType::kF32, {kSym - 1});
  auto y = p.value("y", DType::kF32, {kSym - 1});
  p.node(OpId::kRelu, {x}, {y});
  p.region({x}, {y});
  p.end_entry("other", true);
  p.metadata("author", "me");
  p.metadata("task", "none");
  return p.finish(kFeatureCustomOps | kFeatureState | kFeatureGrowing);
}

TEST(CProgramTest, SymbolsMetadataAndOrigin) {
  CProgram p(everything());
  ASSERT_EQ(wick_program_symbol_count(p.program), 2u);
  wick_symbol symbol = WICK_INIT(wick_symbol);
  ASSERT_EQ(wick_program_symbol(p.program, 0, &symbol), WICK_OK);
  EXPECT_STREQ(symbol.name, "batch");
  EXPECT_EQ(symbol.min, 2);
  EXPECT_EQ(symbol.max, 9);
  ASSERT_EQ(wick_program_symbol(p.program, 1, &symbol), WICK_OK);
  EXPECT_EQ(symbol.max, INT64_MAX);
  EXPECT_EQ(wick_program_symbol(p.program, 2, &symbol), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "there is no symbol 2 of 2");

  ASSERT_EQ(wick_program_metadata_count(p.program), 2u);
  const char *key = nullptr, *value = nullptr;
  ASSERT_EQ(wick_program_metadata_entry(p.program, 1, &key, &value), WICK_OK);
  EXPECT_STREQ(key, "task");
  EXPECT_STREQ(value, "none");

  wick_provenance from = WICK_INIT(wick_provenance);
  ASSERT_EQ(wick_program_provenance(p.program, &from), WICK_OK);
  EXPECT_STREQ(from.wick_version, "0.1.0");
  EXPECT_STREQ(from.source, "test");
  EXPECT_EQ(from.seed, 7u);
  EXPECT_EQ(from.numerics, WICK_NUMERICS_EXACT);
  EXPECT_NE(from.weights_sha256, nullptr);

  const auto l = test::load(everything());
  wick_program_facts facts = WICK_INIT(wick_program_facts);
  ASSERT_EQ(wick_program_get_facts(p.program, &facts), WICK_OK);
  EXPECT_EQ(facts.file_bytes, l.program->file_bytes());
  EXPECT_EQ(facts.weight_bytes, l.program->weight_bytes());
  EXPECT_EQ(facts.features, l.program->features());
  EXPECT_EQ(facts.edition, 2);
  EXPECT_EQ(wick_program_intact(p.program), WICK_OK);
}

TEST(CProgramTest, ConstantsStatesAndCustomOps) {
  CProgram p(everything());
  ASSERT_EQ(wick_program_constant_count(p.program), 2u);
  wick_constant constant = WICK_INIT(wick_constant);
  ASSERT_EQ(wick_program_constant(p.program, 0, &constant), WICK_OK);
  EXPECT_STREQ(constant.name, "w");
  EXPECT_EQ(constant.tensor.dtype, WICK_FLOAT32);
  EXPECT_EQ(constant.tensor.dims[0], 2);
  EXPECT_EQ(static_cast<const float*>(constant.tensor.data)[1], 2);
  ASSERT_EQ(constant.packed_count, 1u);
  wick_packed_form form = WICK_INIT(wick_packed_form);
  ASSERT_EQ(wick_program_packed_form(p.program, 0, 0, &form), WICK_OK);
  EXPECT_EQ(form.layout, 77u);
  EXPECT_EQ(form.bytes, 8u);
  EXPECT_EQ(static_cast<const float*>(form.data)[0], 1);
  EXPECT_EQ(wick_program_packed_form(p.program, 0, 1, &form), WICK_INVALID_ARGUMENT);
  EXPECT_EQ(wick_program_packed_form(p.program, 9, 0, &form), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "there is no constant 9");

  ASSERT_EQ(wick_program_state_count(p.program), 1u);
  wick_state_buffer state = WICK_INIT(wick_state_buffer);
  ASSERT_EQ(wick_program_state(p.program, 0, &state), WICK_OK);
  EXPECT_STREQ(state.name, "memory");
  EXPECT_EQ(state.tensor.dims[0], 2);
  EXPECT_EQ(state.init, 1);

  ASSERT_EQ(wick_program_custom_op_count(p.program), 1u);
  wick_custom_op op = WICK_INIT(wick_custom_op);
  ASSERT_EQ(wick_program_custom_op(p.program, 0, &op), WICK_OK);
  EXPECT_STREQ(op.domain, "my");
  EXPECT_STREQ(op.name, "Halve");
  EXPECT_EQ(op.version, 3u);
  EXPECT_EQ(op.given, 0);
}

TEST(CProgramTest, ValuesAndNodes) {
  CProgram p(everything());
  EXPECT_EQ(wick_program_find_entry(p.program, "other"), 1);
  EXPECT_EQ(wick_program_find_entry(p.program, "nothing"), -1);
  EXPECT_EQ(wick_program_growing(p.program, 0), 0);
  EXPECT_EQ(wick_program_growing(p.program, 1), 1);
  EXPECT_EQ(wick_program_value_count(p.program, 0), 5u);
  EXPECT_EQ(wick_program_value_count(p.program, 2), 0u);
  wick_value value = WICK_INIT(wick_value);
  ASSERT_EQ(wick_program_value(p.program, 0, 0, &value), WICK_OK);
  EXPECT_STREQ(value.port.name, "q");
  EXPECT_EQ(value.port.dims[0], -1);
  EXPECT_STREQ(value.port.symbols[0], "batch");
  EXPECT_EQ(value.quant_axis, 1);
  ASSERT_EQ(value.scale_count, 2u);
  EXPECT_EQ(value.scales[1], 2);
  EXPECT_EQ(value.zero_points[0], 3);
  EXPECT_EQ(value.constant, -1);
  ASSERT_EQ(wick_program_value(p.program, 0, 2, &value), WICK_OK);
  EXPECT_EQ(value.constant, 0);
  EXPECT_EQ(value.scales, nullptr);
  ASSERT_EQ(wick_program_value(p.program, 0, 3, &value), WICK_OK);
  EXPECT_EQ(value.state, 0);

  EXPECT_EQ(wick_program_region_count(p.program, 0), 1u);
  ASSERT_EQ(wick_program_node_count(p.program, 0, 0), 2u);
  wick_node node = WICK_INIT(wick_node);
  ASSERT_EQ(wick_program_node(p.program, 0, 0, 0, &node), WICK_OK);
  EXPECT_STREQ(node.op, "Halve");
  EXPECT_STREQ(node.name, "half");
  ASSERT_EQ(node.input_count, 2u);
  EXPECT_EQ(node.inputs[1], UINT32_MAX);
  ASSERT_EQ(wick_program_node(p.program, 0, 0, 1, &node), WICK_OK);
  EXPECT_STREQ(node.op, "Add");
  EXPECT_EQ(node.outputs[0], 4u);
  EXPECT_EQ(wick_program_node(p.program, 0, 1, 0, &node), WICK_INVALID_ARGUMENT);
  EXPECT_EQ(wick_program_node(p.program, 7, 0, 0, &node), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "there is no entry point 7");
}

// A caller of an older header has a shorter struct: what lies behind it stays.
TEST(CProgramTest, OlderStructsAreFilledAsFarAsTheyGo) {
  CProgram p(everything());
  wick_symbol symbol = WICK_INIT(wick_symbol);
  symbol.size = offsetof(wick_symbol, max);
  symbol.max = -5;
  ASSERT_EQ(wick_program_symbol(p.program, 0, &symbol), WICK_OK);
  EXPECT_EQ(symbol.size, offsetof(wick_symbol, max));
  EXPECT_EQ(symbol.min, 2);
  EXPECT_EQ(symbol.max, -5);
  symbol.size = 0;
  EXPECT_EQ(wick_program_symbol(p.program, 0, &symbol), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("symbol.size is 0: set it to sizeof the struct"));
}

// The log may call Wick, and fail there: both texts of the first failure stay.
TEST(CProgramTest, ALogThatFailsItself) {
  struct Seen {
    std::string before, after;
  } seen;
  wick_load_options options = WICK_INIT(wick_load_options);
  options.log_user = &seen;
  options.log = [](void* user, int, const char* message) {
    static_cast<Seen*>(user)->before = message;
    wick_program* none = nullptr;
    EXPECT_EQ(wick_program_load("other.wick", nullptr, &none), WICK_NOT_FOUND);
    static_cast<Seen*>(user)->after = message;
  };
  wick_program* program = nullptr;
  EXPECT_EQ(wick_program_load("first.wick", &options, &program), WICK_NOT_FOUND);
  EXPECT_THAT(seen.before, HasSubstr("first.wick"));
  EXPECT_EQ(seen.after, seen.before);
  EXPECT_EQ(wick_last_error(), seen.before);
}

TEST(CProgramTest, TheBudgetOfVisits) {
  const auto file = everything();
  const auto bytes = test::aligned_copy(file);
  wick_load_options options = WICK_INIT(wick_load_options);
  options.max_visits = 10;
  wick_program* program = nullptr;
  EXPECT_EQ(wick_program_load_memory(bytes.get(), file.size(), &options, &program),
            WICK_BUDGET_EXCEEDED);
  EXPECT_THAT(wick_last_error(), HasSubstr("more than the 10 visits"));
  options.max_visits = 1 << 20;
  EXPECT_EQ(wick_program_load_memory(bytes.get(), file.size(), &options, &program), WICK_OK)
      << wick_last_error();
  wick_program_free(program);
}

}  // namespace
}  // namespace wick
