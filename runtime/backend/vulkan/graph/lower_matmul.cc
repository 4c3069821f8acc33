// MatMul, Linear, Conv and their fused forms: one tiled shader, and a direct one for thin groups.
#include "runtime/backend/vulkan/graph/window.h"

namespace wick::vulkan {

// Bindings 3..6. Inputs 2.. of the fused ops are bias, scale, shift, residual.
uint32_t add_epilogue(const OpCall& call, Dispatch& d) {
  constexpr uint32_t kParts[] = {WICK_HAS_BIAS, WICK_HAS_SCALE, WICK_HAS_SHIFT, WICK_HAS_RESIDUAL};
  uint32_t parts = 0;
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  for (size_t i = 0; i < 4; ++i) {
    bool given = i + 2 < call.in.size() && call.in[i + 2].present();
    if (given) parts |= kParts[i];
    add_operand(
        d, given ? static_cast<int>(i + 2) : 1);  // an absent one is bound to the weight, unread
  }
  return parts;
}

namespace {

// Few rows: one an invocation, so that the tile is not mostly empty.
uint32_t rows_each(int64_t rows) { return rows <= WICK_TILE_Y ? 1 : 4; }

Status set_tiles(Dispatch& d, int64_t rows, int64_t columns, int64_t batches) {
  int64_t tile_rows = WICK_TILE_Y * static_cast<int64_t>(rows_each(rows));
  int64_t across = (columns + WICK_TILE_COLUMNS - 1) / WICK_TILE_COLUMNS;
  int64_t down = (rows + tile_rows - 1) / tile_rows;
  if (across > kMaxGroups || down > kMaxGroups)
    return unsupported("more tiles than a dispatch has");
  d.groups[0] = static_cast<uint32_t>(across);
  d.groups[1] = static_cast<uint32_t>(down);
  d.groups[2] = groups_for(batches, 1);
  return {};
}

struct BatchWalk {
  int64_t count = 1;
  int64_t dims[4] = {1, 1, 1, 1};
  int64_t left[4] = {}, right[4] = {};
};

// The batch dims of y = a x b, right-aligned into four.
Status walk_batches(const Shape& a, const Shape& b, const Shape& y, BatchWalk& walk) {
  int batch_rank = y.rank() - 2;
  if (batch_rank > 4) return unsupported("a matmul with more than four batch dims");
  auto strides = [&](const Shape& s, int64_t* out) {
    Strides own = contiguous_strides(s);
    for (int i = 0; i < batch_rank; ++i) {
      int from = s.rank() - 3 - i;
      out[3 - i] = from < 0 || s[from] == 1 ? 0 : own[from];
    }
  };
  for (int i = 0; i < batch_rank; ++i) {
    walk.dims[3 - i] = y[y.rank() - 3 - i];
    walk.count *= walk.dims[3 - i];
  }
  strides(a, walk.left);
  strides(b, walk.right);
  return {};
}

}  // namespace

Status lower_matmul(const OpCall& call, Lowered& out) {
  const Shape& a = call.in[0].shape;
  const Shape& b = call.in[1].shape;
  const Shape& y = call.out[0].shape;
  const bool fused = call.op == OpId::kFusedLinear || call.op == OpId::kFusedMatMul;
  // Rows of weights are outputs; else they are as MatMul has them.
  const bool linear = call.op == OpId::kLinear || call.op == OpId::kFusedLinear;
  BatchWalk walk;
  int64_t rows = 1, columns = 0, depth = 0;
  if (linear || fused) {
    if (a.rank() < 1) return unsupported("a scalar operand");
    depth = a[a.rank() - 1];
    columns = b[linear ? 0 : 1];
    rows = call.out[0].numel() / columns;
  } else {
    if (a.rank() < 2 || b.rank() < 2) return unsupported("a matmul with a vector");
    rows = a[a.rank() - 2];
    depth = a[a.rank() - 1];
    columns = b[b.rank() - 1];
    WICK_TRY(walk_batches(a, b, y, walk));
  }
  EpilogueAttrs epilogue;
  if (fused) epilogue = *static_cast<const EpilogueAttrs*>(call.attrs);
  Dispatch d;
  d.shader = ShaderId::k_matmul_f32;
  uint32_t parts = add_epilogue(call, d);
  WICK_ASSIGN(uint32_t function, activation_function(epilogue.activation));
  add_spec(d, function);
  add_spec(d, parts);
  add_spec(d, rows_each(rows));
  add_spec(d, linear ? 1 : 0);
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, depth);
  add_push(d, walk.count);
  add_push(d, static_cast<float>(epilogue.alpha));
  add_push(d, static_cast<float>(epilogue.beta));
  for (int64_t v : walk.dims) add_push(d, v);
  for (int64_t v : walk.left) add_push(d, v);
  for (int64_t v : walk.right) add_push(d, v);
  WICK_TRY(set_tiles(d, rows, columns, walk.count));
  return out.dispatches.push_back(d);
}

Status lower_conv(const OpCall& call, Lowered& out) {
  ConvAttrs conv;
  EpilogueAttrs epilogue;
  if (call.op == OpId::kFusedConv) {
    const auto& fused = *static_cast<const FusedConvAttrs*>(call.attrs);
    conv = fused.conv;
    epilogue = fused.epilogue;
  } else {
    conv = *static_cast<const ConvAttrs*>(call.attrs);
  }
  const Shape& x = call.in[0].shape;
  const Shape& w = call.in[1].shape;
  const Shape& y = call.out[0].shape;
  int spatial = x.rank() - 2;
  if (spatial == 3) return lower_conv3d(call, conv, epilogue, out);
  if (!Window(x, y, conv, [&](int i) { return w[2 + i]; }).fits())
    return unsupported("a window too large for 32-bit indices");
  // One dim is a plane of height 1.
  auto at = [&](const Shape& s, int i) {
    return i < 2 - spatial ? int64_t{1} : s[s.rank() - 2 + i];
  };
  auto of = [&](const auto& list, int i, int64_t fallback) {
    return i < 2 - spatial ? fallback : list.at_or(i - (2 - spatial), fallback);
  };
  int64_t rows = w[0] / conv.group;
  int64_t columns = at(y, 0) * at(y, 1);
  int64_t depth = w[1] * at(w, 0) * at(w, 1);
  int64_t batches = x[0] * conv.group;
  bool direct = rows < WICK_TILE_Y;
  Dispatch d;
  if (direct) d = flat_dispatch(ShaderId::k_conv2d_direct_f32, call.out[0].numel());
  d.shader = direct ? ShaderId::k_conv2d_direct_f32 : ShaderId::k_conv2d_f32;
  uint32_t parts = add_epilogue(call, d);
  WICK_ASSIGN(uint32_t function, activation_function(epilogue.activation));
  add_spec(d, function);
  add_spec(d, parts);
  add_spec(d, rows_each(rows));
  add_spec(d, 0);
  for (int i = 0; i < 2; ++i) add_spec(d, static_cast<uint32_t>(at(w, i)));
  for (int i = 0; i < 2; ++i) add_spec(d, static_cast<uint32_t>(of(conv.strides, i, 1)));
  for (int i = 0; i < 2; ++i) add_spec(d, static_cast<uint32_t>(of(conv.dilations, i, 1)));
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, depth);
  add_push(d, batches);
  add_push(d, static_cast<float>(epilogue.alpha));
  add_push(d, static_cast<float>(epilogue.beta));
  add_push(d, conv.group);
  add_push(d, at(x, 0));
  add_push(d, at(x, 1));
  add_push(d, at(y, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(conv.pads, i, 0));
  if (!direct) WICK_TRY(set_tiles(d, rows, columns, batches));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
