// Reads TensorFlow Lite files (.tflite) into graphs.
#pragma once

#include <cstdint>
#include <string>

#include "graph/ir/graph.h"
#include "graph/passes/lower_qdq.h"
#include "runtime/core/ledger.h"

namespace wick {

// Options of import_tflite().
struct TfliteReadOptions {
  // Lowers what is between DequantizeLinear and QuantizeLinear to integer ops (ir::lower_qdq), so
  // that a quantized model computes with integers; false: keeps float ops between the two.
  bool lower_qdq = false;
  // If given: gets the integer ops, and what stayed float and why.
  ir::LowerReport* lowered = nullptr;
  // Limits what reading may make beyond the file: bytes of constants, and operators, tensors and
  // sizes visited. 0 is 4 MiB and 64 times the file, and 2^16 and 8 times the file. More is
  // kBudgetExceeded.
  uint64_t max_ram = 0, max_visits = 0;
  // If given: gets what was spent of these limits, even if the file was refused.
  LedgerLimits* spent = nullptr;
};

// Reads the first subgraph of a file: float32 and float16 models, and quantized ones of int8, uint8
// and int16, whose operators become the same ops of float32 between DequantizeLinear and
// QuantizeLinear. Inputs and outputs keep the names, the types, the sizes and the order of the
// dimensions (batch, height, width, channels) that the file says. Throws Error that lists every
// operator that is not supported, each by its number and its first result, or names the tensor or
// the operator at fault.
ir::Graph import_tflite(const std::string& path, const TfliteReadOptions& options = {});
// Reads the same from memory.
ir::Graph import_tflite_bytes(Span<const uint8_t> bytes, const TfliteReadOptions& options = {});

// Returns whether bytes begin as a TensorFlow Lite file does: its identifier is at byte 4. The
// first 8 bytes of a file are enough.
bool is_tflite(Span<const uint8_t> bytes);

}  // namespace wick
