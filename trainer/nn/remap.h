// Other names for a state dict: weights of a model written elsewhere.
//
//   NamedTensors state = remap_keys(load_safetensors("resnet.safetensors").tensors,
//                                   {{"^module\\.", ""}, {"\\.gamma$", ".weight"}});
#pragma once

#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

// An ECMAScript expression (std::regex) and what each of its matches becomes: $1 is the first
// group, as in Python's re.sub \1.
struct KeyRule {
  std::string pattern, replacement;
};
// Every rule on every name, in order. A name that becomes empty is left out. An Error, which lists
// all of them, where two names become one; and where a pattern is no expression.
NamedTensors remap_keys(const NamedTensors& state, const std::vector<KeyRule>& rules,
                        Where where = Where::current());

}  // namespace wick::nn
