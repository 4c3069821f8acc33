// How long each node of a program takes: what `wick bench --split` and `wick inspect --profile`
// show.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/core/trace.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Hears the steps of a session's runs. A node is known by where its name lies in the program, which
// holds inside the regions of If and Loop too, where step numbers begin anew. A device's copies and
// the wait for it are steps without a node.
class NodeTimes final : public TraceHook {
 public:
  struct Step {
    std::string op, node, kernel, backend;
    size_t order = 0;  // in which it was first heard
    std::vector<uint64_t> ns;
    std::vector<Shape> in, out;  // as it was first heard
    // A run's: the median of a step times how often it comes, so that one preempted step does not
    // colour the rest.
    double ms(size_t runs) const;
  };
  void on_op(const TraceEvent& event) override;
  bool takes_blocks() const override { return true; }
  void clear() { steps_.clear(); }
  // What its kernels took together; null: it never ran. Valid until the next step is heard.
  const Step* find(const NodeDef& node) const;
  std::map<std::string, double> ms_by_op(size_t runs) const;
  // A line a kernel of a node, in order: `wick run --profile`.
  std::string table(size_t runs) const;
  // As they were first heard. Valid until the next step is heard.
  std::vector<const Step*> in_order() const;

 private:
  // by op's, node's and kernel's names
  std::map<std::tuple<const char*, const char*, const char*>, Step> steps_;
  mutable Step found_;
};

}  // namespace wick::tool
