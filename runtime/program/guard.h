// The guard of mapped files. Reading a page that the file does not have any more (it became
// shorter, its storage is gone) raises SIGBUS, which ends the process. The guard's handler puts a
// page of zeros there and marks the program instead; its sessions return kIo from then on. A SIGBUS
// that is of no guarded file goes to the handler that was there before. POSIX only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/core/status.h"
#include "runtime/platform/fault_guard.h"

namespace wick {

// Of the whole process, from any thread; again is fine. Loading the first program with
// LoadOptions::guard does it. A host that installs a handler of its own later has that hand on to
// this one, or calls this again afterwards; not both, which would hand on in a circle.
Status install_guard();

using platform::kMostGuarded;

// From now on a fault within these bytes sets *lost. Returns the place for unguard().
Result<int> guard_mapping(const void* begin, size_t bytes, std::atomic<uint32_t>* lost);
// Before they are unmapped; -1 is fine.
void unguard(int place);

}  // namespace wick
