// Infers the types of sequences and optionals. A container's `shape` is that of its elements: a dim
// is known if all of them have it, open if they differ.
#include "graph/ir/infer.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {

bool has_container(const Graph& g, const Node& n) {
  if (takes_containers(n.op) && n.op != OpId::kIdentity) return true;
  for (ValueId v : n.inputs) {
    if (v != kNoValue && is_container(g.value(v).dtype)) return true;
  }
  return false;
}

void join_elements(Value& of, const Value& with) {
  const DType dtype = is_container(with.dtype) ? with.element : with.dtype;
  if (of.element != dtype)
    throw Error(std::string("elements of ") + dtype_name(of.element) + " and of " +
                dtype_name(dtype) + " in one sequence");
  if (with.no_elements) return;
  if (of.no_elements) {
    of.no_elements = false;
    of.ranked = with.ranked;
    of.shape = with.shape;
    return;
  }
  if (!of.ranked || !with.ranked || of.shape.rank() != with.shape.rank()) {
    of.ranked = false;
    of.shape = SymShape();
    return;
  }
  for (int d = 0; d < of.shape.rank(); ++d) {
    if (is_open(of.shape[d]) || dim_equal(of.shape[d], with.shape[d]) == Tri::kYes) continue;
    of.shape[d] = dim_open(of.shape[d]);
  }
}

namespace {

// Types infers one node's types from its inputs'.
class Types {
 public:
  Types(Graph& g, NodeId id) : g_(g), n_(g.node(id)) {}

  void infer() {
    switch (n_.op) {
      case OpId::kSequenceConstruct: return construct();
      case OpId::kSequenceInsert: return insert();
      case OpId::kSequenceErase: need(0, DType::kSequence); return give_like(in(0));
      case OpId::kSequenceAt:
        need(0, DType::kSequence);
        return give_element(n_.attrs.as<SequenceAttrs>().dtype);
      case OpId::kSequenceLength: need(0, DType::kSequence); return give(DType::kI64, SymShape());
      case OpId::kSplitToSequence: return split();
      case OpId::kConcatFromSequence: return concat();
      case OpId::kOptional: return optional();
      case OpId::kOptionalHasElement:
        need(0, DType::kOptional, DType::kOptionalSequence);
        return give(DType::kBool, SymShape());
      case OpId::kOptionalGetElement: {
        need(0, DType::kOptional, DType::kOptionalSequence);
        if (in(0).dtype == DType::kOptional)
          return give_element(n_.attrs.as<SequenceAttrs>().dtype);
        check_dtype(n_.attrs.as<SequenceAttrs>().dtype, in(0).element);
        Value type = in(0);
        type.dtype = DType::kSequence;
        return give_like(type);
      }
      case OpId::kIdentity: return give_like(in(0));
      default:
        for (size_t i = 0; i < n_.inputs.size(); ++i) {
          if (n_.inputs[i] != kNoValue && is_container(in(i).dtype))
            throw Error("input " + std::to_string(i) + " must be a tensor, got " +
                        type_text(in(i)));
        }
    }
  }

 private:
  bool has(size_t i) const { return i < n_.inputs.size() && n_.inputs[i] != kNoValue; }
  const Value& in(size_t i) const {
    if (!has(i)) throw Error("input " + std::to_string(i) + " is required");
    return g_.value(n_.inputs[i]);
  }
  Value& out() {
    Value& v = g_.value(n_.outputs[0]);
    v.has_elements = false;
    v.elements.clear();
    v.element = DType::kNone;
    v.no_elements = false;
    return v;
  }

  void need(size_t i, DType kind, DType or_kind = DType::kNone) const {
    if (in(i).dtype == kind || in(i).dtype == or_kind) return;
    throw Error("input " + std::to_string(i) + " must be of type " + dtype_name(kind) + ", got " +
                type_text(in(i)));
  }
  void need_tensor(size_t i) const {
    if (is_container(in(i).dtype))
      throw Error("input " + std::to_string(i) + " must be a tensor, got " + type_text(in(i)));
  }
  void need_position(size_t i) const {
    if (!has(i)) return;
    const Value& v = in(i);
    if ((v.dtype != DType::kI64 && v.dtype != DType::kI32) || (v.ranked && v.shape.rank() > 1))
      throw Error("the position must be one int32 or int64, got " + type_text(v));
  }
  static void check_dtype(int64_t attribute, DType element) {
    if (attribute != static_cast<int64_t>(element))
      throw Error(std::string("its elements are ") + dtype_name(element) +
                  ", its attribute dtype is " + std::to_string(attribute));
  }
  static DType dtype_of_attribute(int64_t dtype) {
    if (dtype < 1 || dtype >= kDTypeCount)
      throw Error("its attribute dtype is " + std::to_string(dtype) + ", which is none");
    return static_cast<DType>(dtype);
  }

  // Sets a tensor type; open dims get symbols of the graph, those from an earlier inference stay.
  void give(DType dtype, const SymShape& shape, bool ranked = true) {
    Value& v = out();
    v.dtype = dtype;
    if (v.declared) return;
    const bool keep = v.ranked && v.shape.rank() == shape.rank();
    SymShape closed = shape;
    for (int d = 0; ranked && d < shape.rank(); ++d) {
      if (is_open(shape[d])) closed[d] = keep ? v.shape[d] : g_.fresh_symbol(0);
    }
    v.ranked = ranked;
    v.shape = ranked ? closed : SymShape();
  }
  void give_like(const Value& type) {
    const Value copy = type;
    Value& v = out();
    v.dtype = copy.dtype;
    v.element = copy.element;
    v.no_elements = copy.no_elements;
    v.ranked = copy.ranked;
    v.shape = copy.ranked ? copy.shape : SymShape();
  }
  void give_element(int64_t attribute) {
    check_dtype(attribute, in(0).element);
    if (n_.inputs.size() > 1) need_position(1);
    const Value from = in(0);
    give(from.element, from.shape, from.ranked && !from.no_elements);
  }

  static Value empty_of(DType kind, DType element) {
    Value type;
    type.dtype = kind;
    type.element = element;
    type.no_elements = true;
    return type;
  }
  void construct() {
    Value type = empty_of(DType::kSequence, dtype_of_attribute(n_.attrs.as<SequenceAttrs>().dtype));
    for (size_t i = 0; i < n_.inputs.size(); ++i) {
      need_tensor(i);
      join_elements(type, in(i));
    }
    give_like(type);
  }
  void insert() {
    need(0, DType::kSequence);
    need_tensor(1);
    need_position(2);
    Value type = in(0);
    join_elements(type, in(1));
    give_like(type);
  }
  void split() {
    need_tensor(0);
    const auto& a = n_.attrs.as<SplitToSequenceAttrs>();
    const Value x = in(0);
    Value type = empty_of(DType::kSequence, x.dtype);
    type.no_elements = false;
    type.ranked = x.ranked;
    if (has(1)) {
      const Value& s = in(1);
      if ((s.dtype != DType::kI64 && s.dtype != DType::kI32) || (s.ranked && s.shape.rank() > 1))
        throw Error("the sizes must be one or a list of int32 or int64, got " + type_text(s));
    }
    if (!x.ranked) return give_like(type);
    const int rank = x.shape.rank();
    if (a.axis < -rank || a.axis >= rank)
      throw Error("axis " + std::to_string(a.axis) + " out of range for rank " +
                  std::to_string(rank));
    const int axis = static_cast<int>(a.axis < 0 ? a.axis + rank : a.axis);
    for (int d = 0; d < rank; ++d) {
      if (d != axis)
        type.shape.push_back(x.shape[d]);
      else if (has(1))
        type.shape.push_back(dim_open(SymDim()));
      else if (a.keepdims != 0)
        type.shape.push_back(SymDim(1));
    }
    give_like(type);
  }
  void concat() {
    need(0, DType::kSequence);
    const auto& a = n_.attrs.as<ConcatFromSequenceAttrs>();
    const Value from = in(0);
    check_dtype(a.dtype, from.element);
    if (!from.ranked || from.no_elements) return give(from.element, SymShape(), false);
    const int rank = from.shape.rank() + (a.new_axis != 0 ? 1 : 0);
    if (a.axis < -rank || a.axis >= rank || rank > kMaxRank)
      throw Error("axis " + std::to_string(a.axis) + " out of range for a result of rank " +
                  std::to_string(rank));
    const int axis = static_cast<int>(a.axis < 0 ? a.axis + rank : a.axis);
    SymShape shape;
    for (int d = 0, k = 0; d < rank; ++d) {
      shape.push_back(d == axis ? dim_open(SymDim()) : from.shape[k]);
      if (d != axis || a.new_axis == 0) ++k;
    }
    give(from.element, shape);
  }
  void optional() {
    const auto& a = n_.attrs.as<OptionalAttrs>();
    const DType kind = a.sequence != 0 ? DType::kOptionalSequence : DType::kOptional;
    if (!has(0)) return give_like(empty_of(kind, dtype_of_attribute(a.dtype)));
    Value type = in(0);
    if (a.sequence != 0) {
      need(0, DType::kSequence);
      check_dtype(a.dtype, type.element);
    } else {
      need_tensor(0);
      check_dtype(a.dtype, type.dtype);
      type.element = type.dtype;
      type.no_elements = false;
    }
    type.dtype = kind;
    give_like(type);
  }

  Graph& g_;
  const Node& n_;
};

}  // namespace

void infer_container(Graph& g, NodeId id) { Types(g, id).infer(); }

}  // namespace wick::ir
