// MatMul, Linear, Conv and their fused forms: tiles of several sizes, a shader for thin products,
// and a direct one for thin groups.
#include <algorithm>

#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/backend/vulkan/graph/window.h"

namespace wick::vulkan {

// Adds bindings 3..6. Inputs 2.. of the fused ops are bias, scale, shift, residual.
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
        d, given ? static_cast<int>(i + 2) : 1);  // absent: binds the weight, which is not read
  }
  return parts;
}

namespace {

// Enough groups to fill a device with large tiles, which read shared memory less often.
constexpr int64_t kManyGroups = 192;
// The number of work groups that keeps a small device busy.
constexpr int64_t kFewGroups = 64;

int64_t tiles_of(int64_t n, int64_t each) { return (n + each - 1) / each; }

// Tile sizes of a product: gemm.comp's 64 x 128 or 32 x 64, or matmul.comp's 8 x 64, which gives
// the most work groups.
enum class Tile : uint8_t { kThin, kSmall, kLarge };
Tile tile_for(int64_t rows, int64_t columns, int64_t batches) {
  auto groups = [&](int64_t tile_rows, int64_t tile_columns) {
    return tiles_of(rows, tile_rows) * tiles_of(columns, tile_columns) * batches;
  };
  if (rows > 32 && columns > 64 && groups(64, 128) >= kManyGroups) return Tile::kLarge;
  if (rows > WICK_TILE_Y && groups(32, 64) >= kFewGroups) return Tile::kSmall;
  return Tile::kThin;
}

Status set_groups(Dispatch& d, int64_t across, int64_t down, int64_t batches) {
  if (across > kMaxGroups || down > kMaxGroups)
    return unsupported("more tiles than a dispatch has");
  d.groups[0] = static_cast<uint32_t>(across);
  d.groups[1] = static_cast<uint32_t>(down);
  d.groups[2] = groups_for(batches, 1);
  return {};
}

Status set_tiles(Dispatch& d, Tile tile, int64_t rows, int64_t columns, int64_t batches) {
  const int64_t tile_rows = tile == Tile::kThin ? WICK_TILE_Y : tile == Tile::kSmall ? 32 : 64;
  const int64_t tile_columns = tile == Tile::kLarge ? 128 : WICK_TILE_COLUMNS;
  return set_groups(d, tiles_of(columns, tile_columns), tiles_of(rows, tile_rows), batches);
}

// Up to this many rows or columns a product is thin; with a smaller depth, sharing an output among
// invocations does not pay.
constexpr int64_t kVectorRows = 4, kVectorDepth = 64;

struct BatchWalk {
  int64_t count = 1;
  int64_t dims[4] = {1, 1, 1, 1};
  int64_t left[4] = {}, right[4] = {};
};

// Computes the batch dims of y = a x b, right-aligned into four.
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

// A vector is one row on the left, one column on the right.
Shape as_matrix(const Shape& s, bool row) {
  if (s.rank() != 1) return s;
  return row ? Shape{1, s[0]} : Shape{s[0], 1};
}

struct Product {
  int64_t rows = 1, columns = 0, depth = 0;
  BatchWalk walk;
};

Status product_of(const OpCall& call, bool linear, bool fused, Product& p) {
  const Shape& a = call.in[0].shape;
  const Shape& b = call.in[1].shape;
  if (linear || fused) {
    if (a.rank() < 1) return unsupported("a scalar operand");
    p.depth = a[a.rank() - 1];
    p.columns = b[linear ? 0 : 1];
    p.rows = call.out[0].numel() / p.columns;
    return {};
  }
  const Shape left = as_matrix(a, true), right = as_matrix(b, false);
  p.rows = left[left.rank() - 2];
  p.depth = left[left.rank() - 1];
  p.columns = right[right.rank() - 1];
  if (right.rank() == 2) {  // all of left's rows use the same right operand
    p.rows = call.out[0].numel() / p.columns;
    return {};
  }
  const int batch_rank = std::max(left.rank(), right.rank()) - 2;
  Shape product;
  for (int i = 0; i < batch_rank; ++i) product.push_back(call.out[0].shape[i]);
  product.push_back(p.rows);
  product.push_back(p.columns);
  return walk_batches(left, right, product, p.walk);
}

}  // namespace

static Status lower_matmul(const OpCall& call, Lowered& out) {
  const bool fused = call.op == OpId::kFusedLinear || call.op == OpId::kFusedMatMul;
  // With Linear the rows of the weight are outputs; otherwise it has MatMul's layout.
  const bool linear = call.op == OpId::kLinear || call.op == OpId::kFusedLinear;
  Product product;
  WICK_TRY(product_of(call, linear, fused, product));
  const auto& [rows, columns, depth, walk] = product;
  if (depth == 0) {  // empty sums
    const TensorView& sums = call.out[0];
    return out.dispatches.push_back(fill_dispatch(words_of(sums.dtype, sums.numel()), 0, 0, 0));
  }
  EpilogueAttrs epilogue;
  if (fused) epilogue = *static_cast<const EpilogueAttrs*>(call.attrs);
  // Right is treated as stored along k also if it is a single column.
  const bool transposed = linear || columns == 1;
  const auto rows_each = static_cast<uint32_t>(rows < kVectorRows ? rows : kVectorRows);
  const int64_t lanes = transposed ? 32 : 16, across = tiles_of(columns, WICK_FLAT_SIZE / lanes),
                down = tiles_of(rows, rows_each);
  // So few rows or columns that the time for reading the other operand dominates.
  const bool thin = (rows <= kVectorRows || columns <= kVectorRows) && depth >= kVectorDepth &&
                    across <= kMaxGroups && down <= kMaxGroups;
  const Tile tile = tile_for(rows, columns, walk.count);
  const DType dtype = call.out[0].dtype;
  const ShaderId tiled[] = {WICK_STORED(dtype, matmul), WICK_STORED(dtype, gemm_small),
                            WICK_STORED(dtype, gemm)};
  // Matrix units are used if both operands consist of whole vectors of eight and tiles are not
  // mostly empty.
  const bool matrix = out.can.matrix_units && dtype == DType::kF16 && !thin && depth % 8 == 0 &&
                      (linear || columns % 8 == 0) && rows > 16 && columns > 16;
  Dispatch d;
  d.shader = matrix ? ShaderId::k_gemm_matrix_f16
             : thin ? WICK_STORED(dtype, gemv)
                    : tiled[static_cast<size_t>(tile)];
  uint32_t parts = add_epilogue(call, d);
  WICK_ASSIGN(const Ending ending, ending_of(epilogue));
  add_spec(d, ending.function);
  add_spec(d, parts);
  add_spec(d, thin ? rows_each : 1);
  add_spec(d, transposed ? 1 : 0);
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, depth);
  add_push(d, walk.count);
  add_push(d, ending.alpha);
  add_push(d, ending.beta);
  for (int64_t v : walk.dims) add_push(d, v);
  for (int64_t v : walk.left) add_push(d, v);
  for (int64_t v : walk.right) add_push(d, v);
  if (thin) {
    add_spec(d, static_cast<uint32_t>(lanes));
    add_spec(d, walk.count > kMaxGroups ? 1 : 0);
    WICK_TRY(set_groups(d, across, down, walk.count));
  } else if (matrix) {
    WICK_TRY(set_groups(d, tiles_of(columns, WICK_MATRIX_TILE), tiles_of(rows, WICK_MATRIX_TILE),
                        walk.count));
  } else {
    WICK_TRY(set_tiles(d, tile, rows, columns, walk.count));
  }
  return out.dispatches.push_back(d);
}

static Status add_conv(const OpCall& call, const ConvAttrs& conv, const EpilogueAttrs& epilogue,
                       Lowered& out) {
  const Shape& x = call.in[0].shape;
  const Shape& w = call.in[1].shape;
  const Shape& y = call.out[0].shape;
  int spatial = x.rank() - 2;
  if (spatial == 3) return lower_conv3d(call, conv, epilogue, out);
  if (!WindowShape(x, y, conv, [&](int i) { return w[2 + i]; }).fits())
    return unsupported("a window too large for 32-bit indices");
  // A one-dimensional convolution is a plane of height 1.
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
  // A tile continues from one image to the next, except in matmul.comp.
  const Tile tile = tile_for(rows, columns * x[0], conv.group);
  const DType dtype = call.out[0].dtype;
  const ShaderId tiled[] = {WICK_STORED(dtype, conv2d), WICK_STORED(dtype, conv_gemm_small),
                            WICK_STORED(dtype, conv_gemm)};
  Dispatch d;
  if (direct) {
    const int64_t width = at(y, 1);
    d = flat_dispatch(ShaderId::kCount,
                      call.out[0].numel() / width * tiles_of(width, WICK_DIRECT_PIXELS));
  }
  d.shader = direct ? WICK_STORED(dtype, conv2d_direct) : tiled[static_cast<size_t>(tile)];
  uint32_t parts = add_epilogue(call, d);
  WICK_ASSIGN(const Ending ending, ending_of(epilogue));
  add_spec(d, ending.function);
  add_spec(d, parts);
  add_spec(d, 1);
  add_spec(d, 0);
  for (int i = 0; i < 2; ++i) add_spec(d, static_cast<uint32_t>(at(w, i)));
  for (int i = 0; i < 2; ++i) add_spec(d, static_cast<uint32_t>(of(conv.strides, i, 1)));
  for (int i = 0; i < 2; ++i) add_spec(d, static_cast<uint32_t>(of(conv.dilations, i, 1)));
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, depth);
  add_push(d, batches);
  add_push(d, ending.alpha);
  add_push(d, ending.beta);
  add_push(d, conv.group);
  add_push(d, at(x, 0));
  add_push(d, at(x, 1));
  add_push(d, at(y, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(conv.pads, i, 0));
  if (!direct) {
    const bool thin = tile == Tile::kThin;
    WICK_TRY(
        set_tiles(d, tile, rows, thin ? columns : columns * x[0], thin ? batches : conv.group));
  }
  return out.dispatches.push_back(d);
}

static Status lower_conv(const OpCall& call, Lowered& out) {
  return add_conv(call, *static_cast<const ConvAttrs*>(call.attrs), EpilogueAttrs(), out);
}
static Status lower_fused_conv(const OpCall& call, Lowered& out) {
  const auto& fused = *static_cast<const FusedConvAttrs*>(call.attrs);
  return add_conv(call, fused.conv, fused.epilogue, out);
}

static constexpr uint32_t kFlags = kStoresHalves | kEmptyOutputs;
WICK_VULKAN(MatMul, {.lower = lower_matmul, .flags = kFlags | kEmptyInputs, .cut = cut_matmul});
WICK_VULKAN(Linear, {.lower = lower_matmul, .flags = kFlags, .cut = cut_linear});
WICK_VULKAN(FusedLinear, {.lower = lower_matmul, .flags = kFlags, .cut = cut_linear});
WICK_VULKAN(FusedMatMul, {.lower = lower_matmul, .flags = kFlags, .cut = cut_fused_matmul});
WICK_VULKAN(Conv, {.lower = lower_conv, .flags = kFlags, .cut = cut_conv});
WICK_VULKAN(FusedConv, {.lower = lower_fused_conv, .flags = kFlags, .cut = cut_fused_conv});

}  // namespace wick::vulkan
