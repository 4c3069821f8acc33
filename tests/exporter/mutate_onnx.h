// Changes an ONNX model in the parts that carry its meaning: nodes, attributes, types, tensors,
// names, subgraphs, functions, and the values of its inputs. The same seed makes the same change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "tests/support/dice.h"
#include "wick_onnx.pb.h"

namespace wick::test {

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
