// safetensors: eight bytes of header length, a JSON header, the tensors' bytes. What PyTorch's
// world reads and writes; names are those of state_dict().
#pragma once

#include <map>
#include <string>

#include "trainer/nn/module.h"

namespace wick {

struct Safetensors {
  nn::NamedTensors tensors;  // in the file's order
  std::map<std::string, std::string> metadata;
};

// Every offset, shape and size is checked before it is used, and no more is allocated than the file
// is long.
Safetensors load_safetensors(const std::string& path);
// Replaces `path` at once: a failure (a full disk) leaves an older file as it was.
void save_safetensors(const std::string& path, const nn::NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// Names a state dict: over names, dtypes, shapes and bytes, whatever the order of the entries.
std::string state_sha256(const nn::NamedTensors& state);

}  // namespace wick
