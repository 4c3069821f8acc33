// Decision trees between ONNX's tables and the op TreeEnsemble's.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/ops/attrs/trees.h"

namespace wick::onnx {

// Forest has trees in any order of nodes. A child or a root that is >= 0 is a node, one below 0 is
// leaf -1 - it. Numbers are doubles, which hold every float32.
struct Forest {
  struct Node {
    int64_t feature = 0;
    int32_t relations = 0;  // TreeRelation bits that go on to the true child
    int64_t child[2] = {};  // the true one, the false one
    double split = 0;
  };
  struct Entry {
    int64_t target;
    double weight;
  };
  std::vector<Node> nodes;
  std::vector<int64_t> roots;
  std::vector<std::vector<Entry>> leaves;

  // Says what walks have seen of all nodes and leaves. A walk clears what it marked, so that walks
  // which share it cost what they find, however large the forest is.
  struct Marks {
    std::vector<uint8_t> nodes, leaves;
  };
  // Returns the nodes that are reached from these roots, parents before children, each tree as a
  // whole and true children first, so that the order depends on the trees alone. Throws Error if
  // nodes form a cycle.
  std::vector<int64_t> order(const std::vector<int64_t>& from, Marks* marks) const;
  // Returns the leaves that these nodes and roots refer to, in the order in which they do.
  std::vector<int64_t> leaves_of(const std::vector<int64_t>& nodes,
                                 const std::vector<int64_t>& roots, Marks* marks) const;
  // Returns the tables of the op, in its order of inputs, with splits and weights of this dtype.
  std::vector<HostTensor> tables(DType dtype) const;
};

// TreeMode is a way to compare that ONNX has, by its name and, as its place, its number.
struct TreeMode {
  const char* name;
  int32_t relations;
};
inline constexpr auto kTreeLess = static_cast<int32_t>(TreeRelation::kLess),
                      kTreeEqual = static_cast<int32_t>(TreeRelation::kEqual),
                      kTreeGreater = static_cast<int32_t>(TreeRelation::kGreater),
                      kTreeUnordered = static_cast<int32_t>(TreeRelation::kUnordered);
inline constexpr TreeMode kTreeModes[] = {
    {"BRANCH_LEQ", kTreeLess | kTreeEqual},
    {"BRANCH_LT", kTreeLess},
    {"BRANCH_GTE", kTreeGreater | kTreeEqual},
    {"BRANCH_GT", kTreeGreater},
    {"BRANCH_EQ", kTreeEqual},
    {"BRANCH_NEQ", kTreeLess | kTreeGreater | kTreeUnordered}};  // NaN differs from every split
inline constexpr int64_t kTreeMember = 6;  // the number of the mode that asks for one of a set

// The names of aggregate_function, by their numbers.
inline constexpr const char* kTreeAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};

// Returns the forest of constant tables. Throws Error if they are out of range.
Forest forest_of_tables(const std::vector<HostTensor>& tables);

}  // namespace wick::onnx
