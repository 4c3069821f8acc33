#include "exporter/tflite/read/file.h"

#include <fmt/core.h>

#include <algorithm>

#include "exporter/tflite/tflite.h"
#include "wick/error.h"

namespace wick {
namespace tflite {
namespace {

constexpr flatbuffers::uoffset_t kMaxDepth = 16;  // of tables in tables

}  // namespace

void invalid(const std::string& why) { throw Error("TFLite model: " + why, Code::kInvalidProgram); }

std::string cut_text(std::string_view text, size_t most) {
  if (text.size() > most) {
    while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xC0) == 0x80) --most;
    text = text.substr(0, most);
  }
  return std::string(text);
}

std::string text_of(const flatbuffers::String* text, size_t most) {
  return text == nullptr ? std::string() : cut_text({text->c_str(), text->size()}, most);
}

// The verifier would check a table once for each path to it, which shared children multiply.
// Without sharing, each table takes 4 bytes plus 4 in the one place that refers to it.
File::File(Span<const uint8_t> bytes) : bytes_(bytes) {
  if (!is_tflite(bytes)) invalid("its identifier is not TFL3: it is no TensorFlow Lite file");
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) invalid("over 2 GB in one file");
  const auto most = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8 + 1);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMaxDepth, most);
  if (!fbs::VerifyModelBuffer(verifier))
    invalid("the file is damaged: it is no sound flatbuffer, or names tables more than once");
  model_ = fbs::GetModel(bytes.data());
  if (model_->version() != 3)
    invalid(fmt::format("its schema has version {}, only 3 is read", model_->version()));
  if (size_of(model_->subgraphs()) == 0) invalid("it has no subgraph");
  graph_ = model_->subgraphs()->Get(0);
}

const fbs::OperatorCode& File::operator_code(const fbs::Operator& op) const {
  const uint32_t index = op.opcode_index();
  if (index >= size_of(model_->operator_codes()))
    invalid(fmt::format("an operator has code {} of {}", index, size_of(model_->operator_codes())));
  return *model_->operator_codes()->Get(index);
}

int32_t File::code_of(const fbs::Operator& op) const {
  const fbs::OperatorCode& code = operator_code(op);
  return std::max<int32_t>(code.deprecated_builtin_code(), code.builtin_code());
}

std::string File::custom_name(const fbs::Operator& op) const {
  return text_of(operator_code(op).custom_code(), kMostShown);
}

Span<const uint8_t> File::data(const fbs::Tensor& t) const {
  if (t.buffer() >= size_of(model_->buffers()))
    invalid(fmt::format("tensor '{}' has buffer {} of {}", text_of(t.name(), kMostShown),
                        t.buffer(), size_of(model_->buffers())));
  const fbs::Buffer& buffer = *model_->buffers()->Get(t.buffer());
  if (buffer.offset() > 1) {  // 1 stands for data that is not placed yet
    if (buffer.offset() > bytes_.size() || buffer.size() > bytes_.size() - buffer.offset())
      invalid(fmt::format("buffer {} is at byte {} and has {}, the file has {}", t.buffer(),
                          buffer.offset(), buffer.size(), bytes_.size()));
    return {bytes_.data() + buffer.offset(), static_cast<size_t>(buffer.size())};
  }
  if (buffer.data() == nullptr) return {};
  return {buffer.data()->data(), buffer.data()->size()};
}

DType dtype_of(fbs::TensorType type) {
  switch (type) {
    case fbs::TensorType::Float32: return DType::kF32;
    case fbs::TensorType::Float16: return DType::kF16;
    case fbs::TensorType::BFloat16: return DType::kBF16;
    case fbs::TensorType::Float64: return DType::kF64;
    case fbs::TensorType::Int4: return DType::kI4;
    case fbs::TensorType::Int8: return DType::kI8;
    case fbs::TensorType::Int16: return DType::kI16;
    case fbs::TensorType::Int32: return DType::kI32;
    case fbs::TensorType::Int64: return DType::kI64;
    case fbs::TensorType::UInt8: return DType::kU8;
    case fbs::TensorType::UInt16: return DType::kU16;
    case fbs::TensorType::UInt32: return DType::kU32;
    case fbs::TensorType::UInt64: return DType::kU64;
    case fbs::TensorType::Bool: return DType::kBool;
    default: return DType::kNone;
  }
}

std::string type_name(fbs::TensorType type) {
  const std::string name = fbs::EnumNameTensorType(type);
  return name.empty() ? "type " + std::to_string(static_cast<int>(type)) : name;
}

}  // namespace tflite

bool is_tflite(Span<const uint8_t> bytes) {
  constexpr uint8_t kIdentifier[] = {'T', 'F', 'L', '3'};
  return bytes.size() >= 8 && std::equal(kIdentifier, kIdentifier + 4, bytes.data() + 4);
}

}  // namespace wick
