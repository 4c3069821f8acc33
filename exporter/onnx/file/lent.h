// The weights of a model file, read where they lie. protobuf would copy every one of them; so it is
// given the file without them, and a list of where they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/onnx/file/model_bytes.h"
#include "graph/ir/host_tensor.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Bytes of a model: [offset, offset + size).
struct Piece {
  uint64_t offset = 0, size = 0;
};

// `model` (a serialized ModelProto) without raw_data of more than a few hundred bytes, which `lent`
// gets in its place; empty when there is none, and `model` is to be parsed as it is. What is
// damaged is left for protobuf to find.
std::string without_weights(ModelBytes& model, std::vector<Piece>* lent);

// While it lives, decode() of this thread finds the weights that without_weights() took out.
class LentWeights {
 public:
  // `stay`: large weights of a file are left there until somebody asks for their bytes.
  LentWeights(ModelBytes& model, const std::vector<Piece>& lent, bool stay);
  ~LentWeights();
  LentWeights(const LentWeights&) = delete;
  LentWeights& operator=(const LentWeights&) = delete;

  ModelBytes& model;
  const std::vector<Piece>& pieces;
  const bool stay;

 private:
  const LentWeights* before_;
};

// Where the tensor's bytes lie when they were taken out, else null. Throws Error when nobody lends
// them.
const Piece* lent_piece(const TensorProto& tensor);
// A tensor of those bytes, as many as it has.
HostTensor lent_tensor(const Piece& piece, DType dtype, const Shape& shape);

}  // namespace wick::onnx
