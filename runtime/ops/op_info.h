// OpInfo: what every layer knows about an op without its kernels.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"
#include "runtime/ops/op_id.h"

namespace wick {

struct ShapeArgs;  // shape_args.h

// A row of ops.def.
struct OpInfo {
  OpId id;                // the op
  OpRole role;            // where it may run
  OpKind kind;            // what it is like
  uint8_t flags;          // OpFlags
  uint8_t min_inputs;     // that a node needs
  uint8_t max_inputs;     // 255: any number
  uint8_t outputs;        // 255: any number
  const char* name;       // "Conv"
  const AttrType* attrs;  // its attribute struct
};

// All rows of ops.def in id order; in a program of selected ops, theirs (op_table.h).
Span<const OpInfo> all_ops();
// Return null for an unknown id or name, and for an op that is not selected.
const OpInfo* find_op(OpId id);
const OpInfo* find_op(const char* name);

// Returns the op's name in ops.def, also where the program does not have it; null for other ids.
const char* name_in_list(OpId op);

// Returns "inputs -> outputs" from ops.def; for custom ops a signature that fits every op.
const char* signature_of(OpId op);

// Returns kCustom for custom ops and for unknown ids.
OpKind kind_of(OpId op);
// Returns whether the op has the flag; false for custom ops.
bool has_flag(OpId op, OpFlags flag);
// Returns the role of input i in the signature, 0 where there is no such input; `x` for custom ops.
char input_role(OpId op, size_t i);
// Returns the dtype of output i that the rule would give, for callers without shapes. Returns kNone
// where it cannot be known, as for sequence ops; for a custom op returns the dtype of input 0.
DType output_dtype(OpId op, const void* attrs, Span<const DType> in, size_t i);

// Returns how many regions a node of the op owns: If 2 (then, else), Loop 1, any other 0.
int region_count(OpId op);

// Returns whether the op moves no bytes: the output is the input with another shape.
inline bool is_view(OpId op) { return kind_of(op) == OpKind::kView; }

// Returns whether sizes of the op's outputs depend on data. The rule then states upper bounds; the
// kernel sets the true sizes in the outputs' views, with densely packed elements.
inline bool is_data_dependent(OpId op) { return has_flag(op, kDataSized); }
// Returns the axis of output i, a tensor of that rank, whose size depends on data; -1: none.
int data_dependent_axis(OpId op, const void* attrs, size_t output, int rank);

// Returns whether the op reads or produces sequences or optionals. Sizes then depend on values:
// rules read the packed bytes as `elements`, and sessions run such a node apart.
bool takes_containers(OpId op);
// Returns whether the op may make strings: its kernel then needs KernelCtx::strings. If its sizes
// depend on data as well, it may also allocate the elements of its outputs there, where no bound is
// known before (its rule then says 0).
inline bool makes_strings(OpId op) { return has_flag(op, kMakesStrings); }

// Returns whether the op's shape rule reads the values of float input i (rule.h).
bool reads_reals(OpId op, size_t input);
// Returns whether the op has shape arguments (shape_args.h).
inline bool has_shape_args(OpId op) { return has_flag(op, kShapeArgs); }
// Returns whether kernel rows that have a pack() read this input's bytes only there: a weight. A
// session does not load such a lent constant before that.
bool reads_packed(OpId op, size_t input);

// Describes one call of an op; eager mode, tape entries, graph nodes and program steps all use it.
// The caller allocates the outputs' views; absent optional inputs have dtype kNone.
struct OpCall {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;  // the op's attribute struct
  // Its inputs and outputs: dtypes and shapes.
  Span<const TensorView> in;
  Span<TensorView> out;
  const ShapeArgs* args = nullptr;  // as resolved by the op's rule; null where nobody did
};

// Holds the attribute struct of any op by value.
struct AnyAttrs {
  // The struct, its address, and the struct as an A, which must be its type.
  alignas(8) char bytes[kMaxAttrBytes] = {};
  // Return the address.
  const void* get() const { return bytes; }
  void* get() { return bytes; }
  template <class A>
  static AnyAttrs of(const A& a) {
    static_assert(sizeof(A) <= kMaxAttrBytes, "raise kMaxAttrBytes");
    AnyAttrs any;
    new (any.bytes) A(a);
    return any;
  }
  // Return it as an A, which must be the op's struct.
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
