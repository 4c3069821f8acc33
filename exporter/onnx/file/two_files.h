// A model and the data beside it, put in their places together.
#pragma once

#include <string>

#include "runtime/core/atomic_file.h"

namespace wick::onnx {

// A process that was killed while two files changed places left the old pair beside: put back where
// the new one is not whole, else removed. Before either is opened for writing.
void restore_both(const std::string& data_path, const std::string& path);

// Both are written. Afterwards both are in their places; or an error, and what was there before is
// again, byte for byte. While they change places there is no model at `path`: who stops the process
// there leaves the old files beside (PATH.old.PID.N), which restore_both() finds, and never an old
// model with new data.
Status commit_both(AtomicFile& data, const std::string& data_path, AtomicFile& model,
                   const std::string& path);

}  // namespace wick::onnx
