// libonnx's signatures of the default domain's operators, spelled as Signature spells them. Its
// headers and those of the exporter never meet in one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick::test {

struct LibrarySignature {
  std::string name;
  int since;
  std::string inputs, attributes;
  std::vector<uint32_t> types;  // for each input, one bit per dtype by its number
};
std::vector<LibrarySignature> library_signatures();

}  // namespace wick::test
