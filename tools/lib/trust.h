// Whose models this process takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wick::tool {

// From now on a model file is opened only if PATH.minisig beside it is a signature of its bytes by
// one of the keys given (minisign's public key files). UsageError: `key_file` is none.
void require_signature(const std::string& key_file);

// Where signatures are required: the file's bytes, which were verified and are what is to be
// loaded, so that nobody can change the file in between. Nothing where none is required. Error: the
// signature is missing or is not good.
std::optional<std::vector<uint8_t>> signed_bytes(const std::string& path);

// While one lives, files are opened without a signature: those that this process has just written.
class OwnFiles {
 public:
  OwnFiles();
  ~OwnFiles();
  OwnFiles(const OwnFiles&) = delete;
  OwnFiles& operator=(const OwnFiles&) = delete;
};

std::string signature_file(const std::string& path);  // PATH.minisig

}  // namespace wick::tool
