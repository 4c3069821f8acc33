// Pooling with indices, Lp pooling, and the ops that go from windows back to an image. Their values
// are checked separately, by scattering: image_test.cc.
#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

struct Window {
  const char* name;
  Shape x;
  PoolAttrs attrs;
};
std::vector<Window> windows() {
  return {{"2x2", {2, 3, 6, 8}, {{2, 2}, {2, 2}, {}, {}, 0, 0}},
          {"3x3s2p1", {1, 4, 9, 7}, {{3, 3}, {2, 2}, {}, {1, 1, 1, 1}, 0, 0}},
          {"ceil", {1, 2, 6, 6}, {{3, 3}, {2, 2}, {}, {}, 1, 0}},
          {"dilated", {1, 1, 7, 7}, {{2, 2}, {1, 1}, {2, 2}, {1, 0, 0, 1}, 0, 0}},
          {"1d", {2, 2, 11}, {{3}, {2}, {}, {}, 0, 0}},
          {"3d", {1, 2, 3, 4, 5}, {{2, 2, 2}, {1, 1, 2}, {}, {}, 0, 0}},
          {"batch0", {0, 2, 6, 6}, {{2, 2}, {2, 2}, {}, {}, 0, 0}}};
}

std::vector<Sample> deform_samples() {
  std::vector<Sample> all;
  const auto at = [](Shape s) { return f32(s, -1.4, 1.4); };
  ConvAttrs plain;
  all.push_back(sample("DeformConv/2x2", {f32({1, 1, 3, 3}), f32({1, 1, 2, 2}), at({1, 8, 2, 2})},
                       DeformConvAttrs{plain, 1}));
  ConvAttrs wide;
  wide.strides = {2, 1}, wide.dilations = {1, 2}, wide.pads = {1, 1, 0, 1}, wide.group = 2;
  all.push_back(
      sample("DeformConv/groups",
             {f32({2, 4, 5, 6}), f32({6, 2, 2, 2}), at({2, 16, 3, 6}), f32({6}), f32({2, 8, 3, 6})},
             DeformConvAttrs{wide, 2}));
  all.push_back(sample("DeformConv/no_mask",
                       {f32({1, 2, 4, 4}), f32({3, 2, 3, 3}), at({1, 18, 2, 2}), f32({3})},
                       DeformConvAttrs{plain, 1}));
  all.push_back(sample("DeformConv/3d",
                       {f32({1, 2, 3, 3, 2}), f32({2, 2, 2, 2, 1}), at({1, 12, 2, 2, 2})},
                       DeformConvAttrs{plain, 1}));
  all.push_back(sample("DeformConv/batch0",
                       {f32({0, 1, 3, 3}), f32({1, 1, 2, 2}), at({0, 8, 2, 2})},
                       DeformConvAttrs{plain, 1}));
  return all;
}

}  // namespace

WICK_TEST_ROW(
    MaxPoolIndices,
    [] {
      std::vector<Sample> all;
      for (auto& w : windows()) {
        for (int64_t order : {0, 1})
          all.push_back(sample("MaxPoolIndices/" + std::string(w.name) + std::to_string(order),
                               {f32(w.x)}, MaxPoolIndicesAttrs{w.attrs, order}, 2));
      }
      Input special = f32({1, 1, 2, 6});
      special.values = {1, 1, -0.0, 0.0, NAN, 2, 1, 1, 0.0, -0.0, 3, NAN};
      all.push_back(sample("MaxPoolIndices/special", {special},
                           MaxPoolIndicesAttrs{{{2, 2}, {2, 2}, {}, {}, 0, 0}, 0}, 2));
      return all;
    },
    nullptr, 1);
WICK_TEST_ROW(
    LpPool,
    [] {
      std::vector<Sample> all;
      for (auto& w : windows()) {
        for (int64_t p : {1, 2, 3})
          all.push_back(sample("LpPool/" + std::string(w.name) + std::to_string(p), {f32(w.x)},
                               LpPoolAttrs{w.attrs, p}));
      }
      return all;
    },
    nullptr, 32);
WICK_TEST_ROW(
    ConvTranspose,
    [] {
      std::vector<Sample> all;
      const auto add = [&](const char* name, Shape x, Shape w, int64_t channels,
                           ConvTransposeAttrs a) {
        all.push_back(
            sample("ConvTranspose/" + std::string(name), {f32(x), f32(w), f32({channels})}, a));
      };
      ConvTransposeAttrs a;
      add("plain", {2, 3, 4, 5}, {3, 2, 3, 3}, 2, a);
      add("1d", {1, 2, 7}, {2, 3, 3}, 3, a);
      add("3d", {1, 2, 2, 3, 2}, {2, 1, 2, 3, 2}, 1, a);
      ConvTransposeAttrs wide;
      wide.conv.strides = {2, 3}, wide.conv.dilations = {3, 2}, wide.conv.pads = {1, 2, 0, 1};
      wide.conv.group = 2, wide.output_padding = {1, 2};
      add("wide", {2, 6, 3, 150}, {6, 2, 3, 5}, 4, wide);
      ConvTransposeAttrs deep;
      deep.conv.strides = {2, 1, 2}, deep.conv.dilations = {1, 2, 2},
      deep.conv.pads = {1, 0, 2, 0, 1, 1};
      add("3d_strided", {1, 3, 3, 4, 9}, {3, 2, 3, 2, 3}, 2, deep);
      ConvTransposeAttrs apart;  // outputs that no input reaches
      apart.conv.strides = {3, 4};
      add("apart", {1, 2, 3, 5}, {2, 2, 2, 2}, 2, apart);
      all.push_back(sample("ConvTranspose/no_bias", {f32({1, 2, 3, 3}), f32({2, 2, 2, 2})}, a));
      a.conv.strides = {3, 2}, a.conv.dilations = {2, 3}, a.conv.pads = {1, 2, 0, 1};
      a.conv.group = 2, a.output_padding = {1, 1};
      add("all", {2, 4, 4, 3}, {4, 3, 3, 2}, 6, a);
      a.output_shape = {11, 7};
      add("output_shape", {2, 4, 4, 3}, {4, 3, 3, 2}, 6, a);
      a.output_shape = {20, 20};
      add("larger", {1, 4, 4, 3}, {4, 3, 3, 2}, 6, a);
      // The register tiles: phases with several tiles, with margins and without, few channels,
      // small maps of several images, depth, a phase without taps.
      ConvTransposeAttrs half;
      half.conv.strides = {2, 2}, half.conv.pads = {1, 1, 1, 1};
      add("doubles", {3, 19, 9, 21}, {19, 11, 4, 4}, 11, half);
      add("doubles_wide", {1, 5, 4, 90}, {5, 37, 4, 4}, 37, half);
      add("doubles_small", {7, 33, 2, 3}, {33, 50, 4, 4}, 50, half);
      add("to_three", {2, 17, 8, 8}, {17, 3, 4, 4}, 3, half);
      half.conv.pads = {};
      add("by_its_stride", {2, 12, 6, 17}, {12, 9, 2, 2}, 9, half);
      add("sparse", {2, 12, 3, 5}, {12, 18, 1, 1}, 18, half);
      add("to_three_by_its_stride", {2, 12, 6, 17}, {12, 3, 2, 2}, 3, half);
      ConvTransposeAttrs patches;
      patches.conv.strides = {2, 3, 4}, patches.conv.group = 2;
      add("3d_patches", {2, 10, 2, 3, 5}, {10, 5, 2, 3, 4}, 10, patches);
      half.conv.group = 3, half.output_padding = {1, 0};
      add("groups", {2, 12, 4, 5}, {12, 7, 3, 3}, 21, half);
      half.conv.group = 12;
      add("depthwise", {2, 12, 4, 40}, {12, 1, 3, 4}, 12, half);
      ConvTransposeAttrs once;
      once.conv.pads = {1, 2, 1, 0}, once.conv.dilations = {2, 1};
      add("stride_1", {2, 9, 7, 20}, {9, 13, 3, 3}, 13, once);
      add("from_1x1", {5, 21, 1, 1}, {21, 40, 4, 4}, 40, {});
      all.push_back(sample("ConvTranspose/from_1x1_no_bias", {f32({2, 6, 1, 1}), f32({6, 5, 2, 3})},
                           ConvTransposeAttrs{}));
      ConvTransposeAttrs two;
      two.conv.group = 2, two.conv.strides = {3, 3};
      add("from_1x1_groups", {2, 6, 1, 1}, {6, 5, 2, 3}, 10, two);
      add("pixels", {5, 21, 1, 1}, {21, 40, 1, 1}, 40, {});
      ConvTransposeAttrs depth;
      depth.conv.strides = {2, 2, 2}, depth.conv.pads = {1, 1, 0, 1, 1, 0};
      add("3d_tiles", {2, 10, 3, 4, 5}, {10, 9, 3, 4, 2}, 9, depth);
      // A weight that no output multiplies is not seen: neither its infinity, nor a zero's sign.
      ConvTransposeAttrs cut;
      cut.conv.strides = {2, 1}, cut.conv.pads = {1, 1, 0, 1};
      Input x = f32({1, 4, 3, 3}), w = f32({4, 5, 3, 3});
      for (int i = 0; i < 36; ++i) x.values.push_back(i % 5 == 0 ? -0.0 : 0.25 * (i % 7 - 3));
      for (int i = 0; i < 180; ++i)
        w.values.push_back(i % 9 == 2 ? INFINITY : i % 45 == 17 ? NAN : 0.5 * (i % 11 - 5));
      all.push_back(sample("ConvTranspose/endless", {x, w}, cut));
      Input small = f32({1, 4, 3, 3}), faint = f32({4, 5, 3, 3});
      for (int i = 0; i < 36; ++i) small.values.push_back(i % 4 == 3 ? 0.0 : -1e-30);
      for (int i = 0; i < 180; ++i) faint.values.push_back(i % 2 == 0 ? 1e-30 : 2e-30);
      all.push_back(sample("ConvTranspose/vanishing", {small, faint}, cut));
      ConvTransposeAttrs same;
      same.conv.strides = {2, 2};
      same.auto_pad = 1;
      add("same_upper", {1, 1, 3, 3}, {1, 2, 3, 4}, 2, same);
      same.auto_pad = 2;
      add("same_lower", {1, 1, 3, 3}, {1, 2, 3, 4}, 2, same);
      add("batch0", {0, 1, 3, 3}, {1, 2, 3, 4}, 2, same);
      add("no_channels", {1, 0, 3, 3}, {0, 2, 3, 4}, 2, same);
      return all;
    },
    nullptr, 32);
WICK_TEST_ROW(
    Col2Im,
    [] {
      return std::vector<Sample>{
          sample("Col2Im/plain", {f32({1, 5, 5}), ints({5, 5}), ints({1, 5})}, Col2ImAttrs{}),
          sample("Col2Im/all", {f32({2, 12, 15}), ints({4, 10}), ints({2, 3})},
                 Col2ImAttrs{{2, 2}, {1, 2}, {1, 0, 1, 3}}),
          sample("Col2Im/3d", {f32({1, 16, 12}), ints({3, 4, 3}), ints({2, 2, 2})}, Col2ImAttrs{}),
          sample("Col2Im/1d", {f32({2, 3, 4}), ints({6}), ints({3})}, Col2ImAttrs{}),
          sample("Col2Im/batch0", {f32({0, 3, 4}), ints({6}), ints({3})}, Col2ImAttrs{}),
          sample("Col2Im/i32", {of(DType::kI32, {1, 3, 4}, -9, 9), ints({6}), ints({3})},
                 Col2ImAttrs{})};
    },
    nullptr, 16);
WICK_TEST_ROW(DeformConv, deform_samples, nullptr, 64);

}  // namespace wick::test
