// Keywords that PyTorch takes beside those of its documents: out, which gets the result, numpy's
// axis and keepdims, and unbiased. Each is an overload that comes last, so that calls without it
// cost nothing.
#include "bind.h"

namespace wick::python {

namespace {

// What such an overload returns; nothing: the call has not its keyword, and another one is tried.
struct Result {
  nb::object value;
};

}  // namespace

}  // namespace wick::python

namespace nanobind::detail {

template <>
struct type_caster<wick::python::Result> {
  static constexpr auto Name = const_name("Any");  // a sig() has it, too
  static handle from_cpp(wick::python::Result&& r, rv_policy, cleanup_list*) noexcept {
    return r.value.is_valid() ? r.value.release() : handle(NB_NEXT_OVERLOAD);
  }
};

}  // namespace nanobind::detail

namespace wick::python {

namespace {

// Writes a result into the tensor that out names.
void write(const char* name, const Tensor& out, const Tensor& result) {
  const std::string op = std::string("[") + name + "] ";
  if (out.requires_grad() || result.requires_grad())
    throw Error(op + "out= records no gradient: leave it out, or call within no_grad()",
                wick::Code::kUnsupported);
  if (!can_cast(result.dtype(), out.dtype()))
    throw Error(op + "out is " + dtype_name(out.dtype()) + ", and the result, " +
                    dtype_name(result.dtype()) + ", cannot be cast to it",
                wick::Code::kTypeMismatch);
  if (out.raw_shape() == result.raw_shape()) {
    out.copy_(result);
  } else if (static_cast<int64_t>(out.numel()) == 0) {
    out.set_data(result.to(out.dtype()));
  } else {
    throw Error(op + "out is " + size_text(out.raw_shape()) + ", and the result " +
                    size_text(result.raw_shape()) +
                    ": give a tensor of that shape, or an empty one",
                wick::Code::kShapeMismatch);
  }
}

void write_all(const char* name, nb::handle out, nb::handle result) {
  if (nb::isinstance<Tensor>(out) && nb::isinstance<Tensor>(result)) {
    write(name, nb::cast<const Tensor&>(out), nb::cast<const Tensor&>(result));
    return;
  }
  const bool listed = PyTuple_Check(out.ptr()) || PyList_Check(out.ptr());
  if (!listed || nb::isinstance<Tensor>(result))
    throw Error(std::string("[") + name + "] out must be a tensor, or one for each of the results",
                wick::Code::kTypeMismatch);
  const nb::list outs(nb::borrow(out)), results(nb::borrow(result));
  if (outs.size() != results.size())
    throw Error(std::string("[") + name + "] there are " + std::to_string(results.size()) +
                " results, and out has " + std::to_string(outs.size()));
  for (size_t i = 0; i < outs.size(); ++i) write_all(name, outs[i], results[i]);
}

// Takes a keyword out of `named`; nothing: it is not there.
nb::object taken(nb::dict& named, const char* keyword) {
  return named.contains(keyword) ? nb::object(named.attr("pop")(keyword)) : nb::object();
}

// Calls scope.name again without these keywords, and does what they say.
Result call(nb::handle scope, const char* name, const char* keyword, const nb::args& given,
            const nb::kwargs& of_call) {
  const bool reduced = std::strcmp(keyword, "axis") == 0;
  if (!of_call.contains(keyword) && !(reduced && of_call.contains("keepdims"))) return {};
  nb::dict named;
  named.update(of_call);
  const nb::object out = taken(named, "out");
  if (named.contains("axis") && named.contains("dim"))
    throw Error(std::string("[") + name + "] dim and axis are one argument: give one of them");
  if (const nb::object dim = taken(named, "axis"); dim.is_valid()) named["dim"] = dim;
  if (const nb::object kept = taken(named, "keepdims"); kept.is_valid()) named["keepdim"] = kept;
  if (const nb::object unbiased = taken(named, "unbiased"); unbiased.is_valid())
    named["correction"] = nb::int_(unbiased.is(nb::bool_(false)) ? 0 : 1);
  const nb::object result = scope.attr(name)(*given, **named);
  if (!out.is_valid() || out.is_none()) return {result};
  write_all(name, out, result);
  return {out};
}

}  // namespace

void also_by(nb::handle scope, const char* name, const char* keyword) {
  const bool method = nb::isinstance<nb::type_object>(scope);
  const std::string sig = std::string("def ") + name + (method ? "(self, " : "(") + "*args: Any, " +
                          keyword + ": Any, **named: Any) -> Any";
  const auto f = [=](const nb::args& given, const nb::kwargs& named) {
    return call(scope, name, keyword, given, named);
  };
  if (method) {
    nb::cpp_function_def(f, nb::scope(scope), nb::name(name), nb::is_method(),
                         nb::sig(sig.c_str()));
  } else {
    nb::cpp_function_def(f, nb::scope(scope), nb::name(name), nb::sig(sig.c_str()));
  }
}

void bind_names(nb::handle m, nb::handle t) {
  const auto of_both = [&](const char* name, const char* keyword) {
    also_by(m, name, keyword);
    also_by(t, name, keyword);
  };
  for (const char* name :
       {"sum",    "mean",    "prod",    "std",         "var",       "max",   "min",
        "amax",   "amin",    "argmax",  "argmin",      "all",       "any",   "norm",
        "cumsum", "cumprod", "softmax", "log_softmax", "logsumexp", "median"})
    of_both(name, "axis");
  for (const char* name : {"std", "var"}) of_both(name, "unbiased");
  for (const char* name : {"cat", "stack"}) also_by(m, name, "axis");
  for (const char* name : {"cat", "stack", "hstack", "vstack", "zeros", "ones", "empty", "full",
                           "eye", "rand", "randn", "randperm", "linspace"})
    also_by(m, name, "out");
  for (const char* name : {"std_mean", "var_mean"}) {
    also_by(m, name, "axis");
    also_by(m, name, "unbiased");
  }
}

}  // namespace wick::python
