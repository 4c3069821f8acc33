// Signatures of model files, and of any bytes: Ed25519 in the files of minisign
// (https://jedisct1.github.io/minisign), so that `minisign -V` checks what Wick signed and Wick
// what minisign did. A library of its own (Wick::sign, on libsodium): the runtime has no
// cryptography but SHA-256, and a program that loads foreign models asks here before it loads them.
//
//   std::vector<uint8_t> bytes = ...;                       // the whole file, read once
//   wick::verify_signature(bytes, signature, public_key);   // throws, or these bytes are the
//   signer's auto program = wick::Program::load(bytes);              // of the same bytes, not of
//   the path again
//
// All of it throws wick::Error: kUnsupported where Wick was built without libsodium.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/span.h"

namespace wick {

// The texts of the two files. The secret one is not encrypted (as of `minisign -G -W`): keep it
// where nobody else reads it.
struct SigningKeys {
  std::string public_key, secret_key;
};
SigningKeys make_signing_keys();

// The text of the signature's file. `comment` is a line that is signed with the bytes and that who
// verifies is shown; `secret_key` is a key file's text.
std::string sign_bytes(Span<const uint8_t> bytes, const std::string& secret_key,
                       const std::string& comment);

// Returns the comment. Error: which of the texts is no such file, that another key has signed, or
// that the bytes or the comment are not those that were signed. `public_key` is a key file's text,
// or its second line alone.
std::string verify_signature(Span<const uint8_t> bytes, const std::string& signature,
                             const std::string& public_key);

}  // namespace wick
