// The attention operators of com.microsoft share this: scaled scores, masks in several formats,
// softmax, and the values weighted by it. The heads axis comes before the sequence: [B, heads, S,
// size].
#pragma once

#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {

struct Attend {
  ValueId q, k, v;          // k and v may have fewer heads, which groups of q's share
  ValueId mask = kNoValue;  // added to the scores before `bias`
  ValueId bias = kNoValue;
  ValueId allowed = kNoValue;  // where this is false, a key has no weight
  ValueId sink = kNoValue;     // one more score per row, which takes weight and has no value
  double softcap = 0;
  // Results of run().
  ValueId scores = kNoValue, weights = kNoValue;
  ValueId run(ReadCtx& c, DType dtype);  // [B, heads, S, v's size] of this dtype
};

// in_heads() reshapes [B, S, heads * n] to [B, S, heads, n]; heads_first() makes that [B, heads, S,
// n], and heads_merged() turns it back into [B, S, heads * n].
ValueId in_heads(ReadCtx& c, ValueId v, int64_t heads, const char* what);
inline ValueId heads_first(ReadCtx& c, ValueId v) { return transpose(c, v, {0, 2, 1, 3}); }
ValueId heads_merged(ReadCtx& c, ValueId v);

// Returns input i as a bias for scores of [B, heads, S, T]: 0, or the filter value where a key is
// masked. Its shape tells what it is: [B] is the number of keys; [2 B] ends, then starts; of [3 B +
// 2] only the first B count; in [B, T] and [B, S, T] 0 masks; [B, 1, M, M] likewise, from row
// `past` on.
struct MaskShape {
  ValueId q, total;  // q [B, heads, S, n]; the number of keys, a vector of one
  ValueId past;      // how many of them were there before, likewise
};
ValueId mask_bias(ReadCtx& c, int i, const MaskShape& shape);
// Returns whether query i may read key j, which is j <= past + i: [S, T].
ValueId causal(ReadCtx& c, const MaskShape& shape);

}  // namespace wick::onnx
