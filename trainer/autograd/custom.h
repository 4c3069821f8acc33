// Calling users' own ops (load_ops, register_op: runtime/registry/registry.h) by name. They go
// through the one door: recorded, traced, captured like any other.
#pragma once

#include <initializer_list>
#include <vector>

#include "runtime/registry/registry.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// {"beta", 1.5}, {"axis", 1}, {"pads", {1, 1}}: a field of the op's attribute struct.
struct NamedAttr {
  NamedAttr(const char* n, double v) : name(n), kind(AttrKind::kFloat), real(v) {}
  template <class T>
    requires std::is_integral_v<T>
  NamedAttr(const char* n, T v)
      : name(n), kind(AttrKind::kInt), real(static_cast<double>(v)), integer(v) {}
  NamedAttr(const char* n, std::initializer_list<int64_t> v)
      : name(n), kind(AttrKind::kInts), list(v) {}

  const char* name;
  AttrKind kind;
  double real = 0;
  int64_t integer = 0;
  std::vector<int64_t> list;
};

// custom_op("example::Swish", {x}, {{"beta", 1.5}}): its first output. An undefined tensor is an
// absent optional input; attributes that are not said keep their defaults. Throws Error: no such op
// (the known ones are named), an attribute it does not have, what its shape rule or kernel refuse.
Tensor custom_op(const char* name, std::initializer_list<Arg> in,
                 std::initializer_list<NamedAttr> attrs = {}, Where where = Where::current());
// All outputs.
std::vector<Tensor> custom_op_outputs(const char* name, std::initializer_list<Arg> in,
                                      std::initializer_list<NamedAttr> attrs = {},
                                      Where where = Where::current());

// The gradient row of a registered op: its own formula, or one that says it has none.
const GradRow& custom_grad_row(OpId op);

}  // namespace wick
