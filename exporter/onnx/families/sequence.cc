// Sequences and optionals. What is known when the model is read (the tensors of a sequence, and
// which of them is taken) leaves no sequence in the graph; the rest are packed values at run time.
#include <fmt/core.h>

#include "exporter/onnx/file/types.h"
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/read/subgraph.h"
#include "exporter/onnx/write/write.h"
#include "runtime/core/packed_sequence.h"

namespace wick::onnx {
namespace {

constexpr int64_t kMaxParts = 256;  // the most parts that a tensor is split into when reading

const Value& need_sequence(ReadCtx& c, ValueId v) {
  const Value& value = c.g.value(v);
  if (value.dtype != DType::kSequence) c.fail(fmt::format("'{}' is no sequence", value.name));
  return value;
}

SequenceAttrs of_elements(ReadCtx& c, ValueId v) {
  return {static_cast<int64_t>(c.g.value(v).element)};
}

const Node* producer(ReadCtx& c, ValueId v, OpId op) {
  if (c.g.value(v).origin != ValueOrigin::kNode) return nullptr;
  const Node& n = c.g.node(c.g.value(v).producer);
  return n.op == op ? &n : nullptr;
}

// Returns the tensors of a sequence, if a SequenceConstruct makes it.
std::optional<std::vector<ValueId>> items_of(ReadCtx& c, ValueId v) {
  need_sequence(c, v);
  const Node* n = producer(c, v, OpId::kSequenceConstruct);
  return n == nullptr ? std::nullopt : std::make_optional(n->inputs);
}

ValueId construct(ReadCtx& c, std::vector<ValueId> items, DType dtype) {
  for (ValueId v : items) {
    if (c.dtype(v) != dtype)
      c.fail(fmt::format("a sequence of {} cannot take {}", dtype_name(dtype),
                         dtype_name(c.dtype(v))));
  }
  return c.emit(OpId::kSequenceConstruct, SequenceAttrs{static_cast<int64_t>(dtype)},
                std::move(items));
}

// Returns the index among n elements that input i means; nothing if only a run can tell.
std::optional<size_t> known_place(ReadCtx& c, int i, int64_t n, bool behind, int64_t fallback) {
  int64_t position = fallback;
  if (c.has(i)) {
    auto known = c.known(c.in(i));
    if (!known) return std::nullopt;
    if ((known->dtype() != DType::kI64 && known->dtype() != DType::kI32) || known->numel() != 1)
      c.fail("the position must be one int32 or int64");
    position = int_values(*known)[0];
  }
  auto at = sequence_position(position, n, behind);
  if (!at.ok()) c.fail(at.status().message());
  return static_cast<size_t>(at.value());
}

void read_construct(ReadCtx& c) {
  std::vector<ValueId> items = c.all_inputs();
  if (items.empty()) c.fail("needs at least one input");
  c.set(0, construct(c, items, c.dtype(items[0])));
}

void read_empty(ReadCtx& c) { c.set(0, construct(c, {}, asked_dtype(c, DType::kF32))); }

void read_insert(ReadCtx& c) {
  ValueId s = c.in(0);
  if (auto items = items_of(c, s)) {
    const auto n = static_cast<int64_t>(items->size());
    if (auto at = known_place(c, 2, n, true, n)) {
      items->insert(items->begin() + static_cast<long>(*at), c.in(1));
      c.set(0, construct(c, *items, c.g.value(s).element));
      return;
    }
  }
  c.set(0, c.emit(OpId::kSequenceInsert, {s, c.in(1), c.optional(2)}));
}

void read_erase(ReadCtx& c) {
  ValueId s = c.in(0);
  if (auto items = items_of(c, s)) {
    if (auto at = known_place(c, 1, static_cast<int64_t>(items->size()), false, -1)) {
      items->erase(items->begin() + static_cast<long>(*at));
      c.set(0, construct(c, *items, c.g.value(s).element));
      return;
    }
  }
  c.set(0, c.emit(OpId::kSequenceErase, {s, c.optional(1)}));
}

void read_at(ReadCtx& c) {
  ValueId s = c.in(0), position = c.in(1);
  if (auto items = items_of(c, s)) {
    if (auto at = known_place(c, 1, static_cast<int64_t>(items->size()), false, 0)) {
      c.set(0, (*items)[*at]);
      return;
    }
  }
  c.set(0, c.emit(OpId::kSequenceAt, of_elements(c, s), {s, position}));
}

ValueId length_of(ReadCtx& c, ValueId s) {
  if (auto items = items_of(c, s)) return int_scalar(c, static_cast<int64_t>(items->size()));
  return c.emit(OpId::kSequenceLength, {s});
}

void read_length(ReadCtx& c) { c.set(0, length_of(c, c.in(0))); }

// Returns the sizes of the parts, if they are known and not too many.
std::optional<std::vector<int64_t>> known_parts(ReadCtx& c, ValueId x, int axis) {
  const SymDim size = c.g.value(x).shape[axis];
  if (!c.has(1)) {
    if (!size.known() || size.constant() > kMaxParts) return std::nullopt;
    return std::vector<int64_t>(static_cast<size_t>(size.constant()), 1);
  }
  auto sizes = c.known(c.in(1));
  if (!sizes) return std::nullopt;
  if ((sizes->dtype() != DType::kI64 && sizes->dtype() != DType::kI32) || sizes->shape().rank() > 1)
    c.fail("the sizes must be one or a list of int32 or int64");
  std::vector<int64_t> given = int_values(*sizes);
  if (sizes->shape().rank() == 1)
    return given.size() > kMaxParts ? std::nullopt : std::make_optional(given);
  const int64_t chunk = given[0];
  if (chunk <= 0) c.fail(fmt::format("parts of size {}, must be > 0", chunk));
  if (!size.known() || size.constant() / chunk >= kMaxParts) return std::nullopt;
  std::vector<int64_t> parts;
  for (int64_t left = size.constant(); left > 0; left -= chunk)
    parts.push_back(std::min(left, chunk));
  return parts;
}

void read_split(ReadCtx& c) {
  SplitToSequenceAttrs a;
  a.axis = c.attr_int("axis", 0);
  a.keepdims = c.attr_int("keepdims", 1);
  ValueId x = c.in(0);
  if (c.g.value(x).ranked && dtype_bits(c.dtype(x)) >= 8) {  // Split takes whole bytes only
    const int axis = axis_of(c, a.axis, c.rank(x));
    auto parts = known_parts(c, x, axis);
    if (parts && !parts->empty()) {
      SplitAttrs split;
      split.axis = axis;
      ValueId sizes = kNoValue;
      if (parts->size() <= static_cast<size_t>(decltype(split.sizes)::kCapacity))
        c.fill(split.sizes, *parts, "split");
      else
        sizes = c.int_constant(*parts);
      NodeId id = c.g.add_node(OpId::kSplit, AnyAttrs::of(split), {x, sizes},
                               static_cast<int>(parts->size()), c.node.name());
      std::vector<ValueId> items = c.g.node(id).outputs;
      if (!c.has(1) && a.keepdims == 0) {
        for (ValueId& v : items) v = squeeze(c, v, {axis});
      }
      c.set(0, construct(c, items, c.dtype(x)));
      return;
    }
  }
  c.set(0, c.emit(OpId::kSplitToSequence, a, {x, c.optional(1)}));
}

void read_concat(ReadCtx& c) {
  ConcatFromSequenceAttrs a;
  if (c.attr("axis") == nullptr) c.fail("attribute 'axis' is required");
  a.axis = c.attr_int("axis", 0);
  a.new_axis = c.attr_int("new_axis", 0);
  if (a.new_axis != 0 && a.new_axis != 1) c.fail("new_axis must be 0 or 1");
  ValueId s = c.in(0);
  if (auto items = items_of(c, s)) {
    if (items->empty()) c.fail("an empty sequence has nothing to concatenate");
    if (a.new_axis != 0) {
      for (ValueId& v : *items) v = unsqueeze(c, v, {a.axis});
    }
    c.set(0, c.emit(OpId::kConcat, AxisAttrs{a.axis}, *items));
    return;
  }
  a.dtype = static_cast<int64_t>(c.g.value(s).element);
  c.set(0, c.emit(OpId::kConcatFromSequence, a, {s}));
}

// -- SequenceMap

// Returns the dtypes of the body's outputs, as declared or, where they are not, as the body
// computes them.
std::vector<DType> map_dtypes(ReadCtx& c, const GraphProto& body) {
  std::vector<DType> dtypes;
  for (const auto& info : body.output()) {
    Graph scratch = c.scope.model.region(c.g, "types");
    dtypes.push_back(type_of(info.type(), scratch, "output '" + info.name() + "'").dtype);
  }
  if (std::find(dtypes.begin(), dtypes.end(), DType::kNone) == dtypes.end()) return dtypes;
  Graph region = c.scope.model.region(c.g, "types");
  Scope scope(region, c.scope, c.node, "");
  ReadCtx b(scope, c.node, c.opset);
  ValueId zero = int_scalar(b, 0);
  for (int i = 0; i < c.inputs(); ++i) {
    ValueId v = scope.capture(c.in(i));
    if (region.value(v).dtype == DType::kSequence)
      v = b.emit(OpId::kSequenceAt, of_elements(b, v), {v, zero});
    scope.values[body.input(i).name()] = v;
  }
  dtypes.clear();
  for (ValueId v : read_subgraph(scope, body, c.opset)) dtypes.push_back(region.value(v).dtype);
  return dtypes;
}

// Inlines the body for every element of sequences that are known.
bool map_known(ReadCtx& c, const GraphProto& body) {
  std::vector<std::optional<std::vector<ValueId>>> inputs;
  for (int i = 0; i < c.inputs(); ++i) {
    inputs.emplace_back();
    if (c.dtype(c.in(i)) != DType::kSequence) continue;
    inputs.back() = items_of(c, c.in(i));
    if (!inputs.back() || inputs.back()->size() > static_cast<size_t>(kMaxParts)) return false;
    if (inputs.back()->size() != inputs[0]->size())
      c.fail(
          fmt::format("sequences of {} and {} elements", inputs[0]->size(), inputs.back()->size()));
  }
  if (inputs[0]->empty()) return false;  // nothing tells its outputs' dtypes
  std::vector<std::vector<ValueId>> made(static_cast<size_t>(body.output_size()));
  for (size_t at = 0; at < inputs[0]->size(); ++at) {
    Scope inner(c.g, c.scope, c.node, "");
    inner.trip = int_scalar(c, static_cast<int64_t>(at));
    for (int i = 0; i < c.inputs(); ++i) {
      const auto& items = inputs[static_cast<size_t>(i)];
      inner.values[body.input(i).name()] = items ? (*items)[at] : c.in(i);
    }
    std::vector<ValueId> out = read_subgraph(inner, body, c.opset);
    for (size_t k = 0; k < out.size(); ++k) made[k].push_back(out[k]);
  }
  for (size_t k = 0; k < made.size(); ++k)
    c.set(static_cast<int>(k), construct(c, made[k], c.dtype(made[k][0])));
  return true;
}

// Reads SequenceMap as a loop that takes one element of every sequence per trip and appends its
// outputs.
void read_map(ReadCtx& c) {
  const GraphProto& body = c.attr_graph("body");
  need_sequence(c, c.in(0));
  if (body.input_size() != c.inputs() || body.output_size() < c.outputs())
    c.fail(fmt::format("its body takes {} values and gives {}, the node has {} and {}",
                       body.input_size(), body.output_size(), c.inputs(), c.outputs()));
  if (map_known(c, body)) return;
  std::vector<ValueId> carried;
  for (DType dtype : map_dtypes(c, body)) carried.push_back(construct(c, {}, dtype));
  const bool yes = true;
  ValueId always = c.constant(HostTensor(DType::kBool, Shape{}, &yes, 1));
  std::vector<ValueId> made =
      emit_loop(c, length_of(c, c.in(0)), always, carried, {}, [&](ReadCtx& b, const LoopBody& in) {
        for (int i = 0; i < c.inputs(); ++i) {
          ValueId v = b.scope.capture(c.in(i));
          if (b.g.value(v).dtype == DType::kSequence)
            v = b.emit(OpId::kSequenceAt, of_elements(b, v), {v, in.trip});
          b.scope.values[body.input(i).name()] = v;
        }
        std::vector<ValueId> out = read_subgraph(b.scope, body, c.opset);
        for (size_t k = 0; k < out.size(); ++k)
          out[k] = b.emit(OpId::kSequenceInsert, {in.carried[k], out[k]});
        out.insert(out.begin(), b.g.add_constant(HostTensor(DType::kBool, Shape{}, &yes, 1)));
        return out;
      });
  for (int i = 0; i < c.outputs() && static_cast<size_t>(i) < made.size(); ++i)
    c.set(i, made[static_cast<size_t>(i)]);
}

// -- optionals

void read_optional(ReadCtx& c) {
  if (c.has(0)) {
    c.set(0, wrap_optional(c, c.in(0)));
    return;
  }
  const AttributeProto* type = c.attr("type");
  if (type == nullptr || !type->has_tp()) c.fail("without an input it needs the attribute 'type'");
  Graph scratch = c.scope.model.region(c.g, "type");
  Value element = type_of(type->tp(), scratch, "attribute 'type'");
  if (element.dtype != DType::kSequence && is_container(element.dtype))
    c.fail("an optional of an optional is not supported");
  if (element.dtype == DType::kNone) c.fail("its attribute 'type' says nothing");
  const bool sequence = element.dtype == DType::kSequence;
  OptionalAttrs a{static_cast<int64_t>(sequence ? element.element : element.dtype),
                  sequence ? 1 : 0};
  c.set(0, c.emit(OpId::kOptional, a, {}));
}

bool is_optional(DType t) { return t == DType::kOptional || t == DType::kOptionalSequence; }

// Since opset 18 a value that is not an optional counts as present, and a missing input as absent.
void read_has_element(ReadCtx& c) {
  bool has = c.has(0);
  if (has && is_optional(c.dtype(c.in(0)))) {
    const Node* made = producer(c, c.in(0), OpId::kOptional);
    if (made == nullptr) {
      c.set(0, c.emit(OpId::kOptionalHasElement, {c.in(0)}));
      return;
    }
    has = !made->inputs.empty();
  }
  c.set(0, c.constant(HostTensor(DType::kBool, Shape{}, &has, 1)));
}

void read_get_element(ReadCtx& c) { c.set(0, unwrap_optional(c, c.in(0))); }

}  // namespace

WICK_READ(SequenceConstruct, read_construct);
WICK_READ(SequenceEmpty, read_empty);
WICK_READ(SequenceInsert, read_insert);
WICK_READ(SequenceErase, read_erase);
WICK_READ(SequenceAt, read_at);
WICK_READ(SequenceLength, read_length);
WICK_READ(SplitToSequence, read_split);
WICK_READ(ConcatFromSequence, read_concat);
WICK_READ(SequenceMap, read_map);
WICK_READ(Optional, read_optional);
WICK_READ(OptionalHasElement, read_has_element);
WICK_READ(OptionalGetElement, read_get_element);

ValueId wrap_optional(ReadCtx& c, ValueId v) {
  const Value& value = c.g.value(v);
  const bool sequence = value.dtype == DType::kSequence;
  OptionalAttrs a{static_cast<int64_t>(sequence ? value.element : value.dtype), sequence ? 1 : 0};
  return c.emit(OpId::kOptional, a, {v});
}

ValueId unwrap_optional(ReadCtx& c, ValueId v) {
  if (!is_optional(c.dtype(v))) return v;
  const Node* made = producer(c, v, OpId::kOptional);
  if (made != nullptr && made->inputs.empty()) c.fail("the optional has no element");
  if (made != nullptr) return made->inputs[0];
  return c.emit(OpId::kOptionalGetElement, of_elements(c, v), {v});
}

// Goes from the last node to the first, since one container may read another.
void drop_unread_containers(Graph& g) {
  std::vector<int> readers(g.value_count(), 0);
  for (const GraphOutput& o : g.outputs()) ++readers[static_cast<size_t>(o.value)];
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[static_cast<size_t>(v)];
    }
  }
  for (size_t i = g.node_count(); i-- > 0;) {
    const Node& n = g.node(static_cast<NodeId>(i));
    if (n.op != OpId::kSequenceConstruct && n.op != OpId::kOptional) continue;
    if (readers[static_cast<size_t>(n.outputs[0])] != 0) continue;
    for (ValueId v : n.inputs) --readers[static_cast<size_t>(v)];
    g.remove_node(static_cast<NodeId>(i));
  }
}

WICK_ONNX_ROW(SequenceConstruct, [](WriteCtx& c) {
  if (c.node.inputs.empty())
    set_int(c.same("SequenceEmpty"), "dtype", c.as<SequenceAttrs>().dtype);
  else
    c.same("SequenceConstruct");
});
WICK_ONNX_PLAIN(SequenceInsert);
WICK_ONNX_PLAIN(SequenceErase);
WICK_ONNX_PLAIN(SequenceAt);
WICK_ONNX_PLAIN(SequenceLength);
WICK_ONNX_ROW(SplitToSequence, [](WriteCtx& c) {
  NodeProto& n = c.same("SplitToSequence");
  set_int(n, "axis", c.as<SplitToSequenceAttrs>().axis);
  set_int(n, "keepdims", c.as<SplitToSequenceAttrs>().keepdims);
});
WICK_ONNX_ROW(ConcatFromSequence, [](WriteCtx& c) {
  NodeProto& n = c.same("ConcatFromSequence");
  set_int(n, "axis", c.as<ConcatFromSequenceAttrs>().axis);
  set_int(n, "new_axis", c.as<ConcatFromSequenceAttrs>().new_axis);
});
WICK_ONNX_ROW(Optional, [](WriteCtx& c) {
  NodeProto& n = c.same("Optional");
  if (!c.node.inputs.empty()) return;
  AttributeProto& a = *n.add_attribute();
  a.set_name("type");
  a.set_type(AttributeProto::TYPE_PROTO);
  const auto& attrs = c.as<OptionalAttrs>();
  Value element;
  element.dtype = attrs.sequence != 0 ? DType::kSequence : static_cast<DType>(attrs.dtype);
  if (attrs.sequence != 0) element.element = static_cast<DType>(attrs.dtype);
  set_type(*a.mutable_tp(), element);
});
WICK_ONNX_PLAIN(OptionalHasElement);
WICK_ONNX_PLAIN(OptionalGetElement);

}  // namespace wick::onnx
