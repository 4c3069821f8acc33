// Shared by the files of the module: conversions of arguments, and the lock of the interpreter.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "wick/trainer.h"

namespace nb = nanobind;

namespace wick::python {

// The parts of the module.
void bind_tensor(nb::module_& m);
void bind_changes(nb::class_<Tensor>& t);
void bind_norms(nb::module_& m, nb::class_<Tensor>& t);
void bind_functions(nb::module_& m);
void bind_images(nb::module_& m);
void bind_random(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_scopes(nb::module_& m);
void bind_distributions(nb::module_& m);
void bind_optimizers(nb::module_& m);
void bind_export(nb::module_& m);
// Keywords of PyTorch's that go beyond its documents: the last of all.
void bind_names(nb::handle m, nb::handle t);
// Adds an overload of m.name or Tensor.name that takes the keyword "out", "axis" or "unbiased".
void also_by(nb::handle scope, const char* name, const char* keyword);

// Reads an int, or a sequence of them, into a list with push_back or its like. False: it is
// neither.
template <class Add>
bool read_ints(nb::handle src, Add add) {
  if (PyBool_Check(src.ptr())) return false;
  if (PyIndex_Check(src.ptr())) {
    const Py_ssize_t n = PyNumber_AsSsize_t(src.ptr(), PyExc_OverflowError);
    if (n == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    return add(n);
  }
  if (!PyTuple_Check(src.ptr()) && !PyList_Check(src.ptr())) return false;
  // By index, since a subclass may iterate in a way of its own, and the size may change on the way.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(src.ptr()); ++i) {
    const nb::object each = nb::borrow(PySequence_Fast_GET_ITEM(src.ptr(), i));
    if (!PyIndex_Check(each.ptr()) || !read_ints(each, add)) return false;
  }
  return true;
}

// The number of threads that are in free_of_lock(). It changes under the interpreter's lock alone,
// so that it stays what it is while Python collects garbage.
struct Unlocked {
  Unlocked() { ++threads; }
  ~Unlocked() { --threads; }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  static inline int threads = 0;
};

// Runs f while other threads may run Python.
template <class F>
auto free_of_lock(F f) {
  Unlocked counted;  // outlives the release: counted under the lock at both ends
  nb::gil_scoped_release release;
  return f();
}

// Runs f on the tensor, and returns the same Python object.
template <class F>
nb::typed<nb::object, Tensor> in_place(nb::handle_t<Tensor> self, F f) {
  if (!nb::inst_ready(self))
    throw Error("the tensor was not made: its class has to call super().__init__()");
  const Tensor& x = *nb::inst_ptr<Tensor>(self);
  free_of_lock([&] { f(x); });
  return nb::borrow<nb::typed<nb::object, Tensor>>(self);
}

inline Tensor or_undefined(const Tensor* t) { return t == nullptr ? Tensor() : *t; }

// Results of several tensors are named tuples, as PyTorch's (wick/train/_results.py).
using TwoTensors = nb::typed<nb::tuple, Tensor, Tensor>;
using ThreeTensors = nb::typed<nb::tuple, Tensor, Tensor, Tensor>;
template <class... Tensors>
nb::typed<nb::tuple, Tensors...> named(const char* name, const Tensors&... of) {
  return nb::borrow<nb::typed<nb::tuple, Tensors...>>(
      nb::module_::import_("wick.train._results").attr(name)(of...));
}
inline TwoTensors tuple_of(const ValuesIndices& r) {
  return named("ValuesIndices", r.values, r.indices);
}
inline TwoTensors tuple_of(const MinMax& r) { return named("MinMax", r.min, r.max); }
inline TwoTensors tuple_of(const SlogdetResult& r) { return named("Slogdet", r.sign, r.logabsdet); }
inline TwoTensors tuple_of(const QrResult& r) { return named("Qr", r.q, r.r); }
inline TwoTensors tuple_of(const EighResult& r) {
  return named("Eigh", r.eigenvalues, r.eigenvectors);
}
inline TwoTensors tuple_of(const LuFactorResult& r) { return named("LuFactor", r.lu, r.pivots); }
inline TwoTensors tuple_of(const LstsqResult& r) { return named("Lstsq", r.solution, r.residuals); }
inline ThreeTensors tuple_of(const SvdResult& r) { return named("Svd", r.u, r.s, r.vh); }
inline ThreeTensors tuple_of(const LuResult& r) { return named("Lu", r.p, r.l, r.u); }
inline TwoTensors tuple_of(const std::pair<Tensor, Tensor>& r) {
  return nb::borrow<TwoTensors>(nb::make_tuple(r.first, r.second));
}

// "none", "mean" and "sum"; of kl_div also "batchmean".
Reduction reduction_of(const std::string& text);
KlReduction kl_reduction_of(const std::string& text);

// A Python object that C++ may let go in any thread.
std::shared_ptr<nb::object> shared_object(nb::object object);

}  // namespace wick::python

namespace nanobind::detail {

// Sizes: an int or a sequence of ints.
template <class List>
struct sizes_caster {
  NB_TYPE_CASTER(List, const_name("int | Sequence[int]"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    value = List();
    return wick::python::read_ints(src, [&](int64_t n) {
      if (value.rank() >= wick::kMaxRank) return false;
      value.push_back(n);
      return true;
    });
  }
  static handle from_cpp(const List& shape, rv_policy, cleanup_list*) noexcept {
    nb::list made;
    for (int i = 0; i < shape.rank(); ++i) made.append(shape[i]);
    return nb::tuple(made).release();
  }
};
template <>
struct type_caster<wick::Shape> : sizes_caster<wick::Shape> {};
template <>
struct type_caster<wick::SizeList> : sizes_caster<wick::SizeList> {};

// Dims: an int, a sequence of them, or None for all.
template <>
struct type_caster<wick::Dims> {
  NB_TYPE_CASTER(wick::Dims, const_name("int | Sequence[int] | None"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    value = wick::Dims();
    if (src.is_none()) return true;
    return wick::python::read_ints(src, [&](int64_t n) {
      if (value.count >= static_cast<int64_t>(std::size(value.values))) return false;
      value.values[value.count++] = n;
      return true;
    });
  }
  static handle from_cpp(const wick::Dims&, rv_policy, cleanup_list*) noexcept { return {}; }
};

// Numbers of Python and of numpy, whose scalars count as Python's do: they change no dtype.
template <>
struct type_caster<wick::Scalar> {
  NB_TYPE_CASTER(wick::Scalar, const_name("float"))
  type_caster() : value(0) {}
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (PyBool_Check(src.ptr())) {
      value = wick::Scalar(src.ptr() == Py_True);
    } else if (PyFloat_Check(src.ptr())) {
      value = wick::Scalar(PyFloat_AsDouble(src.ptr()));
    } else if (PyIndex_Check(src.ptr()) && !isinstance<wick::Tensor>(src) && !numpy_bool(src)) {
      const object n = steal(PyNumber_Index(src.ptr()));
      const long long number = n.is_valid() ? PyLong_AsLongLong(n.ptr()) : -1;
      if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      value = wick::Scalar(static_cast<int64_t>(number));
    } else {
      return from_numpy(src);
    }
    return true;
  }
  // Older numpys call it np.bool_ and an index, which it is not: np.bool_(True) counts as True.
  static bool numpy_bool(handle src) noexcept {
    return std::strncmp(Py_TYPE(src.ptr())->tp_name, "numpy.bool", 10) == 0;
  }
  // np.float32 and np.bool_, which are neither floats nor indices of Python.
  bool from_numpy(handle src) noexcept {
    const char* type = Py_TYPE(src.ptr())->tp_name;
    if (std::strncmp(type, "numpy.", 6) != 0 || std::strcmp(type, "numpy.ndarray") == 0)
      return false;
    const bool boolean = std::strncmp(type + 6, "bool", 4) == 0;
    if (!boolean && std::strncmp(type + 6, "float", 5) != 0) return false;
    const double number = PyFloat_AsDouble(src.ptr());
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    value = boolean ? wick::Scalar(number != 0) : wick::Scalar(number);
    return true;
  }
  static handle from_cpp(const wick::Scalar& s, rv_policy, cleanup_list*) noexcept {
    if (s.boolean) return handle(s.int_value != 0 ? Py_True : Py_False).inc_ref();
    return s.integral ? PyLong_FromLongLong(s.int_value) : PyFloat_FromDouble(s.value);
  }
};

// One number for all dims, or one each.
template <class Numbers, int count>
struct numbers_caster {
  NB_TYPE_CASTER(Numbers,
                 const_name<count == 2>("int | tuple[int, int]", "int | tuple[int, int, int]"))
  numbers_caster() : value(0) {}
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    int64_t n[count] = {};
    int given = 0;
    if (!wick::python::read_ints(
            src, [&](int64_t each) { return given < count && (n[given++] = each, true); }))
      return false;
    const bool one = PyIndex_Check(src.ptr()) != 0;
    if (!one && given != count) return false;
    value = one ? Numbers(n[0]) : several(n);
    return true;
  }
  static Numbers several(const int64_t* n) {
    if constexpr (count == 2) {
      return {wick::SizeArg(n[0]), wick::SizeArg(n[1])};
    } else {
      return {wick::SizeArg(n[0]), wick::SizeArg(n[1]), wick::SizeArg(n[2])};
    }
  }
  static handle from_cpp(const Numbers& p, rv_policy, cleanup_list*) noexcept {
    if constexpr (count == 2) {
      return nb::make_tuple(p.h, p.w).release();
    } else {
      return nb::make_tuple(p.d, p.h, p.w).release();
    }
  }
};
template <>
struct type_caster<wick::Pair> : numbers_caster<wick::Pair, 2> {};
template <>
struct type_caster<wick::Triple> : numbers_caster<wick::Triple, 3> {};

}  // namespace nanobind::detail

namespace wick::python {

// Sizes as PyTorch takes them: x.view(2, 3) and x.view((2, 3)).
inline SizeList sizes_of(const nb::args& args) {
  nb::object all = args;
  if (args.size() == 1 && !PyIndex_Check(args[0].ptr())) all = args[0];
  SizeList sizes;
  if (!nb::try_cast(all, sizes))
    throw Error(
        "[sizes] sizes are ints, or one list or tuple of them: at most " + std::to_string(kMaxRank),
        wick::Code::kTypeMismatch);
  return sizes;
}

}  // namespace wick::python
