// ONNX has no scatter by slices and no strides: both are written as a Gather by constant indices
// or, where a size is not known, as a Concat.
#include <algorithm>
#include <numeric>
#include <vector>

#include "exporter/onnx/write/write.h"
#include "runtime/ops/rules/view-inl.h"

namespace wick::onnx {
namespace {

constexpr int64_t kMaxNumbers = 1 << 24;

struct Cut {
  int axis;
  int64_t start, end, step;
};

// Returns whether the slice ends at or after its begin, whatever the size is.
bool in_order(const Cut& cut, const SymDim& extent) {
  if (cut.end == INT64_MAX) return true;
  if ((cut.start < 0) == (cut.end < 0)) return cut.start <= cut.end;
  return cut.start >= 0 && extent.min() >= cut.start - cut.end;
}

// Writes y = x with src in place of its slices along cuts[at..].
void put(WriteCtx& c, const std::vector<Cut>& cuts, size_t at, const std::string& x,
         const std::string& src, const std::string& y, const SymShape& shape) {
  if (at == cuts.size()) {
    c.add("Identity", {src}, {y});
    return;
  }
  const Cut& cut = cuts[at];
  int64_t axis[] = {cut.axis}, start[] = {cut.start}, end[] = {cut.end}, step[] = {cut.step};
  std::string part = src;
  if (at + 1 < cuts.size()) {
    std::string inner = c.fresh();
    part = c.fresh();
    c.add("Slice", {x, c.ints(start), c.ints(end), c.ints(axis), c.ints(step)}, {inner});
    put(c, cuts, at + 1, inner, src, part, shape);
  }
  const SymDim& extent = shape[cut.axis];
  if (!extent.known()) {  // what is before the slice, the source, what is after it
    if (cut.step != 1) c.fail("a slice in steps of a size that is only known when running");
    if (!in_order(cut, extent)) c.fail("a slice that is empty at some sizes");
    std::vector<std::string> parts;
    auto keep = [&](int64_t from, int64_t to) {
      int64_t first[] = {from}, last[] = {to};
      parts.push_back(c.fresh());
      c.add("Slice", {x, c.ints(first), c.ints(last), c.ints(axis)}, {parts.back()});
    };
    if (cut.start != 0) keep(0, cut.start);
    parts.push_back(part);
    if (cut.end != INT64_MAX) keep(cut.end, INT64_MAX);
    if (parts.size() == 1) {
      c.add("Identity", parts, {y});
    } else {
      set_int(c.add("Concat", parts, {y}), "axis", cut.axis);
    }
    return;
  }
  int64_t n = extent.constant();
  if (n > kMaxNumbers) c.fail("the axis is too long to be numbered");
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  auto r = rules::resolve_slice(n, cut.start, cut.end, cut.step);
  for (int64_t i = 0; i < r.count; ++i) numbers[static_cast<size_t>(r.start + i * r.step)] = n + i;
  std::string both = c.fresh();
  set_int(c.add("Concat", {x, part}, {both}), "axis", cut.axis);
  set_int(c.add("Gather", {both, c.ints(numbers)}, {y}), "axis", cut.axis);
}

// Calls f(k, index of element k in the flattened input) in row-major order.
template <class F>
void each_element(const StridedAttrs& a, const F& f) {
  int64_t index[kMaxRank] = {}, at = a.offset, total = 1;
  for (int64_t i = 0; i < a.sizes.count; ++i) total *= a.sizes[i];
  for (int64_t k = 0; k < total; ++k) {
    f(k, at);
    for (int64_t d = a.sizes.count - 1; d >= 0; --d) {
      at += a.strides[d];
      if (++index[d] < a.sizes[d]) break;
      at -= a.strides[d] * a.sizes[d];
      index[d] = 0;
    }
  }
}

int64_t elements(WriteCtx& c, Span<const int64_t> sizes) {
  int64_t n = 1;
  for (int64_t d : sizes) n = rules::dim_mul(n, d);
  if (n > kMaxNumbers) c.fail("the view is too large to be numbered");
  return n;
}

std::string reshaped(WriteCtx& c, const std::string& x, Span<const int64_t> shape,
                     std::string out = {}) {
  if (out.empty()) out = c.fresh();
  NodeProto& n = c.add("Reshape", {x, c.ints(shape)}, {out});
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    c.need(14);
    set_int(n, "allowzero", 1);
  }
  return out;
}

}  // namespace

WICK_ONNX_ROW(SliceScatter, [](WriteCtx& c) {
  const auto& a = c.as<SliceAttrs>();
  std::vector<Cut> cuts;
  for (int64_t i = 0; i < a.starts.count; ++i) {
    int64_t axis = a.axes.at_or(i, i);
    cuts.push_back({static_cast<int>(axis < 0 ? axis + c.rank(0) : axis), a.starts[i], a.ends[i],
                    a.steps.at_or(i, 1)});
  }
  c.rank(0);
  put(c, cuts, 0, c.in(0), c.in(1), c.out(0), c.g.value(c.node.inputs[0]).shape);
});

WICK_ONNX_ROW(AsStrided, [](WriteCtx& c) {
  const auto& a = c.as<StridedAttrs>();
  std::vector<int64_t> numbers(static_cast<size_t>(elements(c, a.sizes.span())));
  each_element(a, [&](int64_t k, int64_t at) { numbers[static_cast<size_t>(k)] = at; });
  int64_t flat[] = {-1};
  std::string picked = c.fresh();
  set_int(c.add("Gather", {reshaped(c, c.in(0), flat), c.ints(numbers)}, {picked}), "axis", 0);
  reshaped(c, picked, a.sizes.span(), c.out(0));
});

WICK_ONNX_ROW(AsStridedScatter, [](WriteCtx& c) {
  const auto& a = c.as<StridedAttrs>();
  c.rank(0);
  std::vector<int64_t> shape, flat = {-1};
  for (const SymDim& d : c.g.value(c.node.inputs[0]).shape) {
    if (!d.known()) c.fail("its input's size must be known");
    shape.push_back(d.constant());
  }
  elements(c, a.sizes.span());
  int64_t n = elements(c, shape);
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  each_element(a, [&](int64_t k, int64_t at) { numbers[static_cast<size_t>(at)] = n + k; });
  std::string both = c.fresh(), picked = c.fresh();
  set_int(c.add("Concat", {reshaped(c, c.in(0), flat), reshaped(c, c.in(1), flat)}, {both}), "axis",
          0);
  set_int(c.add("Gather", {both, c.ints(numbers)}, {picked}), "axis", 0);
  reshaped(c, picked, shape, c.out(0));
});

}  // namespace wick::onnx
