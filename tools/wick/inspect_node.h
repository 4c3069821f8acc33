// wick inspect --node: one node of a model, and its weights.
#pragma once

#include <string>

namespace wick::tool {

struct InspectNode {
  std::string model;
  std::string node;        // a node's name, a value's or a weight's; NAME#K is input K of the node
  std::string npy;         // the weight is written there; "": nowhere
  std::string entry = {};  // the entry point of a .wick; "": the first
  bool weights = false, json = false, lower_qdq = true;
};
// Shows every node of that name, those in the bodies of If and Loop too. Throws Error if there is
// none, or if `npy` is given and there is not one weight.
void inspect_node(const InspectNode& command);

}  // namespace wick::tool
