// Runs If and Loop.
#include <cinttypes>

#include "runtime/core/copy_bits.h"
#include "runtime/core/int_at.h"
#include "runtime/exec/runner.h"

namespace wick {

Status Runner::pass_in(const RegionDef& region, size_t to, const NodeDef& node, size_t from) {
  for (; from < node.inputs.size(); ++to, ++from) {
    WICK_TRY(values_.hand_on(node.inputs[from], region.inputs[to]));
    WICK_TRY(values_.check_declared(region.inputs[to]));
  }
  return {};
}

Status Runner::read_bool(uint32_t value, bool* is) const {
  const TensorView& v = values_.views[value];
  if (v.numel() != 1 || v.dtype != DType::kBool) {
    return error(Code::kShapeMismatch, "the condition must be one bool, got %s %s",
                 dtype_name(v.dtype), to_text(v.shape).text);
  }
  *is = *v.as<uint8_t>() != 0;
  return {};
}

Status Runner::run_if(const NodeDef& node, RunCtx& ctx) {
  bool taken = false;
  WICK_TRY(read_bool(node.inputs[0], &taken));
  uint32_t index = node.regions[taken ? 0 : 1];
  const RegionDef& branch = values_.entry.regions[index];
  WICK_TRY(pass_in(branch, 0, node, 1));
  WICK_TRY(run(index, ctx));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    WICK_TRY(values_.hand_on(branch.outputs[k], node.outputs[k]));
    WICK_TRY(values_.check_declared(node.outputs[k]));
  }
  return {};
}

// Appends one part to the `count` equal ones in the buffer.
Status Runner::stack(Buffer& buffer, const TensorView& part, int64_t count) {
  const size_t bits =
      static_cast<size_t>(part.numel()) * static_cast<size_t>(dtype_bits(part.dtype));
  size_t at;
  if (__builtin_mul_overflow(count, bits, &at) || at > SIZE_MAX / 4)
    return Status(Code::kBudgetExceeded, "what the trips give does not fit into memory");
  const size_t had = (at + 7) / 8, need = (at + bits + 7) / 8;
  if (need + 1 > buffer.bytes) {
    // grow to twice the size, where the budget allows it
    if (!memory_.grow(buffer, 2 * need + 64, had).ok())
      WICK_TRY(memory_.grow(buffer, need + 1, had));
  }
  if (bits == 0) return {};
  if (need > had) static_cast<char*>(buffer.data)[need - 1] = 0;  // zeros the padding bits
  copy_bits(part.data, 0, buffer.data, at, bits);
  return {};
}

// Returns the shape that the output of a loop body would have; 0 where only a trip could tell.
Shape Runner::shape_without_trip(uint32_t region, uint32_t value) {
  const RegionDef& def = values_.entry.regions[region];
  if (first_fits(region)) {
    for (const NodeDef& node : def.nodes.subspan(0, regions_[region]->plan.end)) {
      for (uint32_t v : node.outputs) {
        if (v == value) return values_[v].shape;
      }
    }
  }
  for (uint32_t v : def.inputs) {
    if (v == value) return values_[v].shape;
  }
  if (values_[value].data != nullptr) return values_[value].shape;
  Shape shape;
  for (const DimDef& d : values_.entry.values[value].dims) {
    int64_t extent = d.symbol < 0 ? d.value : values_.symbols[static_cast<size_t>(d.symbol)];
    shape.push_back(extent < 0 ? 0 : extent);
  }
  return shape;
}

// Carried values are copied to the second of two buffers before the next trip, because a trip may
// pass its inputs on in another order.
Status Runner::run_loop(Stage& stage, const NodeDef& node, RunCtx& ctx) {
  uint32_t index = node.regions[0];
  const RegionDef& body = values_.entry.regions[index];
  auto carried = static_cast<size_t>(static_cast<const LoopAttrs*>(node.attrs)->carried);
  size_t stacks = node.outputs.size() - carried;
  const TensorView& most = values_.views[node.inputs[0]];
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
  WICK_TRY(values_.set(body.inputs[0], &stage.trip, DType::kI64, Shape{}));
  WICK_TRY(values_.set(body.inputs[1], &stage.condition, DType::kBool, Shape{}));
  WICK_TRY(pass_in(body, 2, node, 2));
  int64_t trip = 0;
  for (; go_on && trip < trips; ++trip) {
    if (ctx.stop != nullptr && ctx.stop->reached())
      return annotate(ctx.stop->status(), "before trip %" PRId64 ": ", trip);
    stage.trip = trip;
    stage.condition = 1;
    WICK_TRY(annotate(run(index, ctx), "trip %" PRId64 ": ", trip));
    WICK_TRY(read_bool(body.outputs[0], &go_on));
    for (size_t k = 0; k < carried; ++k) {
      const TensorView &in = values_.views[body.inputs[2 + k]],
                       &out = values_.views[body.outputs[1 + k]];
      next[k] = out;
      if (out.data == in.data && out.shape == in.shape) continue;
      bool second = in.data == stage.buffers[2 * k].data;
      Buffer& to = stage.buffers[2 * k + (second ? 1 : 0)];
      WICK_TRY(is_container(out.dtype) ? memory_.grow_ahead(to, out.nbytes())
                                       : memory_.grow(to, out.nbytes() + 1));
      if (!copy_bytes(to.data, out.data, out.nbytes())) return ctx.stop->status();
      next[k].data = to.data;
    }
    for (size_t k = 0; k < stacks; ++k) {
      const TensorView& part = values_.views[body.outputs[1 + carried + k]];
      WICK_TRY(values_.check_dtype(node.outputs[carried + k], part.dtype));
      if (trip == 0) each[k] = part.shape;
      if (!(each[k] == part.shape)) {
        return error(Code::kShapeMismatch, "trip %" PRId64 " gives %s to stack, one before gave %s",
                     trip, to_text(part.shape).text, to_text(each[k]).text);
      }
      WICK_TRY(stack(stage.buffers[2 * carried + k], part, trip));
    }
    for (size_t k = 0; k < carried; ++k) {
      WICK_TRY(values_.set(body.inputs[2 + k], next[k].data, next[k].dtype, next[k].shape));
      WICK_TRY(values_.check_declared(body.inputs[2 + k]));
    }
  }
  for (size_t k = 0; k < carried; ++k)
    WICK_TRY(values_.hand_on(body.inputs[2 + k], node.outputs[k]));
  if (trip == 0 && stacks != 0 && !first_fits(index)) {
    Status s = plan(index, nullptr, 0);  // a body that would fail is not run
    if (s.code() == Code::kOutOfMemory || s.code() == Code::kBudgetExceeded) return s;
  }
  for (size_t k = 0; k < stacks; ++k) {
    if (trip == 0) each[k] = shape_without_trip(index, body.outputs[1 + carried + k]);
    if (each[k].rank() == kMaxRank)
      return error(Code::kShapeMismatch, "what the trips give would have a rank over %d", kMaxRank);
    Buffer& buffer = stage.buffers[2 * carried + k];
    WICK_TRY(memory_.grow(buffer, 1, buffer.bytes));
    Shape shape{trip};
    for (int64_t d : each[k]) shape.push_back(d);
    const DType dtype = values_.entry.values[body.outputs[1 + carried + k]].dtype;
    WICK_TRY(checked_bytes(shape, dtype_bits(dtype)).status());
    WICK_TRY(values_.set(node.outputs[carried + k], buffer.data, dtype, shape));
  }
  for (uint32_t v : node.outputs) WICK_TRY(values_.check_declared(v));
  return {};
}

}  // namespace wick
