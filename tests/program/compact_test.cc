// Compact .wick files: streams of LZMA, and a reader that trusts none of their bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "exporter/program/lzma_writer.h"
#include "runtime/core/half.h"
#include "runtime/program/lzma.h"
#include "tests/program/attack_wick.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

uint32_t next(uint64_t* seed) {
  *seed = *seed * 6364136223846793005U + 1442695040888963407U;
  return static_cast<uint32_t>(*seed >> 33);
}
float half_of(uint16_t bits) {
  Half h;
  h.bits = bits;
  return static_cast<float>(h);
}

std::string refusal(const Bytes& file, const LoadOptions& options = {}) {
  auto bytes = test::aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), options);
  return program.ok() ? "" : program.status().message();
}

// -- streams

TEST(Lzma, ComesBack) {
  uint64_t seed = 1;
  for (int round = 0; round < 400; ++round) {
    Bytes b(next(&seed) % 900);
    const uint32_t kinds = 1U << (1 + next(&seed) % 8);
    for (uint8_t& x : b) x = static_cast<uint8_t>(next(&seed) % kinds);
    for (int i = 0; !b.empty() && i < 12; ++i) {  // repetitions, far and near
      const size_t from = next(&seed) % b.size(), to = next(&seed) % b.size();
      for (size_t k = 0; k < next(&seed) % 300 && from + k < b.size() && to + k < b.size(); ++k)
        b[to + k] = b[from + k];
    }
    const Bytes stream = lzma::encode(b);
    Bytes back(b.size());
    const auto read = lzma::decode(stream, {back.data(), back.size()}, default_allocator());
    ASSERT_TRUE(read.ok()) << round << ": " << read.status().message();
    ASSERT_EQ(read.value(), stream.size());
    ASSERT_EQ(back, b) << round;
  }
}

// liblzma decodes this stream (xz --format=alone, with a header of 13 bytes: lc = 0, lp = 2, pb = 2
// and the size): the format is that of others.
TEST(Lzma, IsTheFormatOfOthers) {
  const Bytes stream = {
      0x00, 0x30, 0x98, 0xab, 0xfc, 0x1d, 0xff, 0xf7, 0xff, 0xd1, 0xe2, 0xda, 0xab, 0x28,
      0x9d, 0x24, 0xbf, 0xa4, 0xee, 0xb2, 0x79, 0xdf, 0x7b, 0xe4, 0x31, 0xe7, 0x5a, 0xce,
      0xfb, 0x10, 0x6d, 0x97, 0x85, 0xb3, 0x01, 0x11, 0x18, 0xd5, 0xef, 0x8c, 0x74, 0xb5,
      0x2d, 0x08, 0xd8, 0xc2, 0xa2, 0x1a, 0x09, 0xe3, 0xf6, 0xfd, 0x20, 0x11, 0x15, 0x33,
      0x00, 0xcc, 0x22, 0x1e, 0x75, 0x47, 0xde, 0x2a, 0x5f, 0x53, 0x9b, 0xa3, 0xc0, 0x5c,
      0xfd, 0x34, 0x19, 0xf6, 0x27, 0xf8, 0x65, 0xb1, 0x83, 0x06, 0x7a, 0x9b, 0x61, 0xad,
      0xd3, 0xf8, 0x1c, 0x20, 0x51, 0x2a, 0xd9, 0xe4, 0x98, 0xd6, 0xaf, 0xe0, 0xe5, 0xf0,
      0x9a, 0xc8, 0xb7, 0x51, 0x4a, 0x25, 0xdd, 0x47, 0x1b, 0x53, 0x22, 0x19, 0xe1, 0x0e,
      0xbc, 0x91, 0x14, 0xa1, 0x1b, 0xbc, 0x44, 0xa4, 0xcc, 0xf8, 0x3b, 0x20, 0x00};
  Bytes want(1300);
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t byte = i < 1000 ? "ab"[i % 2] : i < 1100 ? i * i % 251 : 0;
    want[i] = static_cast<uint8_t>(byte);
  }
  EXPECT_EQ(lzma::encode(want), stream);
  Bytes back(want.size());
  const auto read = lzma::decode(stream, {back.data(), back.size()}, default_allocator());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(back, want);
}

TEST(Lzma, NoStreamWritesBesideItsPlace) {
  uint64_t seed = 9;
  Bytes b(700);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint8_t>(i % 37 * (i / 200));
  const Bytes stream = lzma::encode(b);
  for (int round = 0; round < 20000; ++round) {
    Bytes hostile = stream;
    for (uint32_t n = next(&seed) % 4; n-- > 0;)
      hostile[next(&seed) % hostile.size()] = static_cast<uint8_t>(next(&seed));
    if (round % 3 == 0) hostile.resize(next(&seed) % hostile.size());
    Bytes room(b.size() + 64, 0xAB);
    const size_t size = next(&seed) % (b.size() + 1);
    (void)lzma::decode(hostile, {room.data(), size}, default_allocator());
    for (size_t i = size; i < room.size(); ++i) ASSERT_EQ(room[i], 0xAB);
  }
  Bytes back(b.size());
  EXPECT_FALSE(lzma::decode({}, {back.data(), back.size()}, default_allocator()).ok());
  EXPECT_FALSE(lzma::decode(Span<const uint8_t>(stream).subspan(0, stream.size() - 1),
                            {back.data(), back.size()}, default_allocator())
                   .ok());
}

// -- files

// Any plain file without a digest as a compact one: its table compressed, its segments as they are.
Bytes compacted(const Bytes& plain, uint64_t decoded_bytes = 0,
                const std::function<void(CompactHead*)>& change = {}, size_t pad = 0) {
  FileHeader h;
  memcpy(&h, plain.data(), sizeof(h));
  Bytes whole(plain.begin() + static_cast<long>(h.table_offset),
              plain.begin() + static_cast<long>(h.table_offset + h.table_bytes));
  CompactHead head = {};
  memcpy(head.magic, kCompactMagic, sizeof(kCompactMagic));
  head.table_bytes = whole.size();
  head.decoded_bytes = decoded_bytes;
  whole.resize(align_up(whole.size(), kSegmentAlignment) + decoded_bytes);
  if (change) change(&head);
  Bytes table(sizeof(head));
  memcpy(table.data(), &head, sizeof(head));
  const Bytes stream = lzma::encode(whole);
  table.insert(table.end(), stream.begin(), stream.end());
  table.resize(std::max(table.size(), (whole.size() + 15) / 16) + pad);
  const Bytes segments(plain.begin() + static_cast<long>(h.segments_offset), plain.end());
  h.version = kCompactVersion;
  h.table_bytes = table.size();
  h.segments_offset = align_up(h.table_offset + h.table_bytes, kSegmentAlignment);
  h.file_bytes = h.segments_offset + segments.size();
  Bytes file(h.file_bytes);
  memcpy(file.data(), &h, sizeof(h));
  std::copy(table.begin(), table.end(), file.begin() + static_cast<long>(h.table_offset));
  std::copy(segments.begin(), segments.end(), file.begin() + static_cast<long>(h.segments_offset));
  return file;
}

TEST(Compact, HoldsEveryFeature) {
  EXPECT_TRUE(test::open_and_run(test::every_feature()));
  EXPECT_TRUE(test::open_and_run(compacted(test::every_feature())));
}

TEST(Compact, HeadsThatAreNotSoundAreRefused) {
  const Bytes plain = test::every_feature();
  const auto says = [&](const std::function<void(CompactHead*)>& change) {
    return refusal(compacted(plain, 0, change));
  };
  const std::string head = "the head of the compressed table is not sound";
  EXPECT_EQ(says([](CompactHead* h) { h->magic[3] ^= 1; }), head);
  EXPECT_EQ(says([](CompactHead* h) { h->reserved = 1; }), head);
  EXPECT_EQ(says([](CompactHead* h) { h->table_bytes = 8; }), head);
  EXPECT_EQ(says([](CompactHead* h) { h->table_bytes = uint64_t{1} << 62; }), head);
  EXPECT_EQ(says([](CompactHead* h) { h->decoded_bytes = UINT64_MAX - 63; }), head);
  EXPECT_THAT(says([](CompactHead* h) { h->table_bytes += 64; }), HasSubstr("no sound LZMA"));
  EXPECT_THAT(says([](CompactHead* h) { h->table_bytes -= 64; }), HasSubstr("no sound LZMA"));
  EXPECT_THAT(says([](CompactHead* h) { h->decoded_bytes = 64; }), HasSubstr("no sound LZMA"));
  // padding is allowed as zeros alone
  EXPECT_EQ(refusal(compacted(plain, 0, {}, 100)), "");
  Bytes file = compacted(plain, 0, {}, 100);
  FileHeader h;
  memcpy(&h, file.data(), sizeof(h));
  file[h.table_offset + h.table_bytes - 1] = 1;
  EXPECT_EQ(refusal(file), "something stands behind the compressed table");
  // what the table says of 16-bit floats and decoded segments is for compact files
  h.version = kFileVersion;
  Bytes as_plain = compacted(plain);
  memcpy(as_plain.data() + offsetof(FileHeader, version), &h.version, 4);
  EXPECT_NE(refusal(as_plain), "");
}

TEST(Compact, WhatIsNotForCompactFilesIsRefused) {
  const Bytes plain = test::every_feature(), small = compacted(plain);
  alignas(64) const uint8_t lent_bytes[64] = {};
  const LentSegment lent[] = {Span<const uint8_t>(lent_bytes, 64)};
  LoadOptions options;
  options.lent = lent;
  Bytes without = small;  // its segments, so that somebody has to lend them
  FileHeader h;
  memcpy(&h, without.data(), sizeof(h));
  without.resize(h.segments_offset);
  h.required_features |= kFeatureLent;
  h.file_bytes = without.size();
  h.segments_bytes = 0;
  memcpy(without.data(), &h, sizeof(h));
  EXPECT_EQ(refusal(without, options), "weights are lent to a compact file, which has its own");
  Bytes cut = small;
  memcpy(&h, cut.data(), sizeof(h));
  h.table_bytes = 16;
  memcpy(cut.data(), &h, sizeof(h));
  EXPECT_EQ(refusal(cut), "the compressed table is cut");
  // a segment that is said to lie in the compressed part of a file that has none
  flatbuffers::FlatBufferBuilder b;
  const auto segment = fbs::CreateSegment(b, 0, 64, 0, true);
  const auto region = fbs::CreateRegion(b);
  const auto entry = fbs::CreateEntry(b, b.CreateString("main"), 0, b.CreateVector(&region, 1));
  fbs::FinishProgramBuffer(
      b, fbs::CreateProgram(b, 0, b.CreateVector(&segment, 1), 0, 0, b.CreateVector(&entry, 1)));
  EXPECT_EQ(refusal(test::file_of(b, Bytes(64))),
            "segment 0 lies outside the file or off its alignment");
  EXPECT_EQ(refusal(test::file_of(b, {}, kFeatureLent), options),
            "the segments lent are not those of the program");
}

// A compact file written long ago; test_exporter compares its answers.
TEST(Compact, Version2Runs) {
  std::ifstream in(source_dir("/tests/program/golden/v2.wick"), std::ios::binary);
  const Bytes file{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(test::open_and_run(file));
}

// Constants that all have the same bytes of the file: `numbers` 16-bit floats, for float32 of
// `shape`.
Bytes sharing(int constants, int64_t numbers, const std::vector<int64_t>& shape,
              uint32_t layout = kStoredF16, DType dtype = DType::kF32) {
  flatbuffers::FlatBufferBuilder b;
  const Bytes segment(align_up(static_cast<uint64_t>(numbers) * 2, kSegmentAlignment), 0x3C);
  std::vector<flatbuffers::Offset<fbs::Constant>> list;
  for (int i = 0; i < constants; ++i) {
    const auto raw = fbs::CreateBuffer(b, 0, 0, static_cast<uint64_t>(numbers) * 2, layout);
    list.push_back(fbs::CreateConstant(b, b.CreateString(std::to_string(i)),
                                       static_cast<uint8_t>(dtype), b.CreateVector(shape), raw));
  }
  const auto segments = fbs::CreateSegment(b, 0, segment.size());
  const auto value = [&](const char* name) {
    const fbs::Dim four(4, 0, 0);
    return fbs::CreateValue(b, b.CreateString(name), fbs::ValueKind::Tensor,
                            static_cast<uint8_t>(DType::kF32), false,
                            b.CreateVectorOfStructs(&four, 1));
  };
  const std::vector<flatbuffers::Offset<fbs::Value>> values = {value("x"), value("y")};
  const std::vector<uint32_t> in = {0}, out = {1};
  const auto node = fbs::CreateNode(b, static_cast<uint16_t>(OpId::kRelu), 1, b.CreateVector(in),
                                    b.CreateVector(out));
  const auto body =
      fbs::CreateRegion(b, b.CreateVector(in), b.CreateVector(out), b.CreateVector(&node, 1));
  const auto entry =
      fbs::CreateEntry(b, b.CreateString("main"), b.CreateVector(values), b.CreateVector(&body, 1));
  fbs::FinishProgramBuffer(
      b, fbs::CreateProgram(b, 0, b.CreateVector(&segments, 1), b.CreateVector(list), 0,
                            b.CreateVector(&entry, 1)));
  return compacted(test::file_of(b, segment, edition_feature(kNewestEdition)));
}

TEST(Compact, HalvesThatShareTheirBytesAreBoundedByTheFile) {
  const auto l = test::load(sharing(2, 100, {10, 10}));
  for (const ConstantDef& c : l.program->constants()) {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(c.view.as<float>()[i], half_of(0x3C3C));
  }
  EXPECT_NE(l.program->constants()[0].view.data, l.program->constants()[1].view.data);
  // 2000 times 512 KB of a file of 300 KB: refused before any of it is there
  const Bytes many = sharing(2000, 1 << 17, {1 << 17});
  test::CountingAllocator allocator;
  LoadOptions options;
  options.allocator = &allocator;
  EXPECT_THAT(refusal(many, options), HasSubstr("max_ram: constants of 16 bits become more than"));
  EXPECT_LT(allocator.peak, static_cast<int64_t>(4 * many.size()));
  options.max_ram = 1 << 20;
  EXPECT_THAT(refusal(sharing(3, 1 << 17, {1 << 17}), options), HasSubstr("max_ram"));
}

// Memory that is not there while a file is decoded and its numbers are widened.
TEST(Compact, EachAllocationMayFail) {
  for (const auto& file : {compacted(test::every_feature()), sharing(2, 100, {10, 10})}) {
    auto bytes = test::aligned_copy(file);
    int64_t n = 0;
    for (;; ++n) {
      test::CountingAllocator allocator(n);
      LoadOptions options;
      options.allocator = &allocator;
      const Status s = Program::load({bytes.get(), file.size()}, options).status();
      ASSERT_EQ(allocator.alive, 0);
      if (s.ok()) break;
      ASSERT_EQ(s.code(), Code::kOutOfMemory) << n << ": " << s.message();
    }
    EXPECT_GT(n, 4);
  }
}

TEST(Compact, HalvesOfOtherSizesAndTypesAreRefused) {
  EXPECT_EQ(refusal(sharing(1, 100, {10, 10})), "");
  EXPECT_EQ(refusal(sharing(1, 100, {10, 10}, kStoredBF16)), "");
  EXPECT_EQ(refusal(sharing(1, 0, {10, 0})), "");
  EXPECT_EQ(refusal(sharing(1, 1, {})), "");
  const auto wrong = HasSubstr("of 16-bit floats");
  for (const int64_t numbers : {0, 99, 101, 200, 50})
    EXPECT_THAT(refusal(sharing(1, numbers, {10, 10})), wrong) << numbers;
  EXPECT_THAT(refusal(sharing(1, 200, {10, 10}, kStoredF16, DType::kF64)), wrong);
  EXPECT_THAT(refusal(sharing(1, 100, {10, 10}, kStoredF16, DType::kF16)), wrong);
  EXPECT_THAT(refusal(sharing(1, 50, {10, 10}, kStoredBF16, DType::kU8)), wrong);
  EXPECT_THAT(refusal(sharing(1, 100, {10, 10}, 7)), HasSubstr("(layout 7)"));
}

// A megabyte of zeros in 150 bytes of a stream: the file must be a sixteenth of what it decodes
// into.
TEST(Compact, ExpansionIsBoundedByTheFile) {
  const Bytes plain = test::every_feature();
  const uint64_t million = 1 << 20;
  EXPECT_EQ(refusal(compacted(plain, million)), "");
  Bytes file = compacted(plain, million);
  FileHeader h;
  memcpy(&h, file.data(), sizeof(h));
  EXPECT_GE(16 * h.table_bytes, million);
  // without the padding
  const uint64_t cut = h.table_bytes - 2048;
  Bytes small(file.begin(), file.begin() + static_cast<long>(h.table_offset + 2048));
  h.table_bytes -= cut;
  const Bytes segments(file.begin() + static_cast<long>(h.segments_offset), file.end());
  h.segments_offset = align_up(h.table_offset + h.table_bytes, kSegmentAlignment);
  small.resize(h.segments_offset);
  small.insert(small.end(), segments.begin(), segments.end());
  h.file_bytes = small.size();
  memcpy(small.data(), &h, sizeof(h));
  EXPECT_NE(refusal(small), "");
  test::CountingAllocator allocator;
  LoadOptions options;
  options.allocator = &allocator;
  EXPECT_NE(refusal(small, options), "");
  EXPECT_LT(allocator.peak, 65536);
  LoadOptions tight;
  tight.max_ram = 500000;
  EXPECT_THAT(refusal(file, tight), HasSubstr("500000"));
}

// Every truncation, and other values of every byte.
TEST(CompactAttack, NothingCrashesAndNothingIsLeft) {
  const Bytes file = compacted(test::every_feature());
  const test::AttackCount count = test::attack(file, 2, test::open_and_run);
  EXPECT_GT(count.cases, static_cast<int64_t>(2 * file.size()));
  EXPECT_LT(count.accepted, count.cases / 2);
}

}  // namespace
}  // namespace wick
