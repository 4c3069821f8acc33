// Decides whose models this process loads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wick::tool {

// From now on a model file is opened only if PATH.minisig next to it is a signature of its bytes by
// one of the given keys (minisign's public key files). Throws UsageError if `key_file` is not one.
void require_signature(const std::string& key_file);

// Where signatures are required, returns the file's bytes, which were verified and are what is to
// be loaded, so that nobody can change the file in between. Returns nothing where none is required.
// Throws Error if the signature is missing or not good.
std::optional<std::vector<uint8_t>> signed_bytes(const std::string& path);

// Throws Error where signatures are required: a training run's folder has none.
void refuse_run(const std::string& folder);

// While one lives, files are opened without a signature: for those that this process has just
// written.
class OwnFiles {
 public:
  OwnFiles();
  ~OwnFiles();
  OwnFiles(const OwnFiles&) = delete;
  OwnFiles& operator=(const OwnFiles&) = delete;
};

std::string signature_file(const std::string& path);  // PATH.minisig

}  // namespace wick::tool
