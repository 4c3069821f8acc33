#include "tests/ops/rows.h"

namespace wick::test {
namespace {

ConvAttrs conv(IntList<3> strides, IntList<6> pads, IntList<3> dilations = {}, int64_t group = 1) {
  return {strides, dilations, pads, group};
}

struct Case {
  const char* name;
  Shape x, w;
  ConvAttrs attrs;
};
std::vector<Case> cases() {
  return {{"3x3", {2, 3, 7, 9}, {5, 3, 3, 3}, conv({}, {1, 1, 1, 1})},
          {"1x1", {1, 17, 6, 5}, {9, 17, 1, 1}, conv({}, {})},
          {"stride2", {1, 3, 11, 13}, {8, 3, 3, 3}, conv({2, 2}, {1, 1, 1, 1})},
          {"asymmetric", {1, 2, 6, 7}, {3, 2, 3, 2}, conv({1, 2}, {0, 1, 2, 1})},
          {"dilated", {1, 2, 9, 9}, {3, 2, 3, 3}, conv({1, 1}, {2, 2, 2, 2}, {2, 2})},
          {"depthwise", {2, 6, 7, 8}, {6, 1, 3, 3}, conv({}, {1, 1, 1, 1}, {}, 6)},
          {"depthwise_s2", {1, 5, 9, 9}, {5, 1, 3, 3}, conv({2, 2}, {1, 1, 1, 1}, {}, 5)},
          {"groups", {1, 6, 5, 5}, {9, 2, 3, 3}, conv({}, {1, 1, 1, 1}, {}, 3)},
          {"5x5", {1, 1, 12, 12}, {4, 1, 5, 5}, conv({}, {2, 2, 2, 2})},
          {"lenet1", {1, 1, 28, 28}, {32, 1, 3, 3}, conv({}, {1, 1, 1, 1})},
          {"1d", {2, 3, 19}, {4, 3, 5}, conv({2}, {2, 2})},
          {"batch0", {0, 3, 5, 5}, {4, 3, 3, 3}, conv({}, {1, 1, 1, 1})},
          {"3d", {2, 4, 5, 6, 7}, {6, 2, 3, 3, 3}, conv({1, 2, 1}, {1, 0, 1, 1, 1, 1}, {}, 2)},
          {"3d_dilated",
           {1, 2, 7, 5, 6},
           {3, 2, 2, 1, 3},
           conv({2, 1, 1}, {1, 0, 1, 0, 0, 1}, {2, 1, 1})},
          {"3d_1x1", {2, 3, 4, 5, 3}, {7, 3, 1, 1, 1}, conv({2, 1, 1}, {})},
          {"3d_depthwise", {1, 3, 4, 5, 6}, {3, 1, 1, 3, 3}, conv({}, {0, 1, 1, 0, 1, 1}, {}, 3)},
          {"3d_beyond", {1, 1, 2, 4, 4}, {2, 1, 5, 3, 3}, conv({}, {3, 1, 1, 3, 1, 1})}};
}
int64_t outer_extent(const Case& c, int i) {
  int n = c.x.rank() - 2;
  int64_t reach = (c.w[2 + i] - 1) * c.attrs.dilations.at_or(i, 1) + 1;
  return (c.x[2 + i] + c.attrs.pads.at_or(i, 0) + c.attrs.pads.at_or(i + n, 0) - reach) /
             c.attrs.strides.at_or(i, 1) +
         1;
}
Shape output_of(const Case& c) {
  Shape s{c.x[0], c.w[0]};
  for (int i = 0; i + 2 < c.x.rank(); ++i) s.push_back(outer_extent(c, i));
  return s;
}
IntList<3> spatial_of(const Shape& s) {
  IntList<3> list;
  for (int i = 2; i < s.rank(); ++i) list.values[list.count++] = s[i];
  return list;
}

}  // namespace

WICK_TEST_ROW(
    Conv,
    [] {
      std::vector<Sample> s;
      for (auto& c : cases()) {
        s.push_back(
            sample(std::string("Conv/") + c.name, {f32(c.x), f32(c.w), f32({c.w[0]})}, c.attrs));
        s.push_back(sample(std::string("Conv/no_bias/") + c.name, {f32(c.x), f32(c.w)}, c.attrs));
      }
      return s;
    },
    nullptr, 64);
WICK_TEST_ROW(
    FusedConv,
    [] {
      std::vector<Sample> s;
      int k = 0;
      for (auto& c : cases()) {
        FusedConvAttrs a{c.attrs, {k % 10, k % 10 == 2 ? 0.0 : 0.1, 6.0}};
        std::vector<Input> in = {f32(c.x),      f32(c.w),      f32({c.w[0]}),
                                 f32({c.w[0]}), f32({c.w[0]}), f32(output_of(c))};
        if (k % 2 == 1) in[5] = Input::absent();
        if (k % 3 == 1) in[3] = in[4] = Input::absent();
        if (k % 4 == 3) in[2] = Input::absent();
        s.push_back(sample(std::string("FusedConv/") + c.name, in, a));
        ++k;
      }
      return s;
    },
    nullptr, 128);
WICK_TEST_ROW(
    ConvInputGrad,
    [] {
      std::vector<Sample> s;
      for (auto& c : cases()) {
        s.push_back(sample(std::string("ConvInputGrad/") + c.name, {f32(output_of(c)), f32(c.w)},
                           ConvGradAttrs{c.attrs, spatial_of(c.x)}));
      }
      return s;
    },
    nullptr, 64);
WICK_TEST_ROW(
    ConvWeightGrad,
    [] {
      std::vector<Sample> s;
      for (auto& c : cases()) {
        s.push_back(sample(std::string("ConvWeightGrad/") + c.name, {f32(c.x), f32(output_of(c))},
                           ConvGradAttrs{c.attrs, spatial_of(c.w)}));
      }
      return s;
    },
    nullptr, 256);

}  // namespace wick::test
