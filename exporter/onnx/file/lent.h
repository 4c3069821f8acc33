// Reads the weights of a model file straight from the file. protobuf would copy every one of them,
// so it gets the file without them, and a list says where they are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exporter/onnx/file/model_bytes.h"
#include "graph/ir/host_tensor.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// A range of a model's bytes: [offset, offset + size).
struct Piece {
  uint64_t offset = 0, size = 0;
};

// Returns `model` (a serialized ModelProto) without raw_data of more than a few hundred bytes,
// whose ranges go to `lent`; empty if there is none, and then `model` is to be parsed as it is.
// Damaged input is left for protobuf to find.
std::string without_weights(ModelBytes& model, std::vector<Piece>* lent);

// While it lives, decode() on this thread finds the weights that without_weights() took out.
class LentWeights {
 public:
  // If `stay`, large weights of a file are left there until somebody asks for their bytes.
  LentWeights(ModelBytes& model, const std::vector<Piece>& lent, bool stay);
  ~LentWeights();
  LentWeights(const LentWeights&) = delete;
  LentWeights& operator=(const LentWeights&) = delete;

  ModelBytes& model;
  const std::vector<Piece>& pieces;
  const bool stay;
  // The external files that weights stay in, by their location: each is opened once.
  std::map<std::string, std::shared_ptr<const FileBytes>> external;

 private:
  LentWeights* before_;
};

// Returns the range of the tensor's bytes if they were taken out, else null. Throws Error if no
// LentWeights of this thread has them.
const Piece* lent_piece(const TensorProto& tensor);
// Returns where the file of an external tensor is kept that stays in it, empty until the caller
// opens it; null: the tensor is read at once.
std::shared_ptr<const FileBytes>* external_file(const std::string& location, DType dtype,
                                                uint64_t bytes);
// Returns a tensor of these bytes; the range has as many as the tensor needs.
HostTensor lent_tensor(const Piece& piece, DType dtype, const Shape& shape);

}  // namespace wick::onnx
