// Running a region stage by stage, and the nodes between the stages: those whose sizes only values
// decide, If and Loop.
#include <cinttypes>

#include "runtime/core/copy_bits.h"
#include "runtime/core/int_at.h"
#include "runtime/exec/session_impl.h"
#include "runtime/kernels/prepared.h"
#include "runtime/ops/sequence_parts.h"

namespace wick {
namespace {

const char* op_name(const NodeDef& node) { return node.info->name; }

}  // namespace

Status read_elements(const TensorView& v, bool reals, Arena& arena, ValueInfo<int64_t>* info,
                     int64_t limit) {
  if (is_container(v.dtype)) {
    info->elements = static_cast<const int64_t*>(v.data);
    info->element_count = static_cast<int64_t>(v.nbytes() / sizeof(int64_t));
    return {};
  }
  if (v.data == nullptr || (!is_int(v.dtype) && !reals) || dtype_bits(v.dtype) < 8 ||
      v.rank() > 1 || v.numel() > limit) {
    return {};
  }
  auto n = static_cast<size_t>(v.numel());
  info->element_count = static_cast<int64_t>(n);
  if (reals) {
    WICK_ASSIGN(auto bits, arena.array<int64_t>(n + 1));
    for (size_t i = 0; i < n; ++i) bits[i] = real_bits_at(v.dtype, v.data, static_cast<int64_t>(i));
    info->elements = bits.data();
    return {};
  }
  if (v.dtype == DType::kI64) {
    info->elements = v.as<int64_t>();
    return {};
  }
  WICK_ASSIGN(auto out, arena.array<int64_t>(n + 1));
  for (size_t i = 0; i < n; ++i) out[i] = int_at(v, static_cast<int64_t>(i));
  info->elements = out.data();
  return {};
}

bool Session::Impl::whole() const {
  const Array<Stage*>& stages = regions[0].stages;
  return !stages.empty() && stages[0]->bound && stages[0]->end == entry.body().nodes.size();
}

bool Session::Impl::fits(const Stage& stage, uint32_t first) const {
  if (!stage.bound || stage.first != first) return false;
  for (const Crossing& c : stage.crossing) {
    if (!(c.shape == values[c.value].shape)) return false;
  }
  return true;
}

Status Session::Impl::run_region(uint32_t region, RunCtx& ctx) {
  const RegionDef& def = entry.regions[region];
  uint32_t first = 0;
  for (size_t k = 0;; ++k) {
    RegionState& state = regions[region];
    if (k == state.stages.size() || !fits(*state.stages[k], first))
      WICK_TRY(plan(region, k, first));
    Stage& stage = *state.stages[k];
    for (const InputUse& use : stage.input_uses) views[use.value].data = views[use.root].data;
    for (const BoundPartition& part : stage.partitions) {
      if (ctx.deadline_ns != 0 && now_ns() > ctx.deadline_ns)
        return Status(Code::kDeadline, "the deadline passed");
      ctx.scratch = static_cast<char*>(stage.memory.data) + stage.scratch_offset;
      limit_strings();
      WICK_TRY(part.compiled->run(ctx));
    }
    if (stage.end == def.nodes.size()) return {};
    const NodeDef& node = def.nodes[stage.end];
    WICK_TRY(annotate(run_apart(stage, node, ctx), "node %.60s (%s): ", node.name, op_name(node)));
    first = stage.end + 1;
  }
}

Status Session::Impl::run_apart(Stage& stage, const NodeDef& node, RunCtx& ctx) {
  if (ctx.deadline_ns != 0 && now_ns() > ctx.deadline_ns)
    return Status(Code::kDeadline, "the deadline passed");
  if (node.op == OpId::kIf) return run_if(node, ctx);
  if (node.op == OpId::kLoop) return run_loop(stage, node, ctx);
  return run_sized(stage, node, ctx);
}

// The rule reads the values that are there by now; outputs get the bytes it states, and the size
// that the kernel leaves them.
Status Session::Impl::run_sized(Stage& stage, const NodeDef& node, RunCtx& ctx) {
  stage.run_arena.clear();
  size_t ins = node.inputs.size(), outs = node.outputs.size();
  WICK_ASSIGN(auto info_in, stage.run_arena.array<ValueInfo<int64_t>>(ins));
  WICK_ASSIGN(auto info_out, stage.run_arena.array<ValueInfo<int64_t>>(outs));
  WICK_ASSIGN(auto in, stage.run_arena.array<TensorView>(ins));
  WICK_ASSIGN(auto out, stage.run_arena.array<TensorView>(outs));
  for (size_t i = 0; i < ins; ++i) {
    if (node.inputs[i] == kNoIndex) continue;
    // A weight that is lent was left where it is for a partition to pack; here nothing packs it.
    if (LentBytes* source = values[node.inputs[i]].source; source != nullptr)
      WICK_TRY(source->fill());
    in[i] = views[node.inputs[i]];
    info_in[i].dtype = in[i].dtype;
    info_in[i].shape = in[i].shape;
    WICK_TRY(read_elements(in[i], holds_reals(node.op, i, in[i].dtype, in[i].rank()),
                           stage.run_arena, &info_in[i],
                           reads_all_integers(node.op, i) ? INT32_MAX : kMaxElements));
  }
  ShapeArgs args;
  RuleCtx<int64_t> rule{node.op, node.attrs, info_in, info_out, node.custom, &args};
  WICK_TRY(refuse_unknown(infer_shapes(rule)));
  if (is_view(node.op)) {
    WICK_TRY(set_value(node.outputs[0], in[0].data, info_out[0].dtype, info_out[0].shape));
    return check_declared(node.outputs[0]);
  }
  if (stage.buffers.size() < outs) WICK_TRY(stage.buffers.resize(outs));
  for (size_t i = 0; i < outs; ++i) {
    WICK_TRY(check_dtype(node.outputs[i], info_out[i].dtype));
    out[i] = TensorView(nullptr, info_out[i].dtype, info_out[i].shape);
    WICK_TRY(is_container(out[i].dtype) ? grow_ahead(stage.buffers[i], out[i].nbytes())
                                        : grow(stage.buffers[i], out[i].nbytes() + 1));
    out[i].data = stage.buffers[i].data;
  }
  PreparedKernel kernel;
  WICK_TRY(kernel.prepare(sets, {node.op, node.attrs, in, out, threads, node.custom, &args}));
  WICK_TRY(grow(stage.scratch, kernel.scratch_bytes()));
  limit_strings();
  uint64_t begin = ctx.trace != nullptr ? now_ns() : 0;
  WICK_TRY(kernel.run({pool, stage.scratch.data, &strings}, node.op, in, out, node.attrs));
  if (ctx.trace != nullptr) {
    ctx.trace->on_op({op_name(node), node.name, kernel.row().name, "cpu",
                      static_cast<int64_t>(stage.first_step + stage.steps.size()), begin, now_ns(),
                      in, out});
  }
  for (size_t i = 0; i < outs; ++i) {
    WICK_TRY(set_value(node.outputs[i], out[i].data, out[i].dtype, out[i].shape));
    WICK_TRY(check_declared(node.outputs[i]));
  }
  return {};
}

Status Session::Impl::pass_in(const RegionDef& region, size_t to, const NodeDef& node,
                              size_t from) {
  for (; from < node.inputs.size(); ++to, ++from)
    WICK_TRY(hand_on(node.inputs[from], region.inputs[to]));
  return {};
}

Status Session::Impl::read_bool(uint32_t value, bool* is) const {
  const TensorView& v = views[value];
  if (v.numel() != 1 || v.dtype != DType::kBool) {
    return error(Code::kShapeMismatch, "the condition must be one bool, got %s %s",
                 dtype_name(v.dtype), to_text(v.shape).text);
  }
  *is = *v.as<uint8_t>() != 0;
  return {};
}

Status Session::Impl::run_if(const NodeDef& node, RunCtx& ctx) {
  bool taken = false;
  WICK_TRY(read_bool(node.inputs[0], &taken));
  uint32_t index = node.regions[taken ? 0 : 1];
  const RegionDef& branch = entry.regions[index];
  WICK_TRY(pass_in(branch, 0, node, 1));
  WICK_TRY(run_region(index, ctx));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    WICK_TRY(hand_on(branch.outputs[k], node.outputs[k]));
    WICK_TRY(check_declared(node.outputs[k]));
  }
  return {};
}

// One more part behind `count` equal ones.
Status Session::Impl::stack(Buffer& buffer, const TensorView& part, int64_t count) {
  const size_t bits =
      static_cast<size_t>(part.numel()) * static_cast<size_t>(dtype_bits(part.dtype));
  size_t at;
  if (__builtin_mul_overflow(count, bits, &at) || at > SIZE_MAX / 4)
    return Status(Code::kBudgetExceeded, "what the trips give does not fit into memory");
  const size_t had = (at + 7) / 8, need = (at + bits + 7) / 8;
  if (need + 1 > buffer.bytes) {
    // twice as much at once, where the budget allows it
    if (!grow(buffer, 2 * need + 64, had).ok()) WICK_TRY(grow(buffer, need + 1, had));
  }
  if (bits == 0) return {};
  if (need > had) static_cast<char*>(buffer.data)[need - 1] = 0;  // what pads its bits
  copy_bits(part.data, 0, buffer.data, at, bits);
  return {};
}

// The shape that a body's output would have; 0 where only a trip could tell.
Shape Session::Impl::shape_without_trip(uint32_t region, uint32_t value) {
  const RegionDef& def = entry.regions[region];
  bool planned = !regions[region].stages.empty() && fits(*regions[region].stages[0], 0);
  if (planned) {
    const Stage& stage = *regions[region].stages[0];
    for (const NodeDef& node : def.nodes.subspan(0, stage.end)) {
      for (uint32_t v : node.outputs) {
        if (v == value) return values[v].shape;
      }
    }
  }
  for (uint32_t v : def.inputs) {
    if (v == value) return values[v].shape;
  }
  if (values[value].data != nullptr) return values[value].shape;
  Shape shape;
  for (const DimDef& d : entry.values[value].dims) {
    int64_t extent = d.symbol < 0 ? d.value : symbols[static_cast<size_t>(d.symbol)];
    shape.push_back(extent < 0 ? 0 : extent);
  }
  return shape;
}

// What a trip carries out is copied to the second of two buffers before the next one: a trip may
// hand on what came in, in another order.
Status Session::Impl::run_loop(Stage& stage, const NodeDef& node, RunCtx& ctx) {
  uint32_t index = node.regions[0];
  const RegionDef& body = entry.regions[index];
  auto carried = static_cast<size_t>(static_cast<const LoopAttrs*>(node.attrs)->carried);
  size_t stacks = node.outputs.size() - carried;
  const TensorView& most = views[node.inputs[0]];
  if (most.numel() != 1 || most.dtype != DType::kI64)
    return Status(Code::kShapeMismatch, "the number of trips must be one int64");
  const int64_t trips = int_at(most, 0);
  bool go_on = false;
  WICK_TRY(read_bool(node.inputs[1], &go_on));
  if (stage.buffers.size() < 2 * carried + stacks)
    WICK_TRY(stage.buffers.resize(2 * carried + stacks));
  stage.run_arena.clear();
  WICK_ASSIGN(auto next, stage.run_arena.array<TensorView>(carried));
  WICK_ASSIGN(auto each, stage.run_arena.array<Shape>(stacks));
  WICK_TRY(set_value(body.inputs[0], &stage.trip, DType::kI64, Shape{}));
  WICK_TRY(set_value(body.inputs[1], &stage.condition, DType::kBool, Shape{}));
  WICK_TRY(pass_in(body, 2, node, 2));
  int64_t trip = 0;
  for (; go_on && trip < trips; ++trip) {
    if (ctx.deadline_ns != 0 && now_ns() > ctx.deadline_ns)
      return error(Code::kDeadline, "the deadline passed in trip %" PRId64, trip);
    stage.trip = trip;
    stage.condition = 1;
    WICK_TRY(annotate(run_region(index, ctx), "trip %" PRId64 ": ", trip));
    WICK_TRY(read_bool(body.outputs[0], &go_on));
    for (size_t k = 0; k < carried; ++k) {
      const TensorView &in = views[body.inputs[2 + k]], &out = views[body.outputs[1 + k]];
      next[k] = out;
      if (out.data == in.data && out.shape == in.shape) continue;
      bool second = in.data == stage.buffers[2 * k].data;
      Buffer& to = stage.buffers[2 * k + (second ? 1 : 0)];
      WICK_TRY(is_container(out.dtype) ? grow_ahead(to, out.nbytes()) : grow(to, out.nbytes() + 1));
      if (out.nbytes() != 0) memcpy(to.data, out.data, out.nbytes());
      next[k].data = to.data;
    }
    for (size_t k = 0; k < stacks; ++k) {
      const TensorView& part = views[body.outputs[1 + carried + k]];
      WICK_TRY(check_dtype(node.outputs[carried + k], part.dtype));
      if (trip == 0) each[k] = part.shape;
      if (!(each[k] == part.shape)) {
        return error(Code::kShapeMismatch, "trip %" PRId64 " gives %s to stack, one before gave %s",
                     trip, to_text(part.shape).text, to_text(each[k]).text);
      }
      WICK_TRY(stack(stage.buffers[2 * carried + k], part, trip));
    }
    for (size_t k = 0; k < carried; ++k)
      WICK_TRY(set_value(body.inputs[2 + k], next[k].data, next[k].dtype, next[k].shape));
  }
  for (size_t k = 0; k < carried; ++k) WICK_TRY(hand_on(body.inputs[2 + k], node.outputs[k]));
  if (trip == 0 && stacks != 0 &&
      (regions[index].stages.empty() || !fits(*regions[index].stages[0], 0))) {
    Status s = plan(index, 0, 0);  // a trip that would fail is not made
    if (s.code() == Code::kOutOfMemory || s.code() == Code::kBudgetExceeded) return s;
  }
  for (size_t k = 0; k < stacks; ++k) {
    if (trip == 0) each[k] = shape_without_trip(index, body.outputs[1 + carried + k]);
    if (each[k].rank() == kMaxRank)
      return Status(Code::kShapeMismatch, "what the trips give would have a rank over 8");
    Buffer& buffer = stage.buffers[2 * carried + k];
    WICK_TRY(grow(buffer, 1, buffer.bytes));
    Shape shape{trip};
    for (int64_t d : each[k]) shape.push_back(d);
    const DType dtype = entry.values[body.outputs[1 + carried + k]].dtype;
    WICK_TRY(checked_bytes(shape, dtype_bits(dtype)).status());
    WICK_TRY(set_value(node.outputs[carried + k], buffer.data, dtype, shape));
  }
  for (uint32_t v : node.outputs) WICK_TRY(check_declared(v));
  return {};
}

}  // namespace wick
