// What the parts of lower_qdq() share.
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

// One scale and one zero point, both constants.
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
// Constant bytes whose scale is one or one a channel.
struct ByteWeight {
  ValueId q, scale, zero;
};

inline constexpr const char* kNoForm = "it has no integer form";

// Element i of int8 or uint8.
inline int32_t byte_value(const HostTensor& t, int64_t i) {
  return t.dtype() == DType::kI8 ? t.as<int8_t>()[i] : t.as<uint8_t>()[i];
}

class Lowering {
 public:
  Lowering(Graph& g, LowerReport* report) : g_(g), report_(report) {}
  bool run();

 private:
  // lower_operands.cc: what stands behind a float value. `why`: what hinders.
  ValueId zero_of(DType t);
  // A constant of 4 bits as bytes, one constant however often it is asked for; others as they are.
  ValueId as_bytes(ValueId v);
  std::optional<ByteType> type_of(ValueId scale, ValueId zero, DType dtype, std::string* why);
  std::optional<ByteType> target_of(const Node& quantize, std::string* why);
  std::optional<Bytes> bytes_of(ValueId v, std::string* why);
  std::optional<ByteWeight> weight_of(ValueId v, int64_t channel_axis, bool transpose,
                                      std::string* why);
  // int32, of `n` channels, or nothing where it is no whole multiple of the scales' product.
  std::optional<ValueId> bias_of(ValueId bias, int64_t n, float x_scale, ValueId w_scale,
                                 std::string* why);
  std::string name_of(ValueId v) const;

  // lower_move.cc: ops that move or choose elements, before DequantizeLinear instead of behind it.
  bool sink();
  bool sink_node(NodeId id, Substitution& sub);
  // QuantizeLinear before Reshape and the like, instead of behind.
  bool raise();
  // In order, without what nobody reads; values have other numbers then.
  void renumber();

  // lower_table.cc
  struct Elementwise {
    Bytes leaf;
    std::vector<NodeId> nodes;  // in order
    std::map<ValueId, int> seen;
    int rank = 0;  // of the constants
  };
  bool collect(ValueId v, Elementwise* e);
  std::vector<int32_t> table(const Elementwise& e, ValueId result, const ByteType& to);
  // What is computed element by element of one byte tensor; kNoValue: it is not.
  ValueId by_table(ValueId v, const ByteType& to, NodeId like);
  // q through the table; itself where that changes nothing.
  ValueId look_up(const Bytes& q, const std::vector<int32_t>& entries, const ByteType& to,
                  NodeId like);
  ValueId requantized(const Bytes& b, const ByteType& to, NodeId like);
  // What stands for each of the 256 bytes, and the bytes that stand for reals.
  HostTensor reals_of(const ByteType& type) const;
  std::vector<int32_t> bytes_from(const HostTensor& reals, const ByteType& to) const;
  // The clamps, the innermost last, of bytes that are stored as `type`.
  std::vector<int32_t> clamp_table(const std::vector<NodeId>& clamps, const ByteType& type) const;

  // lower_sums.cc: whether 32 bits hold the sums; where they may not, why_ says so. Weights have
  // their outputs first; of a product of two matrices b_type is b's where that is no constant.
  bool sum_fits(int64_t most, int64_t i);
  bool sums_fit(const ByteType& x, const ByteWeight& w, ValueId bias);
  bool product_fits(const Bytes& a, const ByteWeight& b, const ByteType* b_type);
  bool mean_fits(const ByteType& x, int64_t count);

  // lower_ops.cc: the op that makes v, with the result as `to` has it. kNoValue: why_ says why.
  ValueId lower_core(NodeId id, const ByteType& to);
  // A sum that is the bias of a product by a matrix of constants: that node and the vector.
  bool is_layer(const Node& sum, NodeId* product, ValueId* bias) const;
  ValueId conv(const Node& n, NodeId id, const ByteType& to);
  ValueId linear(NodeId id, ValueId x, ValueId w, bool transpose, ValueId bias, const ByteType* to);
  bool by_matrix(const Node& n) const;
  ValueId matmul(const Node& n, NodeId id, ValueId bias, const ByteType* to);
  bool ratios_are_finite(float x, ValueId w_scale, float y);
  ValueId binary(const Node& n, NodeId id, const ByteType& to);
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
  // Those that read v still: lowered nodes are gone.
  std::vector<NodeId> readers_of(ValueId v) const;
  std::map<ValueId, std::string> reasons_;  // of nodes that stay float, by their first output
  std::string why_;
  std::map<DType, ValueId> zeros_;
  std::map<ValueId, ValueId> widened_;
  std::map<std::pair<ValueId, std::string>, ValueId> transposed_;
  std::map<std::pair<ValueId, std::string>, ValueId> biases_;
};

bool find_tables(Graph& g);

}  // namespace wick::ir
