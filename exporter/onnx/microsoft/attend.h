// What the attention operators of com.microsoft share: scaled scores, masks in several formats,
// softmax, and the values weighted by it. Heads stand before the sequence: [B, heads, S, size].
#pragma once

#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {

struct Attend {
  ValueId q, k, v;          // k and v may have fewer heads, which groups of q's share
  ValueId mask = kNoValue;  // added to the scores, and then:
  ValueId bias = kNoValue;
  ValueId allowed = kNoValue;  // where not, a key has no weight
  ValueId sink = kNoValue;     // one more score a row, which takes weight and gives nothing
  double softcap = 0;
  // made
  ValueId scores = kNoValue, weights = kNoValue;
  ValueId run(ReadCtx& c, DType dtype);  // [B, heads, S, v's size] of this dtype
};

// [B, S, heads * n] as [B, S, heads, n], and [B, S, heads, n] as [B, heads, S, n] and back to
// [B, S, heads * n].
ValueId in_heads(ReadCtx& c, ValueId v, int64_t heads, const char* what);
inline ValueId heads_first(ReadCtx& c, ValueId v) { return transpose(c, v, {0, 2, 1, 3}); }
ValueId heads_merged(ReadCtx& c, ValueId v);

// Input i as what is added to scores of [B, heads, S, T]: 0, or the filter where a key is masked.
// [B]: the number of keys; [2 B]: ends, then starts; [3 B + 2]: the first B; [B, T] and [B, S, T]:
// 0 masks; [B, 1, M, M]: the same, from row `past` on.
struct MaskShape {
  ValueId q, total;  // q [B, heads, S, n]; the number of keys, a vector of one
  ValueId past;      // how many of them were there before, likewise
};
ValueId mask_bias(ReadCtx& c, int i, const MaskShape& shape);
// Key j may be read by query i where j <= past + i: [S, T].
ValueId causal(ReadCtx& c, const MaskShape& shape);

}  // namespace wick::onnx
