// External data: constants in a file next to the model, for models over 2 GB, which one protobuf
// message cannot hold, and for those that ask for it.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/core/atomic_file.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

// Throws Error with the tensor's name and `why`.
[[noreturn]] void refuse(const std::string& name, const std::string& why);

class ExternalData {
 public:
  // `location` is the file's name in the model's folder.
  explicit ExternalData(std::string location) : location_(std::move(location)) {}

  // Strings have no raw form: they stay in the model.
  static bool takes(const HostTensor& t) {
    return t.nbytes() >= kLeast && t.dtype() != DType::kString;
  }
  TensorProto add(const HostTensor& t, const std::string& name);
  void clear() { pieces_.clear(), size_ = 0; }
  bool empty() const { return pieces_.empty(); }
  Status write(AtomicFile& file) const;

 private:
  static constexpr size_t kLeast = 1024, kAlign = 4096;  // pages, so that the file can be mapped
  struct Piece {
    HostTensor tensor;
    uint64_t offset;
  };
  std::string location_;
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

// Reads a tensor whose data is in a file of `folder`: a plain file inside it, by a relative path
// without `..` and without symbolic links. Throws Error.
HostTensor read_external(const TensorProto& proto, const std::string& folder, DType dtype,
                         const Shape& shape, size_t bytes);

}  // namespace wick::onnx
