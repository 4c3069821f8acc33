// OpInfo: what every layer knows of an op without its kernels.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"
#include "runtime/ops/op_id.h"

namespace wick {

struct ShapeArgs;  // shape_args.h

struct OpInfo {
  OpId id;
  OpRole role;
  OpKind kind;
  uint8_t flags;  // of OpFlags
  uint8_t min_inputs;
  uint8_t max_inputs;  // 255: as many as the call has
  uint8_t outputs;     // 255: as many as the call has
  const char* name;
  const AttrType* attrs;
};

// All rows of ops.def in id order.
Span<const OpInfo> all_ops();
// Null for an unknown id / name.
const OpInfo* find_op(OpId id);
const OpInfo* find_op(const char* name);

// "inputs -> outputs", as ops.def has it; of users' own ops what anybody may say of any.
const char* signature_of(OpId op);

// kCustom for users' own ops and for what is no op.
OpKind kind_of(OpId op);
bool has_flag(OpId op, OpFlags flag);
// The letter of input i in the signature, 0 where there is no such input. Users' own: `x`.
char input_role(OpId op, size_t i);
// The dtype of output i: what the rule would say, for those who know no shapes. kNone where it
// cannot be told (of what attributes a sequence op has, of users' own ops).
DType output_dtype(OpId op, const void* attrs, Span<const DType> in, size_t i);

// How many regions a node of the op owns: If 2 (then, else), Loop 1, any other 0.
int region_count(OpId op);

// Moves no bytes: the output is the input under another shape.
inline bool is_view(OpId op) { return kind_of(op) == OpKind::kView; }

// Whether sizes of the op's outputs depend on data. Its rule states their largest; the kernel sets
// the true ones in the outputs' views, over densely packed elements.
inline bool is_data_dependent(OpId op) { return has_flag(op, kDataSized); }
// The axis of output i, of that rank, whose size so depends; -1: none.
int data_dependent_axis(OpId op, const void* attrs, size_t output, int rank);

// Whether the op takes or gives sequences and optionals. Their sizes only their values decide:
// rules read the packed bytes as `elements`, and sessions run such a node apart.
bool takes_containers(OpId op);
// Whether the op may make strings: its kernel needs KernelCtx::strings. One whose sizes depend on
// data may take the elements of its outputs from there too, where no bound is known before (its
// rule then says 0).
inline bool makes_strings(OpId op) { return has_flag(op, kMakesStrings); }

// Whether the op's shape rule reads the values of float input i (rule.h).
bool reads_reals(OpId op, size_t input);
// Whether the op has shape arguments (shape_args.h).
inline bool has_shape_args(OpId op) { return has_flag(op, kShapeArgs); }
// Inputs whose bytes rows read in pack() only, where they have one: weights. A session leaves such
// a constant where it is lent from until then.
bool reads_packed(OpId op, size_t input);

// The one record of a call: eager, tape entry, graph node and program step say it alike.
// Outputs' views are allocated by the caller; absent optional inputs have dtype kNone.
struct OpCall {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;  // the op's attribute struct
  Span<const TensorView> in;
  Span<TensorView> out;
  const ShapeArgs* args = nullptr;  // as the op's rule resolved them, where somebody has asked it
};

// An attribute struct of any op, by value.
struct AnyAttrs {
  alignas(8) char bytes[kMaxAttrBytes] = {};
  const void* get() const { return bytes; }
  void* get() { return bytes; }
  template <class A>
  static AnyAttrs of(const A& a) {
    static_assert(sizeof(A) <= kMaxAttrBytes, "raise kMaxAttrBytes");
    AnyAttrs any;
    new (any.bytes) A(a);
    return any;
  }
  template <class A>
  const A& as() const {
    return *reinterpret_cast<const A*>(bytes);
  }
  template <class A>
  A& as() {
    return *reinterpret_cast<A*>(bytes);
  }
};

}  // namespace wick
