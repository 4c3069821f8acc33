// The files of minisign: a line of comment and a line of base64; signatures have both twice, and
// the second comment is signed. minisign's format description defines the decoded bytes and the
// sizes below.
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <vector>

#include "sign/include/wick/sign.h"
#include "wick/error.h"

namespace wick {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kAlgorithm = 2, kKeyId = 8, kPublic = 32, kSecret = 64, kSignature = 64;
constexpr size_t kChecksum = 32, kHash = 64;
// The size of the fields before the secret key: algorithm, key derivation, checksum's algorithm,
// salt, two limits.
constexpr size_t kSecretHead = 2 + 2 + 2 + 32 + 8 + 8;
constexpr size_t kMostText = 1 << 16;  // no file of these formats is larger
constexpr char kTrusted[] = "trusted comment: ";

void start() {
  if (sodium_init() < 0) throw Error("[sign] libsodium does not start", Code::kInternal);
}

std::string base64(const Bytes& bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  text.resize(strlen(text.c_str()));
  return text;
}

// Decodes a line; the result is empty where the line is not base64 of `size` bytes.
Bytes from_base64(const std::string& line, size_t size) {
  Bytes bytes(size + 3);
  size_t got = 0;
  const char* end = nullptr;
  for (char c : line) {  // libsodium also decodes some bytes beyond ASCII
    if (static_cast<unsigned char>(c) >= 0x80) return {};
  }
  if (sodium_base642bin(bytes.data(), bytes.size(), line.data(), line.size(), nullptr, &got, &end,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      got != size || end != line.data() + line.size())
    return {};
  bytes.resize(size);
  return bytes;
}

std::vector<std::string> lines_of(const std::string& text, const char* what) {
  if (text.size() > kMostText)
    throw Error(std::string("[sign] this is no ") + what + " of minisign: it is too large");
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

[[noreturn]] void no_such_file(const char* what) {
  throw Error(std::string("[sign] this is no ") + what + " of minisign");
}

Bytes hash_of(Span<const uint8_t> bytes) {
  Bytes hash(kHash);
  crypto_generichash(hash.data(), hash.size(), bytes.data(), bytes.size(), nullptr, 0);
  return hash;
}

template <class Range>
void append(Bytes* to, const Range& from) {
  to->insert(to->end(), std::begin(from), std::end(from));
}
constexpr std::array<uint8_t, 2> kEd = {'E', 'd'}, kHashedEd = {'E', 'D'}, kB2 = {'B', '2'};

// Formats a key id as minisign does: the last byte first.
std::string shown(const uint8_t* id) {
  static const char* const kDigits = "0123456789ABCDEF";
  std::string text;
  for (size_t i = kKeyId; i-- > 0;) {
    text += kDigits[id[i] >> 4];
    text += kDigits[id[i] & 15];
  }
  return text;
}

struct SecretKey {
  std::array<uint8_t, kKeyId> id;
  std::array<uint8_t, kSecret> key;
  ~SecretKey() { sodium_memzero(key.data(), key.size()); }
};

SecretKey read_secret(const std::string& text) {
  const char* const what = "secret key";
  const auto lines = lines_of(text, what);
  Bytes all =
      from_base64(lines.size() < 2 ? "" : lines[1], kSecretHead + kKeyId + kSecret + kChecksum);
  if (all.empty() || !std::equal(kEd.begin(), kEd.end(), all.begin())) no_such_file(what);
  if (all[2] != 0 || all[3] != 0) {
    throw Error(
        "[sign] the secret key is encrypted with a password: make one without "
        "(`wick sign --new-key NAME`, `minisign -G -W`)");
  }
  const uint8_t* body = all.data() + kSecretHead;
  SecretKey key;
  std::copy_n(body, kKeyId, key.id.begin());
  std::copy_n(body + kKeyId, kSecret, key.key.begin());
  sodium_memzero(all.data(), all.size());
  // The secret key ends with the public key, which is computed from the seed before it and
  // compared. The checksum that follows is used in encrypted keys only, and is zero here.
  std::array<uint8_t, kPublic> open;
  SecretKey again;
  crypto_sign_seed_keypair(open.data(), again.key.data(), key.key.data());
  if (again.key != key.key) throw Error("[sign] the secret key is damaged");
  return key;
}

Bytes read_public(const std::string& text) {
  const auto lines = lines_of(text, "public key");
  for (const std::string& line : lines) {
    Bytes key = from_base64(line, kAlgorithm + kKeyId + kPublic);
    if (!key.empty() && std::equal(kEd.begin(), kEd.end(), key.begin())) return key;
  }
  no_such_file("public key");
}

}  // namespace

SigningKeys make_signing_keys() {
  start();
  std::array<uint8_t, kPublic> open;
  SecretKey secret;
  randombytes_buf(secret.id.data(), secret.id.size());
  crypto_sign_keypair(open.data(), secret.key.data());
  const std::string id = shown(secret.id.data());

  Bytes bytes;
  append(&bytes, kEd), append(&bytes, secret.id), append(&bytes, open);
  SigningKeys keys;
  keys.public_key = "untrusted comment: minisign public key " + id + "\n" + base64(bytes) + "\n";

  bytes.clear();
  append(&bytes, kEd);
  bytes.resize(4);  // no key derivation
  append(&bytes, kB2);
  bytes.resize(kSecretHead);  // no password: no salt, no limits
  append(&bytes, secret.id), append(&bytes, secret.key);
  bytes.resize(bytes.size() + kChecksum);
  keys.secret_key = "untrusted comment: minisign secret key " + id + "\n" + base64(bytes) + "\n";
  sodium_memzero(bytes.data(), bytes.size());
  return keys;
}

std::string sign_bytes(Span<const uint8_t> bytes, const std::string& secret_key,
                       const std::string& comment) {
  start();
  for (char c : comment) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\t')
      throw Error("[sign] the comment is one line of text: it has a control character");
  }
  const SecretKey key = read_secret(secret_key);
  const Bytes hash = hash_of(bytes);
  Bytes signature(kSignature), over_all(kSignature), line;
  crypto_sign_detached(signature.data(), nullptr, hash.data(), hash.size(), key.key.data());
  append(&line, kHashedEd), append(&line, key.id), append(&line, signature);
  Bytes both = signature;
  append(&both, comment);
  crypto_sign_detached(over_all.data(), nullptr, both.data(), both.size(), key.key.data());
  return "untrusted comment: signature from wick\n" + base64(line) + "\n" + kTrusted + comment +
         "\n" + base64(over_all) + "\n";
}

std::string verify_signature(Span<const uint8_t> bytes, const std::string& signature,
                             const std::string& public_key) {
  start();
  const Bytes key = read_public(public_key);
  const auto lines = lines_of(signature, "signature");
  if (lines.size() < 4 || !lines[2].starts_with(kTrusted)) no_such_file("signature");
  const Bytes made = from_base64(lines[1], kAlgorithm + kKeyId + kSignature);
  const Bytes over_all = from_base64(lines[3], kSignature);
  if (made.empty() || over_all.empty()) no_such_file("signature");
  const bool hashed = std::equal(kHashedEd.begin(), kHashedEd.end(), made.begin());
  if (!hashed && !std::equal(kEd.begin(), kEd.end(), made.begin())) no_such_file("signature");
  const uint8_t *id = made.data() + kAlgorithm, *open = key.data() + kAlgorithm + kKeyId;
  if (memcmp(id, key.data() + kAlgorithm, kKeyId) != 0) {
    throw Error("[sign] another key has signed: " + shown(id) + ", and the one required is " +
                shown(key.data() + kAlgorithm));
  }
  const uint8_t* of_bytes = id + kKeyId;
  const Bytes hash = hashed ? hash_of(bytes) : Bytes();
  const Span<const uint8_t> message =
      hashed ? Span<const uint8_t>(hash.data(), hash.size()) : bytes;
  if (crypto_sign_verify_detached(of_bytes, message.data(), message.size(), open) != 0)
    throw Error("[sign] the bytes are not those that were signed, or another has signed them");
  const std::string comment = lines[2].substr(sizeof(kTrusted) - 1);
  Bytes both(of_bytes, of_bytes + kSignature);
  append(&both, comment);
  if (crypto_sign_verify_detached(over_all.data(), both.data(), both.size(), open) != 0)
    throw Error("[sign] the comment is not the one that was signed");
  return comment;
}

}  // namespace wick
