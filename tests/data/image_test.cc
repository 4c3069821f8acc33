// PNG and JPEG against PIL, damaged files, announced sizes that are bombs; folders of classes.
#include <gmock/gmock.h>
#include <png.h>

#include "tests/data/folder.h"
#include "tests/data/goldens.h"
#include "tests/support/error_of.h"
#include "trainer/data/image/image_folder.h"
#include "trainer/data/image/image_write.h"

namespace wick {
namespace {

using namespace data;  // NOLINT: a test
using test::error_of;
using test::expect_golden;
using test::golden_path;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Images : public test::Folder {
 protected:
  std::string contents(const std::string& name) const {
    std::ifstream in(golden_path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string refusal(const std::string& bytes, const ImageOptions& options = {}) const {
    return error_of([&] { read_image(write("x.img", bytes), options); });
  }
};

// A PNG chunk with its checksum.
std::string chunk(const std::string& type, const std::string& data) {
  auto big = [](uint32_t v) {
    std::string s;
    for (int shift : {24, 16, 8, 0}) s.push_back(static_cast<char>(v >> shift));
    return s;
  };
  uint32_t crc = 0xffffffff;
  for (char c : type + data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return big(static_cast<uint32_t>(data.size())) + type + data + big(~crc);
}
const std::string kMagic("\x89PNG\r\n\x1a\n", 8);

TEST_F(Images, ReadsWhatPilReads) {
  ImageOptions gray;
  gray.mode = ImageMode::kGray;
  for (const auto& [name, golden] : test::goldens()) {
    if (name.starts_with("read_rgb_")) {
      expect_golden(name, read_image(golden_path(name.substr(9))), 0);
    } else if (name.starts_with("read_gray_")) {
      expect_golden(name, read_image(golden_path(name.substr(10)), gray), 0);
    }
  }
  ImageOptions deep = {.mode = ImageMode::kUnchanged, .keep_16_bit = true};
  Tensor sixteen = read_image(golden_path("gray16.png"), deep);
  EXPECT_EQ(sixteen.dtype(), DType::kU16);
  expect_golden("read_16_gray16.png", sixteen, 0);
  // Scaled to 8 bits: the nearest of x * 255 / 65535.
  Tensor eight = read_image(golden_path("gray16.png"), {.mode = ImageMode::kUnchanged});
  for (int i = 0; i < 63; ++i) {
    EXPECT_EQ(eight.to_vector<uint8_t>()[static_cast<size_t>(i)],
              std::lround(sixteen.to_vector<uint16_t>()[static_cast<size_t>(i)] * 255.0 / 65535));
  }
}

TEST_F(Images, ModesAreTorchvisions) {
  auto channels = [](const char* name, ImageMode mode) {
    return read_image(golden_path(name), {.mode = mode}).shape()[0];
  };
  EXPECT_EQ(channels("gray.png", ImageMode::kUnchanged), 1);
  EXPECT_EQ(channels("gray_alpha.png", ImageMode::kUnchanged), 2);
  EXPECT_EQ(channels("rgb.png", ImageMode::kUnchanged), 3);
  EXPECT_EQ(channels("palette.png", ImageMode::kUnchanged), 3);
  EXPECT_EQ(channels("rgba.png", ImageMode::kUnchanged), 4);
  EXPECT_EQ(channels("gray.jpg", ImageMode::kRgbAlpha), 4);
  Tensor alpha = read_image(golden_path("rgba.png"), {.mode = ImageMode::kGrayAlpha});
  EXPECT_EQ(alpha.select(0, 1).to_vector<uint8_t>(),
            test::picture(9, 7, 1).select(0, 0).to_vector<uint8_t>());
  Tensor opaque = read_image(golden_path("rgb.png"), {.mode = ImageMode::kRgbAlpha});
  EXPECT_EQ(opaque.to_vector<uint8_t>().back(), 255);
}

TEST_F(Images, InterlacedPng) {
  std::string file = path("i.png");
  FILE* to = std::fopen(file.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, to);
  png_set_IHDR(png, info, 13, 11, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  Tensor want = test::picture(11, 13), rows = want.permute({1, 2, 0}).contiguous();
  std::vector<png_bytep> lines;
  for (int y = 0; y < 11; ++y) lines.push_back(static_cast<uint8_t*>(rows.raw().data) + y * 39);
  png_write_image(png, lines.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(to);
  EXPECT_EQ(read_image(file).to_vector<uint8_t>(), want.to_vector<uint8_t>());
}

TEST_F(Images, DamageIsAnErrorThatNamesTheFile) {
  for (const char* name : {"rgb.png", "palette.png", "rgb.jpg", "progressive.jpg"}) {
    std::string bytes = contents(name);
    for (size_t keep : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 20}) {
      EXPECT_THAT(refusal(bytes.substr(0, keep)), HasSubstr("x.img: ")) << name << " " << keep;
    }
  }
  std::string torn = contents("rgb.png");
  torn[60] = static_cast<char>(torn[60] ^ 1);
  EXPECT_THAT(refusal(torn), AllOf(HasSubstr("[png] "), HasSubstr("x.img: IDAT: ")));
  EXPECT_THAT(refusal(contents("rgb.png").substr(0, 100)), HasSubstr("the file is cut short"));
  EXPECT_THAT(refusal(contents("rgb.jpg").substr(0, 640)), HasSubstr("[jpeg] "));
  EXPECT_THAT(refusal("hello"), HasSubstr("x.img: neither PNG nor JPEG (5 bytes)"));
  EXPECT_THAT(refusal(""), HasSubstr("neither PNG nor JPEG (0 bytes)"));
  EXPECT_THAT(refusal(contents("cmyk.jpg")), HasSubstr("4 colours (CMYK): convert it to RGB"));
  EXPECT_THAT(error_of([&] { read_image(path("none.png")); }), HasSubstr("cannot open"));
  EXPECT_THAT(refusal(contents("rgb.png"), {.max_file_bytes = 100}), HasSubstr("budget of 100"));
}

TEST_F(Images, BombsAreRefusedBeforeTheyGoOff) {
  auto png = [](const std::string& width, const std::string& height) {
    return kMagic + chunk("IHDR", width + height + std::string("\x08\x02\0\0\0", 5)) +
           chunk("IDAT", std::string(100, 'x')) + chunk("IEND", "");
  };
  std::string sixty("\0\0\xea\x60", 4), ones("\0\0\0\1", 4), most("\x7f\xff\xff\xff", 4);
  EXPECT_THAT(refusal(png(sixty, sixty)),
              HasSubstr("[png] " + path("x.img") + ": 60000 x 60000 pixels, the budget"));
  EXPECT_THAT(refusal(png(most, most)), HasSubstr("2147483647 x 2147483647 pixels, the budget"));
  EXPECT_THAT(refusal(png(most, ones)), HasSubstr("pixels, the budget"));
  EXPECT_THAT(refusal(png(std::string(4, '\0'), ones)), HasSubstr("x.img: "));
  // Within the budget, but more than its bytes can hold.
  EXPECT_THAT(refusal(png(std::string("\0\0\x1f\0", 4), std::string("\0\0\x1f\0", 4))),
              HasSubstr("7936 x 7936 pixels do not fit into its"));
  EXPECT_THAT(refusal(contents("rgb.png"), {.max_pixels = 62}),
              HasSubstr("7 x 9 pixels, the budget (max_pixels) is 62"));
  EXPECT_THAT(refusal(contents("rgb.jpg"), {.max_pixels = 62}), HasSubstr("[jpeg] "));
  std::string jpeg = contents("rgb.jpg");
  size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xea\x60\xea\x60");
  EXPECT_THAT(refusal(jpeg), HasSubstr("60000 x 60000 pixels, the budget"));
  jpeg.replace(frame + 5, 4, std::string("\x1f\0\x1f\0", 4));
  EXPECT_THAT(refusal(jpeg), HasSubstr("x.img: "));
  EXPECT_THAT(refusal(contents("rgb.png"), {.max_pixels = 0}), HasSubstr("max_pixels 0"));
}

// Arithmetic codes, of which zeros are blank pixels, and scans that cost a few bytes each.
TEST_F(Images, JpegsOfAFewBytesAreSmall) {
  auto jpeg = [](const char* frame, const std::string& size, int scans) {
    std::string file = std::string("\xff\xd8\xff\xdb\0\x43\0", 7) + std::string(64, '\1') + frame +
                       std::string("\0\x11\x08", 3) + size +
                       std::string("\3\1\x11\0\2\x11\0\3\x11\0", 10);
    for (int k = 0; k < scans; ++k) {
      const char at = static_cast<char>(k);
      file += std::string("\xff\xda\0\x08\1\1\0", 7) + at + at + std::string(20, '\0');
    }
    return file + std::string(500, '\0') + "\xff\xd9";
  };
  const std::string large("\x1f\x40\x1f\x40", 4), small("\2\0\2\0", 4);
  EXPECT_THAT(refusal(jpeg("\xff\xca", large, 60)),
              HasSubstr("8000 x 8000 pixels do not fit into its"));
  EXPECT_THAT(refusal(jpeg("\xff\xca", small, 60)), Not(HasSubstr("for a file of its size")));
  EXPECT_THAT(refusal(jpeg("\xff\xca", std::string("\4\0\4\0", 4), 60)),
              HasSubstr("scans for a file of its size"));
  const std::vector<uint8_t> blank = encode_jpeg(zeros({1, 2000, 2000}, DType::kU8));
  EXPECT_EQ(decode_image(Span<const uint8_t>(blank.data(), blank.size()), "blank").shape()[1],
            2000);
}

TEST_F(Images, FoldersAreClasses) {
  namespace fs = std::filesystem;
  auto put = [&](const std::string& name) {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::copy_file(golden_path(name.ends_with("g16.png") ? "gray16.png" : "rgb.png"), path(name));
  };
  for (const char* name :
       {"b/2.png", "b/10.png", "b/sub/1.PNG", "b/sub-a/1.png", "B/x.png", "a/y.png", "a/g16.png"}) {
    put(name);
  }
  write("a/notes.txt", "no image");
  write("readme.txt", "no class");
  ImageFolder data(folder_);
  EXPECT_EQ(data.classes(), (std::vector<std::string>{"B", "a", "b"}));
  std::vector<std::string> names;
  for (const auto& [file, label] : data.samples()) names.push_back(file.substr(folder_.size() + 1));
  // os.walk's order: the folder's own files, then those below, folders sorted as text.
  EXPECT_EQ(names, (std::vector<std::string>{"B/x.png", "a/g16.png", "a/y.png", "b/10.png",
                                             "b/2.png", "b/sub/1.PNG", "b/sub-a/1.png"}));
  EXPECT_EQ(data.targets(), (std::vector<int64_t>{0, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(data.get(6)[0].shape(), (Shape{3, 9, 7}));
  EXPECT_EQ(data.get(6)[1].item_int(), 2);
  // One of them is damaged: epoch, batch, item and file.
  write("a/y.png", "torn");
  DataLoader loader(std::make_shared<ImageFolder>(folder_), {.batch_size = 2, .workers = 2});
  Batch batch;
  ASSERT_TRUE(loader.next(batch));
  EXPECT_EQ(error_of([&] { loader.next(batch); }),
            "[data_loader] epoch 0, batch 1: item 2: [image] " + path("a/y.png") +
                ": neither PNG nor JPEG (4 bytes)");
  fs::create_directories(path("empty"));
  EXPECT_THAT(error_of([&] { ImageFolder f(folder_); }),
              AllOf(HasSubstr("file for the classes empty"), HasSubstr("image_test.cc:")));
  write("empty/x.webp", "");
  EXPECT_THAT(error_of([&] { ImageFolder f(folder_); }), HasSubstr(".webp files are not read"));
  EXPECT_THAT(error_of([&] { ImageFolder f(path("a")); }), HasSubstr("no class folders in it"));
  EXPECT_THAT(error_of([&] { ImageFolder f(path("none")); }), HasSubstr("no such folder"));
}

}  // namespace
}  // namespace wick
