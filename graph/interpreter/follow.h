// Follows a run of the interpreter into branches and trips, with what may have been rounded so far.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/interpreter/beside.h"

namespace wick::ir {

class Follower : public InterpreterWatch {
 public:
  void region(const Graph& region, std::vector<HostTensor>& inputs) final;
  void node(const Graph& graph, NodeId id, Span<const HostTensor> in,
            std::vector<HostTensor>& out) final;

 protected:
  Follower(const Graph& graph, Promise promise);
  ~Follower() = default;

  // A value that has a key was made; `value` may be replaced by one of its type and shape.
  virtual void see(NodeId node, ValueId id, Span<const HostTensor> in, HostTensor& value,
                   const Allowance& allowed) = 0;
  const Graph& graph() const { return *frames_.back().graph; }
  const Place& place() const { return place_; }
  std::string key(ValueId v) const { return inside_key(place_, graph().value(v).name); }
  Allowance allowed(ValueId v) const {
    return promise_ == Promise::kBits ? Allowance() : frames_.back().carried[at(v)];
  }
  // The value is a given one: nothing was rounded since.
  void restart(ValueId v) {
    if (promise_ != Promise::kBits) frames_.back().carried[at(v)] = Allowance();
  }

 private:
  struct Region {
    const Node* control;
    size_t index;
    std::string name;  // of the control node's first output
    bool known;        // that name is no other's, nor are those around it
    std::vector<bool> named;
  };
  struct Frame {
    const Graph* graph;
    const std::vector<bool>* named;
    bool known;
    std::vector<Allowance> carried;  // by value
    std::vector<Allowance> stacked;  // of a Loop's outputs, over its trips
  };

  void add_regions(const Graph& g, const std::vector<bool>& named, bool known);
  Frame leave();
  bool has_key(ValueId v) const { return frames_.back().known && (*frames_.back().named)[at(v)]; }
  void allow_inputs(const Node& control, const std::optional<Frame>& before);
  void allow_outputs(const Node& n, Span<const HostTensor> in, Span<const HostTensor> out,
                     const std::optional<Frame>& inside);
  void allow_control(const Node& n, const std::optional<Frame>& inside);

  const Promise promise_;
  const std::vector<bool> top_;
  std::map<const Graph*, Region> regions_;
  std::map<const Graph*, int64_t> runs_;
  std::vector<Frame> frames_;
  Place place_;
};

}  // namespace wick::ir
