// The digest of a whole file: comparing it finds any flipped bit, and files without one load as
// before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/program/attack_wick.h"
#include "tests/support/temp_folder.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

Status verify(const std::vector<uint8_t>& file) {
  auto bytes = test::aligned_copy(file);
  LoadOptions options;
  options.verify_digests = true;
  return Program::load(Span<const uint8_t>(bytes.get(), file.size()), options).status();
}

void write_file(const std::string& path, const std::vector<uint8_t>& file) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
}

TEST(FileDigest, IsGivenToWhoAsks) {
  const auto plain = test::every_feature(), file = test::with_digest(plain);
  EXPECT_TRUE(test::load(plain).program->digest().empty());
  const auto loaded = test::load(file);
  ASSERT_EQ(loaded.program->digest().size(), 32u);
  EXPECT_EQ(memcmp(loaded.program->digest().data(), file.data() + kDigestAt, 32), 0);
  EXPECT_TRUE(verify(file).ok());
  EXPECT_TRUE(verify(plain).ok());
  EXPECT_TRUE(test::open_and_run(file));
}

// Header, digest, table, padding, weights: each bit.
TEST(FileDigest, FindsEveryFlippedBit) {
  auto file = test::with_digest(test::every_feature());
  ASSERT_TRUE(verify(file).ok());
  int found = 0;
  for (size_t i = 0; i < file.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      file[i] ^= static_cast<uint8_t>(1 << bit);
      const Status s = verify(file);
      EXPECT_FALSE(s.ok()) << "byte " << i << " bit " << bit;
      found += s.ok() ? 0 : 1;
      file[i] ^= static_cast<uint8_t>(1 << bit);
    }
  }
  EXPECT_EQ(found, static_cast<int>(8 * file.size()));
  EXPECT_GT(found, 16000);
}

// A small file is compared when it is loaded by its path, mapped where it is asked for; without a
// digest of all of it by those of its weights.
TEST(FileDigest, SmallFilesAreComparedWithoutAsking) {
  const std::string path = test::temp_folder() + "wick_digest.wick";
  const auto plain = test::every_feature(), whole = test::with_digest(plain);
  auto message = [&](std::vector<uint8_t> file, size_t flipped, const LoadOptions& options) {
    if (flipped != 0) file[flipped] ^= 4;
    write_file(path, file);
    static std::string kept;
    kept = Program::load(path.c_str(), options).status().message();
    return kept;
  };
  LoadOptions copied, mapped, verified;
  copied.weights = WeightsIn::kCopy;
  mapped.weights = verified.weights = WeightsIn::kMap;
  verified.verify_digests = true;
  for (const LoadOptions& options : {LoadOptions(), copied, mapped, verified}) {
    EXPECT_EQ(message(plain, 0, options), "");
    EXPECT_EQ(message(whole, 0, options), "");
  }
  const size_t in_weights = plain.size() - 1, there = whole.size() - 1;
  for (const LoadOptions& options : {LoadOptions(), copied, verified}) {
    EXPECT_THAT(message(plain, in_weights, options), HasSubstr("do not have the sha256 in the"));
    EXPECT_THAT(message(whole, there, options),
                HasSubstr(path + ": its bytes do not have the sha256 that it says"));
    for (size_t i = 64; i < whole.size(); i += 61) EXPECT_NE(message(whole, i, options), "") << i;
  }
  EXPECT_EQ(message(plain, in_weights, mapped), "");
  EXPECT_EQ(message(whole, there, mapped), "");
  remove(path.c_str());
}

// Nothing stands behind the table of a file without weights. All of it was read, so it is compared
// whatever is asked for.
TEST(FileDigest, AFileThatEndsWithItsTableIsCompared) {
  const std::string path = test::temp_folder() + "wick_digest_table.wick";
  std::vector<uint8_t> file;
  FileHeader h;
  for (size_t longer = 0; longer < 64; ++longer) {  // until the table ends at a multiple of 64
    test::ProgramBuilder p;
    const auto x = p.value("x", DType::kF32, {4}), y = p.value("y", DType::kF32, {4});
    p.node(OpId::kRelu, {x}, {y});
    p.entry("main", {x}, {y});
    p.metadata("who", std::string(64 + longer, 'm').c_str());
    file = test::with_digest(p.finish());
    memcpy(&h, file.data(), sizeof(h));
    if (h.table_offset + h.table_bytes == file.size()) break;
  }
  ASSERT_EQ(h.table_offset + h.table_bytes, file.size());
  const auto text = std::search_n(file.begin(), file.end(), 64, uint8_t{'m'});
  ASSERT_NE(text, file.end());
  for (const WeightsIn weights : {WeightsIn::kAuto, WeightsIn::kCopy, WeightsIn::kMap}) {
    LoadOptions options;
    options.weights = weights;
    *text = 'm';
    write_file(path, file);
    EXPECT_TRUE(Program::load(path.c_str(), options).ok());
    *text = 'n';
    write_file(path, file);
    EXPECT_THAT(Program::load(path.c_str(), options).status().message(),
                HasSubstr("its bytes do not have the sha256 that it says"));
  }
  remove(path.c_str());
}

TEST(FileDigest, IsThereOrNot) {
  const auto file = test::with_digest(test::every_feature());
  auto changed = [&](auto&& change) {
    auto bytes = file;
    FileHeader h;
    memcpy(&h, bytes.data(), sizeof(h));
    change(h, bytes);
    memcpy(bytes.data(), &h, sizeof(h));
    auto place = test::aligned_copy(bytes);
    static std::string kept;
    kept = Program::load({place.get(), bytes.size()}).status().message();
    return kept;
  };
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(changed([](FileHeader&, Bytes&) {}), "");
  EXPECT_THAT(changed([](FileHeader&, Bytes& b) { b[64] ^= 1; }), HasSubstr("there is no digest"));
  EXPECT_THAT(changed([](FileHeader&, Bytes& b) { b[127] = 1; }), HasSubstr("there is no digest"));
  EXPECT_THAT(changed([](FileHeader& h, Bytes&) { h.table_offset = 192; }),
              HasSubstr("place of the table"));
}

// A file of the form since there are digests. Never write it anew.
TEST(Golden, Version1WithADigestLoadsAndRuns) {
  const std::string path = source_dir("/tests/program/golden/v1_digest.wick");
  LoadOptions options;
  options.verify_digests = true;
  auto program = Program::load(path.c_str(), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ((*program)->digest().size(), 32u);
  auto session = test::open(**program);
  float x[16];
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i + 1);
  TensorView in(x, DType::kF32, {1, 1, 4, 4}), out;
  Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(out.as<float>()[0], 7);
  EXPECT_EQ(out.as<float>()[21], 27);
}

}  // namespace
}  // namespace wick
