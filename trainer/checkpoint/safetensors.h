// safetensors files: eight bytes of header length, a JSON header, the tensors' bytes. It is the
// format that PyTorch users read and write; the names are those of state_dict().
#pragma once

#include <map>
#include <string>

#include "trainer/nn/module.h"

namespace wick {

// The content of a .safetensors file (https://github.com/huggingface/safetensors).
struct Safetensors {
  nn::NamedTensors tensors;                     // in the file's order
  std::map<std::string, std::string> metadata;  // texts by name
};

// Checks every offset, shape and size before it is used, and allocates no more than the file's
// length.
Safetensors load_safetensors(const std::string& path);
// Replaces `path` atomically: a failure (a full disk) leaves an existing file unchanged.
void save_safetensors(const std::string& path, const nn::NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// Returns the SHA-256 of a state dict: of names, dtypes, shapes and bytes, independent of the order
// of the entries.
std::string state_sha256(const nn::NamedTensors& state);

}  // namespace wick
