// Removes ops that return their input: identities, and casts and movements that change nothing.
#include <optional>

#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"

namespace wick::ir {
namespace {

struct Holds {
  int whole = 0;  // unsigned integers of so many bits are exact
  bool negative = false, fraction = false;
};
std::optional<Holds> holds(DType t) {
  switch (t) {
    case DType::kBool: return Holds{1, false, false};
    case DType::kF16: return Holds{11, true, true};
    case DType::kBF16: return Holds{8, true, true};
    case DType::kF32: return Holds{24, true, true};
    case DType::kF64: return Holds{53, true, true};
    default: break;
  }
  if (is_unsigned_int(t)) return Holds{dtype_bits(t), false, false};
  if (is_signed_int(t)) return Holds{dtype_bits(t) - 1, true, false};
  return std::nullopt;  // smaller dtypes have rules of their own
}

// Returns whether every value of `from` is one of `to`.
bool keeps_all(DType from, DType to) {
  const auto a = holds(from), b = holds(to);
  if (!a || !b || to == DType::kBool) return from == to;
  if (from == to) return true;
  if (a->fraction)  // f16 and bf16 hold different ranges
    return to == DType::kF64 || (to == DType::kF32 && from != DType::kF64);
  return a->whole <= b->whole && (b->negative || !a->negative);
}

// Returns whether a cast from `from` to `to` by way of `over` gives the bits of a direct one. What
// leaves an integer's range saturates from floats, and wraps around from integers.
bool passes_over(DType from, DType over, DType to) {
  if (!holds(to) || !keeps_all(from, over)) return false;
  return is_float(from) == is_float(over) || keeps_all(from, to);
}

bool all(Span<const int64_t> values, bool (*holds_for)(int64_t)) {
  for (int64_t v : values) {
    if (!holds_for(v)) return false;
  }
  return true;
}

bool only_first_input(const Node& n) {
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    if (n.inputs[i] != kNoValue) return false;
  }
  return true;
}

// Returns whether a Dropout drops nothing: its flag says inference, and its mask has no reader.
bool keeps_everything(const Graph& g, const Node& n, const std::vector<int>& readers) {
  if (readers[static_cast<size_t>(n.outputs[1])] > 0) return false;
  if (n.inputs.size() < 3) return true;
  const ValueId flag = n.inputs[2];
  return g.is_constant(flag) && g.value(flag).constant.numel() == 1 &&
         element_as_double(g.value(flag).constant, 0) == 0;
}

// Returns whether the node returns its first input unchanged.
bool gives_back(const Graph& g, const Node& n, const std::vector<int>& readers) {
  if (n.inputs.empty()) return false;
  const ValueId x = n.inputs[0], y = n.outputs[0];
  const OpId op = n.op;
  if (op == OpId::kCast || op == OpId::kCastString) return g.value(x).dtype == g.value(y).dtype;
  if (op == OpId::kConcat) return n.inputs.size() == 1;
  if (op == OpId::kSplit) return n.outputs.size() == 1 && same_shape(g, x, y);
  if (op == OpId::kExpand) return same_shape(g, x, y);
  if (op == OpId::kSlice) {  // as many elements as there are, forwards
    return only_first_input(n) && same_shape(g, x, y) &&
           all(n.attrs.as<SliceAttrs>().steps.span(), [](int64_t s) { return s > 0; });
  }
  if (op == OpId::kPad) {
    return only_first_input(n) &&
           all(n.attrs.as<PadAttrs>().pads.span(), [](int64_t p) { return p == 0; });
  }
  if (op == OpId::kDropout) return keeps_everything(g, n, readers);
  return op == OpId::kIdentity;
}

}  // namespace

bool remove_identities(Graph& g) {
  Substitution sub(g);
  std::vector<int> readers(g.value_count(), 0);  // an upper bound
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[static_cast<size_t>(v)];
    }
  }
  for (const GraphOutput& o : g.outputs()) ++readers[static_cast<size_t>(o.value)];
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    Node& n = g.node(id);
    if (n.removed()) continue;
    sub.apply(n);
    if (n.op == OpId::kCast) {
      const Node* inner = producer_of(g, n.inputs[0]);
      if (inner != nullptr && inner->op == OpId::kCast &&
          passes_over(g.value(inner->inputs[0]).dtype, g.value(n.inputs[0]).dtype,
                      g.value(n.outputs[0]).dtype)) {
        n.inputs[0] = inner->inputs[0];
        changed = true;
      }
    }
    if (!gives_back(g, n, readers) || !sub.may_replace(n.outputs[0], n.inputs[0])) continue;
    sub.drop(id, n.inputs[0]);
  }
  return sub.finish() || changed;
}

}  // namespace wick::ir
