// If, Loop, Scan, and operators whose output sizes depend on values.
#include <fmt/core.h>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/read/subgraph.h"
#include "exporter/onnx/write/write.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

ValueId bool_constant(Graph& g, bool value) {
  return g.add_constant(HostTensor(DType::kBool, Shape{}, &value, 1));
}

// A branch that is known to be taken is read into the graph itself; the other one is not read at
// all.
void read_if(ReadCtx& c) {
  ValueId condition = c.in(0);
  const char* names[] = {"then_branch", "else_branch"};
  if (c.dtype(condition) != DType::kBool)
    c.fail(fmt::format("its condition is {}, must be bool", dtype_name(c.dtype(condition))));
  if (auto known = c.known(condition); known && known->numel() == 1) {
    const char* taken = names[element_as_double(*known, 0) != 0 ? 0 : 1];
    Scope inner(c.g, c.scope, c.node, taken);
    std::vector<ValueId> made = read_subgraph(inner, c.attr_graph(taken), c.opset);
    for (int i = 0; i < c.outputs(); ++i) {
      if (!c.wants(i)) continue;
      if (static_cast<size_t>(i) >= made.size()) c.fail("the branch has fewer outputs");
      c.set(i, made[static_cast<size_t>(i)]);
    }
    return;
  }
  std::vector<Graph> regions;
  std::vector<std::vector<ValueId>> captured;
  for (const char* name : names) {
    regions.push_back(c.scope.model.region(c.g, name));
    Scope inner(regions.back(), c.scope, c.node, name);
    std::vector<ValueId> made = read_subgraph(inner, c.attr_graph(name), c.opset);
    for (size_t k = 0; k < made.size(); ++k)
      regions.back().add_output(fmt::format("out{}", k), made[k]);
    drop_unread_containers(regions.back());
    captured.push_back(inner.captured());
  }
  // Both branches take the captures of either, in the same order.
  std::vector<ValueId> all = captured[0];
  for (ValueId v : captured[1]) {
    if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
  }
  for (size_t r = 0; r < 2; ++r) {
    Graph& region = regions[r];
    std::vector<ValueId> inputs;
    std::set<std::string> taken;
    for (ValueId v : region.inputs()) taken.insert(region.value(v).name);
    for (ValueId v : all) {
      auto at = std::find(captured[r].begin(), captured[r].end(), v);
      if (at != captured[r].end()) {
        inputs.push_back(region.inputs()[static_cast<size_t>(at - captured[r].begin())]);
        continue;
      }
      std::string name = c.g.value(v).name.empty() ? "captured" : c.g.value(v).name;
      while (!taken.insert(name).second) name += "_";
      inputs.push_back(region.add_input(name, c.g.value(v)));
    }
    region.inputs() = inputs;
  }
  std::vector<ValueId> inputs = {condition};
  inputs.insert(inputs.end(), all.begin(), all.end());
  NodeId id = c.g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), inputs, std::move(regions),
                              c.node.name());
  const std::vector<ValueId> outputs = c.g.node(id).outputs;
  for (int i = 0; i < c.outputs() && static_cast<size_t>(i) < outputs.size(); ++i)
    c.set(i, outputs[static_cast<size_t>(i)]);
}

std::vector<std::string> input_names(const GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& info : graph.input()) names.push_back(info.name());
  return names;
}

void read_loop(ReadCtx& c) {
  const GraphProto& proto = c.attr_graph("body");
  if (c.has(0) && !is_int(c.dtype(c.in(0))))
    c.fail(fmt::format("the number of trips is {}, must be int64", dtype_name(c.dtype(c.in(0)))));
  ValueId trips = c.has(0) ? cast(c, c.in(0), DType::kI64) : int_scalar(c, INT64_MAX);
  ValueId condition = c.has(1) ? c.in(1) : bool_constant(c.g, true);
  std::vector<ValueId> carried;
  for (int i = 2; i < c.inputs(); ++i) carried.push_back(c.in(i));
  if (proto.input_size() != static_cast<int>(carried.size()) + 2)
    c.fail(fmt::format("its body takes {} values, it gets {}", proto.input_size(),
                       carried.size() + 2));
  if (proto.output_size() < static_cast<int>(carried.size()) + 1)
    c.fail("its body gives fewer values than it carries");
  // A trip may return the bare element where it takes an optional: the element is wrapped for the
  // next trip.
  std::vector<bool> wrapped(carried.size());
  std::vector<ValueId> made = emit_loop(
      c, trips, condition, carried, input_names(proto), [&](ReadCtx& b, const LoopBody& in) {
        b.scope.values[proto.input(0).name()] = in.trip;
        b.scope.values[proto.input(1).name()] = in.condition;
        for (size_t k = 0; k < in.carried.size(); ++k)
          b.scope.values[proto.input(static_cast<int>(2 + k)).name()] = in.carried[k];
        std::vector<ValueId> out = read_subgraph(b.scope, proto, c.opset);
        for (size_t k = 0; k < in.carried.size(); ++k) {
          const DType is = b.dtype(in.carried[k]), gives = b.dtype(out[1 + k]);
          wrapped[k] = (is == DType::kOptionalSequence && gives == DType::kSequence) ||
                       (is == DType::kOptional && !is_container(gives));
          if (wrapped[k]) out[1 + k] = wrap_optional(b, out[1 + k]);
        }
        return out;
      });
  for (size_t k = 0; k < wrapped.size(); ++k) {
    if (wrapped[k]) made[k] = unwrap_optional(c, made[k]);
  }
  for (int i = 0; i < c.outputs() && static_cast<size_t>(i) < made.size(); ++i)
    c.set(i, made[static_cast<size_t>(i)]);
}

// ScanCall describes one scan: its states and sequences, and their axes and directions.
struct ScanCall {
  const GraphProto* body;
  std::vector<ValueId> states, sequences;
  std::vector<int64_t> in_axes, in_reverse, out_axes, out_reverse;
  ValueId trips = kNoValue;  // kNoValue: the size of the first sequence
};

ValueId size_along(ReadCtx& c, ValueId v, int64_t axis) {
  return c.emit(OpId::kGather, AxisAttrs{0}, {shape_of(c, v), int_scalar(c, axis)});
}

// Returns one number for each of `count`, or none at all; a direction must be 0 or 1.
std::vector<int64_t> each_of(ReadCtx& c, const char* name, size_t count, bool direction) {
  std::vector<int64_t> list = c.attr_ints(name);
  if (!list.empty() && list.size() != count)
    c.fail(fmt::format("attribute '{}' has {} numbers, for {}", name, list.size(), count));
  for (int64_t v : list) {
    if (direction && v != 0 && v != 1)
      c.fail(fmt::format("attribute '{}' has a direction {}, must be 0 or 1", name, v));
  }
  return list;
}

int64_t axis_at(ReadCtx& c, const std::vector<int64_t>& axes, size_t k, int rank) {
  return axis_of(c, k < axes.size() ? axes[k] : 0, rank);
}

// Returns the size that `values` share along their axes. Where only a run can tell, it is the
// largest size: a shorter value then has no slice at some trip, which is an error.
ValueId common_size(ReadCtx& c, const std::vector<ValueId>& values,
                    const std::vector<int64_t>& axes) {
  auto dim_of = [&](size_t k) {
    const Value& v = c.g.value(values[k]);
    return v.ranked && axes[k] < v.shape.rank() ? v.shape[static_cast<int>(axes[k])]
                                                : dim_open(SymDim());
  };
  ValueId size = size_along(c, values[0], axes[0]);
  for (size_t k = 1; k < values.size(); ++k) {
    const SymDim first = dim_of(0), other = dim_of(k);
    const Tri same = dim_equal(first, other);
    if (same == Tri::kNo)
      c.fail(fmt::format("what it scans has {} slices, and {}", first.text(), other.text()));
    if (same == Tri::kUnknown) size = c.emit(OpId::kMax, {size, size_along(c, values[k], axes[k])});
  }
  return size;
}

// Emits a loop that takes one slice of every sequence per trip and stacks its outputs.
std::vector<ValueId> emit_scan(ReadCtx& c, const ScanCall& s) {
  size_t states = s.states.size(), sequences = s.sequences.size();
  const GraphProto& proto = *s.body;
  if (proto.input_size() != static_cast<int>(states + sequences) ||
      proto.output_size() < static_cast<int>(states)) {
    c.fail("its body has other inputs or outputs than it is given");
  }
  std::vector<int64_t> axes;
  for (size_t k = 0; k < sequences; ++k)
    axes.push_back(axis_at(c, s.in_axes, k, c.rank(s.sequences[k])));
  ValueId trips = s.trips != kNoValue ? s.trips : common_size(c, s.sequences, axes);
  std::vector<std::string> names = {"", ""};
  for (size_t k = 0; k < states; ++k) names.push_back(proto.input(static_cast<int>(k)).name());
  std::vector<ValueId> made = emit_loop(
      c, trips, bool_constant(c.g, true), s.states, names, [&](ReadCtx& b, const LoopBody& in) {
        for (size_t k = 0; k < states; ++k)
          b.scope.values[proto.input(static_cast<int>(k)).name()] = in.carried[k];
        ValueId backwards = kNoValue;
        for (size_t k = 0; k < sequences; ++k) {
          ValueId at = in.trip;
          if (k < s.in_reverse.size() && s.in_reverse[k] != 0) {
            if (backwards == kNoValue) {
              ValueId last = b.emit(OpId::kSub, {b.scope.capture(trips), int_scalar(b, 1)});
              backwards = b.emit(OpId::kSub, {reshape(b, last, {}), in.trip});
            }
            at = backwards;
          }
          ValueId slice =
              b.emit(OpId::kGather, AxisAttrs{axes[k]}, {b.scope.capture(s.sequences[k]), at});
          b.scope.values[proto.input(static_cast<int>(states + k)).name()] = slice;
        }
        std::vector<ValueId> out = read_subgraph(b.scope, proto, c.opset);
        out.insert(out.begin(), bool_constant(b.g, true));
        return out;
      });
  for (size_t k = states; k < made.size(); ++k) {
    size_t o = k - states;
    bool reverse = o < s.out_reverse.size() && s.out_reverse[o] != 0;
    if (reverse) {
      SliceAttrs a;
      a.starts = {-1};
      a.ends = {INT64_MIN};
      a.axes = {0};
      a.steps = {-1};
      made[k] = c.emit(OpId::kSlice, a, {made[k]});
    }
    if (o >= s.out_axes.size() || s.out_axes[o] == 0) continue;
    int rank = c.rank(made[k]);
    int axis = axis_of(c, s.out_axes[o], rank);
    TransposeAttrs t;  // the first axis goes to `axis`
    for (int d = 1; d < rank; ++d) t.perm.values[t.perm.count++] = d;
    for (int d = rank - 1; d > axis; --d) t.perm.values[d] = t.perm.values[d - 1];
    t.perm.values[axis] = 0;
    t.perm.count = rank;
    if (axis != 0) made[k] = c.emit(OpId::kTranspose, t, {made[k]});
  }
  return made;
}

// Reads the Scan of opset 8: a batch axis comes first, every entry of it has its own length, and
// the outputs are zero beyond that length.
void read_scan_8(ReadCtx& c) {
  ScanCall s;
  s.body = &c.attr_graph("body");
  auto sequences = c.attr_int("num_scan_inputs", 0);
  if (sequences < 1 || sequences > c.inputs() - 1)
    c.fail("num_scan_inputs does not fit its inputs");
  int states = c.inputs() - 1 - static_cast<int>(sequences);
  std::vector<ValueId> all;
  for (int i = 1; i < c.inputs(); ++i) all.push_back(c.in(i));
  ValueId lengths = c.optional(0), first = all[static_cast<size_t>(states)];
  ValueId batch = common_size(c, all, std::vector<int64_t>(all.size(), 0)),
          longest = size_along(c, first, 1);
  std::vector<ValueId> made =
      emit_loop(c, batch, bool_constant(c.g, true), {}, {}, [&](ReadCtx& b, const LoopBody& in) {
        ScanCall one = s;
        for (size_t k = 0; k < all.size(); ++k) {
          ValueId entry = b.emit(OpId::kGather, AxisAttrs{0}, {b.scope.capture(all[k]), in.trip});
          (static_cast<int>(k) < states ? one.states : one.sequences).push_back(entry);
        }
        one.in_reverse = each_of(c, "directions", one.sequences.size(), true);
        if (lengths != kNoValue) {
          ValueId length = b.emit(OpId::kGather, AxisAttrs{0}, {b.scope.capture(lengths), in.trip});
          one.trips = cast(b, length, DType::kI64);
        }
        std::vector<ValueId> out = emit_scan(b, one);
        for (size_t k = one.states.size(); k < out.size() && lengths != kNoValue; ++k) {
          ValueId behind = b.emit(OpId::kSub, {b.scope.capture(longest), one.trips});
          ValueId pads =
              b.emit(OpId::kConcat, AxisAttrs{0}, {b.int_constant({0}), reshape(b, behind, {1})});
          PadAttrs a;
          a.axes = {0};
          out[k] = b.emit(OpId::kPad, a, {out[k], pads});
        }
        out.insert(out.begin(), bool_constant(b.g, true));
        return out;
      });
  for (int i = 0; i < c.outputs() && static_cast<size_t>(i) < made.size(); ++i)
    c.set(i, made[static_cast<size_t>(i)]);
}

void read_scan(ReadCtx& c) {
  if (c.opset < 9) return read_scan_8(c);
  ScanCall s;
  s.body = &c.attr_graph("body");
  auto sequences = c.attr_int("num_scan_inputs", 0);
  if (sequences < 1 || sequences > c.inputs()) c.fail("num_scan_inputs does not fit its inputs");
  for (int i = 0; i < c.inputs(); ++i)
    (i < c.inputs() - sequences ? s.states : s.sequences).push_back(c.in(i));
  const size_t made_by_trip =
      static_cast<size_t>(std::max(0, s.body->output_size() - static_cast<int>(s.states.size())));
  s.in_axes = each_of(c, "scan_input_axes", s.sequences.size(), false);
  s.in_reverse = each_of(c, "scan_input_directions", s.sequences.size(), true);
  s.out_axes = each_of(c, "scan_output_axes", made_by_trip, false);
  s.out_reverse = each_of(c, "scan_output_directions", made_by_trip, true);
  std::vector<ValueId> made = emit_scan(c, s);
  for (int i = 0; i < c.outputs() && static_cast<size_t>(i) < made.size(); ++i)
    c.set(i, made[static_cast<size_t>(i)]);
}

// Reads Compress: it keeps the elements, or the slices along the axis, for which the condition
// holds.
void read_compress(ReadCtx& c) {
  check_rank(c, c.in(1), 1, "condition");
  ValueId x = c.in(0), places = reshape(c, c.emit(OpId::kNonZero, {c.in(1)}), {-1});
  bool flat = c.attr("axis") == nullptr;
  int64_t axis = flat ? 0 : c.attr_int("axis", 0);
  if (flat) x = reshape(c, x, {-1});
  c.set(0, c.emit(OpId::kGather, AxisAttrs{axis}, {x, places}));
}

void read_nms(ReadCtx& c) {
  std::vector<ValueId> in = {c.in(0), c.in(1)};
  for (int i = 2; i < 5; ++i) in.push_back(c.optional(i));
  c.set(0, c.emit(OpId::kNonMaxSuppression, NmsAttrs{c.attr_int("center_point_box", 0)}, in));
}

}  // namespace

WICK_READ(If, read_if);
WICK_READ(Loop, read_loop);
WICK_READ(Scan, read_scan);
WICK_READ(Compress, read_compress);
WICK_READ(NonMaxSuppression, read_nms);

WICK_ONNX_ROW(If, [](WriteCtx& c) {
  std::vector<std::string> outs;
  for (size_t i = 0; i < c.node.outputs.size(); ++i) outs.push_back(c.out(i));
  NodeProto& n = c.add("If", {c.in(0)}, outs);
  c.subgraph(n, "then_branch", c.node.regions[0]);
  c.subgraph(n, "else_branch", c.node.regions[1]);
});
WICK_ONNX_ROW(Loop, [](WriteCtx& c) {
  std::vector<std::string> in, outs;
  for (size_t i = 0; i < own_inputs(c.node); ++i) in.push_back(c.in(i));
  for (size_t i = 0; i < c.node.outputs.size(); ++i) outs.push_back(c.out(i));
  c.subgraph(c.add("Loop", in, outs), "body", c.node.regions[0]);
});
WICK_ONNX_PLAIN(Range);
WICK_ONNX_ROW(NonMaxSuppression, [](WriteCtx& c) {
  set_int(c.same("NonMaxSuppression"), "center_point_box", c.as<NmsAttrs>().center_point_box);
});

}  // namespace wick::onnx
