// Attributes that stand for nothing are refused when a file is read: code that looks at a program
// without running it (tools, devices, C code) never meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "runtime/ops/chain.h"
#include "runtime/program/program.h"
#include "tests/program/program_builder.h"

namespace wick {
namespace {

using test::aligned_copy;
using test::ProgramBuilder;
using ::testing::HasSubstr;

// "" when a program of this one node loads.
std::string load_error(const OpInfo& op, const void* attrs, size_t inputs) {
  ProgramBuilder p;
  std::vector<uint32_t> in, out;
  for (size_t i = 0; i < inputs; ++i)
    in.push_back(p.value(("x" + std::to_string(i)).c_str(), DType::kF32, {2, 3}));
  const int outputs = op.outputs == 255 ? 1 : op.outputs;
  for (int i = 0; i < outputs; ++i)
    out.push_back(
        p.value(("y" + std::to_string(i)).c_str(), DType::kF32, {}, kNoIndex, kNoIndex, 0, true));
  p.node_of(op.id, *op.attrs, attrs, in, out, "node");
  p.entry("main", in, out);
  const std::vector<uint8_t> file = p.finish(0);
  auto bytes = aligned_copy({file.data(), file.size()});
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  if (program.ok()) return "";
  EXPECT_EQ(program.status().code(), Code::kInvalidProgram) << program.status().message();
  return program.status().message();
}
size_t fewest(const OpInfo& op) { return op.min_inputs > 0 ? op.min_inputs : size_t{1}; }

AnyAttrs defaults(const OpInfo& op) {
  AnyAttrs a;
  op.attrs->init(a.get());
  if (op.id == OpId::kFusedElementwise) a.as<ChainAttrs>().steps = {chain_word(OpId::kRelu, 0)};
  return a;
}

// Fields by what they are called wherever they are: a new op with one of these is covered, or
// fails.
const std::set<std::string> kKinds = {"activation",
                                      "update_rule",
                                      "steps",
                                      "mode",
                                      "coordinates",
                                      "nearest_mode",
                                      "padding",
                                      "reduction",
                                      "direction",
                                      "layout",
                                      "kind",
                                      "round_mode",
                                      "storage_order",
                                      "auto_pad",
                                      "to",
                                      "dtype",
                                      "precision",
                                      "output_dtype",
                                      "case_change_action",
                                      "keep_aspect_ratio_policy",
                                      "products"};

TEST(Attributes, NumbersThatStandForNothingAreRefused) {
  int tried = 0;
  for (const OpInfo& op : all_ops()) {
    if (op.role != OpRole::kInfer) continue;
    const AnyAttrs plain = defaults(op);
    EXPECT_EQ(load_error(op, plain.get(), fewest(op)), "") << op.name;
    for (const AttrField& f : op.attrs->fields) {
      const std::string name = f.name;
      if (kKinds.count(name.substr(name.rfind('.') + 1)) == 0 || f.kind == AttrKind::kFloat)
        continue;
      if (op.id == OpId::kSlice || op.id == OpId::kSliceScatter) continue;  // its steps are numbers
      for (int64_t v : {int64_t{-1}, int64_t{97}, int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
        AnyAttrs a = plain;
        if (f.kind == AttrKind::kInt) attr_int(f, a.get()) = v;
        if (f.kind == AttrKind::kInts) set_attr_ints(f, a.get(), {&v, 1});
        EXPECT_NE(load_error(op, a.get(), fewest(op)), "") << op.name << " " << f.name << " " << v;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 150);
}

TEST(Attributes, StepsOfAChainAreSound) {
  const OpInfo& op = *find_op(OpId::kFusedElementwise);
  const auto error_of = [&](std::initializer_list<int64_t> steps, int64_t constants = 0,
                            size_t inputs = 1) {
    ChainAttrs a;
    a.steps = steps;
    a.constants.count = constants;
    return load_error(op, AnyAttrs::of(a).get(), inputs);
  };
  EXPECT_EQ(error_of({chain_word(OpId::kRelu, 0)}), "");
  EXPECT_EQ(error_of({chain_word(OpId::kAdd, 0, kChainFirstConstant)}, 1), "");
  // no op at all, one that is no step, a bit beyond a word
  for (int64_t word : {int64_t{0x7FFF}, int64_t{0}, chain_word(OpId::kConv, 0), INT64_MIN,
                       chain_word(OpId::kRelu, 0) | int64_t{1} << 41})
    EXPECT_THAT(error_of({word}),
                HasSubstr("(node, FusedElementwise): step 0 of a chain is no op"));
  // constants, inputs and steps that are not there
  for (int operand : {kChainFirstConstant + 1, 120, 127, 1, 63, kChainFirstStep, 255})
    EXPECT_THAT(error_of({chain_word(OpId::kAdd, 0, operand)}, 1), HasSubstr("is not there"));
  EXPECT_THAT(error_of({chain_word(OpId::kClip, 0, 0, 0)}), HasSubstr("is no constant"));
  EXPECT_THAT(error_of({}), HasSubstr("1 to 48 steps"));
  EXPECT_THAT(error_of({chain_word(OpId::kRelu, 0)}, 0, 2), HasSubstr("reads input 1"));
}

}  // namespace
}  // namespace wick
