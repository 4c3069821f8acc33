// make_grid and save_image against torchvision's algorithm, written here as plain loops; files are
// read back by libpng and libjpeg.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/image_grid.h"
#include "trainer/data/image/image_write.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

using namespace data;
using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Grid : public test::Folder {};

Tensor noise(const SizeList& shape, double low = 0, double high = 1, DType dtype = DType::kF32) {
  Generator g{7, 0};
  return rand(shape, dtype, g) * (high - low) + low;
}

// x of image n, channel c, row y, column x, from a contiguous batch [N, C, H, W].
using Pixel = std::function<float(int64_t, int64_t, int64_t, int64_t)>;

// torchvision.utils.make_grid, pixel by pixel of the result: which image is there, if any.
std::vector<float> grid_by_hand(const Pixel& at, int64_t n, int64_t c, int64_t h, int64_t w,
                                int64_t nrow, int64_t padding, float pad) {
  const int64_t xmaps = std::min(nrow, n), ymaps = (n + xmaps - 1) / xmaps;
  const int64_t height = ymaps * (h + padding) + padding, width = xmaps * (w + padding) + padding;
  std::vector<float> grid;
  for (int64_t channel = 0; channel < (c == 1 ? 3 : c); ++channel) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t in_y = y % (h + padding) - padding, in_x = x % (w + padding) - padding;
        const int64_t k = y / (h + padding) * xmaps + x / (w + padding);
        const bool image = in_y >= 0 && in_x >= 0 && k < n;
        grid.push_back(image ? at(k, c == 1 ? 0 : channel, in_y, in_x) : pad);
      }
    }
  }
  return grid;
}
Pixel pixels_of(const Tensor& batch) {
  return [values = batch.to_vector<float>(), s = batch.raw_shape()](int64_t n, int64_t c, int64_t y,
                                                                    int64_t x) {
    return values[static_cast<size_t>(((n * s[1] + c) * s[2] + y) * s[3] + x)];
  };
}

TEST_F(Grid, PlacesImagesAsTorchvisionDoes) {
  struct Case {
    int64_t n, c, h, w, nrow, padding;
    float pad;
  };
  for (const Case& k : {Case{5, 3, 4, 6, 2, 2, 0}, Case{5, 1, 4, 6, 8, 2, 0.25f},
                        Case{9, 3, 3, 2, 4, 0, 1}, Case{2, 4, 1, 1, 1, 3, 0.5f}}) {
    const Tensor batch = noise({k.n, k.c, k.h, k.w});
    const Tensor grid =
        make_grid(batch, {.nrow = k.nrow, .padding = k.padding, .pad_value = k.pad});
    EXPECT_EQ(grid.to_vector<float>(),
              grid_by_hand(pixels_of(batch), k.n, k.c, k.h, k.w, k.nrow, k.padding, k.pad));
  }
  // The sizes by torchvision's own example: 10 of 3 x 4, eight a row.
  EXPECT_EQ(make_grid(noise({10, 3, 3, 4})).shape(), (Shape{3, 2 * 5 + 2, 8 * 6 + 2}));
}

TEST_F(Grid, OneImageHasNoFrame) {
  const Tensor grey = noise({4, 6});
  for (const Tensor& t : {grey, grey.reshape({1, 4, 6}), grey.reshape({1, 1, 4, 6})}) {
    const Tensor grid = make_grid(t);
    EXPECT_EQ(grid.shape(), (Shape{3, 4, 6}));
    for (int c = 0; c < 3; ++c) {
      EXPECT_EQ(grid.select(0, c).to_vector<float>(), grey.to_vector<float>());
    }
  }
  EXPECT_EQ(make_grid(noise({3, 4, 6})).shape(), (Shape{3, 4, 6}));
  // A view with other strides, float64 and bytes keep their values and dtype.
  const Tensor view = noise({4, 6, 3}, 0, 1, DType::kF64).permute({2, 0, 1});
  EXPECT_EQ(make_grid(view).to_vector<double>(), view.to_vector<double>());
  const Tensor bytes = to_bytes(noise({2, 3, 4, 4}));
  EXPECT_EQ(make_grid(bytes, {.pad_value = 9}).dtype(), DType::kU8);
  EXPECT_EQ(make_grid(bytes, {.pad_value = 9}).to_vector<uint8_t>()[0], 9);
  // A list is stacked, and what has a history gives none on.
  const Tensor leaf = noise({3, 2, 2}).requires_grad_();
  const Tensor listed = make_grid(std::vector<Tensor>{leaf, leaf * 2});
  EXPECT_EQ(listed.shape(), (Shape{3, 6, 10}));
  EXPECT_FALSE(listed.requires_grad());
}

TEST_F(Grid, NormalizesByRangeOrByValues) {
  const Tensor batch = noise({3, 3, 2, 5}, -2, 3);
  const std::vector<float> all = batch.to_vector<float>();
  auto expect = [&](const GridOptions& given,
                    const std::function<std::pair<float, float>(int64_t)>& range) {
    GridOptions o = given;
    o.normalize = true;
    o.padding = 1;
    const Pixel raw = pixels_of(batch);
    const Pixel want = [&](int64_t n, int64_t c, int64_t y, int64_t x) {
      const auto [low, high] = range(n);
      const float v = std::min(std::max(raw(n, c, y, x), low), high);
      return (v - low) / std::max(static_cast<float>(double{high} - double{low}), 1e-5f);
    };
    EXPECT_EQ(make_grid(batch, o).to_vector<float>(), grid_by_hand(want, 3, 3, 2, 5, 8, 1, 0));
  };
  auto range_of = [&](size_t from, size_t n) {
    const auto [low, high] = std::minmax_element(all.begin() + static_cast<ptrdiff_t>(from),
                                                 all.begin() + static_cast<ptrdiff_t>(from + n));
    return std::pair(*low, *high);
  };
  expect({}, [&](int64_t) { return range_of(0, 90); });
  expect({.scale_each = true},
         [&](int64_t n) { return range_of(static_cast<size_t>(n) * 30, 30); });
  expect({.value_range = {{-1, 2}}}, [](int64_t) { return std::pair(-1.0f, 2.0f); });
  EXPECT_EQ(batch.to_vector<float>(), all);  // what was given is as it was
  // Without normalize the range says nothing; an even image becomes 0.
  EXPECT_EQ(make_grid(batch, {.value_range = {{0, 9}}}).to_vector<float>(),
            make_grid(batch).to_vector<float>());
  EXPECT_EQ(make_grid(full({3, 1, 1}, 7), {.normalize = true}).to_vector<float>(),
            std::vector<float>(3, 0.0f));
}

TEST_F(Grid, BytesAreRounded) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0,      1,     0.5f,    0.4999f / 255, 0.5f / 255, 254.49f / 255,
                                2,      -0.3f, -0.001f, nan,           inf,        -inf,
                                0.999f, 1e-9f};
  const std::vector<uint8_t> want = {0, 255, 128, 0, 1, 254, 255, 0, 0, 0, 255, 0, 255, 0};
  const Tensor t = tensor(x);
  EXPECT_EQ(to_bytes(t).to_vector<uint8_t>(), want);
  EXPECT_EQ(to_bytes(t.to(DType::kF64)).to_vector<uint8_t>(), want);
  // Every byte divided by 255 comes back.
  std::vector<float> all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<float>(i) / 255.0f);
  const std::vector<uint8_t> back = to_bytes(tensor(all)).to_vector<uint8_t>();
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(back[i], i);
}

TEST_F(Grid, SavedPngsAreReadBack) {
  const Tensor batch = noise({6, 3, 7, 5}, -0.1, 1.1);
  save_image(batch, path("grid.png"), {.nrow = 4, .padding = 3, .pad_value = 0.5});
  std::vector<uint8_t> want;
  for (float v : grid_by_hand(pixels_of(batch), 6, 3, 7, 5, 4, 3, 0.5f)) {
    want.push_back(static_cast<uint8_t>(std::min(std::max(v * 255 + 0.5f, 0.0f), 255.0f)));
  }
  const Tensor read = read_image(path("grid.png"), {.mode = ImageMode::kUnchanged});
  EXPECT_EQ(read.shape(), (Shape{3, 2 * 10 + 3, 4 * 8 + 3}));
  EXPECT_EQ(read.to_vector<uint8_t>(), want);
  save_image(std::vector<Tensor>{noise({1, 4, 4}), noise({1, 4, 4})}, path("list.PNG"));
  EXPECT_EQ(read_image(path("list.PNG")).shape(), (Shape{3, 8, 14}));
}

// Noise, a flat image and slopes: each filter of PNG is the least for some row.
TEST_F(Grid, PngsOfEveryKindAreReadBack) {
  for (int64_t c = 1; c <= 4; ++c) {
    for (const auto& [h, w] : {std::pair{1, 1}, {1, 300}, {300, 1}, {67, 130}}) {
      const Tensor slope =
          (arange(h).reshape({1, h, 1}) * 3 + arange(w) * 2 + arange(c).reshape({c, 1, 1}))
              .to(DType::kF32) /
          700.0;
      for (const Tensor& image :
           {noise({c, h, w}), slope, zeros({c, h, w}), slope * noise({c, h, w}) * 0.1}) {
        const Tensor bytes = to_bytes(image);
        write_image(bytes, path("x.png"));
        const Tensor read = read_image(path("x.png"), {.mode = ImageMode::kUnchanged});
        ASSERT_EQ(read.shape(), bytes.shape());
        ASSERT_EQ(read.to_vector<uint8_t>(), bytes.to_vector<uint8_t>())
            << c << " " << h << " " << w;
      }
    }
  }
  // Slopes shrink to little: the filters are there.
  const Tensor slope =
      to_bytes((arange(200).reshape({1, 200, 1}) + arange(200)).to(DType::kF32) / 400.0);
  EXPECT_LT(encode_png(slope).size(), 2000u);
}

TEST_F(Grid, JpegsLookAlike) {
  const Tensor smooth = (arange(40).reshape({1, 40, 1}) + arange(32)).to(DType::kF32) / 80.0;
  save_image(smooth, path("x.jpg"));
  const Tensor read = read_image(path("x.jpg"));
  const Tensor want = to_bytes(make_grid(smooth));
  ASSERT_EQ(read.shape(), want.shape());
  EXPECT_LT((read.to(DType::kF32) - want.to(DType::kF32)).abs().max().item(), 6);
  const Tensor grey = to_bytes(smooth);
  EXPECT_LT(encode_jpeg(grey, 10).size(), encode_jpeg(grey, 95).size());
  write_image(grey, path("grey.jpeg"));
  EXPECT_EQ(read_image(path("grey.jpeg"), {.mode = ImageMode::kUnchanged}).shape(),
            (Shape{1, 40, 32}));
}

TEST_F(Grid, ErrorsSayWhatAndWhere) {
  const Tensor image = noise({3, 2, 2});
  auto refused = [](const Tensor& t, const GridOptions& o = {}) {
    return error_of([&] { make_grid(t, o); });
  };
  EXPECT_THAT(refused(image.to(DType::kI64)),
              AllOf(HasSubstr("[make_grid] images must be float32, float64 or uint8"),
                    HasSubstr("int64[3,2,2]"), HasSubstr("image_grid_test.cc:")));
  EXPECT_THAT(refused(noise({5})), HasSubstr("[N,C,H,W], [C,H,W] or [H,W], got float32[5]"));
  EXPECT_THAT(refused(noise({1, 1, 3, 2, 2})), HasSubstr("got float32[1,1,3,2,2]"));
  EXPECT_THAT(refused(zeros({0, 3, 2, 2})), HasSubstr("there are no images or no pixels"));
  EXPECT_THAT(refused(zeros({3, 0, 2})), HasSubstr("there are no images or no pixels"));
  EXPECT_THAT(refused(image, {.nrow = 0}), HasSubstr("nrow must be at least 1, got 0"));
  EXPECT_THAT(refused(image, {.padding = -1}), HasSubstr("padding must be 0 to 2^20, got -1"));
  EXPECT_THAT(refused(image, {.normalize = true, .value_range = {{1, 0}}}),
              HasSubstr("value_range must be (low, high), finite, low not above high, got (1, 0)"));
  EXPECT_THAT(refused(image / 0.0, {.normalize = true}), HasSubstr("give a value_range"));
  EXPECT_THAT(refused(to_bytes(image), {.normalize = true}), HasSubstr("normalize needs floats"));
  EXPECT_THAT(refused(to_bytes(image), {.pad_value = 256}),
              HasSubstr("pad_value must be 0 to 255"));
  EXPECT_THAT(error_of([&] { make_grid(std::vector<Tensor>{}); }),
              HasSubstr("no images in the list"));
  EXPECT_THAT(error_of([&] {
                make_grid(std::vector<Tensor>{image, noise({3, 2, 1})});
              }),
              HasSubstr("[stack] "));
  auto unsaved = [&](const Tensor& t, const std::string& name) {
    return error_of([&] { save_image(t, path(name)); });
  };
  EXPECT_THAT(unsaved(to_bytes(image), "x.png"),
              HasSubstr("[save_image] the image is uint8; write_image"));
  EXPECT_THAT(unsaved(image, "x.gif"),
              HasSubstr("x.gif: the name must end in .png, .jpg or .jpeg"));
  EXPECT_THAT(unsaved(image, "a.png/x"), HasSubstr("must end in"));
  EXPECT_THAT(unsaved(image, "none/x.png"),
              AllOf(HasSubstr("[write_image] cannot create "), HasSubstr("none/x.png: "),
                    HasSubstr("its folder is missing"), HasSubstr("image_grid_test.cc:")));
  EXPECT_THAT(unsaved(noise({5, 2, 2}), "x.png"),
              HasSubstr("uint8 [C,H,W] with C from 1 to 4, got uint8[5,2,2]"));
  EXPECT_THAT(unsaved(noise({4, 2, 2}), "x.jpg"),
              HasSubstr("with C from 1 to 3, got uint8[4,2,2]"));
  EXPECT_THAT(unsaved(noise({2, 2, 2}), "x.jpg"), HasSubstr("an image of 2 channels"));
  EXPECT_THAT(error_of([&] { write_image(image, path("x.png")); }),
              HasSubstr("save_image takes floats"));
  EXPECT_THAT(error_of([&] { encode_jpeg(to_bytes(image), 0); }),
              HasSubstr("quality must be 1 to 100"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace wick
