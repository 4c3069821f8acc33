// Mapped files of tokens: windows, widths, what is refused, and how little of them stays in memory.
#include "trainer/data/token_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using namespace data;
using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using List = std::vector<int64_t>;

int64_t resident_kb() {
#ifdef __SANITIZE_ADDRESS__  // it keeps freed memory
  constexpr const char* kWhat = "RssFile:";
#else
  constexpr const char* kWhat = "VmRSS:";
#endif
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kWhat)) return std::atoll(line.c_str() + std::strlen(kWhat));
  }
  return -1;
}

class Tokens : public test::Folder {
 protected:
  template <class T>
  std::string tokens(const std::string& name, const std::vector<T>& values) const {
    return write(
        name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
};

TEST_F(Tokens, WindowsOfContextAndOne) {
  std::vector<uint16_t> values;
  for (int i = 0; i < 11; ++i) values.push_back(static_cast<uint16_t>(60000 + i));
  auto file = std::make_shared<TokenFile>(tokens("a.bin", values));
  EXPECT_EQ(file->size(), 11);
  TokenDataset data(file, 4);
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.get(1)[0].to_vector<int64_t>(), (List{60004, 60005, 60006, 60007}));
  EXPECT_EQ(data.get(1)[1].to_vector<int64_t>(), (List{60005, 60006, 60007, 60008}));
  EXPECT_EQ(TokenDataset(file, 5).size(), 2);   // 0..5, 5..10
  EXPECT_EQ(TokenDataset(file, 10).size(), 1);  // the whole file
  TokenDataset sliding(file, 4, 1);
  EXPECT_EQ(sliding.size(), 7);
  EXPECT_EQ(sliding.get(6)[1].to_vector<int64_t>().back(), 60010);  // the last token is a target
  EXPECT_THAT(error_of([&] { sliding.get(7); }), HasSubstr("no item 7 of 7"));

  std::vector<uint32_t> wide = {7, 4000000000u, 9};
  auto big = std::make_shared<TokenFile>(tokens("b.bin", wide), DType::kU32);
  EXPECT_EQ(TokenDataset(big, 2).get(0)[0].to_vector<int64_t>(), (List{7, 4000000000}));
}

TEST_F(Tokens, RefusesWhatIsNoTokenFile) {
  EXPECT_THAT(error_of([&] { TokenFile(path("none")); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(error_of([&] { TokenFile(write("odd", "abc")); }), HasSubstr("3 bytes are no whole"));
  EXPECT_THAT(error_of([&] { TokenFile(write("empty", "")); }), HasSubstr("0 bytes"));
  EXPECT_THAT(error_of([&] { TokenFile t(folder_); }), HasSubstr("not a regular file"));
  auto file = std::make_shared<TokenFile>(tokens("a.bin", std::vector<uint16_t>{1, 2, 900}));
  EXPECT_THAT(error_of([&] { TokenFile(file->path(), DType::kI16); }), HasSubstr("int16"));
  EXPECT_THAT(error_of([&] { TokenDataset(file, 3); }), HasSubstr("needs context + 1 = 4"));
  EXPECT_THAT(error_of([&] { TokenDataset(file, 0); }), HasSubstr("context 0"));
  EXPECT_THAT(error_of([&] { TokenDataset(file, 2, 0, 500).get(0); }),
              AllOf(HasSubstr("a.bin: token 900 at 2"), HasSubstr("vocabulary of 500")));
  int64_t to[4];
  EXPECT_THAT(error_of([&] { file->read(2, 2, to); }),
              HasSubstr("2 tokens from 2 on: there are 3"));
  EXPECT_THAT(error_of([&] { file->read(INT64_MAX, 2, to); }), HasSubstr("there are 3"));
}

// A file far larger than what may stay in memory: with holes, so that the disk holds nothing.
TEST_F(Tokens, TwoGigabytesInFiftyMegabytes) {
  constexpr int64_t kBytes = int64_t{2} << 30;
  std::string name = path("big.bin");
  int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  uint16_t last = 777;
  ASSERT_EQ(pwrite(file, &last, 2, kBytes - 2), 2);
  close(file);

  constexpr int64_t kContext = 1023;
  auto data = std::make_shared<TokenDataset>(std::make_shared<TokenFile>(name), kContext);
  DataLoader random(data, {.batch_size = 16, .shuffle = true, .workers = 2});
  Batch batch;
  ASSERT_TRUE(random.next(batch));
  int64_t before = resident_kb(), most = 0;
  ASSERT_GT(before, 0);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(random.next(batch));
    if (i % 50 == 0) most = std::max(most, resident_kb() - before);
  }
  // And every 40th window from one end to the other.
  int64_t sum = 0;
  for (int64_t i = 0; i < data->size(); i += 40) {
    sum += data->get(i)[1].to_vector<int64_t>().back();
    if (i % 4000 == 0) most = std::max(most, resident_kb() - before);
  }
  EXPECT_EQ(sum, 777);  // only those of the last window
  EXPECT_EQ(data->size(), ((kBytes / 2) - 1) / kContext);
  EXPECT_LT(most, 50 * 1024);
  std::vector<int64_t> end(2);
  TokenFile(name).read(kBytes / 2 - 2, 2, end.data());
  EXPECT_EQ(end, (List{0, 777}));
}

TEST_F(Tokens, ThreadsReadWhilePagesAreGivenBack) {
  std::vector<uint16_t> values(4 << 20);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<uint16_t>(i * 2654435761u >> 7);
  TokenFile file(tokens("a.bin", values));
  std::vector<std::thread> threads;
  std::vector<int64_t> wrong(4);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      List window(512);
      for (int64_t i = static_cast<int64_t>(t) * 512; i + 512 <= file.size(); i += 2048) {
        file.read(i, 512, window.data());
        for (size_t k = 0; k < 512; ++k)
          wrong[t] += window[k] != values[static_cast<size_t>(i) + k];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, (List{0, 0, 0, 0}));
}

}  // namespace
}  // namespace wick
