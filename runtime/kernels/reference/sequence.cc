// Sequences and optionals: copies bytes between packed values and tensors. The rules have checked
// positions and sizes against the same values; a packed input is opened, and so checked, again.
#include <cstring>

#include "runtime/core/copy_bits.h"
#include "runtime/core/packed_sequence.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/ops/sequence_parts.h"

namespace wick {
namespace {

bool match_any(const KernelQuery&) { return true; }

bool given(Span<const TensorView> in, size_t i) { return i < in.size() && in[i].present(); }

PackedWriter writer(TensorView& out, DType dtype, int64_t count, bool present = true) {
  return {out.data, static_cast<int64_t>(out.nbytes()), dtype, count, present};
}

Status run_construct(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                     const void* attrs) {
  auto dtype = static_cast<DType>(static_cast<const SequenceAttrs*>(attrs)->dtype);
  PackedWriter w = writer(out[0], dtype, static_cast<int64_t>(in.size()));
  for (const TensorView& v : in) w.add(v);
  return {};
}

Status run_insert(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  const int64_t p = given(in, 2) ? int_at(in[2], 0) : s.count();
  WICK_ASSIGN(int64_t at, sequence_position(p, s.count(), true));
  PackedWriter w = writer(out[0], s.dtype(), s.count() + 1);
  for (int64_t i = 0; i < at; ++i) w.add(s.at(i));
  w.add(in[1]);
  for (int64_t i = at; i < s.count(); ++i) w.add(s.at(i));
  return {};
}

Status run_erase(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  const int64_t p = given(in, 1) ? int_at(in[1], 0) : -1;
  WICK_ASSIGN(int64_t at, sequence_position(p, s.count(), false));
  PackedWriter w = writer(out[0], s.dtype(), s.count() - 1);
  for (int64_t i = 0; i < s.count(); ++i) {
    if (i != at) w.add(s.at(i));
  }
  return {};
}

void copy(const TensorView& from, TensorView& to) { copy_bytes(to.data, from.data, to.nbytes()); }

Status run_at(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  WICK_ASSIGN(int64_t at, sequence_position(int_at(in[1], 0), s.count(), false));
  copy(s.at(at), out[0]);
  return {};
}

Status run_length(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  const int64_t count = s.count();
  memcpy(out[0].data, &count, sizeof(count));
  return {};
}

// A part's lines within those of the whole: `outer` of them, each `inner` elements times the part's
// size along the axis.
struct Lines {
  int64_t outer = 1, inner = 1;
  Lines(const Shape& s, int axis) {
    for (int d = 0; d < axis; ++d) outer *= s[d];
    for (int d = axis + 1; d < s.rank(); ++d) inner *= s[d];
  }
};

Status run_split(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const TensorView& x = in[0];
  WICK_ASSIGN(SequenceParts parts, split_parts(*static_cast<const SplitToSequenceAttrs*>(attrs),
                                               x.shape, given(in, 1) ? in[1] : TensorView()));
  const Lines lines(x.shape, parts.axis);
  const size_t bits = static_cast<size_t>(dtype_bits(x.dtype)) * static_cast<size_t>(lines.inner);
  PackedWriter w = writer(out[0], x.dtype, parts.count);
  Poll poll;
  size_t begin = 0;
  for (int64_t i = 0; i < parts.count; ++i) {
    TensorView to = w.add_space(parts.shape(x.shape, i));
    const auto length = static_cast<size_t>(parts.length(i));
    // Zeros the padding bits of the last byte.
    if (to.nbytes() != 0) static_cast<char*>(to.data)[to.nbytes() - 1] = 0;
    for (size_t o = 0; to.nbytes() != 0 && o < static_cast<size_t>(lines.outer); ++o) {
      if (poll(static_cast<int64_t>(length * bits / 8))) return {};
      copy_bits(x.data, (o * static_cast<size_t>(parts.size) + begin) * bits, to.data,
                o * length * bits, length * bits);
    }
    begin += length;
  }
  return {};
}

Status run_concat(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const auto& a = *static_cast<const ConcatFromSequenceAttrs*>(attrs);
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  TensorView& y = out[0];
  if (y.nbytes() == 0) return {};
  const int axis = static_cast<int>(a.axis < 0 ? a.axis + y.rank() : a.axis);
  const Lines lines(y.shape, axis);
  const size_t bits = static_cast<size_t>(dtype_bits(y.dtype)) * static_cast<size_t>(lines.inner);
  static_cast<char*>(y.data)[y.nbytes() - 1] = 0;
  Poll poll;
  size_t begin = 0;
  for (int64_t i = 0; i < s.count(); ++i) {
    const TensorView part = s.at(i);
    const auto length = static_cast<size_t>(a.new_axis != 0 ? 1 : part.shape[axis]);
    for (size_t o = 0; part.nbytes() != 0 && o < static_cast<size_t>(lines.outer); ++o) {
      if (poll(static_cast<int64_t>(length * bits / 8))) return {};
      copy_bits(part.data, o * length * bits, y.data,
                (o * static_cast<size_t>(y.shape[axis]) + begin) * bits, length * bits);
    }
    begin += length;
  }
  return {};
}

Status run_optional(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  const auto& a = *static_cast<const OptionalAttrs*>(attrs);
  if (given(in, 0) && a.sequence != 0) {
    copy(in[0], out[0]);
    return {};
  }
  PackedWriter w = writer(out[0], static_cast<DType>(a.dtype), given(in, 0) ? 1 : 0, given(in, 0));
  if (given(in, 0)) w.add(in[0]);
  return {};
}

Status run_has_element(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                       const void*) {
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  *out[0].as<uint8_t>() = s.present() && (in[0].dtype != DType::kOptional || s.count() == 1);
  return {};
}

Status run_get_element(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                       const void*) {
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(in[0]));
  copy(out[0].dtype == DType::kSequence ? in[0] : s.at(0), out[0]);
  return {};
}

}  // namespace

#define WICK_SEQUENCE_ROWS(Name, text, run)                                          \
  WICK_REF_ROWS(Name, {text ".any", kContiguous, match_any, nullptr, nullptr, run}); \
  WICK_NO_CPU_ROWS(Name)
WICK_SEQUENCE_ROWS(SequenceConstruct, "sequence_construct", run_construct);
WICK_SEQUENCE_ROWS(SequenceInsert, "sequence_insert", run_insert);
WICK_SEQUENCE_ROWS(SequenceErase, "sequence_erase", run_erase);
WICK_SEQUENCE_ROWS(SequenceAt, "sequence_at", run_at);
WICK_SEQUENCE_ROWS(SequenceLength, "sequence_length", run_length);
WICK_SEQUENCE_ROWS(SplitToSequence, "split_to_sequence", run_split);
WICK_SEQUENCE_ROWS(ConcatFromSequence, "concat_from_sequence", run_concat);
WICK_SEQUENCE_ROWS(Optional, "optional", run_optional);
WICK_SEQUENCE_ROWS(OptionalHasElement, "optional_has_element", run_has_element);
WICK_SEQUENCE_ROWS(OptionalGetElement, "optional_get_element", run_get_element);
#undef WICK_SEQUENCE_ROWS

}  // namespace wick
