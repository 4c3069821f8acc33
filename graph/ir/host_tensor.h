// HostTensor is a contiguous tensor on the host that owns its bytes, those of its strings included.
// Copies share them; nobody writes through a shared one. Bytes of a file may stay there: whoever
// first asks for them has them read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/ir/file_bytes.h"
#include "runtime/core/string_ref.h"
#include "runtime/core/tensor_view.h"

namespace wick {

// A tensor in the host's memory, shared by its copies and never changed: graphs' constants, and
// what the interpreter and sessions of tools read and return.
class HostTensor {
 public:
  HostTensor() = default;
  // Allocates zeros, 64-byte aligned. Throws Error if the shape is unsound or there is no memory.
  HostTensor(DType dtype, const Shape& shape);
  // Copies `bytes` (which must be exactly the tensor's). For strings it copies their text, too.
  HostTensor(DType dtype, const Shape& shape, const void* data, size_t bytes);

  // Returns a tensor of these values, in row-major order, as many as the shape has.
  template <class T>
  static HostTensor of(const Shape& shape, const std::vector<T>& values) {
    return HostTensor(dtype_of<T>, shape, values.data(), values.size() * sizeof(T));
  }
  // Takes its bytes from `offset` of the file, and reads them when they are asked for: data(), as()
  // and view() throw Error if the file can no longer be read. It cannot hold strings, whose bytes
  // refer to others.
  static HostTensor in_file(DType dtype, const Shape& shape, std::shared_ptr<const FileBytes> file,
                            uint64_t offset);
  // Makes a tensor of strings, in row-major order, as many as the shape has.
  static HostTensor strings(const Shape& shape, const std::vector<std::string>& values);
  // Makes an int64 tensor of rank 1.
  static HostTensor ints(Span<const int64_t> values);

  // Return its type and shape, whether there is a tensor, and the numbers of elements and bytes.
  DType dtype() const { return body().dtype; }
  const Shape& shape() const { return body().shape; }
  bool present() const { return dtype() != DType::kNone; }
  int64_t numel() const { return wick::numel(shape()); }
  size_t nbytes() const { return body().bytes; }
  // Includes the bytes of its strings, which follow its elements.
  size_t held_bytes() const { return body().bytes + body().string_bytes; }
  // Returns element i of a string tensor.
  std::string string_at(int64_t i) const;
  // Return the address of the first element, after reading the bytes from their file.
  void* data() { return there(); }
  const void* data() const { return there(); }
  // Returns where the bytes are or will be: equal for copies, which share them.
  const void* address() const { return body().data.get(); }
  // Returns non-null while the bytes are still in their file. The result lives as long as the
  // tensor.
  LentBytes* unread() const {
    const auto& lazy = body().lazy;
    return lazy != nullptr && !lazy->filled() ? lazy.get() : nullptr;
  }
  // Return it as a T*, which must be the dtype's type: nothing checks it.
  template <class T>
  T* as() {
    return static_cast<T*>(data());
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data());
  }
  // Returns a view of the bytes, valid as long as the tensor.
  TensorView view() const { return {there(), dtype(), shape()}; }
  // Returns the same bytes in another shape of as many elements.
  HostTensor reshaped(const Shape& shape) const;

 private:
  // What a tensor has, and its copies share: a value of a graph that is no constant has no more
  // than a pointer.
  struct Body {
    Body() = default;
    Body(DType type, const Shape& sizes);  // throws Error if the shape is unsound
    DType dtype = DType::kNone;
    Shape shape;
    size_t bytes = 0, string_bytes = 0;
    std::shared_ptr<char> data;
    std::shared_ptr<LazyBytes> lazy;  // the owner of data's memory; mostly null
  };

  char* there() const {
    if (body().lazy != nullptr) read_file();
    return body().data.get();
  }
  const Body& body() const { return body_ != nullptr ? *body_ : none(); }
  static const Body& none();  // of a tensor that is not there
  void read_file() const;
  void own(Span<const StringRef> from);
  void own_packed();

  std::shared_ptr<Body> body_;
};

// Returns the integers of an int32 / int64 tensor.
std::vector<int64_t> int_values(const HostTensor& t);
// Returns whether dtype, shape and bits are equal, every NaN counting as one value; for strings,
// the text.
bool same_bits(const HostTensor& a, const HostTensor& b);
// Returns an element of a floating-point or integer tensor as a double; bool is 0 or 1.
double element_as_double(const HostTensor& t, int64_t index);
// Returns a tensor of complex numbers as one of their real and imaginary parts, [n, 2]; any other
// as it is.
HostTensor complex_parts(const HostTensor& t);
// Returns how far an element of two tensors of one dtype is apart: 0 for equal numbers only, also
// for integers of more digits than a double has; NaN where one of them is NaN.
double element_distance(const HostTensor& a, const HostTensor& b, int64_t index);

}  // namespace wick
