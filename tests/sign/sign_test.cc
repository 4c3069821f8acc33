// Signatures in minisign's files: by themselves, against Debian's minisign, and with every byte
// changed.
#include "sign/include/wick/sign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/output_of.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

std::vector<uint8_t> some_bytes(size_t n) {
  std::vector<uint8_t> bytes(n);
  uint32_t state = 7;
  for (uint8_t& b : bytes) b = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

void write(const std::string& path, const void* data, size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}
void write(const std::string& path, const std::string& text) {
  write(path, text.data(), text.size());
}
std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Sign, WhatWasSignedIsVerified) {
  const SigningKeys keys = make_signing_keys();
  for (size_t n : {0, 1, 63, 64, 100000}) {
    const auto bytes = some_bytes(n);
    const std::string signature = sign_bytes(bytes, keys.secret_key, "file:a model\twith tab");
    EXPECT_EQ(verify_signature(bytes, signature, keys.public_key), "file:a model\twith tab") << n;
    EXPECT_EQ(sign_bytes(bytes, keys.secret_key, "x"), sign_bytes(bytes, keys.secret_key, "x"));
  }
  EXPECT_NE(make_signing_keys().public_key, keys.public_key);
}

TEST(Sign, OneBitOfTheBytesIsFound) {
  const SigningKeys keys = make_signing_keys();
  auto bytes = some_bytes(300);
  const std::string signature = sign_bytes(bytes, keys.secret_key, "c");
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_THAT(error_of([&] { verify_signature(bytes, signature, keys.public_key); }),
                HasSubstr("not those that were signed"));
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  bytes.push_back(0);
  EXPECT_THAT(error_of([&] { verify_signature(bytes, signature, keys.public_key); }),
              HasSubstr("not those that were signed"));
}

// Every character of the texts is changed. What still passes is what is signed by nobody: the first
// line, and spaces at the end of lines.
TEST(Sign, EveryCharacterOfTheTextsIsChecked) {
  const SigningKeys keys = make_signing_keys();
  const auto bytes = some_bytes(100);
  const std::string signature = sign_bytes(bytes, keys.secret_key, "file:m.wick");
  const size_t untrusted = signature.find('\n');
  for (size_t i = 0; i < signature.size(); ++i) {
    for (char c : {'A', '\n', '/', '\0', '\x80'}) {
      std::string text = signature;
      if (text[i] == c || (text[i] == '\n' && i + 1 == text.size())) continue;
      text[i] = c;
      const std::string why = error_of([&] { verify_signature(bytes, text, keys.public_key); });
      const bool free = i < untrusted && c != '\n';
      EXPECT_EQ(why == "no error", free) << i << " " << int{c} << "\n" << text << why;
    }
  }
  for (size_t cut = 0; cut + 1 < signature.size(); ++cut) {
    EXPECT_NE(error_of([&] { verify_signature(bytes, signature.substr(0, cut), keys.public_key); }),
              "no error")
        << cut;
  }
}

TEST(Sign, OfAnotherKeyIsRefused) {
  const SigningKeys ours = make_signing_keys(), theirs = make_signing_keys();
  const auto bytes = some_bytes(10);
  const std::string signature = sign_bytes(bytes, theirs.secret_key, "c");
  EXPECT_THAT(error_of([&] { verify_signature(bytes, signature, ours.public_key); }),
              HasSubstr("another key has signed: "));
  // Forging the key's number does not give the key.
  std::string forged = theirs.public_key;
  const size_t line = forged.find('\n') + 1;
  forged.replace(line, 13, ours.public_key, ours.public_key.find('\n') + 1, 13);
  EXPECT_NE(error_of([&] { verify_signature(bytes, signature, forged); }), "no error");
}

TEST(Sign, WhatIsNoSuchFileIsSaid) {
  const SigningKeys keys = make_signing_keys();
  const auto bytes = some_bytes(10);
  const std::string signature = sign_bytes(bytes, keys.secret_key, "c");
  EXPECT_THAT(error_of([&] { verify_signature(bytes, signature, keys.secret_key); }),
              HasSubstr("no public key"));
  EXPECT_THAT(error_of([&] { verify_signature(bytes, keys.public_key, keys.public_key); }),
              HasSubstr("no signature"));
  EXPECT_THAT(error_of([&] { sign_bytes(bytes, keys.public_key, "c"); }),
              HasSubstr("no secret key"));
  EXPECT_THAT(error_of([&] { sign_bytes(bytes, "", "c"); }), HasSubstr("no secret key"));
  EXPECT_THAT(error_of([&] { sign_bytes(bytes, keys.secret_key, "two\nlines"); }),
              HasSubstr("control character"));
  EXPECT_THAT(
      error_of([&] { verify_signature(bytes, std::string(1 << 20, 'x'), keys.public_key); }),
      HasSubstr("too large"));
  std::string damaged = keys.secret_key;
  damaged[damaged.find('\n') + 100] ^= 1;
  EXPECT_THAT(error_of([&] { sign_bytes(bytes, damaged, "c"); }),
              testing::AnyOf(HasSubstr("damaged"), HasSubstr("no secret key")));
}

TEST(Sign, MinisignAgrees) {
  const std::string minisign = WICK_MINISIGN;
  if (minisign.empty() || minisign.ends_with("NOTFOUND")) GTEST_SKIP() << "minisign not installed";
  const std::string at = test::temp_folder();
  const auto bytes = some_bytes(5000);
  write(at + "m", bytes.data(), bytes.size());

  const SigningKeys keys = make_signing_keys();
  write(at + "k.pub", keys.public_key);
  write(at + "m.minisig", sign_bytes(bytes, keys.secret_key, "file:m of Wick"));
  EXPECT_THAT(test::output_of(minisign + " -V -p " + at + "k.pub -m " + at + "m"),
              HasSubstr("file:m of Wick"));

  // The other way round, with a key of minisign's and with ours in its hands.
  test::output_of(minisign + " -G -W -p " + at + "o.pub -s " + at + "o.key");
  test::output_of(minisign + " -S -s " + at + "o.key -t 'of minisign' -m " + at + "m -x " + at +
                  "o.sig");
  EXPECT_EQ(verify_signature(bytes, read(at + "o.sig"), read(at + "o.pub")), "of minisign");
  EXPECT_EQ(verify_signature(bytes, sign_bytes(bytes, read(at + "o.key"), "t"), read(at + "o.pub")),
            "t");
  write(at + "k.key", keys.secret_key);
  test::output_of(minisign + " -S -s " + at + "k.key -t 'our key' -m " + at + "m -x " + at +
                  "k.sig");
  EXPECT_EQ(verify_signature(bytes, read(at + "k.sig"), keys.public_key), "our key");
  // its older form, which is of the bytes themselves
  test::output_of(minisign + " -S -l -s " + at + "o.key -m " + at + "m -x " + at + "l.sig");
  EXPECT_NE(verify_signature(bytes, read(at + "l.sig"), read(at + "o.pub")), "");
}

}  // namespace
}  // namespace wick
