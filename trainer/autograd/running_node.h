// The node whose formula a thread is running; internal. Listeners ask here instead of counting
// begin and end events: a formula that throws has no end event, and one may run a backward of its
// own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

class Node;

// Created around the call of a node's formula.
class RunningNode {
 public:
  explicit RunningNode(const Node& running);
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;

  static const Node* innermost();  // null: no formula runs
  static size_t depth();           // more than 1: a backward inside a formula
  static uint64_t runs();          // outermost backwards that this thread has begun

 private:
  const Node& node_;
  RunningNode* outer_;
};

}  // namespace wick
