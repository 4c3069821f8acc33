#include "tools/lib/trust.h"

#include <fmt/core.h>

#include <filesystem>

#include "runtime/core/regular_file.h"
#include "sign/include/wick/sign.h"
#include "tools/lib/usage.h"

namespace wick::tool {
namespace {

struct Key {
  std::string file, text;
};
std::vector<Key>& required() {
  static std::vector<Key> keys;
  return keys;
}

int g_own_files = 0;

}  // namespace

OwnFiles::OwnFiles() { ++g_own_files; }
OwnFiles::~OwnFiles() { --g_own_files; }

std::string signature_file(const std::string& path) { return path + ".minisig"; }

void require_signature(const std::string& key_file) {
  std::string text;
  if (Status s = read_regular_file(key_file.c_str(), &text); !s.ok())
    wrong_usage("--require-signature", s.message());
  required().push_back({key_file, text});
}

void refuse_run(const std::string& folder) {
  if (required().empty() || g_own_files > 0) return;
  throw Error(
      fmt::format("'{}' is a training run's folder, which cannot be signed, and a signature "
                  "is required: export it, sign the file and give that",
                  folder));
}

std::optional<std::vector<uint8_t>> signed_bytes(const std::string& path) {
  if (required().empty() || g_own_files > 0) return std::nullopt;
  std::vector<uint8_t> bytes;
  std::string signature;
  check_status(read_regular_file(path.c_str(), &bytes));
  const std::string beside = signature_file(path);
  std::error_code failed;
  if (!std::filesystem::exists(beside, failed)) {
    throw Error(fmt::format("'{}' is not signed: a signature is required, and there is no '{}'",
                            path, beside));
  }
  check_status(read_regular_file(beside.c_str(), &signature));
  std::string why;
  for (const Key& key : required()) {
    try {
      verify_signature(bytes, signature, key.text);
      return bytes;
    } catch (const Error& e) {
      if (e.code() == Code::kUnsupported) throw;
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", key.file, e.what());
    }
  }
  throw Error(fmt::format("'{}' is not signed as required ({})", path, why));
}

}  // namespace wick::tool
