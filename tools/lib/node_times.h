// Measures how long each node of a program takes: `wick bench --split` and `wick inspect --profile`
// show it.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/core/trace.h"
#include "runtime/ops/op_cost.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Listens to the steps of a session's runs. A node is identified by the address of its name in the
// program, which also works in the regions of If and Loop, where step numbers start anew. A
// device's copies and the wait for it are steps without a node.
class NodeTimes final : public TraceHook {
 public:
  // A kernel of a node.
  struct Step {
    std::string op, node, kernel, backend;  // names, and where it ran
    size_t order = 0;                       // in which it first ran
    std::vector<uint64_t> ns;               // of each run
    std::vector<Shape> in, out;             // in its first run
    OpCost cost;                            // of all runs together; nothing without count_costs()
    // Returns the milliseconds per run: the step's median times how often it occurs, so that one
    // preempted step does not distort the rest.
    double ms(size_t runs) const;
  };
  void on_op(const TraceEvent& event) override;
  bool takes_blocks() const override { return true; }
  // From now on steps have costs, too, by the attributes of the program's nodes. The program must
  // outlive the runs.
  void count_costs(const Program& program);
  // Forgets all times and costs.
  void clear() { steps_.clear(); }
  // Returns the total of a node's kernels; null: it never ran. Valid until the next step.
  const Step* find(const NodeDef& node) const;
  // Returns the milliseconds of a run that each op takes, by its name.
  std::map<std::string, double> ms_by_op(size_t runs) const;
  // Returns one line per kernel of a node, in order: `wick run --profile`.
  std::string table(size_t runs) const;
  // Returns the steps in the order in which they first ran. Valid until the next step.
  std::vector<const Step*> in_order() const;

 private:
  // Keyed by the names of op, node and kernel.
  std::map<std::tuple<const char*, const char*, const char*>, Step> steps_;
  mutable Step found_;
  std::map<std::pair<const char*, const char*>, const NodeDef*> nodes_;  // by the same names
};

}  // namespace wick::tool
