// The guard of mapped files. Reading a page that the file no longer has (it became shorter, or its
// storage failed) raises SIGBUS, which ends the process. The guard's signal handler maps a page of
// zeros there and marks the program instead; its sessions return kIo from then on. A SIGBUS for any
// other address is passed to the previously installed handler. POSIX only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/core/status.h"
#include "runtime/platform/fault_guard.h"

namespace wick {

// Installs the handler for the whole process, from any thread; calling it again is harmless.
// Loading the first program with LoadOptions::guard does it. A host that later installs its own
// handler must either call this handler from it or call this function again afterwards; not both,
// which would make the handlers call each other for ever.
Status install_guard();

using platform::kMostGuarded;

// From now on a fault within these bytes sets *lost. Returns the place to give to unguard().
Result<int> guard_mapping(const void* begin, size_t bytes, std::atomic<uint32_t>* lost);
// Call it before the bytes are unmapped; -1 is fine.
void unguard(int place);

}  // namespace wick
