// libonnx's checker on serialized bytes. Its own translation unit: libonnx's headers and ours never
// meet.
#pragma once

#include <string>
#include <vector>

namespace wick::onnx {
// Throws Error with the checker's text.
void check(const std::string& bytes);

// An operator of the default domain: the opsets, ascending and up to `newest`, at which its schema
// changed; `deprecated`: the one that ended it, or 0.
struct SchemaChanges {
  std::string name;
  std::vector<int> changes;
  int deprecated = 0;
};
std::vector<SchemaChanges> schema_changes(int newest);

}  // namespace wick::onnx
