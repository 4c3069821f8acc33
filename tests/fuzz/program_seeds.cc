#include "tests/fuzz/program_seeds.h"

#include <fstream>
#include <iterator>

#include "tests/fuzz/op_case.h"
#include "tests/program/attack_wick.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/sequence_programs.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/state_programs.h"
#include "tests/runtime/string_programs.h"
#include "tests/support/where.h"

namespace wick::fuzz {
namespace {

// Two carried values that change places in a Loop within an If.
std::vector<uint8_t> nested() {
  test::ProgramBuilder p;
  const auto f32 = [&](const char* name) { return p.value(name, DType::kF32, {2}); };
  auto go = p.value("go", DType::kBool, {}), trips = p.value("trips", DType::kI64, {});
  auto x = f32("x"), y = f32("y"), x1 = f32("x1"), y1 = f32("y1");
  auto t1 = p.value("t1", DType::kI64, {}), g1 = p.value("g1", DType::kBool, {});
  auto i = p.value("i", DType::kI64, {}), c = p.value("c", DType::kBool, {});
  auto a = f32("a"), b = f32("b"), sum = f32("sum"), s = f32("s"), t = f32("t");
  auto x2 = f32("x2"), y2 = f32("y2"), t2 = p.value("t2", DType::kI64, {}),
       g2 = p.value("g2", DType::kBool, {}), product = f32("product"), made = f32("made");
  p.node(OpId::kAdd, {a, b}, {sum}, NoAttrs{}, "sum");
  p.region({i, c, a, b}, {c, b, sum}, false);
  p.control(OpId::kLoop, {t1, g1, x1, y1}, {s, t}, 1, LoopAttrs{2}, "loop");
  p.region({t1, g1, x1, y1}, {t}, false);
  p.node(OpId::kMul, {x2, y2}, {product}, NoAttrs{}, "product");
  p.region({t2, g2, x2, y2}, {product}, false);
  p.control(OpId::kIf, {go, trips, go, x, y}, {made}, 2, NoAttrs{}, "if");
  p.entry("main", {go, trips, x, y}, {made});
  return p.finish(kFeatureRegions);
}

// The file of the first version.
std::vector<uint8_t> golden() {
  std::ifstream f(source_dir("/tests/program/golden/v1.wick"), std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

const std::vector<ProgramText>& whole() {
  static const std::vector<ProgramText> all = [] {
    std::vector<ProgramText> list;
    for (const auto& file :
         {test::mlp(), test::small_cnn(), test::growing_loop(), test::branches(), test::greeting(),
          test::telling_loop(), test::walk(), test::grow(), test::maybe(), nested(),
          test::every_feature(), golden(), test::rows_program(), test::rows_program(true)})
      list.emplace_back(file);
    return list;
  }();
  return all;
}

// One op's sample, its inputs the caller's or constants.
ProgramText one_op(Dice& dice) {
  for (;;) {
    OpCase c = draw_seed(dice);
    if (c.op->role == OpRole::kTrain) continue;
    if (dice.one_in(3)) mutate(c, dice);
    declare(c, dice, {});
    return ProgramText(build(c));
  }
}

}  // namespace

ProgramText draw_program(Dice& dice) {
  if (dice.one_in(2)) {
    ProgramText p(dice.of(whole()).file());
    if (dice.one_in(4)) append(p, dice.one_in(2) ? dice.of(whole()) : one_op(dice));
    return p;
  }
  ProgramText p = one_op(dice);
  for (int k = dice.below(4); k >= 0; --k) append(p, one_op(dice));
  return p;
}

}  // namespace wick::fuzz
