// Renames the keys of a state dict, for weights of a model from another framework.
//
//   NamedTensors state = remap_keys(load_safetensors("resnet.safetensors").tensors,
//                                   {{"^module\\.", ""}, {"\\.gamma$", ".weight"}});
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

// An ECMAScript expression (std::regex) and the replacement of its matches: $1 is the first group,
// like \1 in Python's re.sub.
struct KeyRule {
  std::string pattern, replacement;  // applied to a whole name
};
// Applies every rule to every name, in order. A name that becomes empty is dropped. Throws Error if
// two names become equal (it lists all of them), or if a pattern is not a valid expression.
NamedTensors remap_keys(const NamedTensors& state, const std::vector<KeyRule>& rules,
                        Where where = Where::current());

}  // namespace wick::nn
