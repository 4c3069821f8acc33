#include "trainer/tensor/ops/view.h"

#include <algorithm>

#include "trainer/autograd/forward.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

// Returns the bytes of an element; 1 where it has no number of its own.
int64_t element_bytes(const TensorView& v) {
  return std::max<int64_t>(1, static_cast<int64_t>(dtype_size(v.dtype)));
}

int64_t offset_of(const TensorImpl* t) {
  if (t->view.data == nullptr || t->view.numel() == 0) return 0;
  return (static_cast<const char*>(t->view.data) - static_cast<const char*>(t->storage->data())) /
         element_bytes(t->view);
}

// Addresses x's memory by strides. The op is applied to the outermost contiguous tensor that shares
// x's bytes, so that it is one op for gradients and graphs, whatever x's own strides are.
Tensor strided(const char* name, const Arg& x, const Shape& size, const Shape& stride,
               int64_t offset) {
  TensorImpl *from = nullptr, *outermost = nullptr;
  for (TensorImpl* t = x.tensor.impl();; t = view_parent(*t->view_of)) {
    outermost = t->view.dtype == x.tensor.dtype() ? t : outermost;
    if (t->view.contiguous() && t->view.dtype == x.tensor.dtype()) from = t;
    if (!t->view_of || t->view_of->kind == ViewKind::kDetached ||
        t->view_of->kind == ViewKind::kBits)
      break;
  }
  Tensor whole = x.tensor;
  bool alien = false;  // whole has the bytes, but x was not taken from it
  if (from != nullptr) {
    whole = Tensor(IntrusivePtr<TensorImpl>(from));
  } else {  // a transposed tensor without such a base: sort its dims by descending stride
    whole = Tensor(IntrusivePtr<TensorImpl>(outermost));
    const TensorView& v = whole.layout();
    std::vector<int64_t> order;
    for (int i = 0; i < v.rank(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return v.strides[static_cast<int>(a)] > v.strides[static_cast<int>(b)];
    });
    whole = permute({whole, x.where}, Shape(Span<const int64_t>(order.data(), order.size())));
    if (!whole.is_contiguous()) {
      // A part of memory with an unknown owner (e.g. from detach()): use the memory itself, if
      // there is no history to follow.
      if (x.tensor.requires_grad() || tangent_of(x.tensor).defined() || active_tracer() != nullptr)
        throw_error(name, "the tensor's memory is not in one piece: call contiguous() first",
                    x.where);
      const Storage& memory = x.tensor.storage();
      const TensorView& v = x.tensor.layout();
      const int64_t elements = static_cast<int64_t>(memory.bytes()) / element_bytes(v);
      whole = alias(x.tensor, TensorView(memory.data(), v.dtype, {elements}));
      alien = true;
    }
  }
  StridedAttrs a;
  a.sizes = sizes_of(name, size, x.where);
  a.strides = sizes_of(name, stride, x.where);
  a.offset = offset - offset_of(whole.impl());
  Tensor out = call(OpId::kAsStrided, a, {{whole, x.where}});
  // A recorded write through it would not reach x: refuse it, like one through a view taken under
  // NoGrad.
  if (alien && out.impl()->view_of) out.impl()->view_of->kind = ViewKind::kNoGrad;
  return out;
}

int dim_of(const char* name, const Arg& x, int dim) {
  return wrap_dim(name, dim, x.tensor.rank(), x.where);
}

Shape strides_of(const Tensor& t) {
  Shape s;
  for (int i = 0; i < t.rank(); ++i) s.push_back(t.strides()[i]);
  return s;
}

std::vector<Tensor> split_at(const Arg& x, const std::vector<int64_t>& ends, int d) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t end : ends) {
    parts.push_back(x.tensor.slice(d, at, end, 1, x.where));
    at = end;
  }
  return parts;
}

// hsplit, vsplit and dsplit need equal parts.
template <class How>
std::vector<Tensor> split_dim(const char* name, const Arg& x, const How& how, int dim, int rank) {
  if (x.tensor.rank() < rank) {
    throw_error(name,
                "needs rank " + std::to_string(rank) + " or more, got " +
                    to_text(x.tensor.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  }
  if constexpr (std::is_same_v<How, int64_t>) {
    if (how < 1 || x.tensor.raw_shape()[dim] % how != 0) {
      throw_error(name,
                  std::string("dimension ") + std::to_string(dim) + " of " +
                      to_text(x.tensor.raw_shape()).text + " does not divide into " +
                      std::to_string(how) + " parts",
                  x.where, Code::kShapeMismatch);
    }
  }
  return tensor_split(x, how, dim);
}

}  // namespace

int64_t copies_made() { return modes().copies; }

Tensor as_strided(const Arg& x, const Shape& size, const Shape& stride, int64_t offset) {
  if (size.rank() != stride.rank())
    throw_error("as_strided", "size and stride must have one length", x.where);
  for (int64_t s : stride) {
    if (s < 0) throw_error("as_strided", "strides must not be negative", x.where);
  }
  return strided("as_strided", x, size, stride, offset < 0 ? offset_of(x.tensor.impl()) : offset);
}

Tensor unfold(const Arg& x, int dim, SizeArg size, SizeArg step) {
  if (x.tensor.rank() == 0)
    return unfold({x.tensor.unsqueeze(0, x.where), x.where}, 0, size, step).select(0, 0, x.where);
  int d = dim_of("unfold", x, dim);
  int64_t n = x.tensor.raw_shape()[d];
  if (size < 0 || size > n || step < 1) {
    throw_error("unfold",
                "windows of " + std::to_string(size) + ", " + std::to_string(step) +
                    " apart, do not fit into dimension " + std::to_string(d) + " of " +
                    to_text(x.tensor.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  }
  Shape sizes = x.tensor.raw_shape(), strides = strides_of(x.tensor);
  sizes.push_back(size);
  strides.push_back(strides[d]);
  // In arithmetic of Dims, which a capture follows: it could not guess a division by any step.
  const Dim windows = (x.tensor.size(d, x.where) - size.number) / step.number + 1;
  sizes[d] = windows.peek();
  strides[d] *= step;
  return strided("unfold", x, sizes, strides, offset_of(x.tensor.impl()));
}

Tensor diagonal(const Arg& x, SizeArg offset, int dim1, int dim2) {
  int a = dim_of("diagonal", x, dim1), b = dim_of("diagonal", x, dim2);
  if (a == b) throw_error("diagonal", "dim1 and dim2 are the same dimension", x.where);
  const Shape& shape = x.tensor.raw_shape();
  Shape steps = strides_of(x.tensor), sizes, strides;
  int64_t rows = shape[a] + std::min<int64_t>(offset, 0),
          columns = shape[b] - std::max<int64_t>(offset, 0);
  int64_t n = std::max<int64_t>(0, std::min(rows, columns));
  for (int i = 0; i < shape.rank(); ++i) {
    if (i == a || i == b) continue;
    sizes.push_back(shape[i]);
    strides.push_back(steps[i]);
  }
  sizes.push_back(n);
  strides.push_back(steps[a] + steps[b]);
  int64_t start = offset >= 0 ? offset * steps[b] : -offset * steps[a];
  return strided("diagonal", x, sizes, strides, offset_of(x.tensor.impl()) + (n > 0 ? start : 0));
}

Tensor reshape(const Arg& x, const SizeList& shape) { return x.tensor.reshape(shape, x.where); }
Tensor view_as(const Arg& x, const Arg& other) {
  return x.tensor.view(other.tensor.shape(other.where), x.where);
}
Tensor reshape_as(const Arg& x, const Arg& other) {
  return x.tensor.reshape(other.tensor.shape(other.where), x.where);
}
Tensor expand_as(const Arg& x, const Arg& other) {
  return x.tensor.expand(other.tensor.shape(other.where), x.where);
}
Tensor broadcast_to(const Arg& x, const SizeList& shape) { return x.tensor.expand(shape, x.where); }

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors, Where where) {
  Shape shape;
  for (const Tensor& t : tensors) {
    const Shape from = t.raw_shape(where), before = shape;
    const int rank = std::max(from.rank(), before.rank());
    shape = {};
    for (int i = 0; i < rank; ++i) {
      const auto dim = [&](const Shape& s) {
        const int d = i - rank + s.rank();
        return d < 0 ? int64_t{1} : s[d];
      };
      const int64_t a = dim(before), b = dim(from);
      if (a != b && a != 1 && b != 1) {
        throw_error(
            "broadcast_tensors",
            std::string(to_text(from).text) + " does not broadcast with " + to_text(before).text,
            where, Code::kShapeMismatch);
      }
      shape.push_back(a == 1 ? b : a);
    }
  }
  std::vector<Tensor> all;
  for (const Tensor& t : tensors) all.push_back(t.expand(shape, where));
  return all;
}

Tensor permute(const Arg& x, const Shape& axes) {
  TransposeAttrs a;
  int rank = x.tensor.rank();
  if (axes.rank() != rank) {
    throw_error("permute",
                "needs " + std::to_string(rank) + " axes, got " + std::to_string(axes.rank()),
                x.where);
  }
  for (int64_t axis : axes)
    a.perm.values[a.perm.count++] = wrap_dim("permute", axis, rank, x.where);
  return call(OpId::kTranspose, a, {x});
}
Tensor transpose(const Arg& x, int dim0, int dim1) {
  return x.tensor.transpose(dim0, dim1, x.where);
}
Tensor swapaxes(const Arg& x, int dim0, int dim1) { return transpose(x, dim0, dim1); }
Tensor swapdims(const Arg& x, int dim0, int dim1) { return transpose(x, dim0, dim1); }
Tensor t(const Arg& x) { return x.tensor.t(x.where); }
Tensor adjoint(const Arg& x) {
  if (x.tensor.rank() < 2) {
    throw_error("adjoint", "needs rank 2 or more, got rank " + std::to_string(x.tensor.rank()),
                x.where, Code::kShapeMismatch);
  }
  return transpose(x, -2, -1);
}

Tensor movedim(const Arg& x, const Shape& from, const Shape& to) {
  const int rank = x.tensor.rank(), least = std::max(rank, 1);  // a number has dims 0 and -1
  if (from.rank() != to.rank())
    throw_error("movedim", "source and destination must have one length", x.where);
  int64_t at[kMaxRank];  // the dim at place i
  bool moved[kMaxRank] = {};
  std::fill(at, at + kMaxRank, -1);
  for (int i = 0; i < from.rank(); ++i) {
    int f = wrap_dim("movedim", from[i], least, x.where),
        p = wrap_dim("movedim", to[i], least, x.where);
    if (moved[f] || at[p] != -1) throw_error("movedim", "a dimension is given twice", x.where);
    moved[f] = true;
    at[p] = f;
  }
  Shape axes;
  for (int place = 0, next = 0; place < rank; ++place) {
    if (at[place] == -1) {
      while (moved[next]) ++next;
      at[place] = next++;
    }
    axes.push_back(at[place]);
  }
  return rank == 0 ? view_of_all(x.tensor, x.where) : permute(x, axes);
}
Tensor movedim(const Arg& x, int from, int to) { return movedim(x, Shape{from}, Shape{to}); }
Tensor moveaxis(const Arg& x, int from, int to) { return movedim(x, from, to); }
Tensor moveaxis(const Arg& x, const Shape& from, const Shape& to) { return movedim(x, from, to); }

Tensor narrow(const Arg& x, int dim, SizeArg start, SizeArg length) {
  return x.tensor.narrow(dim, start, length, x.where);
}
Tensor select(const Arg& x, int dim, SizeArg index) { return x.tensor.select(dim, index, x.where); }
Tensor squeeze(const Arg& x) { return x.tensor.squeeze(x.where); }
Tensor squeeze(const Arg& x, int dim) { return x.tensor.squeeze(dim, x.where); }
Tensor squeeze(const Arg& x, const Shape& dims) {
  AxesAttrs a;
  for (int64_t dim : dims) {
    int d = wrap_dim("squeeze", dim, std::max(x.tensor.rank(), 1), x.where);
    if (d < x.tensor.rank() && x.tensor.raw_shape()[d] == 1) a.axes.values[a.axes.count++] = d;
  }
  if (a.axes.empty()) return view_of_all(x.tensor, x.where);
  return call(OpId::kSqueeze, a, {x});
}
Tensor unsqueeze(const Arg& x, int dim) { return x.tensor.unsqueeze(dim, x.where); }
Tensor flatten(const Arg& x, int start_dim, int end_dim) {
  return x.tensor.flatten(start_dim, end_dim, x.where);
}
Tensor ravel(const Arg& x) { return x.tensor.reshape({-1}, x.where); }
Tensor unflatten(const Arg& x, int dim, const SizeList& sizes) {
  int d = dim_of("unflatten", x, dim);
  sizes_of("unflatten", sizes, x.where);
  const Shape& from = x.tensor.raw_shape();
  int64_t known = 1, rest = -1;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == -1 && rest < 0) {
      rest = i;
    } else {
      known = saturated_product(known, sizes[i]);
    }
  }
  Shape cut = sizes;
  if (rest >= 0 && known > 0 && from[d] % known == 0) {
    cut[static_cast<int>(rest)] = from[d] / known;
    known = from[d];
  }
  if (sizes.rank() == 0 || known != from[d]) {
    throw_error("unflatten",
                std::string(to_text(sizes).text) + " does not multiply to dimension " +
                    std::to_string(d) + " of " + to_text(from).text,
                x.where, Code::kShapeMismatch);
  }
  if (from.rank() + cut.rank() - 1 > kMaxRank) {
    throw_error("unflatten",
                std::string(to_text(sizes).text) + " in dimension " + std::to_string(d) + " of " +
                    to_text(from).text + " makes " + std::to_string(from.rank() + cut.rank() - 1) +
                    " dimensions; at most " + std::to_string(kMaxRank) + " are supported",
                x.where, Code::kShapeMismatch);
  }
  // Leading dims are copied (0) and may stay symbolic.
  ReshapeAttrs a;
  a.allowzero = numel(from) == 0 ? 1 : 0;
  for (int i = 0; i < d; ++i) a.shape.values[a.shape.count++] = a.allowzero != 0 ? from[i] : 0;
  for (int64_t s : cut) a.shape.values[a.shape.count++] = s;
  for (int i = d + 1; i < from.rank(); ++i) a.shape.values[a.shape.count++] = from[i];
  return call(OpId::kReshape, a, {x});
}

Tensor atleast_1d(const Arg& x) {
  return x.tensor.rank() > 0 ? x.tensor : x.tensor.unsqueeze(0, x.where);
}
Tensor atleast_2d(const Arg& x) {
  return x.tensor.rank() > 1 ? x.tensor : atleast_1d(x).unsqueeze(0, x.where);
}
Tensor atleast_3d(const Arg& x) {
  return x.tensor.rank() > 2 ? x.tensor : atleast_2d(x).unsqueeze(-1, x.where);
}

std::vector<Tensor> split_with_sizes(const Arg& x, const SizeList& sizes, int dim) {
  int d = dim_of("split_with_sizes", x, dim);
  std::vector<int64_t> ends;
  int64_t at = 0;
  for (int64_t n : sizes) {
    if (n < 0) throw_error("split_with_sizes", "sizes must not be negative", x.where);
    ends.push_back(at += n);
  }
  if (at != x.tensor.raw_shape()[d]) {
    throw_error("split_with_sizes",
                std::string(to_text(sizes).text) + " does not add up to dimension " +
                    std::to_string(d) + " of " + to_text(x.tensor.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  }
  return split_at(x, ends, d);
}
std::vector<Tensor> chunk(const Arg& x, SizeArg chunks, int dim) {
  int d = dim_of("chunk", x, dim);
  if (chunks < 1) throw_error("chunk", "needs at least one chunk", x.where);
  // In arithmetic of Dims, as in unfold().
  const Dim n = x.tensor.size(d, x.where), each = (n + (chunks.number - 1)) / chunks.number;
  std::vector<int64_t> ends;
  if (each.peek() == 0) ends.assign(static_cast<size_t>(chunks), 0);
  for (int64_t i = 1; (i - 1) * each.peek() < n.peek(); ++i)
    ends.push_back(std::min(n, each * i).peek());
  return split_at(x, ends, d);
}
std::vector<Tensor> tensor_split(const Arg& x, int64_t sections, int dim) {
  int d = dim_of("tensor_split", x, dim);
  if (sections < 1) throw_error("tensor_split", "needs at least one section", x.where);
  // In arithmetic of Dims, as in unfold(): the first parts are one longer.
  const Dim n = x.tensor.size(d, x.where), each = n / sections, longer = n % sections;
  std::vector<int64_t> ends;
  for (int64_t i = 1; i <= sections; ++i) ends.push_back((each * i + std::min(longer, i)).peek());
  return split_at(x, ends, d);
}
std::vector<Tensor> tensor_split(const Arg& x, const Shape& indices, int dim) {
  int d = dim_of("tensor_split", x, dim);
  int64_t n = x.tensor.raw_shape()[d];
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int i = 0; i <= indices.rank(); ++i) {
    int64_t end = i < indices.rank() ? indices[i] : n;
    parts.push_back(x.tensor.slice(d, at, end, 1, x.where));
    at = end;
  }
  return parts;
}
std::vector<Tensor> unbind(const Arg& x, int dim) {
  int d = dim_of("unbind", x, dim);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.tensor.raw_shape()[d]; ++i)
    parts.push_back(x.tensor.select(d, i, x.where));
  return parts;
}

std::vector<Tensor> hsplit(const Arg& x, int64_t sections) {
  return split_dim("hsplit", x, sections, x.tensor.rank() == 1 ? 0 : 1, 1);
}
std::vector<Tensor> hsplit(const Arg& x, const Shape& indices) {
  return split_dim("hsplit", x, indices, x.tensor.rank() == 1 ? 0 : 1, 1);
}
std::vector<Tensor> vsplit(const Arg& x, int64_t sections) {
  return split_dim("vsplit", x, sections, 0, 2);
}
std::vector<Tensor> vsplit(const Arg& x, const Shape& indices) {
  return split_dim("vsplit", x, indices, 0, 2);
}
std::vector<Tensor> dsplit(const Arg& x, int64_t sections) {
  return split_dim("dsplit", x, sections, 2, 3);
}
std::vector<Tensor> dsplit(const Arg& x, const Shape& indices) {
  return split_dim("dsplit", x, indices, 2, 3);
}

}  // namespace wick
