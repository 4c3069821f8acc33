// Transforms: the numbers of PIL and torchvision, and draws that depend only on (seed, epoch,
// index).
#include "trainer/data/transforms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/data/folder.h"
#include "tests/data/goldens.h"
#include "tests/support/error_of.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

using namespace data;
using namespace data::transforms;
using test::error_of;
using test::expect_golden;
using test::picture;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<double> numbers(const Tensor& t) { return t.to(DType::kF64).to_vector<double>(); }

TEST(Transforms, ResizeIsPilsBitForBit) {
  Tensor x = picture(11, 13);
  int64_t sizes[][2] = {{6, 8}, {11, 9}, {20, 13}, {30, 40}, {1, 1}, {7, 25}};
  for (auto [h, w] : sizes) {
    expect_golden("resize_bytes_" + std::to_string(h) + "_" + std::to_string(w),
                  resize(x, Size(h, w)), 0);
  }
  Draws draws(0, Draws::kTransform, 0);
  expect_golden("resize_edge", Resize(8)(x, draws), 0);
  EXPECT_TRUE(resize(x, Size(11, 13)).is_same(x));
  // Floats: torchvision's antialias = true. Two matrix products, so that a model repeats them.
  int64_t float_sizes[][2] = {{6, 8}, {11, 9}, {30, 40}};
  for (auto [h, w] : float_sizes) {
    expect_golden("resize_floats_" + std::to_string(h) + "_" + std::to_string(w),
                  resize(to_tensor(x), Size(h, w)), 1e-6);
  }
}

TEST(Transforms, PixelsMoveAsTorchvisionMovesThem) {
  for (std::string kind : {"bytes", "floats"}) {
    Tensor x = kind == "bytes" ? picture(11, 13) : to_tensor(picture(11, 13));
    double bound = kind == "bytes" ? 0 : 1e-8;
    int64_t sizes[][2] = {{4, 5}, {11, 13}, {16, 20}, {6, 8}};
    for (auto [h, w] : sizes) {
      expect_golden("center_crop_" + kind + "_" + std::to_string(h) + "_" + std::to_string(w),
                    center_crop(x, Size(h, w)), bound);
    }
    expect_golden("hflip_" + kind, hflip(x), bound);
    expect_golden("vflip_" + kind, vflip(x), bound);
    expect_golden("pad_" + kind, pad_image(x, {1, 2, 3, 0}, kind == "bytes" ? 3 : 0.5), bound);
    // A view whose pixels lie in another order.
    Tensor turned = x.transpose(1, 2);
    EXPECT_EQ(numbers(hflip(turned)), numbers(vflip(x).transpose(1, 2).contiguous()));
  }
}

TEST(Transforms, ColorsAreTorchvisions) {
  for (std::string kind : {"bytes", "floats"}) {
    Tensor x = kind == "bytes" ? picture(11, 13) : to_tensor(picture(11, 13));
    double bound = kind == "bytes" ? 0 : 1e-6;
    expect_golden("gray_" + kind, rgb_to_grayscale(x), bound);
    EXPECT_EQ(rgb_to_grayscale(x, 3).shape(), (Shape{3, 11, 13}));
    std::pair<std::string, double> factors[] = {{"0.0", 0}, {"0.3", 0.3}, {"1.0", 1}, {"1.7", 1.7}};
    for (const auto& [text, f] : factors) {
      expect_golden("brightness_" + kind + "_" + text, adjust_brightness(x, f), bound);
      expect_golden("contrast_" + kind + "_" + text, adjust_contrast(x, f), bound);
      expect_golden("saturation_" + kind + "_" + text, adjust_saturation(x, f), bound);
    }
    std::pair<std::string, double> hues[] = {
        {"-0.5", -0.5}, {"-0.2", -0.2}, {"0.1", 0.1}, {"0.5", 0.5}};
    for (const auto& [text, f] : hues) {
      expect_golden("hue_" + kind + "_" + text, adjust_hue(x, f), kind == "bytes" ? 0 : 2e-6);
    }
  }
}

TEST(Transforms, ToTensorAndNormalize) {
  Tensor x = to_tensor(picture(11, 13));
  expect_golden("to_tensor", x, 1e-8);
  expect_golden("normalize", normalize_image(x, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}),
                3e-7);
  // Batches go through as they are.
  Tensor two = stack({picture(11, 13), picture(11, 13)});
  EXPECT_EQ(numbers(adjust_contrast(two, 0.3)[1]), numbers(adjust_contrast(picture(11, 13), 0.3)));
  EXPECT_EQ(numbers(rgb_to_grayscale(two, 3)[1]), numbers(rgb_to_grayscale(picture(11, 13), 3)));
}

TEST(Transforms, RandomCropsCoverEveryPlace) {
  Tensor x = arange(30).reshape({1, 5, 6}).to(DType::kU8);
  RandomCrop crop(Size(4, 4));
  std::map<int, int> seen;
  for (uint64_t i = 0; i < 6000; ++i) {
    Draws draws(1, Draws::kTransform, 0, i);
    ++seen[crop(x, draws).to_vector<uint8_t>()[0]];
  }
  ASSERT_EQ(seen.size(), 6u);  // 2 x 3 places
  for (const auto& [place, n] : seen) EXPECT_NEAR(n, 1000, 130);
  Draws draws(1, Draws::kTransform, 0);
  Tensor padded = RandomCrop(9, 2, false, 7)(x.slice(2, 0, 5), draws);
  EXPECT_EQ(padded.shape(), (Shape{1, 9, 9}));  // the whole of it, with its border
  EXPECT_EQ(padded.to_vector<uint8_t>()[0], 7);
  EXPECT_EQ(padded.to_vector<uint8_t>()[20], 0);
  EXPECT_THAT(error_of([&] { RandomCrop(9)(x, draws); }), HasSubstr("9 x 9 of an image of 5 x 6"));
  EXPECT_EQ(RandomCrop(9, 0, true)(x, draws).shape(), (Shape{1, 9, 9}));
}

TEST(Transforms, FlipsHaveTheirProbability) {
  Tensor x = arange(2).reshape({1, 1, 2}).to(DType::kU8);
  int flipped = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    Draws draws(4, Draws::kTransform, 2, i);
    flipped += RandomHorizontalFlip(0.3)(x, draws).to_vector<uint8_t>()[0] == 1;
  }
  EXPECT_NEAR(flipped, 3000, 200);
  Draws draws(4, Draws::kTransform, 2);
  Tensor column = x.transpose(1, 2);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(RandomVerticalFlip(1)(column, draws).to_vector<uint8_t>()[0], 1);
    EXPECT_EQ(RandomVerticalFlip(0)(column, draws).to_vector<uint8_t>()[0], 0);
  }
}

TEST(Transforms, ResizedCropsKeepTheirShares) {
  // The corner values of ramps along both sides show which part is cut out.
  Tensor y = arange(100).reshape({1, 100, 1}).expand({1, 100, 100});
  Tensor x = arange(100).reshape({1, 1, 100}).expand({1, 100, 100});
  Tensor ramps = cat({y, x}).contiguous().to(DType::kF32);
  RandomResizedCrop crop(50, {0.2, 0.5}, {0.5, 2});
  std::set<int64_t> heights;
  for (uint64_t i = 0; i < 300; ++i) {
    Draws draws(3, Draws::kTransform, 1, i);
    Tensor out = crop(ramps, draws);
    ASSERT_EQ(out.shape(), (Shape{2, 50, 50}));
    std::vector<float> v = out.to_vector<float>();
    double height = (v[49 * 50] - v[0]) * 50 / 49 + 1, width = (v[2549] - v[2500]) * 50 / 49 + 1;
    EXPECT_GT(height * width, 0.15 * 10000);
    EXPECT_LT(height * width, 0.56 * 10000);
    EXPECT_GT(width / height, 0.45);
    EXPECT_LT(width / height, 2.2);
    heights.insert(static_cast<int64_t>(height));
  }
  EXPECT_GT(heights.size(), 25u);
  // No crop of a strip fits: the middle in the nearest ratio.
  Draws draws(3, Draws::kTransform, 1);
  Tensor strip = ramps.slice(1, 0, 2).contiguous();
  EXPECT_EQ(RandomResizedCrop(8)(strip, draws).shape(), (Shape{2, 8, 8}));
}

TEST(Transforms, ErasingTakesARectangle) {
  Tensor x = ones({3, 20, 20});
  RandomErasing erasing(1, {0.1, 0.2}, {0.5, 2}, {0, 5, 9});
  for (uint64_t i = 0; i < 100; ++i) {
    Draws draws(3, Draws::kTransform, 1, i);
    std::vector<float> v = erasing(x, draws).to_vector<float>();
    auto zeros = std::count(v.begin(), v.begin() + 400, 0.0f);
    EXPECT_GE(zeros, 30);
    EXPECT_LE(zeros, 100);
    EXPECT_EQ(std::count(v.begin() + 400, v.begin() + 800, 5.0f), zeros);
    EXPECT_EQ(std::count(v.begin() + 800, v.end(), 9.0f), zeros);
  }
  EXPECT_EQ(numbers(x), numbers(ones({3, 20, 20})));  // the item itself is not written to
}

TEST(Transforms, JitterStaysInRangeAndInItsOrder) {
  Tensor x = full({3, 2, 2}, 0.5);
  std::set<float> values;
  for (uint64_t i = 0; i < 200; ++i) {
    Draws draws(3, Draws::kTransform, 1, i);
    float v = ColorJitter(0.4)(x, draws).to_vector<float>()[0];
    EXPECT_GE(v, 0.3f - 1e-6f);
    EXPECT_LE(v, 0.7f + 1e-6f);
    values.insert(v);
  }
  EXPECT_GT(values.size(), 190u);
  EXPECT_LT(*values.begin(), 0.31f);
  EXPECT_GT(*values.rbegin(), 0.69f);
  // Brightness and contrast do not commute: both orders come up.
  Tensor p = to_tensor(picture(4, 4));
  std::set<std::vector<double>> results;
  Draws first(3, Draws::kTransform, 1, 7), again(3, Draws::kTransform, 1, 7);
  ColorJitter all(0.4, 0.4, 0.4, 0.1);
  EXPECT_EQ(numbers(all(p, first)), numbers(all(p, again)));
}

TEST(Transforms, ADatasetAugmentsTheSameForAnyNumberOfWorkers) {
  std::vector<Tensor> images;
  for (int64_t i = 0; i < 12; ++i) images.push_back(picture(10 + 0 * i, 12));
  auto raw = std::make_shared<TensorDataset>(std::vector<Tensor>{stack(images), arange(12)});
  Compose augment{RandomResizedCrop(8), RandomHorizontalFlip(),   ColorJitter(0.4, 0.4, 0.4, 0.1),
                  ToTensor(),           Normalize({0.5}, {0.25}), RandomErasing()};
  auto data = std::make_shared<TransformedDataset>(raw, augment, 9);
  auto read = [&](int workers, int64_t epoch) {
    DataLoader loader(data, {.batch_size = 5, .shuffle = true, .seed = 1, .workers = workers});
    loader.seek({epoch, 0});
    std::vector<float> all;
    Batch batch;
    while (loader.next(batch)) {
      for (float v : batch[0].to_vector<float>()) all.push_back(v);
    }
    return all;
  };
  std::vector<float> alone = read(0, 0);
  EXPECT_EQ(alone.size(), 12u * 3 * 8 * 8);
  EXPECT_EQ(alone, read(4, 0));
  EXPECT_EQ(alone, read(1, 0));
  EXPECT_NE(alone, read(0, 1));
  EXPECT_EQ(read(2, 1), read(0, 1));
}

TEST(Transforms, RefuseWhatIsNoImage) {
  Tensor x = picture(4, 4);
  EXPECT_THAT(error_of([&] { hflip(arange(3)); }),
              AllOf(HasSubstr("[hflip] an image int64[3]"), HasSubstr("transform_test.cc:")));
  EXPECT_THAT(error_of([&] { rgb_to_grayscale(ones({1, 4, 4})); }), HasSubstr("[3, H, W]"));
  EXPECT_THAT(error_of([&] { vflip(zeros({3, 0, 4})); }), HasSubstr("has no pixels"));
  EXPECT_THAT(error_of([&] { normalize_image(x, {0}, {1}); }), HasSubstr("to_tensor first"));
  EXPECT_THAT(error_of([&] {
                normalize_image(to_tensor(x), {0, 0}, {1});
              }),
              HasSubstr("[normalize_image] 2 means"));
  EXPECT_THAT(error_of([&] { Normalize({0}, {0}); }), HasSubstr("a deviation of 0"));
  EXPECT_THAT(error_of([&] { crop(x, 1, 0, 4, 4); }), HasSubstr("4 x 4 at (1, 0) of an image"));
  EXPECT_THAT(error_of([&] { pad_image(x, -1); }), HasSubstr("a border of -1"));
  EXPECT_THAT(error_of([&] { pad_image(x, 1, 256); }), HasSubstr("no byte"));
  EXPECT_THAT(error_of([&] { resize(x, 0); }), HasSubstr("a size of 0 x 0"));
  EXPECT_THAT(error_of([&] { adjust_hue(x, 0.6); }), HasSubstr("-0.5 to 0.5"));
  EXPECT_THAT(error_of([&] { adjust_contrast(x, -1); }), HasSubstr("0 or more"));
  EXPECT_THAT(error_of([&] { adjust_brightness(x, NAN); }), HasSubstr("nan"));
  EXPECT_THAT(error_of([&] { erase(x, 0, 0, 5, 1, {0}); }), HasSubstr("not inside"));
  EXPECT_THAT(error_of([&] { erase(x, 0, 0, 1, 1, {0, 1}); }), HasSubstr("2 values"));
  EXPECT_THAT(error_of([] { ColorJitter(-1); }), HasSubstr("negative"));
  EXPECT_THAT(error_of([] { ColorJitter(0, 0, 0, 0.6); }), HasSubstr("hue at most 0.5"));
  EXPECT_THAT(error_of([] { RandomHorizontalFlip(1.5); }), HasSubstr("p 1.5"));
  EXPECT_THAT(error_of([] { RandomResizedCrop(4, {1, 0.5}); }), HasSubstr("scale from 1"));
  EXPECT_THAT(error_of([] { Grayscale(2); }), HasSubstr("1 or 3"));
}

}  // namespace
}  // namespace wick
