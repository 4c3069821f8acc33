// Changes an ONNX model where its meaning lies: nodes, attributes, types, tensors, names,
// subgraphs, functions, and the values of its inputs. The same seed makes the same change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "wick_onnx.pb.h"

namespace wick::test {

// splitmix64: the same numbers everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Below n; 0 where nothing is.
  int below(int n) { return n <= 1 ? 0 : static_cast<int>(next() % static_cast<uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class List>
  auto& of(List& list) {
    return list[static_cast<size_t>(below(static_cast<int>(std::size(list))))];
  }

 private:
  uint64_t state_;
};

// Numbers that break sums, products, casts and indices.
int64_t wild_int(Dice& dice);
double wild_real(Dice& dice);

struct HostileCase {
  std::string source;
  onnx::ModelProto model;
  std::map<std::string, HostTensor> inputs;  // by name; one that is not here is made up
};

// One to four changes; what they were, for messages.
std::string mutate(HostileCase& c, Dice& dice);

// The parts that mutate() draws from: each false where the case has nothing for it.
struct Mutation {
  const char* name;
  bool (*apply)(HostileCase&, Dice&);
};
Span<const Mutation> node_mutations();   // inputs, outputs, order, operators, attributes
Span<const Mutation> value_mutations();  // types, tensors, inputs, names, opsets
Span<const Mutation> bomb_mutations();   // subgraphs, functions, sizes

// Every graph of the model, subgraphs included; every list of nodes, functions included; all nodes.
std::vector<onnx::GraphProto*> graphs_of(onnx::ModelProto& model);
std::vector<google::protobuf::RepeatedPtrField<onnx::NodeProto>*> node_lists_of(
    onnx::ModelProto& model);
std::vector<onnx::NodeProto*> nodes_of(onnx::ModelProto& model);
// A name that some node, input or initializer gives; "" where none does.
std::string some_value(const onnx::GraphProto& graph, Dice& dice);

// Models that need no data: control flow with captures, functions, a chain of shapes, and single
// nodes of any operator on inputs of many types.
HostileCase control_case(Dice& dice);
HostileCase node_case(Dice& dice);
const std::vector<std::string>& op_types();

}  // namespace wick::test
