#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

template <class D>
Status reshape(RuleCtx<D>& c) {
  const auto& a = c.template as<ReshapeAttrs>();
  const auto& x = c.in[0].shape;
  DimArgs<D, kMaxRank> want;
  WICK_TRY(read_dims(c, 1, a.shape, "shape", &want));
  BasicShape<D> out;
  int inferred = -1;
  for (int i = 0; i < want.count; ++i) {
    D d = want.values[i];
    if (dim_known(d) && dim_value(d) == -1) {
      if (inferred >= 0)
        return Status(Code::kInvalidArgument, "only one dimension of shape may be -1");
      inferred = i;
      d = D(1);
    } else if (dim_known(d) && dim_value(d) == 0 && a.allowzero == 0) {
      if (i >= x.rank())
        return error(Code::kInvalidArgument, "shape copies dimension %d of %s", i, to_text(x).text);
      d = x[i];
    } else if (dim_known(d) && dim_value(d) < 0) {
      return error(Code::kInvalidArgument, "shape has a negative dimension: %s", to_text(out).text);
    }
    out.push_back(d);
  }
  if (inferred >= 0) {
    // Dims that occur on both sides are cancelled first, so that a symbolic batch drops out.
    D rest(1), total(1);
    bool used[kMaxRank] = {};
    for (int i = 0; i < out.rank(); ++i) {
      if (i == inferred) continue;
      bool cancelled = false;
      for (int j = 0; j < x.rank() && !cancelled; ++j) {
        if (!used[j] && dim_equal(out[i], x[j]) == Tri::kYes &&
            dim_equal(x[j], D(0)) != Tri::kYes) {
          used[j] = cancelled = true;
        }
      }
      if (!cancelled) rest = rest * out[i];
    }
    for (int j = 0; j < x.rank(); ++j) {
      if (!used[j]) total = total * x[j];
    }
    if (dim_known(rest) && dim_value(rest) == 0) {
      return error(Code::kShapeMismatch, "cannot infer -1 next to an empty dimension for input %s",
                   to_text(x).text);
    }
    out[inferred] =
        dim_known(rest) ? dim_floor_div(total, dim_value(rest)) : dim_open(out[inferred]);
    if (dim_known(rest) && dim_equal(out[inferred] * rest, total) == Tri::kNo) {
      return error(Code::kShapeMismatch,
                   "%s does not divide into the shape given (-1 would not be whole)",
                   to_text(x).text);
    }
  } else if (dim_equal(product(out, 0, out.rank()), product(x, 0, x.rank())) == Tri::kNo) {
    return shapes_differ("element counts differ", x, out);
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status flatten(RuleCtx<D>& c) {
  const auto& x = c.in[0].shape;
  int64_t axis = c.template as<AxisAttrs>().axis;
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank())
    return error(Code::kInvalidArgument, "axis out of range for rank %d", x.rank());
  int at = static_cast<int>(axis);
  set_out(c, 0, c.in[0].dtype, BasicShape<D>{product(x, 0, at), product(x, at, x.rank())});
  return {};
}

template <class D>
Status squeeze(RuleCtx<D>& c) {
  const auto& x = c.in[0].shape;
  AxisMask axes;
  WICK_TRY(read_axes(c, 1, c.template as<AxesAttrs>().axes, x.rank(), &axes));
  BasicShape<D> out;
  for (int i = 0; i < x.rank(); ++i) {
    Tri one = dim_equal(x[i], D(1));
    // without axes the rank depends on every size
    if (!axes.given && one == Tri::kUnknown) return needs_value();
    bool drop = axes.given ? axes.set[i] : one == Tri::kYes;
    if (!drop) {
      out.push_back(x[i]);
    } else if (one == Tri::kNo) {
      return error(Code::kShapeMismatch, "cannot squeeze axis %d of %s: it is not 1", i,
                   to_text(x).text);
    }
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status unsqueeze(RuleCtx<D>& c) {
  const auto& x = c.in[0].shape;
  DimArgs<D, kMaxRank> args;
  WICK_TRY(read_dims(c, 1, c.template as<AxesAttrs>().axes, "axes", &args));
  int rank = x.rank() + args.count;
  if (rank > kMaxRank)
    return error(Code::kShapeMismatch, "the result would have rank %d, at most %d", rank, kMaxRank);
  bool added[kMaxRank] = {};
  for (int k = 0; k < args.count; ++k) {
    if (!dim_known(args.values[k])) return needs_value();
    WICK_ASSIGN(int axis, normalize_axis(dim_value(args.values[k]), rank));
    if (added[axis]) return error(Code::kInvalidArgument, "axis %d is given twice", axis);
    added[axis] = true;
  }
  BasicShape<D> out;
  int from = 0;
  for (int i = 0; i < rank; ++i) out.push_back(added[i] ? D(1) : x[from++]);
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status transpose(RuleCtx<D>& c) {
  const auto& a = c.template as<TransposeAttrs>();
  const auto& x = c.in[0].shape;
  BasicShape<D> out;
  if (a.perm.empty()) {
    for (int i = x.rank() - 1; i >= 0; --i) out.push_back(x[i]);
  } else {
    bool seen[kMaxRank] = {};
    bool ok = a.perm.count == x.rank();
    for (int64_t p : a.perm.span()) {
      ok = ok && p >= 0 && p < x.rank() && !seen[p];
      if (!ok)
        return error(Code::kInvalidArgument, "perm is not a permutation of %s's axes",
                     to_text(x).text);
      seen[p] = true;
      out.push_back(x[static_cast<int>(p)]);
    }
    if (!ok)
      return error(Code::kInvalidArgument, "perm is not a permutation of %s's axes",
                   to_text(x).text);
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status expand(RuleCtx<D>& c) {
  DimArgs<D, kMaxRank> want;
  WICK_TRY(read_dims(c, 1, c.template as<ShapeAttrs>().shape, "shape", &want));
  BasicShape<D> to, out;
  for (int i = 0; i < want.count; ++i) {
    if (dim_known(want.values[i]) && dim_value(want.values[i]) < 0) {
      return Status(Code::kInvalidArgument, "shape has a negative dimension");
    }
    to.push_back(want.values[i]);
  }
  WICK_TRY(broadcast(c.in[0].shape, to, &out));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status concat(RuleCtx<D>& c) {
  WICK_TRY(same_dtype(c));
  auto out = c.in[0].shape;
  WICK_ASSIGN(int axis, normalize_axis(c.template as<AxisAttrs>().axis, out.rank()));
  for (size_t i = 1; i < c.in.size(); ++i) {
    const auto& s = c.in[i].shape;
    if (s.rank() != out.rank()) return shapes_differ("ranks differ", c.in[0].shape, s);
    for (int d = 0; d < out.rank(); ++d) {
      if (d == axis) {
        out[d] = dim_add(out[d], s[d]);
      } else if (dim_equal(out[d], s[d]) == Tri::kNo) {
        return shapes_differ("shapes differ outside the axis", c.in[0].shape, s);
      }
    }
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status split(RuleCtx<D>& c) {
  const auto& a = c.template as<SplitAttrs>();
  const auto& x = c.in[0].shape;
  WICK_ASSIGN(int axis, normalize_axis(a.axis, x.rank()));
  DimArgs<D, 64> sizes;
  WICK_TRY(read_dims(c, 1, a.sizes, "sizes", &sizes));
  auto parts = static_cast<int64_t>(c.out.size());
  if (parts == 0) return Status(Code::kInvalidArgument, "split needs at least one output");
  if (sizes.given && sizes.count != parts) {
    return error(Code::kInvalidArgument, "%d sizes for %lld outputs", sizes.count,
                 static_cast<long long>(parts));
  }
  D left = x[axis];
  D chunk = dim_floor_div(x[axis] + D(parts - 1), parts);
  for (int64_t i = 0; i < parts; ++i) {
    auto out = x;
    out[axis] = sizes.given ? sizes.values[i] : (i + 1 == parts ? left : chunk);
    if (dim_known(out[axis]) && dim_value(out[axis]) < 0) {
      return error(Code::kShapeMismatch, "axis %d of %s does not split into %lld parts", axis,
                   to_text(x).text, static_cast<long long>(parts));
    }
    left = left - out[axis];
    if (sizes.given && dim_known(left) && dim_value(left) < 0) {
      return error(Code::kShapeMismatch, "sizes add up to more than axis %d of %s", axis,
                   to_text(x).text);
    }
    set_out(c, static_cast<size_t>(i), c.in[0].dtype, out);
  }
  if (sizes.given && dim_equal(left, D(0)) == Tri::kNo) {
    return error(Code::kShapeMismatch, "sizes do not add up to axis %d of %s", axis,
                 to_text(x).text);
  }
  return {};
}

// The resolved slice of one axis.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};
// Clamps like ONNX for a known extent: a start before the axis becomes its first element, also for
// negative steps. step != 0.
inline SliceRange clamp_slice(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (extent == 0) return {0, step, 0};
  auto clamp = [](int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; };
  if (start < 0) start = start < -extent ? -1 : start + extent;
  if (end < 0) end = end < -extent ? -1 : end + extent;
  if (step > 0) {
    start = clamp(start, 0, extent);
    end = clamp(end, 0, extent);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = clamp(start, 0, extent - 1);
  end = clamp(end, -1, extent - 1);
  // -(step + 1) never overflows, unlike -step
  return {start, step,
          start > end ? static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) /
                                             (static_cast<uint64_t>(-(step + 1)) + 1)) +
                            1
                      : 0};
}

// Sets a step that is never taken to 1, so that step and start stay within the axis.
inline SliceRange resolve_slice(int64_t extent, int64_t start, int64_t end, int64_t step) {
  SliceRange r = clamp_slice(extent, start, end, step);
  if (r.count < 2) r.step = 1;
  if (r.count == 0) r.start = 0;
  return r;
}

// Resolves a start or end on a symbolic axis: at most the extent, counted from the end when
// negative. Returns false when its sign is unknown.
template <class D>
bool slice_point(const D& extent, const D& at, D* point) {
  if (dim_known(at) && dim_value(at) >= INT32_MAX) {
    *point = extent;
  } else if (dim_known(at) && dim_value(at) <= -INT32_MAX) {
    *point = D(0);
  } else if (dim_equal(dim_max(at, D(0)), at) == Tri::kYes) {
    *point = dim_min(at, extent);
  } else if (dim_equal(dim_max(at, D(-1)), D(-1)) == Tri::kYes) {
    *point = dim_max(extent + at, D(0));
  } else {
    return false;
  }
  return true;
}

// Returns the size of a slice with symbolic numbers; a new symbol where no expression describes it.
template <class D>
D slice_count(const D& extent, const D& start, const D& end, int64_t step) {
  D from(0), to(0);
  if (step == -1 && dim_known(start) && dim_value(start) == -1 && dim_known(end) &&
      dim_value(end) <= -INT32_MAX) {
    return extent;  // the whole axis, backwards
  }
  if (step < 1 || step > INT32_MAX || !slice_point(extent, start, &from) ||
      !slice_point(extent, end, &to)) {
    return dim_open(extent);
  }
  const D count = dim_max(to - from, D(0));
  return step == 1 ? count : dim_floor_div(count + D(step - 1), step);
}

template <class D>
Status slice(RuleCtx<D>& c) {
  const auto& a = c.template as<SliceAttrs>();
  auto out = c.in[0].shape;
  DimArgs<D, kMaxRank> starts, ends, steps;
  WICK_TRY(read_dims(c, 1, a.starts, "starts", &starts));
  WICK_TRY(read_dims(c, 2, a.ends, "ends", &ends));
  AxisMask axes;
  WICK_TRY(read_axes(c, 3, a.axes, out.rank(), &axes));
  WICK_TRY(read_dims(c, 4, a.steps, "steps", &steps));
  if (starts.count != ends.count || (axes.given && axes.count != starts.count) ||
      (steps.given && steps.count != starts.count) || starts.count > out.rank()) {
    return Status(Code::kInvalidArgument, "starts, ends, axes and steps must have one length");
  }
  for (int i = 0; c.args != nullptr && i < kMaxRank; ++i)
    c.args->slice.start[i] = 0, c.args->slice.step[i] = 1;
  for (int i = 0; i < starts.count; ++i) {
    int axis = axes.given ? axes.list[i] : i;
    D step = steps.given ? steps.values[i] : D(1);
    if (!dim_known(step)) {
      out[axis] = dim_open(out[axis]);
      continue;
    }
    if (dim_value(step) == 0) return Status(Code::kInvalidArgument, "step must not be 0");
    const D &start = starts.values[i], &end = ends.values[i];
    if (dim_known(out[axis]) && dim_known(start) && dim_known(end)) {
      const SliceRange r =
          resolve_slice(dim_value(out[axis]), dim_value(start), dim_value(end), dim_value(step));
      out[axis] = D(r.count);
      if (c.args != nullptr) c.args->slice.start[axis] = r.start, c.args->slice.step[axis] = r.step;
    } else {
      out[axis] = slice_count(out[axis], start, end, dim_value(step));
    }
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

constexpr int64_t kMaxPad = int64_t{1} << 60;  // the sum of an extent and two pads fits

template <class D>
Status pad(RuleCtx<D>& c) {
  const auto& a = c.template as<PadAttrs>();
  auto out = c.in[0].shape;
  DimArgs<D, 16> pads;
  WICK_TRY(read_dims(c, 1, a.pads, "pads", &pads));
  AxisMask axes;
  WICK_TRY(read_axes(c, 3, a.axes, out.rank(), &axes));
  int n = axes.given ? axes.count : out.rank();
  if (pads.count != 2 * n) {
    return error(Code::kInvalidArgument, "pads needs %d values for input %s, got %d", 2 * n,
                 to_text(out).text, pads.count);
  }
  if (c.has(2) && c.in[2].dtype != c.in[0].dtype) {
    return error(Code::kTypeMismatch, "the pad value is %s, the input %s",
                 dtype_name(c.in[2].dtype), dtype_name(c.in[0].dtype));
  }
  for (int i = 0; c.args != nullptr && i < kMaxRank; ++i) c.args->pad.before[i] = 0;
  for (int i = 0; i < n; ++i) {
    int axis = axes.given ? axes.list[i] : i;
    if (c.args != nullptr) c.args->pad.before[axis] = dim_value(pads.values[i]);
    for (const D& p : {pads.values[i], pads.values[i + n]}) {
      if (dim_known(p) && (dim_value(p) > kMaxPad || dim_value(p) < -kMaxPad)) {
        return error(Code::kInvalidArgument, "pads of axis %d are out of range: %lld", axis,
                     static_cast<long long>(dim_value(p)));
      }
    }
    D left = out[axis];  // of the axis, where a pad is negative
    for (const D& p : {pads.values[i], pads.values[i + n]}) {
      if (dim_known(p) && dim_value(p) < 0) left = dim_add(left, p);
    }
    out[axis] = dim_add(dim_add(out[axis], pads.values[i]), pads.values[i + n]);
    if (dim_known(out[axis]) && dim_value(out[axis]) < 0) {
      return error(Code::kShapeMismatch, "pads remove more than axis %d of %s holds", axis,
                   to_text(c.in[0].shape).text);
    }
    if (a.mode == static_cast<int64_t>(PadMode::kWrap) && dim_known(left) && dim_known(out[axis]) &&
        dim_value(left) < 1 && dim_value(out[axis]) > 0) {
      return error(Code::kShapeMismatch, "nothing of axis %d of %s is left to wrap", axis,
                   to_text(c.in[0].shape).text);
    }
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

// Code that evaluates shapes ahead fills in the value itself (a tensor of x's dims): see
// shape_range.
template <class D>
Status shape_of(RuleCtx<D>& c) {
  const auto& a = c.template as<ShapeOpAttrs>();
  int64_t rank = c.in[0].rank();
  auto clamp = [&](int64_t v) {
    v = v < 0 ? v + rank : v;
    return v < 0 ? 0 : v > rank ? rank : v;
  };
  int64_t start = clamp(a.start), end = clamp(a.end);
  set_out(c, 0, DType::kI64, BasicShape<D>{D(end > start ? end - start : 0)});
  c.out[0].elements = c.in[0].shape.begin() + start;
  c.out[0].element_count = end > start ? end - start : 0;
  return {};
}

template <class D>
Status gather(RuleCtx<D>& c) {
  const auto &x = c.in[0].shape, &indices = c.in[1].shape;
  if (c.in[1].dtype != DType::kI64 && c.in[1].dtype != DType::kI32) {
    return error(Code::kTypeMismatch, "indices must be int32 or int64, got %s",
                 dtype_name(c.in[1].dtype));
  }
  WICK_ASSIGN(int axis, normalize_axis(c.template as<AxisAttrs>().axis, x.rank()));
  if (x.rank() - 1 + indices.rank() > kMaxRank)
    return shapes_differ("the result would exceed rank 8", x, indices);
  BasicShape<D> out;
  for (int i = 0; i < axis; ++i) out.push_back(x[i]);
  for (const D& d : indices) out.push_back(d);
  for (int i = axis + 1; i < x.rank(); ++i) out.push_back(x[i]);
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status check_elements(RuleCtx<D>& c, int64_t axis_attr) {
  const auto &x = c.in[0].shape, &indices = c.in[1].shape;
  if (c.in[1].dtype != DType::kI64 && c.in[1].dtype != DType::kI32) {
    return error(Code::kTypeMismatch, "indices must be int32 or int64, got %s",
                 dtype_name(c.in[1].dtype));
  }
  if (x.rank() != indices.rank())
    return shapes_differ("input and indices must have the same rank", x, indices);
  WICK_ASSIGN(int axis, normalize_axis(axis_attr, x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && dim_known(x[i]) && dim_known(indices[i]) &&
        dim_value(indices[i]) > dim_value(x[i])) {
      return shapes_differ("indices reach outside the input", x, indices);
    }
  }
  return {};
}
template <class D>
Status gather_elements(RuleCtx<D>& c) {
  WICK_TRY(check_elements(c, c.template as<AxisAttrs>().axis));
  set_out(c, 0, c.in[0].dtype, c.in[1].shape);
  return {};
}
template <class D>
Status scatter_elements(RuleCtx<D>& c) {
  const auto& a = c.template as<ScatterAttrs>();
  WICK_TRY(check_elements(c, a.axis));
  if (c.in[2].dtype != c.in[0].dtype) {
    return error(Code::kTypeMismatch, "updates are %s, the input %s", dtype_name(c.in[2].dtype),
                 dtype_name(c.in[0].dtype));
  }
  for (int i = 0; i < c.in[1].rank(); ++i) {
    if (c.in[2].rank() != c.in[1].rank() ||
        dim_equal(c.in[1].shape[i], c.in[2].shape[i]) == Tri::kNo) {
      return shapes_differ("indices and updates must have one shape", c.in[1].shape, c.in[2].shape);
    }
  }
  set_out(c, 0, c.in[0].dtype, c.in[0].shape);
  return {};
}

}  // namespace wick::rules
