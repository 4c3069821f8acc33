#include "tests/trainer/gradcheck_samples.h"

namespace wick::gradchecks {

void add_image_samples(Samples& all) {
  auto add = [&](const char* name, Fn f, List in) {
    all.push_back({name, std::move(f), std::move(in)});
  };
  for (int64_t mode : {0, 1, 2}) {
    for (int64_t padding : {0, 1, 2}) {
      for (int64_t align : {0, 1}) {
        add("GridSample", row(OpId::kGridSample, GridSampleAttrs{mode, padding, align}),
            {random({1, 2, 3, 4}), random({1, 3, 2, 2}, -1.7, 1.7)});
      }
    }
  }
  add("GridSample 3d", row(OpId::kGridSample, GridSampleAttrs{1, 2, 0}),
      {random({2, 1, 2, 3, 2}), random({2, 1, 1, 2, 3}, -1.7, 1.7)});
  add("GridSample of one pixel", row(OpId::kGridSample, GridSampleAttrs{1, 2, 1}),
      {random({1, 1, 1, 3}), random({1, 2, 1, 2}, -1.7, 1.7)});

  const Tensor rois =
      tensor({{0.3, 0.6, 4.2, 4.1}, {2.1, 1.7, 3.3, 2.9}, {-3.4, -2.2, 9.5, 7.3}}, kD);
  const Tensor images = ints({0, 1, 1}, {3});
  for (int64_t max : {0, 1}) {
    for (int64_t half : {0, 1}) {
      for (int64_t ratio : {0, 2}) {
        const RoiAlignAttrs a{max, half, 2, 2, ratio, 0.75};
        add("RoiAlign",
            [=](const List& in) {
              return row(OpId::kRoiAlign, a)({in[0], rois, images});
            },
            {distinct({2, 2, 3, 4})});
      }
    }
  }
  // the last region is beside the image
  const Tensor boxes =
      tensor({{0., 1., 1., 3., 2.}, {1., -4., 0., 3., 9.}, {0., 30., 30., 40., 40.}}, kD);
  add("MaxRoiPool",
      [=](const List& in) {
        return row(OpId::kMaxRoiPool, MaxRoiPoolAttrs{{2, 3}, 1})({in[0], boxes});
      },
      {distinct({2, 2, 3, 4})});

  for (int64_t p : {1, 2, 3}) {
    LpPoolAttrs pool{{{2, 3}, {2, 1}, {}, {1, 1, 0, 1}, 0, 0}, p};
    add("LpPool", row(OpId::kLpPool, pool), {distinct({1, 2, 5, 4})});
    LpPoolAttrs ceil{{{2, 2}, {2, 2}, {1, 2}, {}, 1, 0}, p};
    add("LpPool ceil", row(OpId::kLpPool, ceil), {distinct({1, 1, 5, 4})});
  }
  add("Col2Im", row(OpId::kCol2Im, Col2ImAttrs{{}, {}, {1, 0, 0, 1}}),
      {random({1, 8, 12}), ints({3, 4}, {2}), ints({2, 2}, {2})});
  add("Col2Im apart", row(OpId::kCol2Im, Col2ImAttrs{{2}, {2}, {1, 1}}),
      {random({2, 3, 3}), ints({7}, {1}), ints({3}, {1})});

  DeformConvAttrs deform;
  deform.conv.strides = {2, 1};
  deform.conv.dilations = {1, 2};
  deform.conv.pads = {1, 1, 0, 1};
  deform.conv.group = 2;
  deform.offset_group = 2;
  add("DeformConv", row(OpId::kDeformConv, deform),
      {random({1, 2, 3, 3}), random({2, 1, 2, 2}), random({1, 16, 2, 3}, -1.3, 1.3), random({2}),
       random({1, 8, 2, 3})});
  add("DeformConv 3d", row(OpId::kDeformConv, DeformConvAttrs{}),
      {random({1, 2, 2, 3, 2}), random({1, 2, 2, 2, 1}), random({1, 12, 1, 2, 2}, -1.3, 1.3)});
}

}  // namespace wick::gradchecks
