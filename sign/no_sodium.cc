// Replaces minisign.cc where libsodium is not installed.
#include "sign/include/wick/sign.h"
#include "wick/error.h"

namespace wick {
namespace {

[[noreturn]] void missing() {
  throw Error("[sign] Wick was built without libsodium: install libsodium-dev and build again",
              Code::kUnsupported);
}

}  // namespace

SigningKeys make_signing_keys() { missing(); }
std::string sign_bytes(Span<const uint8_t>, const std::string&, const std::string&) { missing(); }
std::string verify_signature(Span<const uint8_t>, const std::string&, const std::string&) {
  missing();
}

}  // namespace wick
