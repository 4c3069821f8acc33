// Calls users' own ops (load_ops, register_op: runtime/registry/registry.h) by name. They go
// through the dispatcher like any other op: recorded, traced, captured.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/registry/registry.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// A field of the op's attribute struct: {"beta", 1.5}, {"axis", 1}, {"pads", {1, 1}}, {"mode",
// "mean"}.
struct NamedAttr {
  NamedAttr(const char* n, double v) : name(n), kind(AttrKind::kFloat), real(v) {}
  template <class T>
    requires std::is_integral_v<T>
  NamedAttr(const char* n, T v)
      : name(n), kind(AttrKind::kInt), real(static_cast<double>(v)), integer(v) {}
  NamedAttr(const char* n, std::initializer_list<int64_t> v)
      : name(n), kind(AttrKind::kInts), list(v) {}
  NamedAttr(const char* n, const char* v) : name(n), kind(AttrKind::kText), text(v) {}

  // The attribute's name and kind, and its value: `real` for kFloat, `integer` for kInt, `list` for
  // kInts, `text` for kText.
  const char* name;
  AttrKind kind;
  double real = 0;
  int64_t integer = 0;
  std::vector<int64_t> list;
  std::string text;
};

// Returns the first output: custom_op("example::Swish", {x}, {{"beta", 1.5}}). An undefined tensor
// is an absent optional input; attributes that are not given keep their defaults. Throws Error for
// an op that does not exist (it lists the known ones), an attribute that the op does not have, and
// whatever the op's shape rule or kernel refuses.
Tensor custom_op(const char* name, std::initializer_list<Arg> in,
                 std::initializer_list<NamedAttr> attrs = {}, Where where = Where::current());
// Returns all outputs.
std::vector<Tensor> custom_op_outputs(const char* name, std::initializer_list<Arg> in,
                                      std::initializer_list<NamedAttr> attrs = {},
                                      Where where = Where::current());

// Returns the gradient row of a registered op: its own formula, or one that says it has none.
const GradRow& custom_grad_row(OpId op);

}  // namespace wick
