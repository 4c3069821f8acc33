// Replaces what differs between runs of a forward (integers of an op's attributes, constants) by
// values computed from sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/capture/size_values.h"
#include "trainer/capture/solve.h"

namespace wick {

struct Call {
  OpId op;
  AnyAttrs attrs;  // those of the first run
  std::vector<ir::ValueId> inputs;
  std::map<std::string, std::vector<SymDim>> varied;  // fields that depend on sizes
};

// Finds the expression of `field` that holds in every run. Returns false if there is none, or if
// the op can read the field only from its attributes.
bool varied_field(const AttrField& field, const std::vector<AnyAttrs>& runs,
                  const SizeSolver& solver, Call* call);

// Adds the op. Fields that vary stay attributes if the dims of the input can express them (-1, 0,
// ends counted from the end); otherwise they become inputs. Throws what Graph::add_node throws.
ir::NodeId add_call(const Call& call, int outputs, const std::string& name, SizeValues& sizes,
                    ir::Graph& graph);

// Emits a constant that forward made from sizes: a shape filled with one number, evenly spaced
// numbers, a diagonal of ones, a few numbers, or one number that is a size, its root or reciprocal,
// or a size times a decimal number. Returns kNoValue for anything else.
ir::ValueId varied_constant(const std::vector<const HostTensor*>& runs, const SizeSolver& solver,
                            SizeValues& sizes, ir::Graph& graph);

}  // namespace wick
