// Tensor: a handle (storage, offset, shape, strides, dtype, autograd meta). Copying a Tensor copies
// the handle. Names and behavior are PyTorch's.
#pragma once

#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <vector>

#include "runtime/core/tensor_view.h"
#include "trainer/tensor/device/device.h"
#include "trainer/tensor/device/device_address.h"
#include "trainer/tensor/dim.h"
#include "trainer/tensor/dims.h"
#include "trainer/tensor/grad_mode.h"
#include "trainer/tensor/intrusive.h"
#include "trainer/tensor/storage.h"
#include "trainer/tensor/tracer.h"
#include "wick/error.h"

namespace wick {

class GradFn;
class Tensor;
class TensorImpl;
struct TensorIndex;
class IndexPlace;
class IndexedTensor;
struct ValuesIndices;  // of trainer/tensor/ops/sort.h and linalg.h
struct MinMax;
struct UniqueResult;
struct SlogdetResult;
struct QrResult;
// The line of a call, for errors; Where::current() as a default argument is the caller's.
using Where = std::source_location;

// A C++ number that is combined with a tensor: it takes the tensor's dtype unless its category is
// higher (PyTorch's rule).
struct Scalar {
  // The number as a double and as an integer, and whether it was a bool.
  double value = 0;
  int64_t int_value = 0;
  bool integral = false;  // also for bools
  bool boolean = false;
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T v)  // NOLINT: implicit by design
      : value(static_cast<double>(v)),
        int_value(whole(v)),
        integral(std::is_integral_v<T>),
        boolean(std::is_same_v<T, bool>) {}
  Scalar(Dim d) : Scalar(d.peek()) {}      // NOLINT: implicit by design
  Scalar(SizeArg n) : Scalar(n.number) {}  // NOLINT

 private:
  // As in PyTorch, a number that int64 cannot hold becomes the lowest one. In C++ the cast is
  // undefined.
  template <class T>
  static int64_t whole(T v) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(v >= T(-0x1p63) && v < T(0x1p63))) return INT64_MIN;
    }
    return static_cast<int64_t>(v);
  }
};

// A number, or none.
using OptScalar = std::optional<Scalar>;
struct Arg;

// Throws because `what` was called on an undefined tensor, or one was passed as an argument. If the
// call comes from inside of Wick, the error names the op and the line where the argument was
// passed.
[[noreturn]] void undefined_tensor(const char* what, const Where& where);
// Remembers the line where an undefined tensor was passed, for that error.
void note_undefined(const Where& where);

// The part of a tensor's state that this header accesses. The rest, autograd's part, is in
// TensorImpl (trainer/tensor/tensor_impl.h), the only derived class.
class TensorCore : public Counted {
  friend class Tensor;
  friend class TensorImpl;
  friend class IntrusivePtr<TensorCore>;
  explicit TensorCore(uint64_t number) : id(number) {}
  ~TensorCore() = default;
  static void dispose(TensorCore* t);  // blocks are pooled

  IntrusivePtr<Storage> storage;  // NOLINT: TensorImpl shows the three under these names
  TensorView view;  // NOLINT; data points into storage, or is on_device() and never read
  uint64_t id;      // NOLINT; never reused within a process
};

// Removes a hook. Destroying the handle does not remove it.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  void remove();

 private:
  std::function<void()> remove_;
};

// torch.Tensor. A function throws Error where an argument does not fit: it names the op, the shapes
// and the caller's line.
class Tensor {
 public:
  Tensor() = default;  // undefined
  explicit Tensor(IntrusivePtr<TensorCore> impl) : impl_(std::move(impl)) {}

  // Returns false for a default-constructed tensor, which has no shape and no values.
  bool defined() const { return static_cast<bool>(impl_); }
  inline TensorImpl* impl() const;  // for the trainer itself: tensor_impl.h
  // The number of the tensor (0: undefined), and whether both are handles of one tensor: Python's
  // id() and `is`.
  uint64_t id() const { return impl_ ? impl_->id : 0; }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }

  // -- properties
  // The dtype, and the number of dims. These and what follows throw Error for an undefined tensor.
  DType dtype(Where where = Where::current()) const { return need("dtype", where).view.dtype; }
  int rank(Where where = Where::current()) const { return need("dim", where).view.rank(); }
  int dim(Where where = Where::current()) const { return rank(where); }
  // The sizes of the dims, of one dim, and the number of elements. A capture follows them
  // (trainer/tensor/dim.h).
  const DimShape& shape(Where where = Where::current()) const;
  const DimShape& sizes(Where where = Where::current()) const { return shape(where); }
  Dim size(int dim, Where where = Where::current()) const;  // negative counts from the end
  Dim numel(Where where = Where::current()) const;
  // The distance between neighbours along each dim, or along one, in elements.
  const Strides& strides(Where where = Where::current()) const {
    return need("stride", where).view.strides;
  }
  const Strides& stride(Where where = Where::current()) const { return strides(where); }
  int64_t stride(int dim, Where where = Where::current()) const;
  // The other names of rank() and numel().
  int ndim(Where where = Where::current()) const { return rank(where); }
  Dim nelement(Where where = Where::current()) const { return numel(where); }
  // The bytes of all elements, and of one.
  size_t nbytes(Where where = Where::current()) const {
    return need("nbytes", where).view.nbytes();
  }
  size_t itemsize(Where where = Where::current()) const { return dtype_size(dtype(where)); }
  size_t element_size(Where where = Where::current()) const { return itemsize(where); }
  // Returns the address on the host; throws Error for a Vulkan tensor.
  void* data_ptr(Where where = Where::current()) const {
    if (on_device(need("data_ptr", where).view.data)) not_on_host("data_ptr", where);
    return impl_->view.data;
  }
  int64_t storage_offset(Where where = Where::current()) const;  // in elements
  // Return where the tensor's bytes are; there are no CUDA, meta and quantized tensors.
  Device device(Where where = Where::current()) const;
  bool is_vulkan() const { return impl_ && on_device(impl_->view.data); }
  bool is_cpu() const { return !is_vulkan(); }
  bool is_cuda() const { return false; }
  bool is_meta() const { return false; }
  bool is_quantized() const { return false; }
  bool is_floating_point(Where where = Where::current()) const { return is_float(dtype(where)); }
  // A view's base holds the history and is never a view itself; undefined if this is not a view.
  bool is_view(Where where = Where::current()) const;
  Tensor base(Where where = Where::current()) const;
  // Returns whether the elements lie in row-major order without gaps.
  bool is_contiguous(Where where = Where::current()) const {
    return need("is_contiguous", where).view.contiguous();
  }
  // Untraced access to the host's bytes for the layers below the public ops; throws Error for a
  // Vulkan tensor. For an undefined tensor it returns a view of dtype kNone.
  TensorView raw() const {
    if (!impl_) return {};
    if (on_device(impl_->view.data)) [[unlikely]]
      not_on_host();
    return impl_->view;
  }
  // The same for reading everything but the bytes, on any device.
  TensorView layout() const { return impl_ ? impl_->view : TensorView(); }
  // The sizes as plain numbers, which a capture does not follow.
  const Shape& raw_shape(Where where = Where::current()) const {
    return need("shape", where).view.shape;
  }
  // The bytes that this tensor and its views share, and how often they were written.
  Storage& storage(Where where = Where::current()) const { return *need("storage", where).storage; }
  uint32_t version(Where where = Where::current()) const {
    return need("version", where).storage->version();
  }

  // -- host access; T must be the dtype, and the tensor contiguous
  // Return the address of the first element, to read or to write.
  template <class T>
  const T* data(Where where = Where::current()) const {
    check_access("data", dtype_of<T>, where, false);
    return static_cast<const T*>(impl_->view.data);
  }
  template <class T>
  T* mutable_data(Where where = Where::current()) const {  // raises the version
    check_access("mutable_data", dtype_of<T>, where, true);
    return static_cast<T*>(impl_->view.data);
  }
  // Returns the only element of a tensor, converted.
  double item(Where where = Where::current()) const;
  // Returns it as an integer.
  int64_t item_int(Where where = Where::current()) const;
  // Returns it as a T.
  template <class T>
  T item(Where where = Where::current()) const {
    if constexpr (std::is_same_v<T, uint64_t>) return item_uint(where);
    return std::is_integral_v<T> ? static_cast<T>(item_int(where)) : static_cast<T>(item(where));
  }
  // The caller's line is not known in these.
  explicit operator double() const { return item(Where()); }
  explicit operator int64_t() const { return item_int(Where()); }
  explicit operator bool() const { return item(Where()) != 0; }
  template <class T>
  std::vector<T> to_vector(Where where = Where::current()) const;  // any strides; dtype must be T's
  // The values as text, as printing shows them.
  std::string to_string(Where where = Where::current()) const;

  // -- autograd
  // Returns whether gradients flow to this tensor. requires_grad_() sets it for a leaf, and returns
  // *this. Throws Error for integers, and for switching it off where a recorded op made the tensor.
  bool requires_grad() const;
  const Tensor& requires_grad_(bool on = true, Where where = Where::current()) const;
  bool is_leaf(Where where = Where::current()) const;  // true unless a recorded op made it
  GradFn grad_fn() const;  // trainer/autograd/grad_fn.h; empty for a leaf
  // Makes a non-leaf tensor keep its gradient in .grad too; does nothing for a leaf.
  void retain_grad(Where where = Where::current()) const;
  // Returns whether retain_grad() was called on a non-leaf.
  bool retains_grad(Where where = Where::current()) const;
  // Calls f(gradient) in every backward when the gradient is complete, hooks in order of
  // registration. A tensor that f returns (same shape and dtype) replaces the gradient.
  template <class F>
  HookHandle register_hook(F f, Where where = Where::current()) const {
    if constexpr (std::is_void_v<std::invoke_result_t<F, const Tensor&>>) {
      return add_hook(
          [f = std::move(f)](const Tensor& g) {
            f(g);
            return Tensor();
          },
          where);
    } else {
      return add_hook(std::move(f), where);
    }
  }
  // Calls f(this) after a backward has accumulated into this leaf's .grad; that backward then
  // accumulates as soon as the gradient is complete instead of at its end.
  HookHandle register_post_accumulate_grad_hook(std::function<void(const Tensor&)> f,
                                                Where where = Where::current()) const;
  // Returns whether it was made in InferenceMode.
  bool is_inference() const;
  // Undefined until a backward made it. Throws Error for a sparse one (sparse_grad()).
  Tensor grad(Where where = Where::current()) const;
  // g must have this tensor's shape and dtype; undefined clears it.
  void set_grad(const Tensor& g, Where where = Where::current()) const;
  // Computes the gradients of this tensor (a scalar unless `gradient` is given) and accumulates
  // them into the .grad of its leaves, or of `inputs` only. A backward that throws leaves every
  // .grad unchanged.
  void backward(const Tensor& gradient = Tensor(), bool retain_graph = false,
                bool create_graph = false, const std::vector<Tensor>& inputs = {},
                Where where = Where::current()) const;
  Tensor detach(Where where = Where::current()) const;          // shares the bytes, not the history
  const Tensor& detach_(Where where = Where::current()) const;  // this becomes a leaf
  // Gives this tensor a name, which errors and describe() show; returns it.
  Tensor named(std::string name, Where where = Where::current()) const;
  // Returns the name; "" if there is none.
  const std::string& name(Where where = Where::current()) const;

  // -- views: share the bytes; differentiable
  Tensor view(const SizeList& shape,
              Where where = Where::current()) const;  // refuses what would need a copy
  // Another shape of the same elements, in the same order; one size may be -1. Copies if the
  // strides require it.
  Tensor reshape(const SizeList& shape, Where where = Where::current()) const;
  // Two dims swapped.
  Tensor transpose(int a, int b, Where where = Where::current()) const;
  Tensor view(DType dtype, Where where = Where::current()) const;  // the same bits, PyTorch's rules
  // The dims in another order.
  Tensor permute(const Shape& axes, Where where = Where::current()) const;
  // NOLINTBEGIN(readability-identifier-naming): PyTorch's names
  Tensor T(Where where = Where::current()) const;   // all dims reversed
  Tensor mT(Where where = Where::current()) const;  // the last two swapped
  // NOLINTEND(readability-identifier-naming)
  // The transpose of a matrix; a vector or number as it is.
  Tensor t(Where where = Where::current()) const;
  // One element of a dim, which is removed.
  Tensor select(int dim, SizeArg index, Where where = Where::current()) const;
  // Elements start .. end - 1 of a dim, `step` apart; negative bounds count from the end.
  Tensor slice(int dim, SizeArg start, SizeArg end, SizeArg step = 1,
               Where where = Where::current()) const;
  // Elements start .. start + length - 1 of a dim.
  Tensor narrow(int dim, SizeArg start, SizeArg length, Where where = Where::current()) const;
  Tensor expand(const SizeList& shape,
                Where where = Where::current()) const;  // -1 keeps a dimension
  // Without the dims of size 1: all of them, or this one if its size is 1.
  Tensor squeeze(Where where = Where::current()) const;
  Tensor squeeze(int dim, Where where = Where::current()) const;
  // With a new dim of size 1 before `dim`.
  Tensor unsqueeze(int dim, Where where = Where::current()) const;
  // Dims start_dim to end_dim joined into one. Copies if the strides require it.
  Tensor flatten(int start_dim = 0, int end_dim = -1, Where where = Where::current()) const;

  // -- indexing (trainer/tensor/indexing.h): views if there are no index tensors, else copies
  // The elements at an index: x.index({0, Slice(1, None), "..."}). Throws Error for more entries
  // than dims and for an index outside of its dim.
  Tensor index(const std::vector<TensorIndex>& at, Where where = Where::current()) const;
  // The same; what it returns can also be assigned to.
  IndexedTensor operator[](const TensorIndex& at) const;
  IndexedTensor operator[](std::initializer_list<TensorIndex> at) const;
  // The elements at an index, to be written: x.at({0}) += 1.
  IndexPlace at(const std::vector<TensorIndex>& at, Where where = Where::current()) const;
  // Writes value, broadcast to the indexed shape. accumulate: values at duplicate indices are
  // added.
  const Tensor& index_put_(const std::vector<TensorIndex>& at, const Tensor& value,
                           bool accumulate = false, Where where = Where::current()) const;
  const Tensor& index_put_(const std::vector<TensorIndex>& at, Scalar value,
                           bool accumulate = false, Where where = Where::current()) const;
  // -- the functions of the same name (trainer/tensor/ops.h), in place
  // Each writes into the tensor's own bytes, and returns *this.
  const Tensor& masked_fill_(const Tensor& mask, Scalar value,
                             Where where = Where::current()) const;
  const Tensor& masked_fill_(const Tensor& mask, const Tensor& value,
                             Where where = Where::current()) const;
  const Tensor& masked_scatter_(const Tensor& mask, const Tensor& source,
                                Where where = Where::current()) const;
  const Tensor& scatter_(int dim, const Tensor& index, const Tensor& src,
                         Where where = Where::current()) const;
  const Tensor& scatter_(int dim, const Tensor& index, Scalar value,
                         Where where = Where::current()) const;
  const Tensor& scatter_add_(int dim, const Tensor& index, const Tensor& src,
                             Where where = Where::current()) const;
  const Tensor& index_add_(int dim, const Tensor& index, const Tensor& source, Scalar alpha = 1,
                           Where where = Where::current()) const;
  const Tensor& index_copy_(int dim, const Tensor& index, const Tensor& source,
                            Where where = Where::current()) const;
  const Tensor& index_fill_(int dim, const Tensor& index, Scalar value,
                            Where where = Where::current()) const;
  const Tensor& cumsum_(int dim, Where where = Where::current()) const;

  // -- copies
  Tensor contiguous(Where where = Where::current()) const;  // *this if it is contiguous
  Tensor clone(Where where = Where::current()) const;  // other bytes, contiguous; differentiable
  Tensor to(DType dtype, Where where = Where::current()) const;  // *this if it has that dtype
  // Returns a copy on the device, through which gradients flow back; *this if it is there already.
  // non_blocking: returns before the device has the bytes; later uses wait for them.
  Tensor to(const Device& device, bool non_blocking = false, Where where = Where::current()) const;
  Tensor cpu(Where where = Where::current()) const;     // waits for the device
  Tensor vulkan(Where where = Where::current()) const;  // to("vulkan")

  // -- PyTorch's other methods: call the function of the same name (trainer/tensor/ops.h) on *this
#include "trainer/tensor/methods.inc"

  // -- in place: recorded like any op (trainer/tensor/inplace.h has the rules)
  // Set all elements to 0, or to value. Return *this.
  const Tensor& zero_(Where where = Where::current()) const;
  const Tensor& fill_(Scalar value, Where where = Where::current()) const;
  const Tensor& copy_(const Tensor& source,
                      Where where = Where::current()) const;  // broadcasts and casts
  // Add alpha other to this tensor, subtract it, multiply or divide by other, which broadcasts to
  // this tensor's shape. Return *this.
  const Tensor& add_(const Tensor& other, Scalar alpha = 1, Where where = Where::current()) const;
  const Tensor& sub_(const Tensor& other, Scalar alpha = 1, Where where = Where::current()) const;
  const Tensor& mul_(const Tensor& other, Where where = Where::current()) const;
  const Tensor& div_(const Tensor& other, Where where = Where::current()) const;
  const Tensor& add_(Scalar value, Where where = Where::current()) const;
  const Tensor& sub_(Scalar value, Where where = Where::current()) const;
  const Tensor& mul_(Scalar value, Where where = Where::current()) const;
  const Tensor& div_(Scalar value, Where where = Where::current()) const;

  // Change the shape in place: it applies to every handle of this tensor, but not to other views.
  const Tensor& set_shape(const Shape& shape, Where where = Where::current()) const;
  const Tensor& transpose_(int a, int b, Where where = Where::current()) const;
  const Tensor& t_(Where where = Where::current()) const;
  const Tensor& squeeze_(Where where = Where::current()) const;
  const Tensor& unsqueeze_(int dim, Where where = Where::current()) const;
  // Makes this a second handle on another tensor's bytes, without a history.
  const Tensor& set_(const Tensor& source, Where where = Where::current()) const;
  // Returns the contiguous bytes without a check by autograd; every call counts as a write.
  void* unsafe_data(Where where = Where::current()) const;

  // Takes over another tensor's bytes, shape and dtype; keeps identity, name and requires_grad (for
  // module.to()).
  void set_data(const Tensor& other, Where where = Where::current()) const;

 private:
  TensorCore& need(const char* what, const Where& where) const {
    if (!impl_) [[unlikely]]
      undefined_tensor(what, where);
    return *impl_;
  }
  uint64_t item_uint(const Where& where) const;
  Tensor one_element(const Where& where) const;  // *this on the host, checked to have one element
  [[noreturn]] void not_on_host() const;
  [[noreturn]] void not_on_host(const char* what, const Where& where) const;
  HookHandle add_hook(std::function<Tensor(const Tensor&)> f, Where where) const;
  void check_access(const char* what, DType dtype, const Where& where, bool write) const;
  const Tensor& become(const char* name, const Tensor& other, const Where& where) const;

  IntrusivePtr<TensorCore> impl_;
};

// A tensor with the line where it was passed: public ops take Args, so that errors name the user's
// line.
struct Arg {
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Arg(const Tensor& t, Where w = Where::current()) : tensor(t), where(w) {
    if (!t.defined()) [[unlikely]]
      note_undefined(w);
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  Arg(Tensor&& t, Where w = Where::current()) : Arg(static_cast<const Tensor&>(t), w) {
    temporary = &t;
  }
  const Tensor& tensor;
  Where where;
  Tensor* temporary = nullptr;  // an operand that is not read again, see reuse.h
};

// The number of elements of t.
inline Dim numel(const Tensor& t, Where where = Where::current()) { return t.numel(where); }

// -- making tensors (the default dtype is float32)
// Uninitialized, filled with 0, with 1, or with value. Throw Error for a negative size.
Tensor empty(const SizeList& shape, DType dtype = DType::kF32, Where where = Where::current());
Tensor zeros(const SizeList& shape, DType dtype = DType::kF32, Where where = Where::current());
Tensor ones(const SizeList& shape, DType dtype = DType::kF32, Where where = Where::current());
Tensor full(const SizeList& shape, Scalar value, DType dtype = DType::kF32,
            Where where = Where::current());
// 0, 1 ... end - 1, and start, start + step ... before end. Throw Error for a step of 0.
Tensor arange(SizeArg end, DType dtype = DType::kI64, Where where = Where::current());
Tensor arange(SizeArg start, SizeArg end, SizeArg step = 1, DType dtype = DType::kI64,
              Where where = Where::current());
// n rows and columns of zeros, with ones on the main diagonal.
Tensor eye(SizeArg n, DType dtype = DType::kF32, Where where = Where::current());
// These are on the device of t.
Tensor zeros_like(const Arg& t);
Tensor ones_like(const Arg& t);
Tensor empty_like(const Arg& t);
Tensor full_like(const Arg& t, Scalar value);
// Copies contiguous host memory.
Tensor from_blob(const void* data, const Shape& shape, DType dtype, Where where = Where::current());
template <class T>
std::vector<T> Tensor::to_vector(Where where) const {
  Tensor c = (is_vulkan() ? cpu(where) : *this).detach().contiguous(where);
  const T* p = c.data<T>(where);
  return std::vector<T>(p, p + impl_->view.numel());
}

}  // namespace wick
