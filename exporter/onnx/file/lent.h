// Reads the weights of a model file straight from the file. protobuf would copy every one of them,
// so it gets the file without them, and a list says where they are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "exporter/onnx/file/model_bytes.h"
#include "exporter/onnx/file/wire.h"
#include "graph/ir/host_tensor.h"
#include "runtime/core/ledger.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Returns `model` (a serialized ModelProto) without raw_data of more than a few hundred bytes,
// whose ranges go to `lent`; empty if there is none, and then `model` is to be parsed as it is.
// Damaged input is left for protobuf to find.
std::string without_weights(ModelBytes& model, std::vector<Piece>* lent);

// Bytes of a file, whatever the name by which it was opened: device and inode, both 0 for the
// model's own file, and the size of the file.
struct FileRange {
  uint64_t device = 0, inode = 0, file_size = 0, offset = 0;
};

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
  Ledger* ledger = nullptr;  // of the model; null: its files may be read as often as it says
  bool share = true;         // false: tensors of the same bytes are read, and charged, one by one
  // The external files that weights stay in, by their location: each is opened once.
  struct Stays {
    std::shared_ptr<const FileBytes> bytes;
    FileRange range;  // of its first byte
  };
  std::map<std::string, Stays> external;

 private:
  friend HostTensor read_once(const std::string&, const FileRange&, DType, const Shape&, size_t,
                              const std::function<HostTensor()>&);
  using File = std::tuple<uint64_t, uint64_t>;
  std::map<File, uint64_t> taken_;  // bytes that were read of each file
  std::map<std::tuple<File, uint64_t, size_t, DType>, HostTensor> read_;
  LentWeights* before_;
};

// Returns the range of the tensor's bytes if they were taken out, else null. Throws Error if no
// LentWeights of this thread has them.
const Piece* lent_piece(const TensorProto& tensor);
// Returns where the file of an external tensor is kept that stays in it, empty until the caller
// opens it; null: the tensor is read at once.
LentWeights::Stays* external_file(const std::string& location, DType dtype, uint64_t bytes);
// Returns a tensor of these bytes; the range has as many as the tensor needs.
HostTensor lent_tensor(const std::string& name, const Piece& piece, DType dtype,
                       const Shape& shape);
// Returns what `read` returns, a tensor of this range of a file; tensors that name the same range
// share their bytes where LentWeights::share is set. What a model reads of a file beyond the file's
// size, as it names ranges that overlap, is charged to its ledger: throws Error with
// kBudgetExceeded.
HostTensor read_once(const std::string& name, const FileRange& range, DType dtype,
                     const Shape& shape, size_t bytes, const std::function<HostTensor()>& read);

}  // namespace wick::onnx
