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

// A run of a region: the name of its control node's first output, which region it is, the trip of
// a Loop (from 0; -1: a branch of an If), and how many runs of this region came before.
struct Inside {
  std::string control;
  size_t region = 0;
  int64_t trip = -1, nth = 0;
};
using Place = std::vector<Inside>;  // the outermost first; empty: the graph itself
// Returns the region at a place, or null: no control node of the graph has such an output.
const Graph* region_at(const Graph& graph, const Place& place);
// Returns the names of what makes a value of the region at a place: "Tanh next in trip 2 of Loop h,
// in the then branch of If c", or "Loop h, what enters trip 2"; "": an input of the graph.
std::string maker_text(const Graph& graph, const Place& place, ValueId value);

struct Beside {
  const Graph& graph;  // the region, or the graph itself
  const Place& place;
  NodeId node = -1;  // -1: the value is an input of the region, or an output under another name
  ValueId value = kNoValue;
  const std::string& name;  // the value's, or the output's
  const HostTensor& made;   // by the interpreter
  const HostTensor& given;  // by whoever the interpreter is compared with
  Span<const HostTensor> inputs;
  double bound = 0;  // 0: equal bits
};

struct Apart {
  bool differs = false;
  bool comparable = true;  // same dtype and shape
  bool text = false;       // of strings: there are no numbers
  int64_t element = -1;    // the first one beyond the bound
  double made = 0, given = 0;
};
Apart apart(const HostTensor& made, const HostTensor& given, Promise promise, double bound);

// Values by name, those in regions by inside_key(). The interpreter computes what has no name, or
// is not here.
using GivenValues = std::map<std::string, HostTensor>;
std::string inside_key(const Place& place, const std::string& name);
std::string region_key(const Place& place);  // what the keys of all runs of a region begin with

// Values in regions are kept up to this many bytes, these included for each: a loop may make much
// more.
constexpr uint64_t kMostInside = uint64_t{256} << 20, kInsideOverhead = 256;

// Runs every node on the given values where there are some, else on what was computed before, the
// nodes of each branch and trip too. `look` sees each output of a node and each input of a region
// that is given, in the order of execution, then the graph's outputs that no node makes under their
// name; it returns false to stop.
void run_beside(const Graph& graph, Span<const HostTensor> inputs, const GivenValues& given,
                Promise promise, const std::function<bool(const Beside&)>& look,
                const InterpreterOptions& options = {});

// Returns every node's outputs under their names (a name that several have, or that belongs to an
// output of the graph, is left out), the graph's outputs under theirs, and the values of regions,
// their inputs too, up to kMostInside and a quarter of `most_kept`. Other values of more than
// `most_kept` bytes together are refused with kBudgetExceeded: a few steps may make much.
GivenValues named_values(const Graph& graph, Span<const HostTensor> inputs,
                         const InterpreterOptions& options = {}, uint64_t most_kept = UINT64_MAX);

// Gives a name to every value that a node of the graph or of its regions makes, and to the regions'
// inputs: a value without one gets PREFIX and a number. A name that comes twice in one graph stays
// with the first.
void name_values(Graph& graph, const std::string& prefix);

}  // namespace wick::ir
