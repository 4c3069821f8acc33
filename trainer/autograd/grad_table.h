// The gradient table: for each op of ops.def one row, which is a formula over ops or an explicit
// NonDiff. A missing row is a link error.
#pragma once

#include <cstdint>

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor.h"

namespace wick {

class OpNode;

// The arguments of a gradient formula. Its ops go through the dispatcher: with create_graph they
// are recorded, so higher orders need no further code.
class GradCtx {
 public:
  GradCtx(OpNode& node, Span<const Tensor> grads, Span<Tensor> results)
      : node_(node), grads_(grads), results_(results) {}

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(raw_attrs());
  }
  const void* raw_attrs() const;
  OpId op() const;
  const Where& where() const;  // the forward call's line
  size_t inputs() const { return results_.size(); }
  bool needs(size_t i) const;      // whether input i wants a gradient
  Tensor in(size_t i) const;       // saved forward input; the row must list it in saves_in
  Tensor out(size_t i = 0) const;  // saved forward output; the row must list it in saves_out
  // Declares that input i is not needed any more. If this backward frees the graph, the saved
  // tensor is dropped now, so that the following results may reuse its bytes.
  void done_with(size_t i);
  bool has(size_t i) const;  // whether optional input i was given
  Shape in_shape(size_t i) const;
  Shape out_shape(size_t i) const;
  DType in_dtype(size_t i) const;
  DType out_dtype(size_t i) const;
  // Gradient of output i; undefined if none flowed into it (the output of a single-output op always
  // has one).
  const Tensor& g(size_t i = 0) const { return grads_[i]; }
  size_t outputs() const { return grads_.size(); }
  // Sets the gradient of input i, which is used only if needed.
  void set(size_t i, Tensor gradient) { results_[i] = std::move(gradient); }

 private:
  OpNode& node_;
  Span<const Tensor> grads_;
  Span<Tensor> results_;
};

// Why a row has no gradient; a row without a reason fails tests/trainer/gradcheck_test.cc.
enum class NonDiff : uint8_t {
  kUnmarked,
  kIntegerOutput,  // indices, counts, bools
  kPiecewiseConstant,
  kRandom,
  kControlFlow,    // a node with regions: the trainer runs no such nodes
  kSizeFromData,   // how many elements there are jumps with the values
  kInferenceOnly,  // an op of imported models; no function of the trainer creates it
};

struct GradRow {
  void (*formula)(GradCtx&);  // null: not differentiable
  uint32_t saves_in;          // bit i: input i (bit 31: all from 31 on) is kept
  uint32_t saves_out;
  uint32_t nondiff_in;  // bit i: input i never gets a gradient (indices, shapes)
  NonDiff why = NonDiff::kUnmarked;
  // Returns the row for a call with these attributes, if what is saved depends on them.
  const GradRow* (*of_attrs)(const void* attrs) = nullptr;
};

#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  extern const GradRow kGrad_##Name;
#include "runtime/ops/ops.def"
#undef WICK_OP

const GradRow& grad_row(OpId op);

// Usage in a family file: WICK_GRAD(Name, saves_in, saves_out, nondiff_in, [](GradCtx& c) { ... });
#define WICK_GRAD(Name, saves_in, saves_out, nondiff_in, ...) \
  constinit const GradRow kGrad_##Name = {__VA_ARGS__, saves_in, saves_out, nondiff_in}
#define WICK_GRAD_BY_ATTRS(Name, saves_in, saves_out, nondiff_in, of_attrs, ...)      \
  constinit const GradRow kGrad_##Name = {__VA_ARGS__, saves_in,           saves_out, \
                                          nondiff_in,  NonDiff::kUnmarked, of_attrs}
// Usage: WICK_NONDIFF(ArgMax, NonDiff::kIntegerOutput);
#define WICK_NONDIFF(Name, ...) \
  constinit const GradRow kGrad_##Name = {nullptr, 0, 0, 0 __VA_OPT__(, ) __VA_ARGS__}

// Sums `g` over the dims that were broadcast, back to `shape`.
Tensor sum_to(const Tensor& g, const Shape& shape);

}  // namespace wick
