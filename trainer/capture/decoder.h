// capture_decoder(): a GPT as two entry points that share weights and a KV cache. Example:
//
//   gpt.eval();
//   export_wick(capture_decoder(gpt), "gpt.wick");
#pragma once

#include <vector>

#include "graph/ir/entry.h"
#include "trainer/nn/models/gpt.h"

namespace wick {

// Options of capture_decoder().
struct DecoderOptions {
  // The most tokens of a text, for which the states have room; 0: as many as the model takes.
  int64_t max_seq_len = 0;
  // The batch is free from 1 to this number; 1: texts come one at a time.
  int64_t max_batch = 1;
};

// Captures the model, which must be causal and in eval mode, as the entry points
//
//   "prefill"  tokens [batch, time], any number of the next tokens -> logits [batch, time, vocab]
//   "decode"   tokens [batch, 1] -> logits [batch, 1, vocab]
//
// with the states "length" (int64 [1]), "keys.0", "values.0" ... ([max_seq_len, batch, heads,
// size] of the model's dtype, one of each for a layer). A text may be cut anywhere: its logits have
// the bits of the whole. The symbol "batch" is there only where max_batch > 1. Throws Error as
// capture() does, and if the model is not causal or takes fewer tokens.
std::vector<ir::Entry> capture_decoder(nn::GPT& model, const DecoderOptions& options = {},
                                       Where where = Where::current());

}  // namespace wick
