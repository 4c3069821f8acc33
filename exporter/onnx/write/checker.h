// Runs libonnx's checker on serialized bytes. It has its own translation unit, so that libonnx's
// headers and ours never meet.
#pragma once

#include <string>
#include <vector>

namespace wick::onnx {
// Throws Error with the checker's text.
void check(const std::string& bytes);

}  // namespace wick::onnx
