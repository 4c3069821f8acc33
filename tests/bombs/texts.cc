#include "tests/bombs/bomb.h"
#include "tests/program/program_builder.h"

namespace wick::bombs {

std::string branches_text(int sizes, int branches) {
  std::string text = "graph \"g\"\n";
  for (int k = 0; k < sizes; ++k) text += "dim s" + std::to_string(k) + " 0 9\n";
  text += "input %0 \"go\" bool []\n";
  const std::string region = "\n{\nconst %0 \"\" float32 [] = 0000803f\noutput \"r\" %0\n}";
  for (int k = 1; k <= branches; ++k) {
    const std::string id = std::to_string(k);
    text += "%" + id + " \"\" float32 [] = If(%0) {} \"\" module \"\" at \"\":0";
    text += region + region + "\noutput \"y" + id + "\" %" + id + "\n";
  }
  return text;
}

std::vector<Bomb> text_bombs() {
  std::vector<Bomb> all;
  all.push_back({"gigabyte_of_two_digits", "const %0 \"c\" float32 [268435456] = 00\n",
                 "the constant's bytes do not fit its shape"});
  all.push_back({"no_digits", "const %0 \"c\" float64 [1099511627776] = empty\n",
                 "the constant's bytes do not fit its shape"});
  all.push_back({"strings", "const %0 \"c\" string [1099511627776] = \"a\"\n",
                 "the constant's strings do not fit its shape"});
  all.push_back({"regions_times_sizes", branches_text(150, 35)});
  return all;
}

namespace {

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

std::vector<Bomb> wick_bombs() {
  using test::ProgramBuilder;
  std::vector<Bomb> all;
  const auto add = [&](const char* name, auto make) {
    ProgramBuilder p;
    make(p);
    all.push_back({name, text_of(p.finish())});
  };
  add("bind_roi_align", [](ProgramBuilder& p) {
    auto x = p.constant<float>("x", {1, 1, 2, 2}, {1, 2, 3, 4});
    auto r = p.constant<float>("r", {1, 4}, {0, 0, 1, 1});
    auto w = p.constant<int64_t>("w", {1}, {0});
    auto y = p.value("y", DType::kF32, {1, 1, 16, 16});
    RoiAlignAttrs a;
    a.output_height = a.output_width = 16;
    a.sampling_ratio = 1 << 14;
    p.node(OpId::kRoiAlign, {x, r, w}, {y}, a);
    p.entry("main", {}, {y});
  });
  add("bind_many_of_them", [](ProgramBuilder& p) {
    auto x = p.constant<float>("x", {1, 1, 2, 2}, {1, 2, 3, 4});
    auto r = p.constant<float>("r", {1, 4}, {0, 0, 1, 1});
    auto w = p.constant<int64_t>("w", {1}, {0});
    RoiAlignAttrs a;
    a.sampling_ratio = 3000;
    std::vector<uint32_t> made;
    for (int k = 0; k < 30; ++k) {
      made.push_back(p.value(("y" + std::to_string(k)).c_str(), DType::kF32, {1, 1, 1, 1}));
      p.node(OpId::kRoiAlign, {x, r, w}, {made.back()}, a);
    }
    p.entry("main", {}, {made.back()});
  });
  add("bind_concat_doubles", [](ProgramBuilder& p) {
    auto x = p.constant<float>("x", {4}, {1, 2, 3, 4});
    for (int k = 0; k < 26; ++k) {
      auto y = p.value(("y" + std::to_string(k)).c_str(), DType::kF32, {int64_t{8} << k});
      p.node(OpId::kConcat, {x, x}, {y}, AxisAttrs{0});
      x = y;
    }
    p.entry("main", {}, {x});
  });
  add("bind_mat_mul_chain", [](ProgramBuilder& p) {
    auto n = p.constant<int64_t>("n", {2}, {96, 96});
    auto one = p.constant<float>("one", {}, {1});
    auto x = p.value("x", DType::kF32, {96, 96});
    p.node(OpId::kExpand, {one, n}, {x}, NoAttrs{});
    for (int k = 0; k < 60; ++k) {
      auto y = p.value(("y" + std::to_string(k)).c_str(), DType::kF32, {96, 96});
      p.node(OpId::kMatMul, {x, x}, {y}, NoAttrs{});
      x = y;
    }
    p.entry("main", {}, {x});
  });
  add("bind_expand_2_31", [](ProgramBuilder& p) {
    auto n = p.constant<int64_t>("n", {1}, {int64_t{1} << 31});
    auto one = p.constant<float>("one", {}, {1});
    auto x = p.value("x", DType::kF32, {int64_t{1} << 31});
    p.node(OpId::kExpand, {one, n}, {x}, NoAttrs{});
    p.entry("main", {}, {x});
  });
  return all;
}

}  // namespace wick::bombs
