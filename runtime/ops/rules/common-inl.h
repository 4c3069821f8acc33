// Shared by the families of rules. Included by one .cc per Dim.
#pragma once

#include "runtime/ops/rule.h"

namespace wick::rules {

// Saturating sums and products of numbers from a file: a result that does not fit is too large for
// any shape (checked_bytes), and stays so.
inline int64_t dim_add(int64_t a, int64_t b) {
  int64_t sum;
  return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}
inline int64_t dim_mul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
template <class D>
D dim_add(const D& a, const D& b) {
  return dim_known(a) && dim_known(b) ? D(dim_add(dim_value(a), dim_value(b))) : a + b;
}
template <class D>
D dim_mul(const D& a, const D& b) {
  return dim_known(a) && dim_known(b) ? D(dim_mul(dim_value(a), dim_value(b))) : a * b;
}

template <class D>
Status shapes_differ(const char* what, const BasicShape<D>& a, const BasicShape<D>& b) {
  return error(Code::kShapeMismatch, "%s: %s and %s", what, to_text(a).text, to_text(b).text);
}

// Checks that a gradient's first input has the shape of the forward op's output: kernels rely on
// it.
template <class D>
Status need_grad_shape(const BasicShape<D>& forward, const BasicShape<D>& g) {
  bool same = g.rank() == forward.rank();
  for (int d = 0; same && d < g.rank(); ++d) same = dim_equal(g[d], forward[d]) != Tri::kNo;
  return same ? Status() : shapes_differ("the gradient is not of the output's shape", g, forward);
}

// Broadcasts a and b like NumPy. Where symbols leave it open, the known or larger side is taken:
// the int64 rule checks again when sizes are known.
template <class D>
Status broadcast(const BasicShape<D>& a, const BasicShape<D>& b, BasicShape<D>* out) {
  int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  BasicShape<D> result;
  result.set_rank(rank);
  for (int i = 0; i < rank; ++i) {
    int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    D da = ia < 0 ? D(1) : a[ia], db = ib < 0 ? D(1) : b[ib];
    if (dim_equal(da, D(1)) == Tri::kYes) {
      result[i] = db;
    } else if (dim_equal(db, D(1)) == Tri::kYes || dim_equal(da, db) == Tri::kYes) {
      result[i] = da;
    } else if (dim_known(da) && dim_known(db)) {
      return error(Code::kShapeMismatch,
                   "shapes do not broadcast: %s and %s differ at dimension %d (%lld and %lld); "
                   "from the last one on, sizes must be equal or 1",
                   to_text(a).text, to_text(b).text, i, static_cast<long long>(dim_value(da)),
                   static_cast<long long>(dim_value(db)));
    } else {
      result[i] = dim_known(da) ? da : dim_known(db) ? db : dim_max(da, db);
    }
  }
  *out = result;
  return {};
}

template <class D>
Status need_rank(const ValueInfo<D>& v, int lo, int hi, const char* name) {
  if (v.rank() >= lo && v.rank() <= hi) return {};
  if (lo == hi)
    return error(Code::kShapeMismatch, "%s must have rank %d, got %s", name, lo,
                 to_text(v.shape).text);
  return error(Code::kShapeMismatch, "%s must have rank %d to %d, got %s", name, lo, hi,
               to_text(v.shape).text);
}

template <class D>
Status same_dtype(RuleCtx<D>& c) {
  for (size_t i = 1; i < c.in.size(); ++i) {
    if (c.in[i].present() && c.in[i].dtype != c.in[0].dtype) {
      return error(Code::kTypeMismatch, "inputs must have one dtype, got %s and %s",
                   dtype_name(c.in[0].dtype), dtype_name(c.in[i].dtype));
    }
  }
  return {};
}

inline bool is_number(DType t) { return is_float(t) || is_int(t); }

template <class D>
Status need_float(const ValueInfo<D>& v) {
  if (is_float(v.dtype)) return {};
  return error(Code::kTypeMismatch, "needs a floating-point tensor, got %s", dtype_name(v.dtype));
}
template <class D>
Status need_number(const ValueInfo<D>& v) {
  if (is_number(v.dtype)) return {};
  return error(Code::kTypeMismatch, "needs a numeric tensor, got %s", dtype_name(v.dtype));
}
template <class D>
Status need_int(const ValueInfo<D>& v) {
  if (is_int(v.dtype)) return {};
  return error(Code::kTypeMismatch, "needs an integer tensor, got %s", dtype_name(v.dtype));
}
template <class D>
Status need_bool(const ValueInfo<D>& v) {
  if (v.dtype == DType::kBool) return {};
  return error(Code::kTypeMismatch, "needs a bool tensor, got %s", dtype_name(v.dtype));
}

// Checks that the input is one number, of rank 0 or 1.
template <class D>
Status need_one(const ValueInfo<D>& v, const char* name) {
  if (v.rank() == 0 || (v.rank() == 1 && dim_equal(v.shape[0], D(1)) != Tri::kNo)) return {};
  return error(Code::kInvalidArgument, "%s must be one number, got %s", name,
               to_text(v.shape).text);
}

template <class D>
void set_out(RuleCtx<D>& c, size_t i, DType dtype, const BasicShape<D>& shape) {
  c.out[i].dtype = dtype;
  c.out[i].shape = shape;
}

inline Result<int> normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return error(Code::kInvalidArgument, "axis %lld out of range for rank %d",
                 static_cast<long long>(axis), rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// Returns the product of the dims [from, to).
template <class D>
D product(const BasicShape<D>& s, int from, int to) {
  D p(1);
  for (int i = from; i < to; ++i) p = p * s[i];
  return p;
}

// The integers that an op reads as `name`: from optional input `i` where present (its values must
// be known), else from `attr`. At most N entries.
template <class D, int N>
struct DimArgs {
  D values[N] = {};
  int count = 0;
  bool given = false;  // by the input or by a non-empty attribute
};
template <class D, int N, class List>
Status read_dims(const RuleCtx<D>& c, size_t i, const List& attr, const char* name,
                 DimArgs<D, N>* out) {
  if (c.has(i)) {
    const ValueInfo<D>& v = c.in[i];
    if (!is_int(v.dtype)) {
      return error(Code::kTypeMismatch, "%s must be an integer tensor, got %s", name,
                   dtype_name(v.dtype));
    }
    if (v.rank() > 1)
      return error(Code::kShapeMismatch, "%s must have rank 1, got rank %d", name, v.rank());
    if (v.elements == nullptr && !(v.rank() == 1 && dim_equal(v.shape[0], D(0)) == Tri::kYes)) {
      return needs_value();
    }
    if (v.element_count > N) {
      return error(Code::kInvalidArgument, "%s has %lld entries, at most %d are allowed", name,
                   static_cast<long long>(v.element_count), N);
    }
    for (const D& d : v.values()) out->values[out->count++] = d;
    out->given = true;
    return {};
  }
  for (int64_t d : attr.span()) out->values[out->count++] = D(d);
  out->given = out->count > 0;
  return {};
}

// Stores for kernels the one number that optional input i holds, else `otherwise`. A rule that does
// not need it for a shape does not require it where ShapeArgs are not wanted.
template <class D>
Status keep_number(const RuleCtx<D>& c, size_t i, int64_t otherwise) {
  if (c.args == nullptr) return {};
  c.args->number.value = otherwise;
  if (!c.has(i)) return {};
  if (c.in[i].elements == nullptr) return needs_value();
  c.args->number.value = dim_value(c.in[i].elements[0]);
  return {};
}

// Axes as a mask over `rank`, from input i or the attribute. Their values must be known.
struct AxisMask {
  bool set[kMaxRank] = {};
  int list[kMaxRank] = {};  // normalised, in the order given
  int count = 0;
  bool given = false;
};
template <class D, class List>
Status read_axes(const RuleCtx<D>& c, size_t i, const List& attr, int rank, AxisMask* out) {
  DimArgs<D, kMaxRank> args;
  WICK_TRY(read_dims(c, i, attr, "axes", &args));
  out->given = args.given;
  for (int k = 0; k < args.count; ++k) {
    if (!dim_known(args.values[k])) return needs_value();
    WICK_ASSIGN(int axis, normalize_axis(dim_value(args.values[k]), rank));
    if (out->set[axis]) return error(Code::kInvalidArgument, "axis %d is given twice", axis);
    out->set[axis] = true;
    out->list[out->count++] = axis;
  }
  return {};
}

}  // namespace wick::rules
