// The gradient of a custom op, written as a formula over ops. It is header only and uses virtual
// calls, so that a user's library links nothing of the trainer, which implements the classes.
#pragma once

#include <initializer_list>

#include "runtime/ops/custom_op.h"

namespace wick {

class Gradient;

// A tensor in a formula. It belongs to the trainer and is valid until the formula returns.
class Var {
 public:
  // Return whether there is a tensor, the formula's host, and the host's handle of the tensor.
  Var() = default;
  Var(Gradient* host, const void* tensor) : host_(host), tensor_(tensor) {}
  bool defined() const { return tensor_ != nullptr; }
  Gradient* host() const { return host_; }
  const void* tensor() const { return tensor_; }

 private:
  Gradient* host_ = nullptr;
  const void* tensor_ = nullptr;
};

// Runs the ops that a formula calls through the trainer: with create_graph they are recorded, so
// that higher-order gradients work. Any failure throws wick::Error through the formula.
class Gradient {
 public:
  // Returns the gradient of output i; zeros when nothing flowed into it.
  virtual Var g(size_t i = 0) = 0;
  // Return saved forward values; the op must list them in saves_in and saves_out.
  virtual Var in(size_t i) = 0;
  virtual Var out(size_t i = 0) = 0;
  virtual bool has(size_t i) = 0;    // whether optional input i was given
  virtual bool needs(size_t i) = 0;  // whether input i needs a gradient
  // Sets the gradient of input i; it is summed over the dims that were broadcast.
  virtual void set(size_t i, Var gradient) = 0;
  virtual Var constant(double value, Var like) = 0;  // 0-dim, of like's dtype
  // `op`: a row of ops.def ("Sigmoid") or "domain::Name"; null attributes: the defaults.
  virtual Var call(const char* op, Span<const Var> in, const AttrType* type, const void* attrs) = 0;
  virtual const void* raw_attrs() = 0;
  [[noreturn]] virtual void fail(const char* why) = 0;

  // Returns the op's attributes as its struct.
  template <class A>
  const A& as() {
    return *static_cast<const A*>(raw_attrs());
  }
  // Call an op with default attributes, or with those given.
  Var call(const char* op, std::initializer_list<Var> in) {
    return call(op, Span<const Var>(in.begin(), in.size()), nullptr, nullptr);
  }
  template <class A>
  Var call(const char* op, std::initializer_list<Var> in, const A& attrs) {
    return call(op, Span<const Var>(in.begin(), in.size()), &AttrFields<A>::kType, &attrs);
  }

 protected:
  ~Gradient() = default;
};

#define WICK_VAR_OP(symbol, Op)                                                             \
  inline Var operator symbol(Var a, Var b) { return a.host()->call(Op, {a, b}); }           \
  inline Var operator symbol(Var a, double b) { return a symbol a.host()->constant(b, a); } \
  inline Var operator symbol(double a, Var b) { return b.host()->constant(a, b) symbol b; }
// The ops of these names, on tensors of the trainer, which broadcast.
WICK_VAR_OP(+, "Add")
WICK_VAR_OP(-, "Sub")
WICK_VAR_OP(*, "Mul")
WICK_VAR_OP(/, "Div")
#undef WICK_VAR_OP
// The ops of these names.
inline Var operator-(Var a) { return a.host()->call("Neg", {a}); }
inline Var exp(Var a) { return a.host()->call("Exp", {a}); }
inline Var log(Var a) { return a.host()->call("Log", {a}); }
inline Var sqrt(Var a) { return a.host()->call("Sqrt", {a}); }
inline Var tanh(Var a) { return a.host()->call("Tanh", {a}); }
inline Var sigmoid(Var a) { return a.host()->call("Sigmoid", {a}); }
inline Var matmul(Var a, Var b) { return a.host()->call("MatMul", {a, b}); }

}  // namespace wick
