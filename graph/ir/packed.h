// Sequences and optionals on the host: packed values (runtime/core/packed_sequence.h) as tensors of
// their bytes.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick {

// Packs elements. `kind` is kSequence, kOptional or kOptionalSequence; `present` matters for the
// last only. Throws Error if an element has another dtype.
HostTensor pack(DType kind, DType element, const std::vector<HostTensor>& elements,
                bool present = true);

struct Unpacked {
  DType element = DType::kNone;
  bool present = true;
  std::vector<HostTensor> elements;  // copies
};
// Throws Error if the bytes are not those of a packed value.
Unpacked unpack(const HostTensor& packed);

}  // namespace wick
