// The folder in which a run is saved. It is locked, so that no other run writes to it meanwhile.
#pragma once

#include <string>

#include "runtime/core/file_lock.h"
#include "trainer/tensor/call.h"

namespace wick::loop {

// Makes the folder, takes its lock (`lock` must be new), and removes half-written files of runs
// that were killed. Throws Error, which names the owner of the lock.
void hold_folder(const std::string& folder, FileLock* lock, const Where& where);
// Removes an earlier run's files, which would otherwise be taken for those of the new run until it
// has written its own.
void remove_run(const std::string& folder, const Where& where);

}  // namespace wick::loop
