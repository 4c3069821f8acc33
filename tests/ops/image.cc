// Resampling. Its values are checked separately, against dense weights: image_test.cc.
#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

Input reals(std::vector<double> v) {
  return {DType::kF32, {static_cast<int64_t>(v.size())}, 0, 0, v};
}

ResizeAttrs resize(ResizeMode mode, ResizeCoordinates how = ResizeCoordinates::kHalfPixel,
                   int64_t antialias = 0) {
  ResizeAttrs a;
  a.mode = static_cast<int64_t>(mode);
  a.coordinates = static_cast<int64_t>(how);
  a.antialias = antialias;
  return a;
}

std::vector<Sample> resize_samples() {
  std::vector<Sample> all;
  const ResizeMode modes[] = {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic};
  const Input none = Input::absent();
  for (ResizeMode mode : modes) {
    const std::string n = "Resize/" + std::to_string(static_cast<int>(mode));
    for (int64_t how = 0; how < 7; ++how) {
      const auto coordinates = static_cast<ResizeCoordinates>(how);
      const Input roi = how == 5 ? reals({0, 0, 0.25, -0.25, 1, 1, 0.75, 1.25}) : none;
      ResizeAttrs a = resize(mode, coordinates);
      a.extrapolation_value = 3.5;
      a.exclude_outside = how % 2;
      a.nearest_mode = how % 4;
      const std::string name = n + "_" + std::to_string(how);
      all.push_back(
          sample(name + "_scales", {f32({1, 2, 5, 7}), roi, reals({1, 1, 0.6, 1.75})}, a));
      all.push_back(
          sample(name + "_sizes", {f32({2, 1, 4, 3}), roi, none, ints({2, 1, 3, 11})}, a));
    }
    ResizeAttrs two = resize(mode);
    two.axes = {-1, 1};
    all.push_back(sample(n + "_axes", {f32({2, 3, 4, 5}), none, none, ints({9, 2})}, two));
    two.keep_aspect_ratio_policy = 1;
    all.push_back(sample(n + "_not_larger", {f32({2, 3, 4, 5}), none, none, ints({9, 2})}, two));
    two.keep_aspect_ratio_policy = 2;
    all.push_back(sample(n + "_not_smaller", {f32({2, 3, 4, 5}), none, none, ints({9, 2})}, two));
    if (mode == ResizeMode::kNearest) {
      for (const DType t : {DType::kU8, DType::kI8}) {
        for (double scale : {0.5, 1.7, 2.0, 3.0, 4.0}) {
          all.push_back(sample(n + "_" + dtype_name(t) + std::to_string(scale),
                               {of(t, {2, 3, 9, 21}, 0, 128), none, reals({1, 1, scale, scale})},
                               resize(mode, ResizeCoordinates::kAsymmetric)));
        }
      }
    }
    all.push_back(sample(n + "_same", {f32({2, 3}), none, reals({1, 1})}, resize(mode)));
    all.push_back(sample(n + "_batch0", {f32({0, 3}), none, none, ints({0, 7})}, resize(mode)));
    all.push_back(sample(n + "_to_0", {f32({2, 3}), none, reals({1, 0.25})}, resize(mode)));
    all.push_back(
        sample(n + "_3d", {f32({1, 1, 3, 2, 3}), none, none, ints({1, 1, 5, 3, 2})}, resize(mode)));
    all.push_back(sample(n + "_large", {f32({1, 3, 40, 37}), none, reals({1, 1, 2, 2})},
                         resize(mode, ResizeCoordinates::kAlignCorners)));
    all.push_back(sample(n + "_u8", {of(DType::kU8, {1, 4, 4}, 0, 255), none, reals({1, 0.8, 2})},
                         resize(mode)));
    for (const double times : {2.0, 3.0, 4.0, 8.0}) {
      const std::string by = std::to_string(static_cast<int>(times));
      const ResizeAttrs a = resize(mode, ResizeCoordinates::kAsymmetric);
      all.push_back(
          sample(n + "_both_" + by, {f32({2, 3, 5, 7}), none, reals({1, 1, times, times})}, a));
      all.push_back(sample(n + "_down_" + by, {f32({2, 9, 6}), none, reals({1, times, 1})}, a));
      all.push_back(sample(n + "_across_" + by, {f32({9, 37}), none, reals({1, times})}, a));
    }
    for (const auto how : {ResizeCoordinates::kHalfPixel, mode == ResizeMode::kNearest
                                                              ? ResizeCoordinates::kAsymmetric
                                                              : ResizeCoordinates::kAlignCorners}) {
      ResizeAttrs a = resize(mode, how);
      a.interpolate = 1;
      const std::string of = n + "_interpolate" + std::to_string(static_cast<int>(how));
      all.push_back(sample(of, {f32({2, 3, 5, 37}), none, reals({1, 1, 1.75, 0.6})}, a));
      all.push_back(sample(of + "_twice", {f32({2, 3, 5, 7}), none, reals({1, 1, 2, 2})}, a));
      all.push_back(
          sample(of + "_sizes", {f32({1, 2, 4, 50}), none, none, ints({1, 2, 9, 33})}, a));
      all.push_back(sample(of + "_wide", {f32({1, 2, 3, 70}), none, reals({1, 1, 2, 2})}, a));
      all.push_back(
          sample(of + "_shrunk", {f32({1, 1, 9, 200}), none, reals({1, 1, 0.3, 0.2})}, a));
      all.push_back(sample(of + "_same", {f32({1, 2, 4, 33}), none, none, ints({1, 2, 4, 33})}, a));
      all.push_back(sample(of + "_one", {f32({1, 2, 4, 3}), none, none, ints({1, 2, 1, 1})}, a));
      all.push_back(sample(of + "_1d", {f32({2, 3, 9}), none, reals({1, 1, 2})}, a));
      all.push_back(
          sample(of + "_3d", {f32({1, 2, 3, 2, 5}), none, none, ints({1, 2, 5, 3, 9})}, a));
    }
    if (mode == ResizeMode::kNearest) continue;
    all.push_back(sample(n + "_antialias", {f32({1, 1, 9, 11}), none, reals({1, 1, 0.4, 0.3})},
                         resize(mode, ResizeCoordinates::kHalfPixel, 1)));
    all.push_back(sample(n + "_antialias_grows",
                         {f32({1, 1, 3, 4}), none, none, ints({1, 1, 7, 2})},
                         resize(mode, ResizeCoordinates::kHalfPixel, 1)));
  }
  return all;
}

// Of interpolate(): x, the gradient of each size, and how that size is given.
std::vector<Sample> resize_grad_samples() {
  std::vector<Sample> all;
  const Input none = Input::absent();
  for (ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    for (const auto how : {ResizeCoordinates::kHalfPixel, ResizeCoordinates::kAlignCorners}) {
      ResizeAttrs a = resize(mode, how);
      a.interpolate = 1;
      const std::string of = "ResizeGrad/" + std::to_string(static_cast<int>(mode)) + "_" +
                             std::to_string(static_cast<int>(how)) + "_";
      const auto by_sizes = [&](const char* name, Shape x, Shape y) {
        std::vector<double> sizes(y.begin(), y.end());
        all.push_back(sample(of + name, {f32(x), f32(y), none, ints(sizes)}, a));
      };
      all.push_back(sample(of + "scales",
                           {f32({2, 3, 5, 37}), f32({2, 3, 8, 22}), reals({1, 1, 1.75, 0.6})}, a));
      all.push_back(
          sample(of + "twice", {f32({2, 3, 5, 7}), f32({2, 3, 10, 14}), reals({1, 1, 2, 2})}, a));
      all.push_back(
          sample(of + "wide", {f32({1, 2, 3, 40}), f32({1, 2, 6, 80}), reals({1, 1, 2, 2})}, a));
      all.push_back(sample(of + "1d", {f32({2, 3, 9}), f32({2, 3, 18}), reals({1, 1, 2})}, a));
      by_sizes("small", {1, 1, 2, 2}, {1, 1, 3, 3});
      by_sizes("sizes", {1, 2, 4, 50}, {1, 2, 9, 33});
      by_sizes("same", {1, 2, 4, 33}, {1, 2, 4, 33});
      by_sizes("to_one", {1, 2, 4, 3}, {1, 2, 1, 1});
      by_sizes("of_one", {1, 2, 1, 1}, {1, 2, 70, 90});
      by_sizes("shrunk", {1, 1, 30, 90}, {1, 1, 4, 7});
      by_sizes("grown", {2, 1, 3, 20}, {2, 1, 31, 333});
      by_sizes("3d", {1, 2, 3, 2, 5}, {1, 2, 5, 3, 9});
      by_sizes("batch0", {0, 2, 3, 4}, {0, 2, 5, 6});
    }
  }
  return all;
}

std::vector<Sample> grid_samples() {
  std::vector<Sample> all;
  for (int64_t mode = 0; mode < 3; ++mode) {
    for (int64_t padding = 0; padding < 3; ++padding) {
      for (int64_t align = 0; align < 2; ++align) {
        const GridSampleAttrs a{mode, padding, align};
        const std::string n = "GridSample/" + std::to_string(mode * 100 + padding * 10 + align);
        all.push_back(sample(n, {f32({2, 3, 4, 5}), f32({2, 6, 3, 2}, -1.6, 1.6)}, a));
        all.push_back(
            sample(n + "_3d", {f32({1, 2, 3, 4, 2}), f32({1, 2, 2, 5, 3}, -1.6, 1.6)}, a));
        all.push_back(sample(n + "_1d", {f32({1, 2, 6}), f32({1, 7, 1}, -3, 3)}, a));
      }
    }
  }
  Input wild = f32({1, 1, 4, 2});
  wild.values = {NAN, 0, INFINITY, -INFINITY, 1e30, -1e30, 3, -3};
  for (int64_t padding = 0; padding < 3; ++padding)
    all.push_back(sample("GridSample/wild" + std::to_string(padding), {f32({1, 1, 3, 3}), wild},
                         GridSampleAttrs{1, padding, 0}));
  all.push_back(
      sample("GridSample/batch0", {f32({0, 1, 3, 3}), f32({0, 2, 2, 2})}, GridSampleAttrs{}));
  all.push_back(
      sample("GridSample/no_pixel", {f32({1, 1, 0, 3}), f32({1, 2, 2, 2})}, GridSampleAttrs{}));
  return all;
}

std::vector<Sample> roi_align_samples() {
  Input rois = f32({4, 4});
  rois.values = {0.3, 0.6, 7.2, 6.1, 2.1, 1.7, 3.3, 2.9, -3.4, -2.2, 20.5, 17.3, 5, 5, 4.2, 4.7};
  std::vector<Sample> all;
  for (int64_t max = 0; max < 2; ++max) {
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t ratio : {0, 2}) {
        all.push_back(sample("RoiAlign/" + std::to_string(max * 100 + half * 10 + ratio),
                             {f32({2, 3, 8, 9}), rois, ints({0, 1, 1, 0})},
                             RoiAlignAttrs{max, half, 3, 2, ratio, 0.75}));
      }
    }
  }
  all.push_back(
      sample("RoiAlign/none", {f32({1, 2, 4, 4}), f32({0, 4}), ints({})}, RoiAlignAttrs{}));
  return all;
}

}  // namespace

WICK_TEST_ROW(ResizeGrad, resize_grad_samples, nullptr, 64);
WICK_TEST_ROW(Resize, resize_samples, nullptr, 64);
WICK_TEST_ROW(GridSample, grid_samples, nullptr, 64);
WICK_TEST_ROW(
    AffineGrid,
    [] {
      return std::vector<Sample>{
          sample("AffineGrid/2d", {f32({2, 2, 3}), ints({2, 1, 4, 5})}, AffineGridAttrs{}),
          sample("AffineGrid/3d", {f32({1, 3, 4}), ints({1, 2, 3, 2, 4})}, AffineGridAttrs{}),
          sample("AffineGrid/align", {f32({2, 2, 3}), ints({2, 1, 4, 5})}, AffineGridAttrs{1}),
          sample("AffineGrid/one", {f32({1, 2, 3}), ints({1, 1, 1, 1})}, AffineGridAttrs{1}),
          sample("AffineGrid/batch0", {f32({0, 2, 3}), ints({0, 1, 2, 2})}, AffineGridAttrs{}),
          sample("AffineGrid/empty", {f32({1, 2, 3}), ints({1, 1, 0, 2})}, AffineGridAttrs{})};
    },
    nullptr, 8);
WICK_TEST_ROW(RoiAlign, roi_align_samples, nullptr, 256);
WICK_TEST_ROW(
    MaxRoiPool,
    [] {
      Input rois = f32({3, 5});
      rois.values = {0, 1, 1, 6, 5, 1, -4, 0, 3, 20, 0, 30, 30, 40, 40};
      return std::vector<Sample>{
          sample("MaxRoiPool/2x3", {f32({2, 3, 7, 8}), rois}, MaxRoiPoolAttrs{{2, 3}, 1}),
          sample("MaxRoiPool/scaled", {f32({2, 1, 7, 8}), rois}, MaxRoiPoolAttrs{{3, 3}, 0.5}),
          sample("MaxRoiPool/none", {f32({2, 1, 7, 8}), f32({0, 5})}, MaxRoiPoolAttrs{{1, 1}, 1})};
    },
    nullptr, 1);

}  // namespace wick::test
