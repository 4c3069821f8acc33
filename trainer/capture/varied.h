// What differs between runs of a forward - integers of an op's attributes, constants - as values
// computed from sizes.
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
  AnyAttrs attrs;  // of the first run
  std::vector<ir::ValueId> inputs;
  std::map<std::string, std::vector<SymDim>> varied;  // fields that depend on sizes
};

// Finds what `field` is in every run. False: it cannot be told, or the op reads it from its
// attributes alone.
bool varied_field(const AttrField& field, const std::vector<const AnyAttrs*>& runs,
                  const SizeSolver& solver, Call* call);

// Adds the op; its fields that vary are attributes where the dims of the input say them (-1, 0,
// ends counted from the end), else inputs. Throws what Graph::add_node throws.
ir::NodeId add_call(const Call& call, int outputs, const std::string& name, SizeValues& sizes,
                    ir::Graph& graph);

// A constant that forward makes of sizes: one number filling a shape, numbers in even steps, a
// diagonal of ones, a few numbers, or one number that a size, its root or reciprocal is. kNoValue:
// none of these.
ir::ValueId varied_constant(const std::vector<const HostTensor*>& runs, const SizeSolver& solver,
                            SizeValues& sizes, ir::Graph& graph);

}  // namespace wick
