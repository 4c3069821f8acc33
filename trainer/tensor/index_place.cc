#include "trainer/tensor/index_place.h"

#include <algorithm>

#include "runtime/core/int_at.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/lines.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/index.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"

namespace wick::indexing {
namespace {

using Kind = TensorIndex::Kind;

bool is_mask(const Tensor& t) { return t.dtype() == DType::kBool || t.dtype() == DType::kU8; }

std::string text(const Shape& s) { return to_text(s).text; }

[[noreturn]] void out_of_bounds(const char* op, int64_t at, int dim, int64_t size,
                                const Where& where) {
  throw_error(op,
              "index " + std::to_string(at) + " is out of bounds for dimension " +
                  std::to_string(dim) + " with size " + std::to_string(size),
              where);
}

int dims_taken(const TensorIndex& i) {
  switch (i.kind) {
    case Kind::kInt:
    case Kind::kSlice: return 1;
    case Kind::kTensor:  // index() refuses an undefined one
      return i.tensor.defined() && is_mask(i.tensor) ? i.tensor.rank() : 1;
    default: return 0;
  }
}

// Processes the entries, keeping `view` and the current dim.
class Walk {
 public:
  Walk(const char* op, const Tensor& x, const Indices& at, const Where& where) {
    place_.view = x;
    place_.op = op;
    place_.where = where;
    int taken = 0, dots = 0;
    for (const TensorIndex& i : at) {
      taken += dims_taken(i);
      dots += i.kind == Kind::kEllipsis ? 1 : 0;
    }
    if (dots > 1) fail("an index can have one Ellipsis only");
    if (taken > x.rank()) {
      fail("too many indices (" + std::to_string(taken) + ") for a tensor of dimension " +
           std::to_string(x.rank()) + ", " + text(x.raw_shape()));
    }
    skipped_ = x.rank() - taken;
    for (const TensorIndex& i : at) step(i);
    skip(x.rank() - source_);
    place_.tensors.resize(static_cast<size_t>(place_.view.rank()));
  }
  Place take() { return std::move(place_); }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw_error(place_.op, what, place_.where);
  }

  void skip(int dims) {
    for (int i = 0; i < dims; ++i) keep(source_++);
  }
  void keep(int source) {
    place_.source.push_back(source);
    place_.tensors.resize(place_.source.size());
    ++dim_;
  }

  void step(const TensorIndex& i) {
    Tensor& v = place_.view;
    const Where& where = place_.where;
    switch (i.kind) {
      case Kind::kInt: return select(i.number);
      case Kind::kSlice: {
        int64_t start = i.slice.start.value_or(0), stop = i.slice.stop.value_or(INT64_MAX);
        int64_t by = i.slice.step.value_or(1);
        if (by <= 0)
          fail("the step of a slice must be positive, got " + std::to_string(by) +
               ": flip() reverses a dimension");
        if (start != 0 || stop != INT64_MAX || by != 1) v = v.slice(dim_, start, stop, by, where);
        return keep(source_++);
      }
      case Kind::kEllipsis: return skip(skipped_);
      case Kind::kNone: v = v.unsqueeze(dim_, where); return keep(-1);
      case Kind::kBool: return flag(i.number != 0);
      case Kind::kTensor: return index(i.tensor);
    }
  }

  void select(int64_t at) {
    int64_t n = place_.view.raw_shape()[dim_];
    if (at < -n || at >= n) out_of_bounds(place_.op, at, source_, n, place_.where);
    place_.view = place_.view.select(dim_, at, place_.where);
    ++source_;
  }

  // x[true] is x with a new first dim of size 1, x[false] with one of size 0; both count as index
  // tensors.
  void flag(bool on) {
    place_.view = place_.view.unsqueeze(dim_, place_.where);
    keep(-1);
    place_.tensors.back() = zeros({on ? 1 : 0}, DType::kI64);
    ++advanced_;
    place_.mask = -1;
  }

  void index(const Tensor& t) {
    if (!t.defined()) fail("an index tensor is undefined");
    if (is_mask(t)) return mask(t);
    if (t.dtype() != DType::kI64 && t.dtype() != DType::kI32) {
      fail(std::string("index tensors must be int64, int32, uint8 or bool, got ") +
           dtype_name(t.dtype()) + ": call .to(DType::kI64)");
    }
    if (t.rank() == 0) {  // an int; under capture it is read when the graph runs
      if (active_tracer() == nullptr) return select(t.item_int());
      place_.view = call(OpId::kGather, AxisAttrs{dim_}, {{place_.view, place_.where}, t});
      ++source_;
      return;
    }
    check_bounds(t);
    keep(source_++);
    place_.tensors.back() = t;
    ++advanced_;
    place_.mask = -1;
  }

  void check_bounds(const Tensor& t) {
    if (t.is_vulkan()) return;  // the shader that reads them checks
    int64_t n = place_.view.raw_shape()[dim_];
    Tensor c = t;
    if (!t.is_contiguous()) {
      NoGrad guard;
      TracerScope untraced(nullptr);
      c = t.contiguous(place_.where);
    }
    for (int64_t k = 0, count = c.layout().numel(); k < count; ++k) {
      const int64_t at = int_at(c.raw(), k);
      if (at < -n || at >= n) out_of_bounds(place_.op, at, source_, n, place_.where);
    }
    if (Recorder* r = modes().recorder) [[unlikely]] {
      r->on_check(
          c,
          [n](const TensorView& v) {
            for (int64_t k = 0, count = v.numel(); k < count; ++k) {
              const int64_t at = int_at(v, k);
              if (at < -n || at >= n) return false;
            }
            return true;
          },
          place_.op, place_.where);
    }
  }

  void mask(const Tensor& t) {
    const Shape& s = place_.view.raw_shape();
    if (t.rank() == 0) {
      refuse_capture(place_.op, place_.where);
      return flag(t.item_int() != 0);
    }
    for (int d = 0; d < t.rank(); ++d) {
      if (t.raw_shape()[d] == s[dim_ + d]) continue;
      fail("the shape of the mask " + text(t.raw_shape()) + " at dimension " + std::to_string(d) +
           " does not match the shape of the indexed tensor " + text(s) + " at dimension " +
           std::to_string(dim_ + d));
    }
    place_.mask = advanced_ == 0 ? dim_ : -1;
    for (int d = 0; d < t.rank(); ++d) keep(source_++);
    // stored at its first dim; resolve() replaces it by index tensors
    place_.tensors[place_.tensors.size() - static_cast<size_t>(t.rank())] = t;
    ++advanced_;
  }

  Place place_;
  int dim_ = 0, source_ = 0, skipped_ = 0, advanced_ = 0;
};

}  // namespace

Place place_of(const char* op, const Tensor& x, const Indices& at, const Where& where) {
  return Walk(op, x, at, where).take();
}

Shape resolve(Place& p) {
  for (size_t d = 0; d < p.tensors.size(); ++d) {
    Tensor t = p.tensors[d];
    if (!t.defined() || !is_mask(t)) continue;
    refuse_capture(p.op, p.where);
    NoGrad guard;
    Tensor places = call(OpId::kNonZero, NoAttrs{}, {{t, p.where}});
    for (int k = 0; k < t.rank(); ++k)
      p.tensors[d + static_cast<size_t>(k)] = places.select(0, k, p.where);
  }
  Shape common;
  std::vector<int> dims = p.indexed();
  auto at = [&](int d) -> Tensor& { return p.tensors[static_cast<size_t>(d)]; };
  for (int d : dims) {
    Shape s = at(d).raw_shape(), wider;
    int rank = std::max(common.rank(), s.rank());
    for (int i = 0; i < rank; ++i) {
      int a = i - (rank - common.rank()), b = i - (rank - s.rank());
      int64_t n = a < 0 ? 1 : common[a], m = b < 0 ? 1 : s[b];
      if (n != m && n != 1 && m != 1) {
        throw_error(p.op,
                    "index tensors of shapes " + text(common) + " and " + text(s) +
                        " do not broadcast together",
                    p.where, Code::kShapeMismatch);
      }
      wider.push_back(n == 1 ? m : n);
    }
    common = wider;
  }
  const int rank = common.rank() + p.view.rank() - static_cast<int>(dims.size());
  if (rank > kMaxRank) {
    throw_error(p.op,
                "index tensors of shape " + text(common) + " in a tensor of shape " +
                    text(p.view.raw_shape()) + " make " + std::to_string(rank) +
                    " dimensions; at most " + std::to_string(kMaxRank) + " are supported",
                p.where, Code::kShapeMismatch);
  }
  for (int d : dims) {
    if (dims.size() > 1) at(d) = at(d).to(DType::kI64, p.where);
    if (!(at(d).raw_shape() == common)) at(d) = at(d).expand(common, p.where);
  }
  return common;
}

}  // namespace wick::indexing
