#include "graph/ir/packed.h"

#include "runtime/core/packed_sequence.h"
#include "wick/error.h"

namespace wick {
namespace {

template <class T>
T take(Result<T> result) {
  if (!result.ok()) throw Error(result.status().message(), result.status().code());
  return result.value();
}

}  // namespace

HostTensor pack(DType kind, DType element, const std::vector<HostTensor>& elements, bool present) {
  if (kind == DType::kOptional) present = !elements.empty();
  auto count = static_cast<int64_t>(elements.size());
  if (count > (kind == DType::kOptional ? 1 : present ? INT64_MAX : 0))
    throw Error("more elements than an optional holds");
  PackedSize size(count);
  for (const HostTensor& t : elements) {
    if (t.dtype() != element)
      throw Error(std::string("an element is ") + dtype_name(t.dtype()) + ", the others are " +
                      dtype_name(element),
                  Code::kTypeMismatch);
    Status s = size.add(t.dtype(), t.shape());
    if (!s.ok()) throw Error(s.message(), s.code());
  }
  const int64_t bytes = take(size.bytes());
  HostTensor packed(kind, Shape{bytes});
  PackedWriter writer(packed.data(), bytes, element, count, present);
  for (const HostTensor& t : elements) writer.add(t.view());
  if (element != DType::kString) return packed;
  return HostTensor(kind, packed.shape(), packed.data(), packed.nbytes());  // copies the text, too
}

Unpacked unpack(const HostTensor& packed) {
  const PackedSequence s = take(PackedSequence::open(packed.view()));
  Unpacked out;
  out.element = s.dtype();
  out.present = s.present();
  for (int64_t i = 0; i < s.count(); ++i) {
    const TensorView v = s.at(i);
    out.elements.emplace_back(v.dtype, v.shape, v.data, v.nbytes());
  }
  return out;
}

}  // namespace wick
