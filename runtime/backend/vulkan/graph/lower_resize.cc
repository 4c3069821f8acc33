// Resize: uses the CPU's tables of weighted neighbours, made once, with float weights. Neighbours
// of weight 0 stay: 0 times NaN is NaN.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/core/arena.h"
#include "runtime/kernels/window/resize_table.h"

namespace wick::vulkan {
namespace {

constexpr size_t kMaxTables = size_t{1} << 28;  // in bytes
constexpr int64_t kMaxTaps = int64_t{1} << 20;  // per output; more are left to the CPU

bool crops(const ResizeAttrs& a) {
  return a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize);
}

// Returns the start of the axis's words: the size of a row in words, then for every output a row
// with the number of neighbours, and the position and weight of each.
Result<uint32_t> add_axis(const ResizeAxis& axis, Array<uint32_t>& table, int64_t* most) {
  *most = axis.taps;
  auto row_of = [&](int64_t o) { return axis.table + o * axis.taps; };
  const auto row_words = static_cast<size_t>(1 + 2 * axis.taps);
  const size_t begin = table.size();
  if (begin + 1 + static_cast<size_t>(axis.out) * row_words > kMaxTables / sizeof(uint32_t))
    return unsupported("tables of neighbours too large for a shader");
  WICK_TRY(table.resize(begin + 1 + static_cast<size_t>(axis.out) * row_words));
  table[begin] = static_cast<uint32_t>(row_words);
  for (int64_t o = 0; o < axis.out; ++o) {
    uint32_t* to = table.data() + begin + 1 + static_cast<size_t>(o) * row_words;
    if (row_of(o)[0].at == kOutside) {
      to[0] = WICK_RESIZE_OUTSIDE;
      continue;
    }
    for (int64_t i = 0; i < axis.taps; ++i) {
      const Neighbour& n = row_of(o)[i];
      to[1 + 2 * to[0]] = static_cast<uint32_t>(n.at);
      to[2 + 2 * to[0]] = std::bit_cast<uint32_t>(static_cast<float>(n.weight));
      ++to[0];
    }
  }
  return static_cast<uint32_t>(begin);
}

}  // namespace

static Status lower_resize(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const ResizeAttrs*>(call.attrs);
  const bool nearest = a.mode == static_cast<int64_t>(ResizeMode::kNearest);
  // Integers are moved only; there is no arithmetic on them.
  if (call.in[0].dtype != DType::kF32 && (!nearest || crops(a)))
    return unsupported("no shader for this dtype");
  if (crops(a) && call.in[1].data == nullptr)
    return unsupported("a region of interest that only a run knows");
  WICK_ASSIGN(const size_t bytes, resize_table_bytes(call.in[0].shape, call.out[0].shape, a));
  if (bytes > kMaxTables) return unsupported("tables of neighbours too large for a shader");
  Arena arena(out.dispatches.allocator());
  WICK_ASSIGN(void* scratch, arena.allocate(bytes, kAlignment));
  ResizeJob job;
  resize_tables(call.in, call.out[0], a, call.args->resize, scratch, &job);
  if (job.count == 0) {
    out.alias = true;
    return {};
  }
  const Shape& y = call.out[0].shape;
  // Neighbouring dims that stay are merged.
  uint32_t dims[kMaxRank] = {}, steps[kMaxRank] = {}, tables[kMaxRank] = {};
  uint32_t rank = 0;
  int64_t taps = 1;
  int axis = 0;
  WICK_TRY(out.table.push_back(0));  // so that no table begins at 0
  for (int d = 0; d < y.rank(); ++d) {
    const bool merges = !job.changes[d] && rank > 0 && tables[rank - 1] == 0;
    if (merges) {
      dims[rank - 1] *= static_cast<uint32_t>(y[d]);
      steps[rank - 1] = static_cast<uint32_t>(job.steps[d]);
      continue;
    }
    dims[rank] = static_cast<uint32_t>(y[d]);
    steps[rank] = static_cast<uint32_t>(job.steps[d]);
    if (job.changes[d]) {
      int64_t most = 1;
      WICK_ASSIGN(tables[rank], add_axis(job.axes[axis++], out.table, &most));
      taps *= most;
      if (taps > kMaxTaps) return unsupported("too many neighbours for one invocation");
    }
    ++rank;
  }
  Dispatch d = flat_dispatch(ShaderId::k_resize, call.out[0].numel());
  add_spec(d, rank);
  add_spec(d, static_cast<uint32_t>(job.count));
  add_spec(d, nearest ? 1 : 0);
  add_push(d, call.out[0].numel());
  add_push(d, static_cast<float>(a.extrapolation_value));
  for (uint32_t v : dims) add_push(d, v);
  for (uint32_t v : steps) add_push(d, v);
  for (uint32_t v : tables) add_push(d, v);
  add_operand(d, 0);
  add_operand(d, kTableOperand);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

WICK_VULKAN(Resize, {.lower = lower_resize,
                     .types = {[](DType t) { return dtype_size(t) == 4; }},
                     .host_inputs = inputs({1})});

}  // namespace wick::vulkan
