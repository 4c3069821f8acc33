// How an entry point writes the program's state buffers.
#pragma once

#include "runtime/core/array.h"
#include "runtime/program/program.h"

namespace wick {

// Sets in_place[i] to 1 where update i is written in place: its value is made by a ScatterND of the
// body that alone, in all regions, reads the state. Then the rows can be written where they stay,
// and nobody sees the buffer's earlier contents.
Status find_in_place(const EntryDef& entry, Allocator& allocator, Span<uint8_t> in_place);

}  // namespace wick
