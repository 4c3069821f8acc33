// The installed signatures: bytes that were signed are verified. Without libsodium that is an
// error.
#include "wick/sign.h"
#include "wick/error.h"

int main() {
  const uint8_t bytes[] = {1, 2, 3};
  try {
    const wick::SigningKeys keys = wick::make_signing_keys();
    const std::string signature = wick::sign_bytes(bytes, keys.secret_key, "three bytes");
    return wick::verify_signature(bytes, signature, keys.public_key) == "three bytes" ? 0 : 1;
  } catch (const wick::Error& error) {
    return std::string(error.what()).find("libsodium") != std::string::npos ? 0 : 1;
  }
}
