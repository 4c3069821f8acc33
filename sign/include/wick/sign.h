// Signs and verifies model files, and any bytes, with Ed25519 in minisign's file formats
// (https://jedisct1.github.io/minisign), so that `minisign -V` checks what Wick signed and vice
// versa. It is a library of its own (Wick::sign, on libsodium): the runtime has no cryptography but
// SHA-256, and a program that loads untrusted models verifies them here first.
//
//   std::vector<uint8_t> bytes = ...;                      // the whole file, read once
//   wick::verify_signature(bytes, signature, public_key);  // throws unless the signature is valid
//   auto program = wick::Program::load(bytes);             // the same bytes: do not read again
//
// Every function throws wick::Error: kUnsupported where Wick was built without libsodium.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/span.h"

namespace wick {

// The texts of the two key files, public_key and secret_key. The secret key is not encrypted (as
// with `minisign -G -W`): keep it where nobody else can read it.
struct SigningKeys {
  std::string public_key, secret_key;
};
// Makes a new pair of keys. Throws Error if Wick was built without libsodium.
SigningKeys make_signing_keys();

// Returns the text of the signature file. `comment` is a line that is signed with the bytes and
// shown to those who verify; `secret_key` is the text of a key file.
std::string sign_bytes(Span<const uint8_t> bytes, const std::string& secret_key,
                       const std::string& comment);

// Returns the comment. Throws an Error that says which text is malformed, that another key has
// signed, or that the bytes or the comment are not those that were signed. `public_key` is the text
// of a key file or its second line alone.
std::string verify_signature(Span<const uint8_t> bytes, const std::string& signature,
                             const std::string& public_key);

}  // namespace wick
