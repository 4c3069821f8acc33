// How long each node of a program takes: what `wick bench --split` and `wick inspect --profile`
// show.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/trace.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Hears the steps of a session's runs. A node is known by where its name lies in the program, which
// holds inside the regions of If and Loop too, where step numbers begin anew. A step that stands
// for several nodes (a device's partition) has a name of its own.
class NodeTimes final : public TraceHook {
 public:
  struct Step {
    std::string op, kernel;
    std::vector<uint64_t> ns;
    std::vector<Shape> in, out;  // as it was first heard
    // A run's: the median of a step times how often it comes, so that one preempted step does not
    // colour the rest.
    double ms(size_t runs) const;
  };
  void on_op(const TraceEvent& event) override;
  void clear() { steps_.clear(); }
  const Step* find(const NodeDef& node) const;  // null: it never ran
  std::map<std::string, double> ms_by_op(size_t runs) const;

 private:
  std::map<std::pair<const char*, const char*>, Step> steps_;  // by op's and node's names
};

}  // namespace wick::tool
