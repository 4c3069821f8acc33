// Every reader on files with random damage: an Error or a result, never anything else. It is most
// useful in a sanitizer build (cmake --preset attack).
#include <gmock/gmock.h>

#include <functional>

#include "tests/data/folder.h"
#include "tests/data/goldens.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/csv_table.h"
#include "trainer/data/draws.h"
#include "trainer/data/idx.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/npy.h"
#include "trainer/data/tar.h"

namespace wick {
namespace {

using namespace data;

class Mutations : public test::Folder {
 protected:
  static std::string contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Bits, bytes, numbers of four bytes, cuts and repeats.
  static std::string damaged(std::string bytes, Draws& draws) {
    auto size = [&] { return static_cast<int64_t>(bytes.size()); };
    for (int64_t n = draws.below(4); n >= 0 && !bytes.empty(); --n) {
      auto at = static_cast<size_t>(draws.below(size()));
      switch (draws.below(6)) {
        case 0: bytes[at] = static_cast<char>(bytes[at] ^ 1 << draws.below(8)); break;
        case 1: bytes[at] = static_cast<char>(draws.below(256)); break;
        case 2: {
          const char* values[] = {"\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\xff\xff\xff\x7f",
                                  "\1\1\1\1"};
          bytes.replace(at, std::min<size_t>(4, bytes.size() - at), values[draws.below(4)]);
          break;
        }
        case 3: bytes.resize(at); break;
        case 4: bytes.insert(at, bytes.substr(static_cast<size_t>(draws.below(size())), 40)); break;
        default: bytes.erase(at, static_cast<size_t>(draws.below(20))); break;
      }
    }
    return bytes;
  }
  void attack(const std::string& name, const std::string& good,
              const std::function<void(const std::string&)>& read) {
    int refused = 0;
    write(name, good);
    EXPECT_NO_THROW(read(path(name)));
    for (uint64_t i = 0; i < 500; ++i) {
      Draws draws(20, Draws::kSample, 0, i);
      std::filesystem::remove(path(name));  // some file systems sync a file that is written over
      std::string file = write(name, damaged(good, draws));
      try {
        read(file);
      } catch (const Error& e) {
        ++refused;
        EXPECT_THAT(e.what(), ::testing::HasSubstr(name)) << i;
      }
    }
    EXPECT_GT(refused, 20) << name;
  }
};

TEST_F(Mutations, Images) {
  for (const char* name : {"rgb.png", "palette.png", "gray16.png", "rgb.jpg", "progressive.jpg"}) {
    attack(name, contents(test::golden_path(name)),
           [](const std::string& file) { read_image(file, {.max_pixels = 1 << 22}); });
  }
}

TEST_F(Mutations, Archives) {
  for (const char* name : {"plain.npz", "packed.npz"}) {
    attack(name, contents(test::golden_path(name)),
           [](const std::string& file) { read_npz(file, 1 << 24); });
  }
  // A tar by hand: header, bytes, two blocks of zeros.
  std::string tar;
  for (int i = 0; i < 6; ++i) {
    std::string block(512, '\0'), name = "s" + std::to_string(i / 2) + (i % 2 ? ".jpg" : ".cls");
    block.replace(0, name.size(), name);
    block.replace(100, 7, "0000644");
    block.replace(124, 11, "00000000003");
    block.replace(156, 1, "0");
    block.replace(257, 8, std::string("ustar\00000", 8));
    block.replace(148, 8, "        ");
    unsigned sum = 0;
    for (char c : block) sum += static_cast<uint8_t>(c);
    char text[8];
    std::snprintf(text, sizeof(text), "%06o", sum);
    block.replace(148, 7, std::string(text, 7));
    tar += block + "7\n\n" + std::string(509, '\0');
  }
  tar += std::string(1024, '\0');
  attack("a.tar", tar, [](const std::string& file) {
    auto data = std::make_shared<TarDataset>(
        std::vector<std::string>{file},
        [](const TarSample& s) { return Item{full({}, s.number("cls"), DType::kI64)}; },
        TarOptions{.max_file_bytes = 1 << 20});
    DataLoader loader(data, {.workers = 1});
    Batch batch;
    try {
      while (loader.next(batch)) {
      }
    } catch (const Error& e) {
      if (std::string(e.what()).find("gave no items") != std::string::npos) {
        throw Error(std::string(e.what()) + " " + file);  // a cut to nothing has no name to give
      }
      throw;
    }
  });
}

TEST_F(Mutations, Tables) {
  std::string csv = "id,name,x\n";
  for (int i = 0; i < 40; ++i) {
    csv += std::to_string(i) + ",\"na\"\"me, " + std::to_string(i) + "\"," +
           std::to_string(i * 0.5) + "\n";
  }
  CsvOptions typed;
  typed.dtypes = {{"id", DType::kI64}, {"x", DType::kF64}};
  attack("t.csv", csv, [&](const std::string& file) {
    read_csv(file, typed).columns({"id", "x"});
  });
}

TEST_F(Mutations, Arrays) {
  Tensor t = arange(60).reshape({3, 20});
  write_npy(path("good"), t.raw());
  attack("a.npy", contents(path("good")), [](const std::string& file) { read_npy(file, 1 << 20); });
  std::string idx(
      "\0\0\x08\x02\0\0\0\x02\0\0\0\x06"
      "123456abcdef",
      24);
  attack("a.idx", idx, [](const std::string& file) { read_idx(file, 1 << 20); });
  save_safetensors(path("s"), {{"x", t}, {"y", ones({4})}});
  attack("a.safetensors", contents(path("s")),
         [](const std::string& file) { load_safetensors(file); });
}

}  // namespace
}  // namespace wick
