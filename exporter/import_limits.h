// These limit what a reader of models may use for a file, so that a small file is no large model.
#pragma once

#include "runtime/core/ledger.h"
#include "runtime/ops/op_cost.h"

namespace wick {

// Returns the limits for a file of so many bytes: what any file may use, and more for each of its
// bytes. A limit that the caller gives (not 0) counts instead.
inline LedgerLimits import_limits(uint64_t file, uint64_t max_ram, uint64_t max_visits) {
  constexpr LedgerLimits kAnyFile = {.visits = uint64_t{1} << 16, .bytes = uint64_t{1} << 22};
  constexpr LedgerLimits kEachByte = {.visits = 8, .bytes = 64};
  return {.visits = max_visits != 0 ? max_visits : kAnyFile.visits + kEachByte.visits * file,
          .bytes = max_ram != 0 ? max_ram : kAnyFile.bytes + kEachByte.bytes * file,
          .work = kMostWorkAhead};
}

}  // namespace wick
