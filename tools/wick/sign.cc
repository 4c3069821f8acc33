// wick sign: keys, and signatures of model files.
#include <fmt/core.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "sign/include/wick/sign.h"
#include "tools/lib/trust.h"
#include "tools/wick/command.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct SignCommand {
  std::string model, key, new_key, comment;
  bool json = false;
};

// A key that exists is never overwritten: what it has signed could then not be told from a fake.
void refuse_existing(const std::string& path) {
  if (std::filesystem::exists(path))
    throw Error(fmt::format("'{}' is there already, and a key is not replaced", path));
}

void make_keys(const std::string& name, bool json) {
  const std::string secret = name + ".key", open = name + ".pub";
  refuse_existing(secret), refuse_existing(open);
  const SigningKeys keys = make_signing_keys();
  const mode_t others = umask(077);  // the secret one is its owner's from its first byte on
  const Status written =
      write_file_atomically(secret.c_str(), keys.secret_key.data(), keys.secret_key.size());
  umask(others);
  check_status(written);
  check_status(write_file_atomically(open.c_str(), keys.public_key.data(), keys.public_key.size()));
  if (json) return print_json({{"secret_key", secret}, {"public_key", open}});
  fmt::print("{}: the secret key, keep it\n{}: the public key, for --require-signature\n", secret,
             open);
}

void sign(const SignCommand& c) {
  if (c.new_key.empty() == c.model.empty())
    wrong_usage("wick sign", "takes a MODEL with --key FILE, or --new-key NAME");
  if (!c.new_key.empty()) return make_keys(c.new_key, c.json);
  if (c.key.empty()) wrong_usage("--key", "names the secret key that MODEL is signed with");
  constexpr size_t kMostComment = 8000;  // minisign reads lines of 8 KiB
  if (c.comment.size() > kMostComment)
    wrong_usage("--comment",
                fmt::format("has {} bytes, at most {}", c.comment.size(), kMostComment));
  std::vector<uint8_t> bytes;
  std::string key;
  check_status(read_regular_file(c.model.c_str(), &bytes));
  check_status(read_regular_file(c.key.c_str(), &key));
  const std::string comment =
      c.comment.empty() ? "file:" + std::filesystem::path(c.model).filename().string() : c.comment;
  const std::string text = sign_bytes(bytes, key, comment), to = signature_file(c.model);
  check_status(write_file_atomically(to.c_str(), text.data(), text.size()));
  if (c.json) return print_json({{"file", c.model}, {"signature", to}, {"comment", comment}});
  fmt::print("{}\n", to);
}

}  // namespace

void add_sign(CommandLine& app) {
  auto c = std::make_shared<SignCommand>();
  Command command = app.add_command("sign", "Sign a model file (Ed25519, minisign's format)");
  command.add_option("model", c->model, "any file: MODEL.minisig is written beside it");
  command.add_option("--key", c->key, "the secret key's file, without a password");
  command.add_option("--comment", c->comment, "a line that is signed too (default: file:NAME)");
  command.add_option("--new-key", c->new_key, "make a pair of keys: NAME.key and NAME.pub");
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick sign --new-key release\n"
      "  wick sign lenet.wick --key release.key");
  command.callback([c] { sign(*c); });
}

}  // namespace wick::tool
