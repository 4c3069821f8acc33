// The tensors of a file as values of a graph. A tensor of four dims [N, H, W, C] may be there in
// two orders, so that convolutions and what stands between them need no transposes; and bytes may
// be there as the numbers that they stand for.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exporter/tflite/read/file.h"
#include "graph/ir/graph.h"
#include "runtime/core/ledger.h"

namespace wick::tflite {

using namespace ir;  // NOLINT: the graph is what this room speaks about

// The order of a value's dims: as the file has them, or planes [N, C, H, W], which convolutions and
// pools take. Only tensors of four dims are made as planes.
enum class Layout : uint8_t { kFile = 0, kPlanes = 1 };

// Returns the axis of four that is this axis of the file.
int64_t axis_in(Layout layout, int64_t axis);

// The numbers that bytes stand for are (q - zero) * scale: one pair for all, or one for each index
// of `axis`.
struct Quantization {
  std::vector<float> scales;   // empty: they stand for themselves
  std::vector<int64_t> zeros;  // as many
  int axis = 0;
  bool operator==(const Quantization&) const = default;
};

struct Tensor {
  int32_t index = 0;
  const fbs::Tensor* file = nullptr;
  std::string name;            // short enough for messages; may be ""
  DType dtype = DType::kNone;  // of its values in the graph: 4-bit integers are int8 there
  std::vector<int32_t> shape;  // as the file declares it: right for constants and inputs
  Quantization how;
  bool constant = false;
  Layout home = Layout::kFile;                         // the order in which its operator made it
  std::array<ValueId, 2> raw = {kNoValue, kNoValue};   // by layout: as the file stores it
  std::array<ValueId, 2> real = {kNoValue, kNoValue};  // the numbers that it stands for
  ValueId scale = kNoValue, zero = kNoValue;

  bool quantized() const { return !how.scales.empty(); }
};

class Tensors {
 public:
  Tensors(const File& file, Graph& graph, Ledger& ledger);

  // Returns a tensor by its number. Throws Error, as the calls below do.
  Tensor& at(int32_t index);
  // Makes the tensor an input of the graph. `name` is its name there.
  void add_input(Tensor& t, const std::string& name);
  // Gives the tensor its value, in this order of dims.
  void define(Tensor& t, ValueId v, Layout layout);

  // Return the value as it is stored, and the numbers that it stands for. A value of fewer dims is
  // planes as if it had dims of 1 in front, as in a broadcast.
  ValueId raw(Tensor& t, Layout layout);
  ValueId real(Tensor& t, Layout layout);
  // Returns the sizes of its dims, in the file's order.
  SymShape shape(Tensor& t);
  // Returns a constant's value.
  HostTensor stored(const Tensor& t);

  // Returns numbers of these bytes, which are the tensor's with its own axis at `axis`, and bytes
  // of numbers.
  ValueId dequantized(Tensor& t, ValueId bytes, int64_t axis, const std::string& node);
  ValueId quantized(Tensor& t, ValueId reals, const std::string& node);
  // Adds a constant under the tensor's name, if that is still free.
  ValueId constant(const Tensor& t, HostTensor value);
  // Returns a constant with its axes permuted.
  HostTensor permuted(const HostTensor& value, const std::vector<int64_t>& perm);
  // Returns the name if no other value of the graph has it, else "".
  std::string take_name(const std::string& name);

  // Count parts of the file that are looked at, memory that is kept, and the nodes of the graph
  // that were made since the last call, on the ledger.
  void visit(uint64_t n);
  void take(uint64_t bytes);
  void count_nodes();

 private:
  Quantization quantization_of(const Tensor& t);
  ValueId moved(ValueId from, Layout to);
  void add_scale(Tensor& t);
  [[noreturn]] void fail(const Tensor& t, const std::string& why) const;

  const File& file_;
  Graph& g_;
  Ledger& ledger_;
  std::vector<std::unique_ptr<Tensor>> all_;
  std::set<std::string> names_;
  size_t counted_nodes_ = 0;
};

// Returns how a message calls a tensor: "tensor 7 'conv/weight'".
std::string tensor_text(const Tensor& t);

}  // namespace wick::tflite
