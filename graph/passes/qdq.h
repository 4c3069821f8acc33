// Shared by the parts of lower_qdq().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/passes/lower_qdq.h"
#include "graph/rewrite/substitution.h"

namespace wick::ir {

// ByteType is one scale and one zero point, both constants.
struct ByteType {
  ValueId scale = kNoValue, zero = kNoValue;
  float s = 1;
  int32_t z = 0;
  DType dtype = DType::kNone;
  bool operator==(const ByteType& o) const { return s == o.s && z == o.z && dtype == o.dtype; }
};
struct Bytes {
  ValueId q = kNoValue;
  ByteType type;
};
// ByteWeight is constant bytes with one scale, or one scale per channel.
struct ByteWeight {
  ValueId q, scale, zero;
};

inline constexpr const char* kNoForm = "it has no integer form";

// Returns element i of int8 or uint8.
inline int32_t byte_value(const HostTensor& t, int64_t i) {
  return t.dtype() == DType::kI8 ? t.as<int8_t>()[i] : t.as<uint8_t>()[i];
}

class Lowering {
 public:
  Lowering(Graph& g, LowerReport* report) : g_(g), report_(report) {}
  bool run();

 private:
  // lower_operands.cc: find what is behind a float value. `why` gets what prevents it.
  ValueId zero_of(DType t);
  // Returns a 4-bit constant as bytes, the same constant however often it is asked for; others as
  // they are.
  ValueId as_bytes(ValueId v);
  std::optional<ByteType> type_of(ValueId scale, ValueId zero, DType dtype, std::string* why);
  std::optional<ByteType> target_of(const Node& quantize, std::string* why);
  std::optional<Bytes> bytes_of(ValueId v, std::string* why);
  std::optional<ByteWeight> weight_of(ValueId v, int64_t channel_axis, bool transpose,
                                      std::string* why);
  // Returns an int32 bias of `n` channels, or nothing if it is not a whole multiple of the scales'
  // product.
  std::optional<ValueId> bias_of(ValueId bias, int64_t n, float x_scale, ValueId w_scale,
                                 std::string* why);
  std::string name_of(ValueId v) const;

  // lower_move.cc: moves ops that move or choose elements from behind DequantizeLinear to before
  // it.
  bool sink();
  bool sink_node(NodeId id, Substitution& sub);
  // Moves QuantizeLinear from behind Reshape and the like to before them.
  bool raise();
  // Sorts the nodes and removes what nothing reads; values have other ids then.
  void renumber();

  // lower_table.cc
  struct Elementwise {
    Bytes leaf;
    std::vector<NodeId> nodes;  // in order
    std::map<ValueId, int> seen;
    int rank = 0;  // the largest rank of the constants
  };
  bool collect(ValueId v, Elementwise* e);
  std::vector<int32_t> table(const Elementwise& e, ValueId result, const ByteType& to);
  // Lowers a value that is computed element by element from one byte tensor; kNoValue: it is not.
  ValueId by_table(ValueId v, const ByteType& to, NodeId like);
  // Looks q up in the table; returns q itself if that changes nothing.
  ValueId look_up(const Bytes& q, const std::vector<int32_t>& entries, const ByteType& to,
                  NodeId like);
  ValueId requantized(const Bytes& b, const ByteType& to, NodeId like);
  // Return the reals that each of the 256 bytes stands for, and the bytes that stand for given
  // reals.
  HostTensor reals_of(const ByteType& type) const;
  std::vector<int32_t> bytes_from(const HostTensor& reals, const ByteType& to) const;
  // Returns the table of the clamps, the innermost last, for bytes that are stored as `type`.
  std::vector<int32_t> clamp_table(const std::vector<NodeId>& clamps, const ByteType& type) const;

  // lower_sums.cc: check whether 32 bits hold the sums; if they may not, why_ says so. Weights have
  // their outputs first; for a product of two matrices b_type is b's type if b is not constant.
  bool sum_fits(int64_t most, int64_t i);
  bool sums_fit(const ByteType& x, const ByteWeight& w, ValueId bias);
  bool product_fits(const Bytes& a, const ByteWeight& b, const ByteType* b_type);
  bool mean_fits(const ByteType& x, int64_t count);

  // lower_ops.cc: lowers the op that makes v, with a result of type `to`. kNoValue: why_ says why
  // not.
  ValueId lower_core(NodeId id, const ByteType& to);
  // Returns whether a sum is the bias of a product by a matrix of constants; gets that node and the
  // vector.
  bool is_layer(const Node& sum, NodeId* product, ValueId* bias) const;
  ValueId conv(const Node& n, NodeId id, const ByteType& to);
  ValueId linear(NodeId id, ValueId x, ValueId w, bool transpose, ValueId bias, const ByteType* to);
  bool by_matrix(const Node& n) const;
  ValueId matmul(const Node& n, NodeId id, ValueId bias, const ByteType* to);
  bool ratios_are_finite(float x, ValueId w_scale, float y);
  ValueId binary(const Node& n, NodeId id, const ByteType& to);
  ValueId prelu(const Node& n, NodeId id, const ByteType& to);
  ValueId pool(const Node& n, NodeId id, const ByteType& to);
  ValueId mean(const Node& n, NodeId id, const ByteType& to);
  ValueId softmax(const Node& n, NodeId id, const ByteType& to);
  ValueId concat(const Node& n, NodeId id, const ByteType& to);

  // lower_qdq.cc
  void check_scales() const;
  bool fold_quantized();
  ValueId lower_quantize(NodeId id);
  bool only_quantized(ValueId v, std::string* why) const;
  bool is_clamp(const Node& n) const;
  bool lower_quantized();
  bool lower_float_results();
  void write_report();
  void drop_dead();
  template <class A>
  ValueId emit(OpId op, const A& attrs, std::vector<ValueId> in, NodeId like) {
    return emit_any(op, AnyAttrs::of(attrs), std::move(in), like);
  }
  ValueId emit_any(OpId op, const AnyAttrs& attrs, std::vector<ValueId> in, NodeId like);
  ValueId refuse(const std::string& why) {
    why_ = why;
    return kNoValue;
  }
  void stays(NodeId id, const std::string& why) { reasons_.emplace(g_.node(id).outputs[0], why); }

  Graph& g_;
  LowerReport* report_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> output_;
  void find_users();
  // Returns the nodes that still read v: lowered nodes are gone.
  std::vector<NodeId> readers_of(ValueId v) const;
  std::map<ValueId, std::string> reasons_;  // why nodes stay float, by their first output
  std::string why_;
  std::map<DType, ValueId> zeros_;
  std::map<ValueId, ValueId> widened_;
  std::map<std::pair<ValueId, std::string>, ValueId> transposed_;
  std::map<std::pair<ValueId, std::string>, ValueId> biases_;
};

bool find_tables(Graph& g);

}  // namespace wick::ir
