// Compares a graph's values, computed elsewhere, with what each node makes of them: each node is
// run on the given values, so that a difference is the node's own and none is carried on.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/interpreter/interpreter.h"

namespace wick::ir {

// Promise says how far a value may be from what the node makes of the same inputs
// (docs/numerics.md).
enum class Promise : uint8_t {
  kBits,          // equal, every NaN counting as one value
  kReassociates,  // the same real number, rounded elsewhere: within Beside's bound
  kDevice,        // the same, by operations that round to 1 ulp and not to 1/2
  kNothing,       // same dtype and shape, and finite where it should be
};

// Allowance is the bound that follows from a promise for one value: 2 n u M, where u is half an ulp
// of 1 in the value's type, n is the number of roundings that can meet in one element since the
// last given values (the terms of each sum, and 8 for each node in addition), and M is the largest
// magnitude that may come up among them (for a sum of products: terms * max|x| * max|w|).
struct Allowance {
  double roundings = 0, magnitude = 0;
  double of(DType dtype, Promise promise) const;
};

struct Beside {
  NodeId node = -1;
  size_t output = 0;
  const HostTensor& made;   // by the interpreter
  const HostTensor& given;  // by whoever the interpreter is compared with
  Span<const HostTensor> inputs;
  double bound = 0;  // 0: equal bits
};

struct Apart {
  bool differs = false;
  bool comparable = true;  // same dtype and shape
  int64_t element = -1;    // the first one beyond the bound
  double made = 0, given = 0;
};
Apart apart(const HostTensor& made, const HostTensor& given, Promise promise, double bound);

// Values by name. The interpreter computes what has no name, or is not here.
using GivenValues = std::map<std::string, HostTensor>;

// Runs every node on the given values where there are some, else on what was computed before.
// `look` sees each output that is given, in the graph's order; it returns false to stop.
void run_beside(const Graph& graph, Span<const HostTensor> inputs, const GivenValues& given,
                Promise promise, const std::function<bool(const Beside&)>& look,
                const InterpreterOptions& options = {});

// Returns every node's outputs under their names (a name that several have, or that belongs to an
// output of the graph, is left out), and the graph's outputs under theirs. Values of more than
// `most_kept` bytes together are refused with kBudgetExceeded: a few steps may make much.
GivenValues named_values(const Graph& graph, Span<const HostTensor> inputs,
                         const InterpreterOptions& options = {}, uint64_t most_kept = UINT64_MAX);

// Gives a name to every value that a node of the graph makes (not in regions): a value without one
// gets PREFIX and a number. A name that comes twice stays with the first.
void name_values(Graph& graph, const std::string& prefix);

}  // namespace wick::ir
