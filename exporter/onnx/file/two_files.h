// Puts a model and its external data file in their places together.
#pragma once

#include <string>

#include "runtime/core/atomic_file.h"

namespace wick::onnx {

// Returns the model's place behind symbolic links, which what follows takes as its path. Throws
// Error where the data file is a link: nobody could read the model then.
std::string place_of_both(const std::string& data_path, const std::string& path);

// A process that was killed while two files changed places left the old pair next to them: it is
// put back if the new pair is not whole, else removed. Call this before either is opened for
// writing.
void restore_both(const std::string& data_path, const std::string& path);

// Puts both files, which are written, in their places; on an error what was there before is there
// again, byte for byte. While they change places there is no model at `path`: if the process is
// stopped then, the old files are left next to it (PATH.old.PID.N), where restore_both() finds
// them, and there is never an old model with new data.
Status commit_both(AtomicFile& data, const std::string& data_path, AtomicFile& model,
                   const std::string& path);

}  // namespace wick::onnx
