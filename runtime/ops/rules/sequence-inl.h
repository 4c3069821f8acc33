// Rules of sequences and optionals. A rule can compute sizes only from the packed bytes (an input's
// `elements`), so symbolic rules do not exist; graph/ir/sequence.cc has the types instead.
#pragma once

#include <type_traits>

#include "runtime/core/packed_sequence.h"
#include "runtime/ops/rules/common-inl.h"
#include "runtime/ops/sequence_parts.h"

namespace wick::rules {

using Known = RuleCtx<int64_t>;

inline Status need_tensor(const ValueInfo<int64_t>& v, size_t i, int64_t dtype) {
  if (static_cast<int64_t>(v.dtype) == dtype && !is_container(v.dtype)) return {};
  const bool named = dtype > 0 && dtype < kDTypeCount;
  return error(Code::kTypeMismatch, "input %zu is %s, must be a tensor of %s", i,
               dtype_name(v.dtype), named ? dtype_name(static_cast<DType>(dtype)) : "a dtype");
}

// Opens input i, which must have one of two kinds.
inline Result<PackedSequence> packed_input(const Known& c, size_t i, DType kind,
                                           DType or_kind = DType::kNone) {
  const ValueInfo<int64_t>& v = c.in[i];
  if (v.dtype != kind && v.dtype != or_kind) {
    return error(Code::kTypeMismatch, "input %zu must be of type %s, got %s", i, dtype_name(kind),
                 dtype_name(v.dtype));
  }
  if (v.elements == nullptr) return needs_value();
  if (v.rank() != 1) return Status(Code::kShapeMismatch, "packed values have rank 1");
  auto opened = PackedSequence::open(v.elements, v.shape[0]);
  if (!opened.ok()) return annotate(opened.status(), "input %zu: ", i);
  return opened;
}

// Returns the position at input i; `fallback` where there is none.
inline Result<int64_t> position_input(const Known& c, size_t i, int64_t n, bool behind,
                                      int64_t fallback) {
  if (!c.has(i)) return sequence_position(fallback, n, behind);
  const ValueInfo<int64_t>& v = c.in[i];
  if ((v.dtype != DType::kI64 && v.dtype != DType::kI32) || v.rank() > 1)
    return error(Code::kTypeMismatch, "the position must be one int32 or int64, got %s%s",
                 dtype_name(v.dtype), to_text(v.shape).text);
  if (numel(v.shape) != 1) return Status(Code::kShapeMismatch, "the position must be one number");
  if (v.elements == nullptr) return needs_value();
  return sequence_position(v.elements[0], n, behind);
}

inline Status set_packed_out(Known& c, DType kind, const PackedSize& size) {
  WICK_ASSIGN(int64_t bytes, size.bytes());
  set_out(c, 0, kind, Shape{bytes});
  return {};
}

inline Status known_construct(Known& c) {
  const auto& a = c.as<SequenceAttrs>();
  if (a.dtype < 1 || a.dtype >= kDTypeCount)
    return Status(Code::kTypeMismatch, "its elements have no dtype");
  PackedSize size(static_cast<int64_t>(c.in.size()));
  for (size_t i = 0; i < c.in.size(); ++i) {
    WICK_TRY(need_tensor(c.in[i], i, a.dtype));
    WICK_TRY(size.add(c.in[i].dtype, c.in[i].shape));
  }
  return set_packed_out(c, DType::kSequence, size);
}

inline Status known_insert(Known& c) {
  WICK_ASSIGN(PackedSequence s, packed_input(c, 0, DType::kSequence));
  WICK_TRY(need_tensor(c.in[1], 1, static_cast<int64_t>(s.dtype())));
  WICK_TRY(position_input(c, 2, s.count(), true, s.count()).status());
  PackedSize size(s.count() + 1);
  for (int64_t i = 0; i < s.count(); ++i) WICK_TRY(size.add(s.dtype(), s.at(i).shape));
  WICK_TRY(size.add(c.in[1].dtype, c.in[1].shape));
  return set_packed_out(c, DType::kSequence, size);
}

inline Status known_erase(Known& c) {
  WICK_ASSIGN(PackedSequence s, packed_input(c, 0, DType::kSequence));
  WICK_ASSIGN(int64_t at, position_input(c, 1, s.count(), false, -1));
  PackedSize size(s.count() - 1);
  for (int64_t i = 0; i < s.count(); ++i) {
    if (i != at) WICK_TRY(size.add(s.dtype(), s.at(i).shape));
  }
  return set_packed_out(c, DType::kSequence, size);
}

inline Status need_elements(const PackedSequence& s, int64_t dtype) {
  if (static_cast<int64_t>(s.dtype()) == dtype) return {};
  const bool named = dtype > 0 && dtype < kDTypeCount;
  return error(Code::kTypeMismatch, "its elements are %s, must be %s", dtype_name(s.dtype()),
               named ? dtype_name(static_cast<DType>(dtype)) : "of a dtype");
}

inline Status known_at(Known& c) {
  WICK_ASSIGN(PackedSequence s, packed_input(c, 0, DType::kSequence));
  WICK_TRY(need_elements(s, c.as<SequenceAttrs>().dtype));
  WICK_ASSIGN(int64_t at, position_input(c, 1, s.count(), false, 0));
  set_out(c, 0, s.dtype(), s.at(at).shape);
  return {};
}

inline Status known_length(Known& c) {
  WICK_TRY(packed_input(c, 0, DType::kSequence).status());
  set_out(c, 0, DType::kI64, Shape{});
  return {};
}

inline Status known_split(Known& c) {
  const ValueInfo<int64_t>& x = c.in[0];
  if (is_container(x.dtype)) return Status(Code::kTypeMismatch, "splits tensors");
  TensorView sizes;
  if (c.has(1)) {
    const ValueInfo<int64_t>& v = c.in[1];
    const bool none = v.rank() == 1 && v.shape[0] == 0;
    if ((v.dtype != DType::kI64 && v.dtype != DType::kI32) || v.rank() > 1)
      return Status(Code::kTypeMismatch, "the sizes must be one or a list of int32 or int64");
    if (v.elements == nullptr && !none) return needs_value();
    sizes = TensorView(const_cast<int64_t*>(v.elements), DType::kI64, v.shape);
  }
  WICK_ASSIGN(SequenceParts parts, split_parts(c.as<SplitToSequenceAttrs>(), x.shape, sizes));
  WICK_ASSIGN(int64_t bytes, packed_bytes(parts, x.dtype, x.shape));
  set_out(c, 0, DType::kSequence, Shape{bytes});
  return {};
}

inline Status known_concat(Known& c) {
  const auto& a = c.as<ConcatFromSequenceAttrs>();
  WICK_ASSIGN(PackedSequence s, packed_input(c, 0, DType::kSequence));
  WICK_TRY(need_elements(s, a.dtype));
  if (s.count() == 0)
    return Status(Code::kInvalidArgument, "an empty sequence has nothing to concatenate");
  Shape first = s.at(0).shape, out;
  const int rank = first.rank(), to = rank + (a.new_axis != 0 ? 1 : 0);
  WICK_ASSIGN(int axis, normalize_axis(a.axis, to));
  int64_t along = 0;
  for (int64_t i = 0; i < s.count(); ++i) {
    const Shape part = s.at(i).shape;
    bool same = part.rank() == rank;
    for (int d = 0; same && d < rank; ++d)
      same = part[d] == first[d] || (a.new_axis == 0 && d == axis);
    if (!same)
      return error(Code::kShapeMismatch, "element 0 is %s, element %lld is %s", to_text(first).text,
                   static_cast<long long>(i), to_text(part).text);
    along = dim_add(along, a.new_axis != 0 ? 1 : part[axis]);
  }
  if (to > kMaxRank)
    return error(Code::kShapeMismatch, "the result would have a rank over %d", kMaxRank);
  for (int d = 0, k = 0; d < to; ++d) {
    out.push_back(d == axis ? along : first[k]);
    if (d != axis || a.new_axis == 0) ++k;
  }
  set_out(c, 0, s.dtype(), out);
  return {};
}

inline Status known_optional(Known& c) {
  const auto& a = c.as<OptionalAttrs>();
  if (a.dtype < 1 || a.dtype >= kDTypeCount)
    return Status(Code::kTypeMismatch, "its element has no dtype");
  if (a.sequence == 0) {
    PackedSize size(c.has(0) ? 1 : 0);
    if (c.has(0)) {
      WICK_TRY(need_tensor(c.in[0], 0, a.dtype));
      WICK_TRY(size.add(c.in[0].dtype, c.in[0].shape));
    }
    return set_packed_out(c, DType::kOptional, size);
  }
  if (!c.has(0)) return set_packed_out(c, DType::kOptionalSequence, PackedSize(0));
  WICK_ASSIGN(PackedSequence s, packed_input(c, 0, DType::kSequence));
  WICK_TRY(need_elements(s, a.dtype));
  set_out(c, 0, DType::kOptionalSequence, c.in[0].shape);
  return {};
}

inline Status known_has_element(Known& c) {
  WICK_TRY(packed_input(c, 0, DType::kOptional, DType::kOptionalSequence).status());
  set_out(c, 0, DType::kBool, Shape{});
  return {};
}

inline Status known_get_element(Known& c) {
  WICK_ASSIGN(PackedSequence s, packed_input(c, 0, DType::kOptional, DType::kOptionalSequence));
  WICK_TRY(need_elements(s, c.as<SequenceAttrs>().dtype));
  const bool sequence = c.in[0].dtype == DType::kOptionalSequence;
  if (!s.present() || (!sequence && s.count() != 1))
    return Status(Code::kInvalidArgument, "the optional has no element");
  if (sequence)
    set_out(c, 0, DType::kSequence, c.in[0].shape);
  else
    set_out(c, 0, s.dtype(), s.at(0).shape);
  return {};
}

template <class D>
Status where_known(RuleCtx<D>& c, Status (*rule)(Known&)) {
  if constexpr (std::is_same_v<D, int64_t>) return rule(c);
  return needs_value();
}

#define WICK_SEQUENCE_RULE(name, known) \
  template <class D>                    \
  Status name(RuleCtx<D>& c) {          \
    return where_known(c, known);       \
  }
WICK_SEQUENCE_RULE(sequence_construct, known_construct)
WICK_SEQUENCE_RULE(sequence_insert, known_insert)
WICK_SEQUENCE_RULE(sequence_erase, known_erase)
WICK_SEQUENCE_RULE(sequence_at, known_at)
WICK_SEQUENCE_RULE(sequence_length, known_length)
WICK_SEQUENCE_RULE(split_to_sequence, known_split)
WICK_SEQUENCE_RULE(concat_from_sequence, known_concat)
WICK_SEQUENCE_RULE(optional, known_optional)
WICK_SEQUENCE_RULE(optional_has_element, known_has_element)
WICK_SEQUENCE_RULE(optional_get_element, known_get_element)
#undef WICK_SEQUENCE_RULE

}  // namespace wick::rules
