// The work that a session does with constants before a run: it is small, whatever the file asks
// for. The rest is left to the run, which has a deadline. SIGALRM ends the process if that fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/runtime/programs.h"

namespace wick {
namespace {

using test::load;
using test::open;
using test::ProgramBuilder;

struct Hurry {
  Hurry() { alarm(60); }
  ~Hurry() { alarm(0); }
};

// `nodes` times RoiAlign of constants, `height` bins of 2^20 samples on the image each.
std::vector<uint8_t> regions(int nodes, int64_t height) {
  ProgramBuilder p;
  auto x = p.constant<float>("x", {1, 1, 2, 2}, {1, 2, 3, 4});
  auto rois = p.constant<float>("rois", {1, 4}, {0, 0, 1, 1});
  auto which = p.constant<int64_t>("which", {1}, {0});
  auto y = p.value("y", DType::kF32, {1, 1, height, 1});
  RoiAlignAttrs a;
  a.output_height = height;
  a.sampling_ratio = 1024;
  for (int k = 0; k < nodes; ++k) {
    auto made = k + 1 == nodes
                    ? y
                    : p.value(("v" + std::to_string(k)).c_str(), DType::kF32, {1, 1, height, 1});
    p.node(OpId::kRoiAlign, {x, rois, which}, {made}, a);
  }
  p.entry("main", {}, {y});
  return p.finish();
}

TEST(WorkAhead, OfOneNodeIsBounded) {
  Hurry hurry;
  auto l = load(regions(1, 10000));
  EXPECT_TRUE(open(*l.program));
}

TEST(WorkAhead, OfAllNodesIsBounded) {
  Hurry hurry;
  auto l = load(regions(3000, 4));
  EXPECT_TRUE(open(*l.program));
}

// Sizes that hang on what was left to the run are found there.
TEST(WorkAhead, WhatIsLeftIsDoneByTheRun) {
  for (int64_t height : {1, 30}) {  // done ahead, and not
    ProgramBuilder p;
    auto x = p.constant<float>("x", {1, 1, 2, 2}, {2, 2, 2, 2});
    auto rois = p.constant<float>("rois", {1, 4}, {0.5, 0.5, 0.5, 0.5});
    auto which = p.constant<int64_t>("which", {1}, {0});
    auto line = p.constant<int64_t>("line", {1}, {-1});
    auto begin = p.constant<int64_t>("begin", {1}, {0});
    auto end = p.constant<int64_t>("end", {1}, {1});
    auto in = p.value("in", DType::kF32, {6});
    auto pooled = p.value("pooled", DType::kF32, {1, 1, height, 1});
    auto flat = p.value("flat", DType::kF32, {height});
    auto one = p.value("one", DType::kF32, {1});
    auto whole = p.value("whole", DType::kI64, {1});
    auto shape = p.value("shape", DType::kI64, {2});
    auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
    RoiAlignAttrs a;
    a.output_height = height;
    a.sampling_ratio = 1024;
    p.node(OpId::kRoiAlign, {x, rois, which}, {pooled}, a);
    p.node(OpId::kReshape, {pooled, line}, {flat}, ReshapeAttrs{});
    p.node(OpId::kSlice, {flat, begin, end}, {one}, SliceAttrs{});
    p.node(OpId::kCast, {one}, {whole}, CastAttrs{static_cast<int64_t>(DType::kI64)});
    p.node(OpId::kConcat, {whole, line}, {shape}, AxisAttrs{0});
    p.node(OpId::kReshape, {in, shape}, {y}, ReshapeAttrs{});
    p.entry("main", {in}, {y});
    auto l = load(p.finish());
    auto session = open(*l.program);
    ASSERT_TRUE(session);
    float values[6] = {1, 2, 3, 4, 5, 6};
    TensorView given[] = {TensorView(values, DType::kF32, {6})}, out[1];
    const Status s = session->run(given, out);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(out[0].shape, (Shape{2, 3})) << height;
  }
}

}  // namespace
}  // namespace wick
