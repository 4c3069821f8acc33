// Lists that ops take by input or by attribute. A list that is known when a node is read becomes
// the attribute, whichever operator the node comes from: so an op has one form, which it also has
// when it was written and is read again.
#include "exporter/onnx/read/read.h"

namespace wick::onnx {

template <class List>
bool ReadCtx::take_list(std::vector<ValueId>& in, size_t i, List& list, bool empty_too) {
  if (i >= in.size() || in[i] == kNoValue) return true;
  auto known = known_ints(in[i]);
  if (!known || known->size() > static_cast<size_t>(List::kCapacity)) return false;
  // An empty list means something that an empty attribute cannot always express.
  if (known->empty() && !empty_too) return false;
  list = List(Span<const int64_t>(*known));
  in[i] = kNoValue;
  return true;
}

void ReadCtx::settle(ReshapeAttrs& a, std::vector<ValueId>& in) { take_list(in, 1, a.shape, true); }
void ReadCtx::settle(ShapeAttrs& a, std::vector<ValueId>& in) { take_list(in, 1, a.shape, true); }
void ReadCtx::settle(AxesAttrs& a, std::vector<ValueId>& in) { take_list(in, 1, a.axes, false); }
void ReadCtx::settle(SplitAttrs& a, std::vector<ValueId>& in) { take_list(in, 1, a.sizes, false); }
void ReadCtx::settle(SliceAttrs& a, std::vector<ValueId>& in) {
  take_list(in, 1, a.starts, false), take_list(in, 2, a.ends, false);
  take_list(in, 3, a.axes, false), take_list(in, 4, a.steps, false);
}

// Pads of some axes become pads of all axes: ONNX had no axes before opset 18.
void ReadCtx::settle(PadAttrs& a, std::vector<ValueId>& in) {
  if (in.size() < 3) in.resize(3, kNoValue);
  if (a.value != 0 && in[2] == kNoValue) in[2] = scalar(in[0], a.value, "value");
  a.value = 0;
  const bool pads = take_list(in, 1, a.pads, false), axes = take_list(in, 3, a.axes, false);
  const Value& x = g.value(in[0]);
  if (!pads || !axes || a.axes.empty() || !x.ranked || a.pads.count != 2 * a.axes.count) return;
  const int64_t rank = x.shape.rank(), n = a.axes.count;
  IntList<16> all;
  all.count = 2 * rank;
  bool given[kMaxRank] = {};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t axis = a.axes[i] < 0 ? a.axes[i] + rank : a.axes[i];
    if (axis < 0 || axis >= rank || given[axis]) return;  // the op's shape rule reports it
    given[axis] = true;
    all.values[axis] = a.pads[i];
    all.values[axis + rank] = a.pads[i + n];
  }
  a.pads = all;
  a.axes = {};
}

}  // namespace wick::onnx
