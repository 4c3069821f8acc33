// Checks the reader and importer: compares every tensor of an ONNX file with ONNX Runtime's.
#pragma once

#include <string>

#include "tools/lib/verify/rows.h"

namespace wick::tool {

// Each node of the file's graph runs on ONNX Runtime's own values; floats may differ by `tolerance`
// of the largest, bytes by one step. Throws Error without ONNX Runtime, or if it refuses the file.
void compare_with_onnxruntime(const std::string& path, Span<const HostTensor> inputs,
                              double tolerance, VerifyRow* row);
// Writes the fewest operators of the file, up to three, that still differ into the folder; sets
// row->repro.
void repro_of_onnxruntime(const std::string& path, Span<const HostTensor> inputs, double tolerance,
                          const std::string& folder, VerifyRow* row);

}  // namespace wick::tool
