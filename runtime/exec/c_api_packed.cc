// The C ABI for packed sequences and optionals.
#include "runtime/exec/c_api.h"

#include <algorithm>

#include "runtime/core/packed_sequence.h"

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace {

// Returns the checked view of an element to pack.
Status element_view(const wick_tensor* elements, size_t i, TensorView* view) {
  WICK_TRY(read_tensors(elements + i, 1, "element", view));
  if (is_container(view->dtype))
    return error(Code::kTypeMismatch, "element %zu is %s, must be a tensor", i,
                 dtype_name(view->dtype));
  WICK_ASSIGN(size_t bytes, checked_bytes(view->shape, dtype_bits(view->dtype)));
  if (bytes != 0 && view->data == nullptr)
    return error(Code::kInvalidArgument, "element %zu has no data", i);
  return {};
}

Result<int64_t> pack_bytes(const wick_tensor* elements, size_t count) {
  WICK_TRY(check_array(elements, count, "elements"));
  const uint64_t most = std::min<uint64_t>(count, INT64_MAX);
  PackedSize size(static_cast<int64_t>(most));
  WICK_TRY(size.bytes().status());
  for (size_t i = 0; i < count; ++i) {
    TensorView v;
    WICK_TRY(element_view(elements, i, &v));
    WICK_TRY(size.add(v.dtype, v.shape));
  }
  return size.bytes();
}

Status check_aligned(const void* data) {
  if (reinterpret_cast<uintptr_t>(data) % alignof(int64_t) == 0) return {};
  return Status(Code::kInvalidArgument, "packed data must be aligned to 8 bytes");
}

Result<PackedSequence> open_packed(const wick_tensor* packed) {
  WICK_TRY(check_pointer(packed, "packed"));
  TensorView v;
  if (!to_view(*packed, &v) || !is_container(v.dtype) || v.rank() != 1)
    return Status(Code::kInvalidArgument, "not a packed sequence or optional");
  WICK_TRY(check_aligned(v.data));
  WICK_TRY(checked_bytes(v.shape, 8).status());
  return PackedSequence::open(v);
}

}  // namespace

int wick_pack_bytes(const wick_tensor* elements, size_t count, size_t* bytes) {
  if (Status s = check_pointer(bytes, "bytes"); !s.ok()) return fail(s, {});
  auto need = pack_bytes(elements, count);
  if (!need.ok()) return fail(need.status(), {});
  if (static_cast<uint64_t>(*need) > PTRDIFF_MAX) {
    return fail(error(Code::kBudgetExceeded,
                      "the elements take %lld bytes, more than a process here can have",
                      static_cast<long long>(*need)),
                {});
  }
  *bytes = static_cast<size_t>(*need);
  return WICK_OK;
}
int wick_pack(int kind, int element, const wick_tensor* elements, size_t count, void* data,
              size_t bytes, wick_tensor* packed) {
  auto pack = [&]() -> Status {
    WICK_TRY(check_pointer(data, "data"));
    WICK_TRY(check_aligned(data));
    WICK_TRY(check_pointer(packed, "packed"));
    if (kind != WICK_SEQUENCE && kind != WICK_OPTIONAL && kind != WICK_OPTIONAL_SEQUENCE)
      return error(Code::kInvalidArgument, "kind %d is neither sequence nor optional", kind);
    if (element <= 0 || element >= kDTypeCount)
      return error(Code::kInvalidArgument, "there is no dtype %d", element);
    if (kind == WICK_OPTIONAL && count > 1)
      return error(Code::kInvalidArgument, "%zu tensors in an optional", count);
    WICK_ASSIGN(int64_t need, pack_bytes(elements, count));
    if (static_cast<uint64_t>(need) != bytes)
      return error(Code::kInvalidArgument, "%zu bytes given, wick_pack_bytes says %lld", bytes,
                   static_cast<long long>(need));
    for (size_t i = 0; i < count; ++i) {
      if (elements[i].dtype != element)
        return error(Code::kTypeMismatch, "element %zu is %s, not %s", i,
                     wick_dtype_name(elements[i].dtype), wick_dtype_name(element));
    }
    const bool present =
        kind == WICK_SEQUENCE || (kind == WICK_OPTIONAL ? count == 1 : elements != nullptr);
    PackedWriter writer(data, need, static_cast<DType>(element), static_cast<int64_t>(count),
                        present);
    for (size_t i = 0; i < count; ++i) {
      TensorView v;
      WICK_TRY(element_view(elements, i, &v));
      writer.add(v);
    }
    to_tensor(TensorView(data, static_cast<DType>(kind), {need}), packed);
    return {};
  };
  return fail(pack(), {});
}
int wick_packed_count(const wick_tensor* packed, size_t* count, int* present) {
  auto s = open_packed(packed);
  if (!s.ok()) return fail(s.status(), {});
  if (Status given = check_pointer(count, "count"); !given.ok()) return fail(given, {});
  *count = static_cast<size_t>(s->count());
  if (present != nullptr) *present = s->present() ? 1 : 0;
  return WICK_OK;
}
int wick_packed_element(const wick_tensor* packed, size_t i, wick_tensor* element) {
  auto s = open_packed(packed);
  if (!s.ok()) return fail(s.status(), {});
  if (Status given = check_pointer(element, "element"); !given.ok()) return fail(given, {});
  if (i >= static_cast<size_t>(s->count()))
    return fail(error(Code::kInvalidArgument, "there is no element %zu of %lld", i,
                      static_cast<long long>(s->count())),
                {});
  to_tensor(s->at(static_cast<int64_t>(i)), element);
  return WICK_OK;
}
