// Reads one operator of a file into the graph. A family's file says which function reads which
// operator (WICK_TFLITE_READ).
#pragma once

#include <string>
#include <vector>

#include "exporter/tflite/read/tensors.h"

namespace wick::tflite {

class ReadCtx {
 public:
  // `number` is the operator's place in the file, `kind` its name there.
  ReadCtx(const File& file, Graph& graph, Tensors& all, Ledger& ledger, const fbs::Operator& proto,
          size_t number, const char* kind);

  Graph& g;
  Tensors& tensors;
  const fbs::Operator& op;

  int inputs() const { return static_cast<int>(size_of(op.inputs())); }
  int outputs() const { return static_cast<int>(size_of(op.outputs())); }
  bool has(int i) const;
  Tensor& input(int i) const;  // required: fails when it is absent
  Tensor& output(int i) const;
  // Returns the operator's options, the defaults if it has none.
  template <class T>
  const T& options(uint8_t type = kOptionsOf<T>) const {
    const T* found = file_.options<T>(op, type);
    if (found == nullptr) fail("its options are damaged, or another operator's");
    return *found;
  }

  // Returns input i: as the numbers that it stands for, and as it is stored. In planes a value of
  // fewer dims has ones in front.
  ValueId in(int i, Layout layout = Layout::kFile) const { return tensors.real(input(i), layout); }
  ValueId raw(int i, Layout layout = Layout::kFile) const { return tensors.raw(input(i), layout); }
  // Make the value output i: from numbers, which are quantized if the tensor is, and from values
  // as they are stored.
  void set(int i, ValueId v, Layout layout = Layout::kFile);
  void set_raw(int i, ValueId v, Layout layout = Layout::kFile);

  // Returns the number of dims of input i, and the sizes of its dims in the file's order; they fail
  // if those are known only when the model runs.
  int rank(int i) const;
  std::vector<int64_t> sizes(int i) const;
  void need_rank(int i, int rank) const;
  // Fails if a weight has several scales, and not one for each index of this axis: its outputs'.
  void need_scales_along(int i, int64_t axis) const;
  // Returns an axis, which may count from the end, as one from the front.
  int64_t axis(int64_t given, int rank) const;
  // Returns the integers of input i, which constants and sizes must decide.
  std::vector<int64_t> ints(int i) const;
  // Returns them as a list of the file, which must have `count` of them.
  std::vector<int64_t> ints(int i, size_t count, const char* what) const;

  // Returns planes if an input has four dims and is there as planes, and no input has more. An
  // operator that works element by element, or along axes that it can name, then works on those.
  Layout layout() const;
  // Returns whether input i has four dims and is there as planes.
  bool in_planes(int i) const { return rank(i) == 4 && input(i).home == Layout::kPlanes; }
  // Returns whether all inputs from `first` on, and output 0, have one dtype and one quantization:
  // bytes can then be moved and compared as they are.
  bool same_bytes(int first = 0) const;

  // Return a layer's weight with its axes permuted: as it is stored, and as numbers.
  ValueId raw_weight(int i, const std::vector<int64_t>& perm);
  ValueId weight(int i, const std::vector<int64_t>& perm);
  // Returns a layer's bias as numbers, kNoValue if there is none. Integers count in units of the
  // layer's input's scale times its weight's.
  ValueId bias(int i, int input, int weight);
  // Returns the value behind the activation that an operator has in its options.
  ValueId activated(ValueId v, fbs::Activation activation);

  // Emit an op named after this operator. An operator makes as many as it has inputs or outputs, so
  // that they are counted one by one.
  template <class A>
  ValueId emit(OpId o, const A& attrs, std::vector<ValueId> in) {
    tensors.count_nodes();
    return g.emit(o, attrs, std::move(in), name_);
  }
  ValueId emit(OpId o, std::vector<ValueId> in) { return emit(o, NoAttrs{}, std::move(in)); }
  // Emits an op of several results.
  template <class A>
  std::vector<ValueId> emit_all(OpId o, const A& attrs, std::vector<ValueId> in, int results) {
    tensors.count_nodes();
    return g.node(g.add_node(o, AnyAttrs::of(attrs), std::move(in), results, name_)).outputs;
  }
  ValueId cast(ValueId v, DType to);
  ValueId reshape(ValueId v, const std::vector<int64_t>& shape);  // a 0 is a size of 0
  ValueId transpose(ValueId v, const std::vector<int64_t>& perm);
  ValueId int_constant(const std::vector<int64_t>& values);
  // Returns a scalar constant of float32.
  ValueId scalar(double value);
  // Returns a list as an attribute has it; fails if it is too long.
  template <class List = DimList>
  List list(const std::vector<int64_t>& values) const {
    if (values.size() > static_cast<size_t>(List::kCapacity)) fail("a list of it is too long");
    return List(Span<const int64_t>(values));
  }

  // Throws Error: "CONV_2D (operator 3, 'conv1'): why".
  [[noreturn]] void fail(const std::string& why) const;
  const std::string& place() const { return place_; }

 private:
  Tensor& tensor(const flatbuffers::Vector<int32_t>* list, int i, const char* what) const;

  const File& file_;
  Ledger& ledger_;
  std::string name_, place_;
};

// Defines the reader of an operator of operators/operators.def.
#define WICK_TFLITE_READ(NAME, ...)                         \
  void read_tflite_##NAME(ReadCtx& c);                      \
  void read_tflite_##NAME(ReadCtx& c) { (__VA_ARGS__)(c); } \
  static_assert(true)

}  // namespace wick::tflite
