#include "runtime/core/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace wick {
namespace {

Span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string digest(const std::string& message, size_t piece, bool plain) {
  Sha256 sha(plain);
  for (size_t at = 0; at < message.size(); at += piece)
    sha.update(bytes_of(message).subspan(at, std::min(piece, message.size() - at)));
  return sha.finish_text().text;
}

// NIST's example messages for FIPS 180, and its vectors around the block's edge (CAVP, byte
// oriented): the padding fits the last block up to 55 bytes and takes one more from 56.
TEST(Sha256, NistVectors) {
  const struct {
    std::string message;
    const char* digest;
  } kCases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
      {std::string("\xc9\x8c\x8e\x55", 4),
       "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
      {std::string(55, '\0'), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
      {std::string(56, '\0'), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
      {std::string(57, '\0'), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
      {std::string(64, '\0'), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
      {std::string(1000, '\0'), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
      {std::string(1000, 'A'), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& c : kCases) {
    // One call, and pieces that leave every kind of rest in the block's buffer.
    for (size_t piece : {size_t{1} << 20, size_t{64}, size_t{63}, size_t{1}}) {
      for (bool plain : {false, true}) {
        EXPECT_EQ(digest(c.message, piece, plain), c.digest)
            << c.message.size() << " bytes by " << piece;
      }
    }
  }
}

TEST(Sha256, BytesAndTextAreOneDigest) {
  Sha256 sha;
  sha.update(bytes_of("abc"));
  uint8_t digest[32];
  sha.finish(digest);
  EXPECT_EQ(digest[0], 0xba);
  EXPECT_EQ(digest[1], 0x78);
  EXPECT_EQ(digest[31], 0xad);
}

}  // namespace
}  // namespace wick
