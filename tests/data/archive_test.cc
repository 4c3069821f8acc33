// Tar as a stream of samples, NPZ: grouping, packing, damage, budgets, names that point outside.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"
#include "tests/support/not_files.h"
#include "tests/support/where.h"
#include "trainer/data/array_data.h"
#include "trainer/data/npy.h"
#include "trainer/data/npz.h"
#include "trainer/data/read_time.h"
#include "trainer/data/tar.h"

namespace wick {
namespace {

using namespace data;  // NOLINT: a test
using test::error_of;
using test::read_epoch;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Files = std::vector<std::pair<std::string, std::string>>;

class Archives : public test::Folder {
 protected:
  std::string make(const std::string& name, const Files& files, const char* kind) const {
    std::string to = path(name);
    archive* a = archive_write_new();
    if (std::string(kind) == "zip") {
      archive_write_set_format_zip(a);
    } else {
      archive_write_set_format_ustar(a);
      if (std::string(kind) == "gz") archive_write_add_filter_gzip(a);
      if (std::string(kind) == "bz2") archive_write_add_filter_bzip2(a);
    }
    EXPECT_EQ(archive_write_open_filename(a, to.c_str()), ARCHIVE_OK);
    for (const auto& [file, bytes] : files) {
      archive_entry* e = archive_entry_new();
      archive_entry_set_pathname(e, file.c_str());
      archive_entry_set_size(e, static_cast<int64_t>(bytes.size()));
      archive_entry_set_filetype(e, file.back() == '/' ? AE_IFDIR : AE_IFREG);
      archive_entry_set_perm(e, 0644);
      archive_write_header(a, e);
      archive_write_data(a, bytes.data(), bytes.size());
      archive_entry_free(e);
    }
    archive_write_close(a);
    archive_write_free(a);
    return to;
  }
  std::string contents(const std::string& file) const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

Item number_of(const TarSample& s) { return {full({}, s.number("cls"), DType::kI64)}; }
Files samples(int64_t first, int64_t last) {
  Files files = {{"train/", ""}};
  for (int64_t i = first; i < last; ++i) {
    std::string key = "train/v1.2/" + std::to_string(i);
    files.emplace_back(key + ".cls", std::to_string(i) + "\n");
    files.emplace_back(key + ".left.bin", std::string(100, static_cast<char>(i)));
  }
  return files;
}

TEST_F(Archives, TarIsAStreamOfSamples) {
  std::vector<std::string> files = {make("a.tar", samples(0, 10), "tar"),
                                    make("b.tar.gz", samples(10, 25), "gz")};
  auto data = std::make_shared<TarDataset>(files, [](const TarSample& s) {
    EXPECT_EQ(s.key, "train/v1.2/" + std::to_string(s.number("cls")));
    EXPECT_EQ(s.field("left.bin").size(), 100u);
    EXPECT_FALSE(s.has("right.bin"));
    return number_of(s);
  });
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 25; ++i) {
    expected.push_back(i);
    if (i % 4 == 3 || i == 24) expected.push_back(-1);
  }
  for (int workers : {0, 3}) {
    DataLoader loader(data, {.batch_size = 4, .workers = workers});
    EXPECT_EQ(read_epoch(loader), expected);
    EXPECT_EQ(read_epoch(loader), expected);
    loader.seek({2, 3});
    EXPECT_EQ(read_epoch(loader), std::vector<int64_t>(expected.begin() + 15, expected.end()));
  }
}

TEST_F(Archives, TarErrorsNameTheFileAndTheSample) {
  Batch batch;
  auto first = [&](const std::string& tar, const std::function<Item(const TarSample&)>& decode,
                   const TarOptions& options = {}) {
    DataLoader loader(std::make_shared<TarDataset>(std::vector<std::string>{tar}, decode, options),
                      {.batch_size = 100});
    return error_of([&] { loader.next(batch); });
  };
  std::string good = make("a.tar", samples(0, 10), "tar");
  EXPECT_EQ(first(good, number_of), "no error");
  EXPECT_THAT(first(good, [](const TarSample& s) { return Item{full({}, s.number("jpg"))}; }),
              AllOf(HasSubstr("item 0: [tar] "), HasSubstr("a.tar: train/v1.2/0.jpg is not there"),
                    HasSubstr("cls, left.bin")));
  std::string words = make("w.tar", {{"x.cls", "seven"}}, "tar");
  EXPECT_THAT(first(words, number_of), HasSubstr("w.tar: x.cls: 'seven' is no whole number"));
  EXPECT_THAT(first(path("none.tar"), number_of), HasSubstr("none.tar: cannot be opened"));
  std::string bytes = contents(good);
  std::string cut = write("cut.tar", bytes.substr(0, 512 * 6 + 50));
  EXPECT_THAT(first(cut, number_of), AllOf(HasSubstr("batch 0: item "), HasSubstr("cut.tar: ")));
  std::string zipped = contents(make("z.tar.gz", samples(0, 50), "gz"));
  std::string half = write("half.tar.gz", zipped.substr(0, zipped.size() / 2));
  EXPECT_THAT(first(half, number_of), HasSubstr("half.tar.gz: "));
  // Its files are whole, its checksum is not.
  zipped[zipped.size() - 8] = static_cast<char>(zipped[zipped.size() - 8] ^ 1);
  EXPECT_THAT(first(write("sum.tar.gz", zipped), number_of),
              HasSubstr("sum.tar.gz: cannot be opened: gzip: incorrect data check"));
  EXPECT_THAT(first(write("text.tar", std::string(3000, 'x')), number_of), HasSubstr("text.tar: "));
  EXPECT_THAT(first(make("up.tar", {{"a/../../etc/x.cls", "1"}}, "tar"), number_of),
              HasSubstr("'a/../../etc/x.cls' leads out of the archive"));
  EXPECT_THAT(first(make("root.tar", {{"/etc/x.cls", "1"}}, "tar"), number_of),
              HasSubstr("leads out of the archive"));
  EXPECT_THAT(first(make("twice.tar", {{"x.cls", "1"}, {"x.cls", "2"}}, "tar"), number_of),
              HasSubstr("x.cls is there twice"));
  EXPECT_THAT(first(good, number_of, {.max_file_bytes = 99}),
              HasSubstr("left.bin: larger than the budget of 99 bytes"));
  EXPECT_THAT(first(good, number_of, {.max_sample_bytes = 101}),
              HasSubstr("train/v1.2/0: the sample is larger than the budget of 101"));
  // 64 MB of zeros in some KB.
  std::string bomb = make("bomb.tar.gz", {{"x.cls", std::string(64 << 20, '\0')}}, "gz");
  EXPECT_LT(std::filesystem::file_size(bomb), 1u << 20);
  EXPECT_THAT(first(bomb, number_of, {.max_file_bytes = 1 << 20}), HasSubstr("larger than"));
  EXPECT_THAT(error_of([] { TarDataset({}, number_of); }), HasSubstr("no files"));
}

// bzip2 makes of a few hundred bytes what gzip needs a megabyte for.
TEST_F(Archives, TarOfAFewBytesHasNoLargeFiles) {
  const auto read = [&](const Files& files) {
    const std::string tar = make("few.tar.bz2", files, "bz2");
    EXPECT_LT(std::filesystem::file_size(tar), 1u << 10);
    DataLoader loader(std::make_shared<TarDataset>(
                          std::vector<std::string>{tar},
                          [](const TarSample&) { return Item{full({}, 1)}; }, TarOptions{}),
                      {.batch_size = 100});
    Batch batch;
    return error_of([&] { loader.next(batch); });
  };
  const std::string part(12 << 20, '\0');
  EXPECT_EQ(read({{"x.a", part}}), "no error");
  EXPECT_THAT(read({{"x.a", part + part}}),
              AllOf(HasSubstr("few.tar.bz2: x.a: larger than the budget of "),
                    HasSubstr(" bytes, 16 MiB and 1100 times the archive's "),
                    HasSubstr("compress it with gzip, or not at all")));
  EXPECT_THAT(read({{"x.a", part}, {"x.b", part}}),
              HasSubstr("x: the sample is larger than the budget of "));
}

// Files without bytes have memory, too: of each a tar needs few bytes.
TEST_F(Archives, TarCountsFieldsWithoutBytes) {
  Files files;
  for (int i = 0; i < 4000; ++i) files.emplace_back("x." + std::to_string(i), "");
  const auto read = [&](const Files& of, const TarOptions& options) {
    DataLoader loader(std::make_shared<TarDataset>(
                          std::vector<std::string>{make("fields.tar.gz", of, "gz")},
                          [](const TarSample& s) {
                            for (const auto& [name, bytes] : s.fields)
                              EXPECT_LE(bytes.capacity(), 200u) << name;
                            return Item{full({}, 1)};
                          },
                          options),
                      {.batch_size = 100});
    Batch batch;
    return error_of([&] { loader.next(batch); });
  };
  EXPECT_EQ(read(samples(0, 2), {}), "no error");
  EXPECT_THAT(read(files, {.max_sample_bytes = 1 << 19}),
              HasSubstr("x: the sample is larger than the budget of 524288 bytes"));
}

TEST_F(Archives, NpzIsNumpys) {
  // numpy.savez and savez_compressed of {"x": arange(6, dtype=f4).reshape(2, 3), "y": [7, 8]}.
  for (const char* name : {"plain.npz", "packed.npz"}) {
    std::string file = source_dir("/tests/data/goldens/") + name;
    auto arrays = read_npz(file);
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays[0].first, "x");
    EXPECT_EQ(arrays[0].second.shape, (Shape{2, 3}));
    EXPECT_EQ(arrays[0].second.as<float>()[5], 5.0f);
    auto data = npz_dataset(file, {"x", "y"});
    EXPECT_EQ(data->get(1)[1].item_int(), 8);
    EXPECT_THAT(error_of([&] { npz_dataset(file, {"z"}); }),
                AllOf(HasSubstr("has no 'z'"), HasSubstr("x, y")));
    EXPECT_THAT(error_of([&] { read_npz(file, 100); }), HasSubstr("budget of 100 bytes"));
    std::string bytes = contents(file);
    EXPECT_THAT(error_of([&] { read_npz(write("cut.npz", bytes.substr(0, 200))); }),
                HasSubstr("cut.npz: "));
  }
  EXPECT_THAT(error_of([&] {
                read_npz(make("t.npz", {{"x.txt", "1"}}, "zip"));
              }),
              HasSubstr("'x.txt' is no array"));
  EXPECT_THAT(error_of([&] {
                read_npz(make("b.npz", {{"x.npy", "abc"}}, "zip"));
              }),
              HasSubstr("b.npz: x.npy: magic cut short"));
  EXPECT_THAT(error_of([&] {
                read_npz(make("u.npz", {{"../x.npy", "abc"}}, "zip"));
              }),
              HasSubstr("leads out"));
  EXPECT_THAT(error_of([&] { read_npz(make("e.npz", {}, "zip")); }), HasSubstr("e.npz: "));
  std::string bomb = make("bomb.npz", {{"x.npy", std::string(64 << 20, '\0')}}, "zip");
  EXPECT_THAT(error_of([&] { read_npz(bomb, 1 << 20); }), HasSubstr("budget"));
}

// What an array says of itself comes before its numbers, and nobody unpacks those for nothing.
TEST_F(Archives, NpzIsLookedAtBeforeItIsUnpacked) {
  constexpr int64_t kMany = 16 << 20;
  const auto head = [&](DType dtype, const Shape& shape) {
    return data::npy_head("x", TensorView(nullptr, dtype, shape));
  };
  const std::string zeros(kMany, '\0'), small = head(DType::kU8, {3}) + "abc";
  const std::string large = head(DType::kU8, {kMany}) + zeros;
  const std::string file = make("large.npz", {{"a.npy", large}, {"b.npy", small}}, "zip");
  ASSERT_LT(std::filesystem::file_size(file), 1u << 20);
  const auto most_of = [](const std::function<void()>& work) {
    const uint64_t before = read_totals().bytes;
    work();
    return read_totals().bytes - before;
  };
  // Neither what is not wanted, nor what the callback refuses, nor what follows an array's end.
  EXPECT_LT(most_of([&] {
              const auto some = read_npz(
                  file, data::kDefaultArrayBudget,
                  [](const std::string& name, DType, const Shape&) { return name == "b"; });
              ASSERT_EQ(some.size(), 1u);
              EXPECT_EQ(some[0].first, "b");
              EXPECT_EQ(some[0].second.as<uint8_t>()[2], 'c');
            }),
            1u << 20);
  EXPECT_LT(most_of([&] {
              EXPECT_THAT(error_of([&] {
                            read_npz(file, data::kDefaultArrayBudget,
                                     [](const std::string& name, DType dtype, const Shape& shape) {
                                       EXPECT_EQ(name, "a");
                                       EXPECT_EQ(dtype, DType::kU8);
                                       EXPECT_EQ(shape, (Shape{kMany}));
                                       throw Error("too large for me");
                                       return true;
                                     });
                          }),
                          HasSubstr("too large for me"));
            }),
            1u << 20);
  const std::string longer = make("longer.npz", {{"a.npy", small + zeros}}, "zip");
  EXPECT_LT(most_of([&] {
              EXPECT_THAT(error_of([&] { read_npz(longer); }),
                          HasSubstr("a.npy: more bytes follow"));
            }),
            1u << 20);
  EXPECT_LT(most_of([&] {
              EXPECT_THAT(error_of([&] { npz_dataset(file, {"c"}); }), HasSubstr("it has a, b"));
            }),
            1u << 20);
  EXPECT_EQ(read_npz(file)[0].second.numel(), kMany);
}

// ZIP has methods that make far more of a byte than deflate: here bzip2 makes 32 MiB of 245.
TEST_F(Archives, NpzOfAFewBytesIsSmall) {
  const std::string hex =
      "504b03042e0000000c0000002100cd36a1ee890000008000000205000000782e6e7079425a6839314159"
      "26535925600fc304042cdfa0e01040e43e1001034220af45df0e0800000820009288a3f5206800d06403"
      "13102a51468000000002bfa0040154010052880200b5eab2008035e1fb79899d5a56df8e54f970b32599"
      "b095d921006640f14ca8255bb38c96e1538cc230592da1a97bc83cf5c1a46db5900401fc5dc914e14240"
      "95803f0c504b01022e002e0000000c0000002100cd36a1ee890000008000000205000000000000000000"
      "0000000000000000782e6e7079504b0506000000000100010033000000ac0000000000";
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  const std::string file = path("bzip2.npz");
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_THAT(error_of([&] { read_npz(file); }),
              HasSubstr("'x.npy' of shape [33554432] does not fit into the file's 245 bytes"));
}

TEST_F(Archives, NpzIsWrittenAsNumpyReadsIt) {
  const float x[] = {0, 1, 2, 3, 4, 5};
  const int64_t length = 7;
  const std::vector<data::NamedArray> arrays = {
      {"keys.0", {const_cast<float*>(x), DType::kF32, {2, 3}}},
      {"length", {const_cast<int64_t*>(&length), DType::kI64, {}}},
      {"empty", {nullptr, DType::kF32, {0, 4}}}};
  const std::string file = path("written.npz"), again = path("again.npz");
  data::write_npz(file, arrays);
  data::write_npz(again, arrays);
  EXPECT_EQ(contents(file), contents(again));  // no times in it
  const auto read = read_npz(file);
  ASSERT_EQ(read.size(), arrays.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, arrays[i].name);
    EXPECT_EQ(read[i].second.dtype, arrays[i].array.dtype);
    EXPECT_EQ(read[i].second.shape, arrays[i].array.shape);
    EXPECT_EQ(read[i].second.bytes.size(), arrays[i].array.nbytes());
  }
  EXPECT_EQ(read[0].second.as<float>()[5], 5.0F);
  EXPECT_EQ(read[1].second.as<int64_t>()[0], 7);
  // Python's own reader compares the sums of the bytes.
  const std::string check =
      "python3 -c \"import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
      "sys.exit(z.testzip() is not None or len(z.namelist()) != 3)\" '" +
      file + "'";
  EXPECT_EQ(std::system(check.c_str()), 0);
  // What cannot be written leaves the file as it was.
  std::vector<data::NamedArray> wrong = arrays;
  wrong[2].name = "length";
  EXPECT_THAT(error_of([&] { data::write_npz(file, wrong); }),
              HasSubstr("'length' is there twice"));
  wrong[2] = {"half", {const_cast<float*>(x), DType::kBF16, {2}}};
  EXPECT_THAT(error_of([&] { data::write_npz(file, wrong); }),
              HasSubstr("half: numpy has no type for bfloat16"));
  wrong[2].name = "";
  EXPECT_THAT(error_of([&] { data::write_npz(file, wrong); }), HasSubstr("1 to 1000 bytes"));
  // Nothing of it is read.
  wrong[2] = {"large", {const_cast<float*>(x), DType::kF32, {int64_t{1} << 30}}};
  EXPECT_THAT(error_of([&] { data::write_npz(file, wrong); }),
              HasSubstr("written.npz: cannot be written: an .npz file holds 65535 arrays and "
                        "4294967295 bytes at most, not 3 arrays and 42949"));
  EXPECT_EQ(contents(file), contents(again));
}

TEST_F(Archives, NoneIsWaitedForThatIsNoFile) {
  for (const auto& [path, refusal] : test::NotFiles()) {
    Batch batch;
    DataLoader tar(std::make_shared<TarDataset>(std::vector<std::string>{path}, number_of), {});
    EXPECT_THAT(error_of([&] { tar.next(batch); }), HasSubstr(refusal));
    EXPECT_THAT(error_of([&] { read_npz(path); }), HasSubstr(refusal));
  }
}

}  // namespace
}  // namespace wick
