// Tensor: what is PyTorch's by another form than a method of C++ (operators, indices, arrays), and
// its methods.
#include <nanobind/ndarray.h>

#include <cstring>

#include "bind.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"

namespace wick::python {

// An array of numpy's as an operand: x + array and array + x are tensors, as in PyTorch.
struct Operand {
  Tensor value;
};

}  // namespace wick::python

namespace nanobind::detail {

template <>
struct type_caster<wick::python::Operand> {
  NB_TYPE_CASTER(wick::python::Operand, const_name("np.ndarray[Any, Any]"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (isinstance<wick::Tensor>(src) ||
        PyObject_HasAttrString(src.ptr(), "__array_interface__") == 0)
      return false;
    try {
      value.value =
          nb::cast<wick::Tensor>(nb::module_::import_("wick.train").attr("as_tensor")(src));
      return true;
    } catch (...) {  // of a dtype that tensors have not
      return false;
    }
  }
  static handle from_cpp(const wick::python::Operand&, rv_policy, cleanup_list*) noexcept {
    return {};
  }
};

}  // namespace nanobind::detail

namespace wick::python {

namespace {

DType of_dlpack(nb::dlpack::dtype t) {
  const auto code = static_cast<nb::dlpack::dtype_code>(t.code);
  using Code = nb::dlpack::dtype_code;
  if (code == Code::Float)
    return t.bits == 16   ? DType::kF16
           : t.bits == 32 ? DType::kF32
           : t.bits == 64 ? DType::kF64
                          : DType::kNone;
  if (code == Code::Bfloat && t.bits == 16) return DType::kBF16;
  if (code == Code::Bool) return DType::kBool;
  if (code == Code::Int)
    return t.bits == 8    ? DType::kI8
           : t.bits == 16 ? DType::kI16
           : t.bits == 32 ? DType::kI32
           : t.bits == 64 ? DType::kI64
                          : DType::kNone;
  if (code == Code::UInt)
    return t.bits == 8    ? DType::kU8
           : t.bits == 16 ? DType::kU16
           : t.bits == 32 ? DType::kU32
           : t.bits == 64 ? DType::kU64
                          : DType::kNone;
  return DType::kNone;
}
nb::dlpack::dtype to_dlpack(DType t) {
  using Code = nb::dlpack::dtype_code;
  const auto bits = static_cast<uint8_t>(dtype_bits(t));
  Code code = Code::Float;
  if (t == DType::kBool) {
    code = Code::Bool;
  } else if (is_signed_int(t)) {
    code = Code::Int;
  } else if (is_unsigned_int(t)) {
    code = Code::UInt;
  } else if (!is_float(t) || t == DType::kBF16) {
    throw Error(std::string("[numpy] numpy has no ") + dtype_name(t) +
                    ": convert the tensor to float32 first",
                wick::Code::kUnsupported);
  }
  return {static_cast<uint8_t>(code), bits, 1};
}

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

Tensor from_array(const Array& array) {
  const DType dtype = of_dlpack(array.dtype());
  if (dtype == DType::kNone)
    throw Error("[from_numpy] there is no tensor of this array's dtype", wick::Code::kTypeMismatch);
  Shape shape;
  if (array.ndim() > static_cast<size_t>(kMaxRank))
    throw Error("[from_numpy] the array has too many dims");
  for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<int64_t>(array.shape(i)));
  return from_blob(array.data(), shape, dtype);
}

// Shares the tensor's bytes, which live as long as the array, also where the tensor gets others.
nb::object to_array(const Tensor& t) {
  if (t.requires_grad()) throw Error("[numpy] the tensor requires grad: call x.detach().numpy()");
  const Tensor host = t.is_vulkan() ? t.cpu() : t;
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (int i = 0; i < host.rank(); ++i) {
    shape.push_back(static_cast<size_t>(host.raw_shape()[i]));
    strides.push_back(host.strides()[i]);
  }
  auto* kept =
      new Tensor(host.detach());  // not a handle: set_data() would take these bytes from it
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  const nb::object array = nb::cast(nb::ndarray<nb::numpy>(
      host.data_ptr(), shape.size(), shape.data(), owner, strides.data(), to_dlpack(host.dtype())));
  // numpy takes the buffer's "q" for long long, which is another type than its own int64.
  if (host.dtype() == DType::kI64) return array.attr("view")("int64");
  if (host.dtype() == DType::kU64) return array.attr("view")("uint64");
  return array;
}

// The number of an index. `overflow` is the error for one that is too large; null: it is the
// largest.
int64_t index_number(nb::handle value, PyObject* overflow) {
  const Py_ssize_t n = PyNumber_AsSsize_t(value.ptr(), overflow);
  if (n == -1 && PyErr_Occurred()) throw nb::python_error();
  return n;
}

// x.data = other: takes over its bytes and keeps .grad, where that still fits. `x.data -= step`
// ends here with the bytes that x has already.
void assign_data(const Tensor& x, const Tensor& other) {
  auto like = [](const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.is_vulkan() == b.is_vulkan() &&
           a.raw_shape() == b.raw_shape();
  };
  bool same = like(x, other) && !x.is_vulkan() && x.data_ptr() == other.data_ptr();
  for (int i = 0; same && i < x.rank(); ++i) same = x.strides()[i] == other.strides()[i];
  if (same) return;
  const Tensor grad = x.grad();
  x.set_data(other);
  if (grad.defined() && like(x, grad)) x.set_grad(grad);
}

TensorIndex entry_of(nb::handle key) {
  if (key.is_none()) return indexing::None;
  if (key.ptr() == Py_Ellipsis) return indexing::Ellipsis;
  if (PyBool_Check(key.ptr())) return key.ptr() == Py_True;
  if (nb::isinstance<Tensor>(key)) return nb::cast<const Tensor&>(key);
  if (PySlice_Check(key.ptr())) {
    auto side = [&](const char* name) -> std::optional<SizeArg> {
      const nb::object value = key.attr(name);
      if (value.is_none()) return {};
      return SizeArg(index_number(value, nullptr));
    };
    return indexing::Slice(side("start"), side("stop"), side("step"));
  }
  if (PyIndex_Check(key.ptr()) && !nb::hasattr(key, "__len__"))
    return static_cast<int64_t>(index_number(key, PyExc_IndexError));
  // A list or an array of indices.
  return nb::cast<Tensor>(nb::module_::import_("wick.train").attr("as_tensor")(key));
}
std::vector<TensorIndex> index_of(nb::handle key) {
  std::vector<TensorIndex> entries;
  if (PyTuple_Check(key.ptr())) {
    for (nb::handle each : nb::borrow<nb::tuple>(key)) entries.push_back(entry_of(each));
  } else {
    entries.push_back(entry_of(key));
  }
  return entries;
}

// A conversion to a number tells a capture that Python saw the size.
nb::object sizes_tuple(const Tensor& t) {
  nb::list all;
  for (const Dim& each : t.shape()) all.append(static_cast<int64_t>(each));
  static const nb::handle size =  // which lives as long as Python does
      nb::object(nb::module_::import_("wick.train._results").attr("Size")).release();
  return size(all);
}

nb::object item_of(const Tensor& t) {
  if (t.dtype() == DType::kBool) return nb::cast(t.item_int() != 0);
  if (is_int(t.dtype())) return nb::cast(t.item_int());
  return nb::cast(t.item());
}

#define WICK_OPERATOR(name, expression)                                                          \
  t.def(                                                                                         \
      "__" #name "__",                                                                           \
      [](const Tensor& a, const Tensor& b) { return free_of_lock([&] { return expression; }); }, \
      nb::is_operator());                                                                        \
  t.def(                                                                                         \
      "__" #name "__",                                                                           \
      [](const Tensor& a, Scalar b) { return free_of_lock([&] { return expression; }); },        \
      nb::is_operator());                                                                        \
  t.def(                                                                                         \
      "__" #name "__",                                                                           \
      [](const Tensor& a, const Operand& o) {                                                    \
        const Tensor& b = o.value;                                                               \
        return free_of_lock([&] { return expression; });                                         \
      },                                                                                         \
      nb::is_operator());
// The array of numpy's stands on the left.
#define WICK_RIGHT_OF_ARRAY(name, expression)            \
  t.def(                                                 \
      "__r" #name "__",                                  \
      [](const Tensor& b, const Operand& o) {            \
        const Tensor& a = o.value;                       \
        return free_of_lock([&] { return expression; }); \
      },                                                 \
      nb::is_operator());
#define WICK_REVERSED(name, expression)                                                   \
  t.def(                                                                                  \
      "__r" #name "__",                                                                   \
      [](const Tensor& b, Scalar a) { return free_of_lock([&] { return expression; }); }, \
      nb::is_operator());
#define WICK_ASSIGNED(name, method)                                         \
  t.def(                                                                    \
      "__i" #name "__",                                                     \
      [](nb::handle_t<Tensor> self, const Tensor& o) {                      \
        return in_place(self, [&](const Tensor& x) { x.method(o); });       \
      },                                                                    \
      nb::is_operator());                                                   \
  t.def(                                                                    \
      "__i" #name "__",                                                     \
      [](nb::handle_t<Tensor> self, Scalar o) {                             \
        return in_place(self, [&](const Tensor& x) { x.method(o); });       \
      },                                                                    \
      nb::is_operator());                                                   \
  t.def(                                                                    \
      "__i" #name "__",                                                     \
      [](nb::handle_t<Tensor> self, const Operand& o) {                     \
        return in_place(self, [&](const Tensor& x) { x.method(o.value); }); \
      },                                                                    \
      nb::is_operator());

void bind_operators(nb::class_<Tensor>& t) {
  WICK_OPERATOR(add, a.add(b))
  WICK_OPERATOR(sub, a.sub(b))
  WICK_OPERATOR(mul, a.mul(b))
  WICK_OPERATOR(truediv, a.div(b))
  WICK_OPERATOR(floordiv, a.floor_divide(b))
  WICK_OPERATOR(mod, a.remainder(b))
  WICK_OPERATOR(pow, a.pow(b))
  WICK_OPERATOR(eq, a.eq(b))
  WICK_OPERATOR(ne, a.ne(b))
  WICK_OPERATOR(lt, a.lt(b))
  WICK_OPERATOR(le, a.le(b))
  WICK_OPERATOR(gt, a.gt(b))
  WICK_OPERATOR(ge, a.ge(b))
  WICK_OPERATOR(and, a.bitwise_and(b))
  WICK_OPERATOR(or, a.bitwise_or(b))
  WICK_OPERATOR(xor, a.bitwise_xor(b))
  WICK_OPERATOR(lshift, a.bitwise_left_shift(b))
  WICK_OPERATOR(rshift, a.bitwise_right_shift(b))
  WICK_REVERSED(add, b.add(a))
  WICK_REVERSED(mul, b.mul(a))
  WICK_REVERSED(sub, b.rsub(a))
  WICK_REVERSED(truediv, b.reciprocal().mul(a))
  WICK_REVERSED(pow, pow(a, b))
  WICK_REVERSED(floordiv, floor_divide(a, b))
  WICK_REVERSED(mod, remainder(a, b))
  WICK_REVERSED(and, b.bitwise_and(a))
  WICK_REVERSED(or, b.bitwise_or(a))
  WICK_REVERSED(xor, b.bitwise_xor(a))
  WICK_REVERSED(lshift, bitwise_left_shift(a, b))
  WICK_REVERSED(rshift, bitwise_right_shift(a, b))
  WICK_ASSIGNED(add, add_)
  WICK_ASSIGNED(sub, sub_)
  WICK_ASSIGNED(mul, mul_)
  WICK_RIGHT_OF_ARRAY(add, a.add(b))
  WICK_RIGHT_OF_ARRAY(sub, a.sub(b))
  WICK_RIGHT_OF_ARRAY(mul, a.mul(b))
  WICK_RIGHT_OF_ARRAY(truediv, a.div(b))
  WICK_RIGHT_OF_ARRAY(floordiv, a.floor_divide(b))
  WICK_RIGHT_OF_ARRAY(mod, a.remainder(b))
  WICK_RIGHT_OF_ARRAY(pow, a.pow(b))
  WICK_RIGHT_OF_ARRAY(and, a.bitwise_and(b))
  WICK_RIGHT_OF_ARRAY(or, a.bitwise_or(b))
  WICK_RIGHT_OF_ARRAY(xor, a.bitwise_xor(b))
  WICK_RIGHT_OF_ARRAY(matmul, a.matmul(b))
  WICK_ASSIGNED(truediv, div_)
  WICK_ASSIGNED(floordiv, floor_divide_)
  WICK_ASSIGNED(mod, remainder_)
  WICK_ASSIGNED(pow, pow_)
  WICK_ASSIGNED(and, bitwise_and_)
  WICK_ASSIGNED(or, bitwise_or_)
  WICK_ASSIGNED(xor, bitwise_xor_)
  WICK_ASSIGNED(lshift, bitwise_left_shift_)
  WICK_ASSIGNED(rshift, bitwise_right_shift_)
  t.def(
      "__matmul__",
      [](const Tensor& a, const Tensor& b) { return free_of_lock([&] { return a.matmul(b); }); },
      nb::is_operator());
  t.def(
      "__matmul__",
      [](const Tensor& a, const Operand& b) {
        return free_of_lock([&] { return a.matmul(b.value); });
      },
      nb::is_operator());
  t.attr("__array_priority__") = 1000;  // numpy leaves operators to the tensor
  t.def("__neg__", [](const Tensor& a) { return a.neg(); });
  t.def("__abs__", [](const Tensor& a) { return a.abs(); });
  t.def("__invert__", [](const Tensor& a) { return a.bitwise_not(); });
  t.def("__hash__", [](const Tensor& a) { return a.id(); });
}

// A tensor, or with the parts that are asked for a tuple, as PyTorch returns them.
nb::object parts_of(const UniqueResult& r, bool inverse, bool counts) {
  if (!inverse && !counts) return nb::cast(r.values);
  nb::list parts;
  parts.append(r.values);
  if (inverse) parts.append(r.inverse);
  if (counts) parts.append(r.counts);
  return nb::tuple(parts);
}
nb::object unique_of(const Tensor& x, bool sorted, bool inverse, bool counts,
                     std::optional<int> dim) {
  const UniqueResult r = free_of_lock([&] { return unique(x, sorted, inverse, counts, dim); });
  return parts_of(r, inverse, counts);
}

// One tensor of places, or with as_tuple one for each dim.
nb::object nonzero_of(const Tensor& x, bool as_tuple) {
  const Tensor at = free_of_lock([&] { return x.nonzero(); });
  return as_tuple ? nb::object(nb::tuple(nb::cast(at.unbind(1)))) : nb::cast(at);
}

nb::object unique_consecutive_of(const Tensor& x, bool inverse, bool counts,
                                 std::optional<int> dim) {
  const UniqueResult r = free_of_lock([&] { return unique_consecutive(x, inverse, counts, dim); });
  return parts_of(r, inverse, counts);
}

void bind_unique(nb::module_& m, nb::class_<Tensor>& t) {
  t.def("nonzero", &nonzero_of, nb::kw_only(), nb::arg("as_tuple"));
  m.def("nonzero", &nonzero_of, nb::arg("input"), nb::kw_only(), nb::arg("as_tuple"));
  t.def("unique_consecutive", &unique_consecutive_of, nb::arg("return_inverse") = false,
        nb::arg("return_counts") = false, nb::arg("dim").none() = nb::none());
  m.def("unique_consecutive", &unique_consecutive_of, nb::arg("input"),
        nb::arg("return_inverse") = false, nb::arg("return_counts") = false,
        nb::arg("dim").none() = nb::none());
  t.def("unique", &unique_of, nb::arg("sorted") = true, nb::arg("return_inverse") = false,
        nb::arg("return_counts") = false, nb::arg("dim").none() = nb::none());
  m.def("unique", &unique_of, nb::arg("input"), nb::arg("sorted") = true,
        nb::arg("return_inverse") = false, nb::arg("return_counts") = false,
        nb::arg("dim").none() = nb::none());
}

// A hook of Python's.
struct PythonHook {
  std::shared_ptr<nb::object> held;
  Tensor operator()(const Tensor& g) const {
    nb::gil_scoped_acquire lock;
    nb::object got = (*held)(g);
    if (got.is_none()) return Tensor();
    Tensor changed;
    if (!nb::try_cast(got, changed))
      throw Error("[register_hook] the hook must return a tensor or None",
                  wick::Code::kTypeMismatch);
    return changed;
  }
};

int visit_hooks(const std::shared_ptr<TensorHooks>& hooks, visitproc visit, void* arg) {
  if (hooks.use_count() != 1) return 0;
  for (const TensorHooks::Before& each : hooks->before) {
    const PythonHook* hook = each.f.target<PythonHook>();
    if (hook != nullptr && hook->held.use_count() == 1) Py_VISIT(hook->held->ptr());
  }
  return 0;
}

// Shows Python's collector the hooks that live as long as this handle and no longer, so that a hook
// which refers to its own tensor can be collected with it. Hooks of a tensor that C++ holds as well
// (a graph, a layer, an optimizer) are not shown: Python would take them for garbage while C++ can
// still call them. Nor is any while a thread runs without the lock, which could begin to share the
// tensor in the middle of a collection.
int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto [ready, owned] = nb::inst_state(self);
  if (!ready || !owned || Unlocked::threads != 0) return 0;
  const TensorImpl* t = nb::inst_ptr<Tensor>(self)->impl();
  if (t == nullptr || !t->unique()) return 0;
  if (t->hooks) {
    if (const int stop = visit_hooks(t->hooks, visit, arg)) return stop;
  }
  if (!t->grad_fn || !t->grad_fn->unique() || !t->grad_fn->hooks) return 0;
  for (const NodeHooks::Output& each : t->grad_fn->hooks->outputs) {
    if (!each.hooks) continue;
    if (const int stop = visit_hooks(each.hooks, visit, arg)) return stop;
  }
  return 0;
}

int tensor_clear(PyObject* self) {
  const auto [ready, owned] = nb::inst_state(self);
  if (ready && owned) *nb::inst_ptr<Tensor>(self) = Tensor();
  return 0;
}

PyType_Slot tensor_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
    {0, nullptr},
};

void bind_autograd(nb::class_<Tensor>& t) {
  t.def_prop_rw(
      "requires_grad", [](const Tensor& x) { return x.requires_grad(); },
      [](const Tensor& x, bool on) { x.requires_grad_(on); });
  t.def(
      "requires_grad_",
      [](nb::handle_t<Tensor> self, bool on) {
        return in_place(self, [&](const Tensor& x) { x.requires_grad_(on); });
      },
      nb::arg("requires_grad") = true);
  t.def_prop_ro("is_leaf", [](const Tensor& x) { return x.is_leaf(); });
  t.def_prop_ro(
      "grad_fn",
      [](const Tensor& x) -> std::optional<std::string> {
        if (x.is_leaf()) return {};
        return "<" + x.grad_fn().name() + ">";
      },
      nb::sig("def grad_fn(self) -> str | None"),
      "The name of the node that made the tensor, as a text; None for a leaf.");
  t.def_prop_rw(
      "grad",
      [](const Tensor& x) -> nb::object {
        const Tensor g = x.grad();
        return g.defined() ? nb::cast(g) : nb::none();
      },
      [](const Tensor& x, const Tensor* g) { x.set_grad(or_undefined(g)); },
      nb::for_setter(nb::arg("grad").none()));
  t.def(
      "backward",
      [](const Tensor& x, const Tensor* gradient, std::optional<bool> retain_graph,
         bool create_graph) {
        free_of_lock([&] {
          x.backward(or_undefined(gradient), retain_graph.value_or(create_graph), create_graph);
          return 0;
        });
      },
      nb::arg("gradient").none() = nb::none(), nb::arg("retain_graph").none() = nb::none(),
      nb::arg("create_graph") = false, "Adds the gradients of this tensor to .grad of its leaves.");
  t.def(
      "backward",
      [](const Tensor& x, const Tensor* gradient, std::optional<bool> retain_graph,
         bool create_graph, const std::vector<Tensor>& inputs) {
        free_of_lock([&] {
          const std::vector<Tensor> found =
              grad({x}, inputs, {or_undefined(gradient)}, retain_graph.value_or(create_graph),
                   create_graph, true);
          for (size_t i = 0; i < inputs.size(); ++i) {
            const Tensor before = inputs[i].grad();
            if (!found[i].defined()) continue;
            inputs[i].set_grad(before.defined() ? before.add(found[i]) : found[i]);
          }
          return 0;
        });
      },
      nb::arg("gradient").none() = nb::none(), nb::arg("retain_graph").none() = nb::none(),
      nb::arg("create_graph") = false, nb::kw_only(), nb::arg("inputs"),
      "Adds them to .grad of these tensors alone.");
  t.def(
      "set_data", [](const Tensor& x, const Tensor& o) { x.set_data(o); }, nb::arg("new_data"),
      "Takes over another tensor's bytes, shape and dtype, and stays the tensor that optimizers "
      "know.");
  t.def("retain_grad", [](const Tensor& x) { x.retain_grad(); });
  t.def(
      "register_hook",
      [](const Tensor& x, nb::object f) {
        return x.register_hook(PythonHook{shared_object(std::move(f))});
      },
      nb::arg("hook"),
      "Calls hook(gradient) in every backward; a tensor that it returns replaces the gradient.");
}

}  // namespace

std::shared_ptr<nb::object> shared_object(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            nb::gil_scoped_acquire lock;
            delete held;
          }};
}

void bind_tensor(nb::module_& m) {
  nb::enum_<DType>(m, "dtype")
      .value("float32", DType::kF32)
      .value("float64", DType::kF64)
      .value("float16", DType::kF16)
      .value("bfloat16", DType::kBF16)
      .value("uint8", DType::kU8)
      .value("int8", DType::kI8)
      .value("int16", DType::kI16)
      .value("int32", DType::kI32)
      .value("int64", DType::kI64)
      .value("uint16", DType::kU16)
      .value("uint32", DType::kU32)
      .value("uint64", DType::kU64)
      .value("bool", DType::kBool)
      .def_prop_ro("is_floating_point", [](DType t) { return is_float(t); })
      .def_prop_ro("is_complex", [](DType) { return false; })
      .def_prop_ro("is_signed", [](DType t) { return is_float(t) || is_signed_int(t); })
      .def_prop_ro("itemsize", [](DType t) { return itemsize(t); });
  nb::class_<HookHandle>(m, "RemovableHandle").def("remove", &HookHandle::remove);

  nb::class_<Tensor> t(m, "Tensor", nb::is_weak_referenceable(), nb::type_slots(tensor_slots));
  t.def(nb::init<const Tensor&>(), "Another handle of the same tensor.");
  t.def(
      "__init__",
      [](Tensor* self, const nb::args& of) {
        const nb::object made =
            nb::module_::import_("wick.train._functions").attr("FloatTensor")(*of);
        new (self) Tensor(nb::cast<const Tensor&>(made));
      },
      "float32 of data, or of sizes and without values: tensor() and empty() say which.");
  bind_operators(t);
  bind_autograd(t);
  t.def_prop_ro(
      "shape", [](const Tensor& x) { return sizes_tuple(x); }, nb::sig("def shape(self) -> Size"));
  t.def_prop_ro("dtype", [](const Tensor& x) { return x.dtype(); });
  t.def_prop_ro("ndim", [](const Tensor& x) { return x.dim(); });
  t.def_prop_ro(
      "device",
      [](const Tensor& x) {
        return nb::module_::import_("wick.train._devices")
            .attr("device")(x.is_vulkan() ? "vulkan" : "cpu");
      },
      nb::sig("def device(self) -> str"));
  t.def_prop_ro("T", [](const Tensor& x) { return x.T(); });
  t.def_prop_ro("H", [](const Tensor& x) { return x.T(); });
  t.def_prop_ro("mT", [](const Tensor& x) { return x.mT(); });
  t.def_prop_rw(
      "data", [](const Tensor& x) { return x.detach(); }, &assign_data);
  t.def_prop_ro("itemsize", [](const Tensor& x) { return x.itemsize(); });
  t.def_prop_ro("nbytes", [](const Tensor& x) { return x.nbytes(); });
  t.def(
      "size",
      [](const Tensor& x, std::optional<int> dim) -> nb::object {
        return dim ? nb::cast(static_cast<int64_t>(x.size(*dim))) : sizes_tuple(x);
      },
      nb::arg("dim").none() = nb::none());
  t.def("dim", [](const Tensor& x) { return x.dim(); });
  t.def("numel", [](const Tensor& x) { return static_cast<int64_t>(x.numel()); });
  t.def("nelement", [](const Tensor& x) { return static_cast<int64_t>(x.numel()); });
  t.def("element_size", [](const Tensor& x) { return x.itemsize(); });
  t.def("stride", [](const Tensor& x) {
    nb::list all;
    for (int i = 0; i < x.dim(); ++i) all.append(x.strides()[i]);
    return nb::tuple(all);
  });
  t.def(
      "stride", [](const Tensor& x, int dim) { return x.stride(dim); }, nb::arg("dim"));
  t.def("ndimension", [](const Tensor& x) { return x.dim(); });
  t.def("storage_offset", [](const Tensor& x) { return x.storage_offset(); });
  t.def("get_device", [](const Tensor&) { return -1; });
  t.def("is_signed",
        [](const Tensor& x) { return is_float(x.dtype()) || is_signed_int(x.dtype()); });
  t.def_prop_ro("is_cuda", [](const Tensor&) { return false; });
  t.def_prop_ro("is_sparse", [](const Tensor&) { return false; });
  t.def(
      "is_contiguous",
      [](const Tensor& x, const std::optional<std::string>&) { return x.is_contiguous(); },
      nb::kw_only(), nb::arg("memory_format").none() = nb::none());
  t.def("is_floating_point", [](const Tensor& x) { return x.is_floating_point(); });
  t.def("data_ptr", [](const Tensor& x) { return reinterpret_cast<uintptr_t>(x.data_ptr()); });
  t.def(
      "same_as", [](const Tensor& x, const Tensor& o) { return x.is_same(o); }, nb::arg("other"),
      "Whether both are handles of one tensor: what `is` tells of PyTorch's.");

  t.def("item", &item_of, "The only element, as a number of Python.");
  t.def("__float__", [](const Tensor& x) { return x.item(); });
  t.def("__int__", [](const Tensor& x) { return x.item_int(); });
  t.def("__index__", [](const Tensor& x) {
    if (!is_int(x.dtype()))
      throw Error("[index] only a tensor of one integer is an index", wick::Code::kTypeMismatch);
    return x.item_int();
  });
  t.def("__bool__", [](const Tensor& x) { return static_cast<bool>(x); });
  t.def("__len__", [](const Tensor& x) {
    if (x.dim() == 0)
      throw Error("[len] a tensor of no dims has no length", wick::Code::kTypeMismatch);
    return static_cast<int64_t>(x.size(0));
  });
  t.def("__iter__", [](const Tensor& x) { return nb::iter(nb::cast(x.unbind(0))); });
  t.def("__repr__", [](const Tensor& x) { return x.to_string(); });
  t.def(
      "__format__",  // f"{loss:.3f}"
      [](const Tensor& x, const nb::str& spec) {
        const bool number = x.dim() == 0;
        const nb::object shown = number ? item_of(x) : nb::cast(x.to_string());
        return nb::str(shown.attr("__format__")(spec));
      },
      nb::arg("format_spec"));
  t.def(
      "numpy", [](const Tensor& x, bool force) { return to_array(force ? x.detach() : x); },
      nb::kw_only(), nb::arg("force") = false,
      "An array on the tensor's own bytes; force: also of one that requires grad.");
  t.def(
      "__array__",
      [](const Tensor& x, nb::object dtype, std::optional<bool> copy) -> nb::object {
        const nb::object shared = to_array(x);
        nb::object array = shared;
        if (!dtype.is_none()) array = shared.attr("astype")(dtype, nb::arg("copy") = false);
        const bool copied = x.is_vulkan() || !array.is(shared);
        if (copy == false && copied)
          throw nb::value_error(
              "an array of this dtype cannot be made of the tensor without a copy");
        return copy == true && !copied ? array.attr("copy")() : array;
      },
      nb::arg("dtype").none() = nb::none(), nb::arg("copy").none() = nb::none());
  t.def(
      "__array_wrap__",  // np.sqrt(x) is a tensor
      [](const Tensor&, const nb::object& array, const nb::args&) {
        return nb::cast<Tensor>(nb::module_::import_("wick.train").attr("as_tensor")(array));
      },
      nb::arg("array"), nb::arg("more"));
  t.def("tolist", [](const Tensor& x) { return to_array(x.detach()).attr("tolist")(); });

  t.def(
      "__getitem__",
      [](const Tensor& x, nb::handle key) {
        const std::vector<TensorIndex> at = index_of(key);
        return free_of_lock([&] { return x.index(at); });
      },
      nb::arg("key").none());
  t.def(
      "__setitem__",
      [](const Tensor& x, nb::handle key, const Tensor& value) {
        x.index_put_(index_of(key), value);
      },
      nb::arg("key").none(), nb::arg("value"));
  t.def(
      "__setitem__",
      [](const Tensor& x, nb::handle key, Scalar value) { x.index_put_(index_of(key), value); },
      nb::arg("key").none(), nb::arg("value"));
  t.def(
      "index_put",
      [](const Tensor& x, nb::handle key, const Tensor& value, bool accumulate) {
        const std::vector<TensorIndex> at = index_of(key);
        return free_of_lock([&] { return Tensor(x.clone().index_put_(at, value, accumulate)); });
      },
      nb::arg("indices"), nb::arg("values"), nb::arg("accumulate") = false);
  t.def(
      "index_put_",
      [](nb::handle_t<Tensor> self, nb::handle key, const Tensor& value, bool accumulate) {
        const std::vector<TensorIndex> at = index_of(key);
        return in_place(self, [&](const Tensor& x) { x.index_put_(at, value, accumulate); });
      },
      nb::arg("indices"), nb::arg("values"), nb::arg("accumulate") = false);

  t.def(
      "view", [](const Tensor& x, DType dtype) { return x.view(dtype); }, nb::arg("dtype"));
  // Sizes one by one, in one list, and in one list by its name.
#define WICK_SIZES(name, list)                                                                    \
  t.def(#name, [](const Tensor& x, const nb::args& given) { return x.name(sizes_of(given)); });   \
  t.def(                                                                                          \
      #name, [](const Tensor& x, const SizeList& given) { return x.name(given); }, nb::kw_only(), \
      nb::arg(list));
  WICK_SIZES(view, "size")
  WICK_SIZES(reshape, "shape")
  WICK_SIZES(expand, "size")
  WICK_SIZES(repeat, "repeats")
  WICK_SIZES(tile, "dims")
  WICK_SIZES(broadcast_to, "size")
  t.def("permute", [](const Tensor& x, nb::args dims) { return x.permute(sizes_of(dims)); });
  t.def(
      "permute", [](const Tensor& x, const Shape& dims) { return x.permute(dims); }, nb::kw_only(),
      nb::arg("dims"));
  bind_unique(m, t);
  t.def("flip", [](const Tensor& x, nb::args dims) {
    Dims all;
    const SizeList given = sizes_of(dims);
    for (int i = 0; i < given.rank(); ++i) all.values[all.count++] = given[i];
    return x.flip(all);
  });
  t.def(
      "flip", [](const Tensor& x, const Dims& dims) { return x.flip(dims); }, nb::kw_only(),
      nb::arg("dims"));
  bind_changes(t);
  bind_norms(m, t);

#include "methods.inc"
  // After those of one size, since a list of sizes also takes a number.
  t.def(
      "split",
      [](const Tensor& x, const SizeList& sizes, int dim) {
        return x.split_with_sizes(sizes, dim);
      },
      nb::arg("split_size"), nb::arg("dim") = 0);
  m.def(
      "split",
      [](const Tensor& x, const SizeList& sizes, int dim) {
        return x.split_with_sizes(sizes, dim);
      },
      nb::arg("input"), nb::arg("split_size"), nb::arg("dim") = 0);

  m.def("_from_numpy", &from_array, nb::arg("array"),
        "A tensor with a copy of the elements, in this machine's byte order.");
}

}  // namespace wick::python
