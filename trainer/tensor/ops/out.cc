#include "trainer/tensor/ops/out.h"

#include "runtime/ops/rule.h"
#include "trainer/autograd/forward.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/recorder.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

namespace {

void check_out(const char* name, const Arg& out, std::initializer_list<Arg> in) {
  need_defined(name, {out});
  need_defined(name, in);
  // A single number is moved from the CPU, as without out.
  bool elsewhere = false;
  for (const Arg& a : in)
    elsewhere = elsewhere || (a.tensor.is_vulkan() != out.tensor.is_vulkan() &&
                              (a.tensor.rank() > 0 || !out.tensor.is_vulkan()));
  if (elsewhere) {
    throw_error(name,
                "out is on " + out.tensor.device().to_string() +
                    " and an input is not: move one with .to() or .cpu()",
                out.where);
  }
  bool wants = out.tensor.requires_grad();
  for (const Arg& a : in) wants = wants || a.tensor.requires_grad();
  if (wants && grad_enabled()) {
    throw_error(name,
                "a result written to out is not recorded, and one of the tensors requires grad: "
                "use NoGrad, detach(), or the form without out",
                out.where);
  }
  bool dual = tangent_of(out.tensor).defined();
  for (const Arg& a : in) dual = dual || tangent_of(a.tensor).defined();
  if (dual) {
    throw_error(name,
                "a result written to out has no tangent, and one of the tensors is a dual: use the "
                "form without out",
                out.where, Code::kUnsupported);
  }
}

// Lets the kernel write out's bytes directly if possible; otherwise whole() makes the result, which
// is copied. For integers the function may compute something else than the op (a mean, a quotient).
template <class Whole>
const Tensor& into(const char* name, OpId op, const void* attrs, const Arg& out,
                   std::initializer_list<Arg> in, const Whole& whole) {
  check_out(name, out, in);
  const Tensor& t = out.tensor;
  bool direct = active_tracer() == nullptr && t.is_cpu() && t.is_contiguous() &&
                is_float(in.begin()->tensor.dtype());
  for (const Arg& a : in) {
    direct = direct && a.tensor.is_cpu() && a.tensor.dtype() == in.begin()->tensor.dtype() &&
             &a.tensor.storage() != &t.storage();
  }
  if (direct) {
    ValueInfo<int64_t> info[2], result;
    TensorView views[2];
    size_t n = 0;
    for (const Arg& a : in) {
      views[n] = a.tensor.layout();
      info[n].dtype = views[n].dtype;
      info[n].shape = views[n].shape;
      ++n;
    }
    RuleCtx<int64_t> ctx{op, attrs, {info, n}, {&result, 1}};
    // The function may convert inputs that the rule refuses.
    if (infer_shapes(ctx).ok() && result.dtype == t.dtype() && result.shape == t.raw_shape()) {
      check_writable(name, t, out.where);
      if (Recorder* r = modes().recorder) [[unlikely]] {
        r->on_tensor(t);
        for (const Arg& a : in) r->on_tensor(a.tensor);
      }
      TensorView target[1] = {t.layout()};
      run_kernel(op, attrs, {views, n}, target, out.where);
      t.storage().bump_version(name, out.where);
      return t;
    }
  }
  Tensor result = whole();
  if (!(result.raw_shape() == t.raw_shape())) {
    throw_error(name,
                std::string("the result is ") + to_text(result.raw_shape()).text + ", out is " +
                    to_text(t.raw_shape()).text + ": out must have the result's shape",
                out.where, Code::kShapeMismatch);
  }
  return write_result(name, out, result);
}

}  // namespace

#define X(f, Name)                                                                  \
  const Tensor& f##_out(const Arg& out, const Arg& x) {                             \
    return into(#f "_out", OpId::k##Name, nullptr, out, {x}, [&] { return f(x); }); \
  }
WICK_OUT_UNARY(X)
#undef X
#define X(f, Name)                                                                        \
  const Tensor& f##_out(const Arg& out, const Arg& a, const Arg& b) {                     \
    return into(#f "_out", OpId::k##Name, nullptr, out, {a, b}, [&] { return f(a, b); }); \
  }
WICK_OUT_BINARY(X)
#undef X
#define X(f, Name)                                                                                \
  const Tensor& f##_out(const Arg& out, const Arg& x, Dims dims, bool keepdim) {                  \
    need_defined(#f "_out", {out, x});                                                            \
    ReduceAttrs attrs;                                                                            \
    attrs.axes = dims;                                                                            \
    attrs.keepdims = keepdim ? 1 : 0;                                                             \
    return into(#f "_out", OpId::k##Name, &attrs, out, {x}, [&] { return f(x, dims, keepdim); }); \
  }
WICK_OUT_REDUCE(X)
#undef X

}  // namespace wick
