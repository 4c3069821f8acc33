// The weights of a model file, read where they lie. protobuf would copy every one of them; so it is
// given the file without them, and a list of where they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/span.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// `model` (a serialized ModelProto) without raw_data of more than a few hundred bytes, which `lent`
// gets in its place; empty when there is none, and `model` is to be parsed as it is. What is
// damaged is left for protobuf to find.
std::string without_weights(Span<const uint8_t> model, std::vector<Span<const uint8_t>>* lent);

// While it lives, decode() of this thread finds the weights that without_weights() took out.
class LentWeights {
 public:
  explicit LentWeights(const std::vector<Span<const uint8_t>>& lent);
  ~LentWeights();
  LentWeights(const LentWeights&) = delete;
  LentWeights& operator=(const LentWeights&) = delete;

 private:
  const std::vector<Span<const uint8_t>>* before_;
};

// True when the tensor's bytes were taken out. Throws Error when nobody lends them.
bool lent_bytes(const TensorProto& tensor, Span<const uint8_t>* bytes);

}  // namespace wick::onnx
