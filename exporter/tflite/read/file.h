// A verified file: what it holds, in Wick's terms. Nothing of a file is looked at before
// flatbuffers' verifier has been over it.
#pragma once

#include <string>
#include <string_view>

#include "exporter/tflite/model_generated.h"
#include "runtime/core/dtype.h"
#include "runtime/core/span.h"

namespace wick::tflite {

// Throws Error: "TFLite model: why".
[[noreturn]] void invalid(const std::string& why);

// Returns the number of elements of a list: none if it is absent.
template <class T>
size_t size_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}
inline constexpr size_t kMostShown = 80;  // bytes of a name in a message
// Return a text, cut between two characters to at most so many bytes; "" if it is absent. Many
// tables may refer to one text, so that no more of it is copied than is used.
std::string cut_text(std::string_view text, size_t most);
std::string text_of(const flatbuffers::String* text, size_t most);

// The number that the format gives to the type of an operator's options.
template <class T>
inline constexpr uint8_t kOptionsOf = 0;
#define WICK_TFLITE_OPTIONS(Name, number) \
  template <>                             \
  inline constexpr uint8_t kOptionsOf<fbs::Name> = number
WICK_TFLITE_OPTIONS(Conv2DOptions, 1);
WICK_TFLITE_OPTIONS(DepthwiseConv2DOptions, 2);
WICK_TFLITE_OPTIONS(Pool2DOptions, 5);
WICK_TFLITE_OPTIONS(FullyConnectedOptions, 8);
WICK_TFLITE_OPTIONS(SoftmaxOptions, 9);
WICK_TFLITE_OPTIONS(ConcatenationOptions, 10);
WICK_TFLITE_OPTIONS(ResizeBilinearOptions, 15);
WICK_TFLITE_OPTIONS(ReshapeOptions, 17);
WICK_TFLITE_OPTIONS(GatherOptions, 23);
WICK_TFLITE_OPTIONS(ReducerOptions, 27);
WICK_TFLITE_OPTIONS(SqueezeOptions, 30);
WICK_TFLITE_OPTIONS(StridedSliceOptions, 32);
WICK_TFLITE_OPTIONS(SplitOptions, 35);
WICK_TFLITE_OPTIONS(TransposeConvOptions, 49);
WICK_TFLITE_OPTIONS(PackOptions, 59);
WICK_TFLITE_OPTIONS(UnpackOptions, 64);
WICK_TFLITE_OPTIONS(ResizeNearestNeighborOptions, 74);
WICK_TFLITE_OPTIONS(LeakyReluOptions, 75);
WICK_TFLITE_OPTIONS(MirrorPadOptions, 77);
WICK_TFLITE_OPTIONS(BatchMatMulOptions, 101);
WICK_TFLITE_OPTIONS(GeluOptions, 116);
#undef WICK_TFLITE_OPTIONS
// Those of tables that several operators share here.
inline constexpr uint8_t kAddOptions = 11, kL2NormOptions = 12, kSpaceToDepthOptions = 19,
                         kMulOptions = 21, kSubOptions = 28, kDivOptions = 29,
                         kDepthToSpaceOptions = 94;

// A table without fields: an operator without options has every option's default.
alignas(8) inline constexpr uint8_t kEmptyTable[] = {4, 0, 4, 0, 4, 0, 0, 0};

class File {
 public:
  // Verifies the bytes, which are aligned to 8 and outlive the file. Throws Error, as the calls
  // below do.
  explicit File(Span<const uint8_t> bytes);

  const fbs::Model& model() const { return *model_; }
  // Returns the subgraph that is read: the first one.
  const fbs::SubGraph& graph() const { return *graph_; }
  uint64_t size() const { return bytes_.size(); }

  // Returns the number of the operator's kind, and the name of a custom one, as messages show it.
  int32_t code_of(const fbs::Operator& op) const;
  std::string custom_name(const fbs::Operator& op) const;
  // Returns the bytes that the file has for a tensor; none if an operator or the caller makes it.
  Span<const uint8_t> data(const fbs::Tensor& t) const;
  // Returns the operator's options, verified as a T, or null if they are of another type or
  // damaged.
  template <class T>
  const T* options(const fbs::Operator& op, uint8_t type) const {
    if (op.options() == nullptr) return reinterpret_cast<const T*>(kEmptyTable + 4);
    if (op.options_type() != type) return nullptr;
    const auto* table = reinterpret_cast<const T*>(op.options());
    flatbuffers::Verifier verifier(bytes_.data(), bytes_.size());
    return table->Verify(verifier) ? table : nullptr;
  }

 private:
  const fbs::OperatorCode& operator_code(const fbs::Operator& op) const;

  Span<const uint8_t> bytes_;
  const fbs::Model* model_ = nullptr;
  const fbs::SubGraph* graph_ = nullptr;
};

// Returns the dtype of a tensor's type, or kNone if Wick has none: complex numbers, resources.
DType dtype_of(fbs::TensorType type);
// Returns the name of a type, "Complex64".
std::string type_name(fbs::TensorType type);

}  // namespace wick::tflite
