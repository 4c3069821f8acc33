// Readers that need no library: CIFAR, arrays of a file as data sets.
#include <gmock/gmock.h>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"
#include "tests/support/not_files.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/array_data.h"
#include "trainer/data/cifar.h"
#include "trainer/data/idx.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/npy.h"
#include "trainer/data/token_file.h"

namespace wick {
namespace {

using namespace data;  // NOLINT: a test
using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Readers : public test::Folder {};

std::string record(std::initializer_list<int> labels, int seed) {
  std::string bytes;
  for (int l : labels) bytes.push_back(static_cast<char>(l));
  for (int i = 0; i < 3072; ++i) bytes.push_back(static_cast<char>(i * 7 + seed));
  return bytes;
}

TEST_F(Readers, Cifar10And100) {
  for (int i = 1; i <= 5; ++i) {
    write("data_batch_" + std::to_string(i) + ".bin", record({i}, i) + record({9}, 40 + i));
  }
  write("test_batch.bin", record({3}, 1));
  auto train = open_cifar(folder_, Cifar::k10, true);
  EXPECT_EQ(train->size(), 10);
  Item item = train->get(5);
  EXPECT_EQ(item[0].shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(item[0].to_vector<uint8_t>()[100], static_cast<uint8_t>(700 + 43));
  EXPECT_EQ(item[1].item_int(), 9);
  EXPECT_EQ(open_cifar(folder_, Cifar::k10, false)->get(0)[1].item_int(), 3);
  write("train.bin", record({19, 99}, 2));
  EXPECT_EQ(open_cifar(folder_, Cifar::k100, true)->get(0)[1].item_int(), 99);
  EXPECT_EQ(read_cifar({path("train.bin")}, Cifar::k100, true)->get(0)[1].item_int(), 19);
}

TEST_F(Readers, CifarThatIsNone) {
  auto text = [&](const std::string& bytes, Cifar kind, bool coarse = false) {
    std::string file = write("x.bin", bytes);
    return error_of([&] { read_cifar({file}, kind, coarse); });
  };
  EXPECT_THAT(text(record({1}, 0) + "x", Cifar::k10),
              AllOf(HasSubstr("x.bin"), HasSubstr("3074 bytes are no whole number of records")));
  EXPECT_THAT(text("", Cifar::k10), HasSubstr("0 bytes"));
  EXPECT_THAT(text(record({1}, 0) + record({10}, 0), Cifar::k10),
              HasSubstr("record 1 has label 10 of 10 classes"));
  EXPECT_THAT(text(record({1, 100}, 0), Cifar::k100), HasSubstr("label 100 of 100"));
  EXPECT_THAT(text(record({20, 1}, 0), Cifar::k100, true), HasSubstr("label 20 of 20"));
  EXPECT_THAT(error_of([&] { open_cifar(folder_, Cifar::k10, true); }),
              HasSubstr("cannot open " + folder_ + "/data_batch_1.bin"));
  EXPECT_THAT(error_of([] { read_cifar({}, Cifar::k10); }), HasSubstr("no files"));
  EXPECT_THAT(error_of([] { read_file("x", std::string("a\0b", 3), 10); }), HasSubstr("NUL"));
  write("big", std::string(1000, 'x'));
  EXPECT_THAT(error_of([&] { read_file("x", path("big"), 999); }), HasSubstr("budget of 999"));
  EXPECT_EQ(read_file("x", path("big"), 1000).size(), 1000u);
}

TEST_F(Readers, SafetensorsAsADataset) {
  save_safetensors(path("a.safetensors"),
                   {{"x", arange(6).reshape({3, 2})}, {"y", arange(3)}, {"z", arange(4)}});
  auto data = safetensors_dataset(path("a.safetensors"), {"y", "x"});
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->get(2)[0].item_int(), 2);
  EXPECT_EQ(data->get(2)[1].to_vector<int64_t>(), (std::vector<int64_t>{4, 5}));
  EXPECT_THAT(error_of([&] {
                safetensors_dataset(path("a.safetensors"), {"x", "w"});
              }),
              AllOf(HasSubstr("has no 'w'"), HasSubstr("x, y, z")));
  EXPECT_THAT(error_of([&] {
                safetensors_dataset(path("a.safetensors"), {"x", "z"});
              }),
              AllOf(HasSubstr("a.safetensors"), HasSubstr("numbers of rows differ")));
}

TEST_F(Readers, NpyInMemory) {
  Tensor t = arange(6).reshape({2, 3});
  write_npy(path("a.npy"), t.raw());
  std::vector<uint8_t> bytes = read_file("x", path("a.npy"), 1 << 20);
  HostArray array = parse_npy({bytes.data(), bytes.size()}, "memory");
  EXPECT_EQ(array.shape, (Shape{2, 3}));
  EXPECT_EQ(array.as<int64_t>()[5], 5);
  EXPECT_THAT(error_of([&] {
                parse_npy({bytes.data(), bytes.size() - 1}, "memory");
              }),
              AllOf(HasSubstr("memory"), HasSubstr("cut short")));
}

// What a file names may be long; what is said of it is not.
TEST_F(Readers, LongNamesAreShortened) {
  const std::string name(20000, 'x');
  for (const std::string& head :
       {"{'descr': '" + name + "', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '>" + name + "', 'fortran_order': False, 'shape': (1,)}",
        "{'" + name + "': 1}"}) {
    const std::string length = {static_cast<char>(head.size()),
                                static_cast<char>(head.size() >> 8)};
    const std::string file = std::string("\x93NUMPY\1\0", 8) + length + head;
    const std::string said = error_of([&] {
      parse_npy({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "x.npy");
    });
    EXPECT_THAT(said, HasSubstr("xxx'"));
    EXPECT_LT(said.size(), 700u);
  }
}

TEST_F(Readers, NoneWaitsForAPipe) {
  for (const auto& [path, refusal] : test::NotFiles()) {
    EXPECT_THAT(error_of([&] { read_npy(path); }), HasSubstr(refusal));
    EXPECT_THAT(error_of([&] { read_idx(path); }), HasSubstr(refusal));
    EXPECT_THAT(error_of([&] { read_cifar({path}, Cifar::k10); }), HasSubstr(refusal));
    EXPECT_THAT(error_of([&] { read_file("test", path, 1 << 20); }), HasSubstr(refusal));
    EXPECT_THAT(error_of([&] { TokenFile tokens(path); }), HasSubstr(refusal));
    EXPECT_THAT(error_of([&] { load_safetensors(path); }), HasSubstr(refusal));
  }
}

}  // namespace
}  // namespace wick
