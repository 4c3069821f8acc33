// Walks the messages of a model file as protobuf writes them, without parsing it.
#pragma once

#include <cstdint>

#include "exporter/onnx/file/model_bytes.h"

namespace wick::onnx {

// A range of a model's bytes: [offset, offset + size).
struct Piece {
  uint64_t offset = 0, size = 0;
};

enum class Kind : uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kFunction,
  kTensor,
  kSparse,
  kOther
};

// Returns the kind of message that a field holds, if dense tensors may be inside it.
inline Kind inside(Kind kind, uint32_t field) {
  switch (kind) {
    case Kind::kModel:
      return field == 7 ? Kind::kGraph : field == 25 ? Kind::kFunction : Kind::kOther;
    case Kind::kGraph: return field == 1 ? Kind::kNode : field == 5 ? Kind::kTensor : Kind::kOther;
    case Kind::kNode: return field == 5 ? Kind::kAttribute : Kind::kOther;
    case Kind::kFunction:
      return field == 7 ? Kind::kNode : field == 11 ? Kind::kAttribute : Kind::kOther;
    case Kind::kAttribute:
      return field == 5 || field == 10   ? Kind::kTensor
             : field == 6 || field == 11 ? Kind::kGraph
                                         : Kind::kOther;
    default: return Kind::kOther;
  }
}

// A field of the wire format and its position.
struct Field {
  uint64_t begin = 0, end = 0;  // tag included
  uint32_t number = 0;
  bool bytes = false;  // length-delimited: [content, end)
  uint64_t content = 0;
};

class Wire {
 public:
  Wire(ModelBytes& model, const Piece& message)
      : model_(model), at_(message.offset), end_(message.offset + message.size) {}

  // Returns false at the end, or where the message is damaged: sound() tells which.
  bool next(Field* f) {
    if (at_ == end_ || !sound_) return false;
    f->begin = at_;
    uint64_t tag = varint(), length = 0;
    f->number = static_cast<uint32_t>(tag >> 3);
    f->bytes = (tag & 7) == 2;
    switch (tag & 7) {
      case 0: varint(); break;
      case 1: length = 8; break;
      case 2: length = varint(); break;
      case 5: length = 4; break;
      default: sound_ = false;  // groups: nobody writes them
    }
    f->content = at_;
    sound_ = sound_ && (tag >> 3) != 0 && (tag >> 3) < (1u << 29) && length <= end_ - at_;
    if (!sound_) return false;
    at_ += length;
    f->end = at_;
    return true;
  }
  bool sound() const { return sound_; }

 private:
  uint64_t varint() {
    uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const uint8_t byte = model_.at(at_++);
      n |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return n;
    }
    sound_ = false;
    return 0;
  }
  ModelBytes& model_;
  uint64_t at_, end_;
  bool sound_ = true;
};

}  // namespace wick::onnx
