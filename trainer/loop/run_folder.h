// The folder that a run is kept in, and that no other run may write meanwhile.
#pragma once

#include <string>

#include "runtime/core/file_lock.h"
#include "trainer/tensor/call.h"

namespace wick::loop {

// Makes the folder, takes its lock, which must be fresh, and removes what killed runs left there
// half written. Throws Error, which names whoever has the lock.
void hold_folder(const std::string& folder, FileLock* lock, const Where& where);
// An earlier run's files, which would otherwise pass for those of the run that starts here until it
// has written its own.
void remove_run(const std::string& folder, const Where& where);

}  // namespace wick::loop
