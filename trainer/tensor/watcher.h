// Watcher: what trainer/explain hears of the door and of the engine. Unlike a Tracer it changes
// nothing, hears of backward's ops too, and several may listen at once. A thread without one pays a
// test of one pointer per call (Modes::watcher).
#pragma once

#include "trainer/tensor/tracer.h"

namespace wick {

class Node;

class Watcher {
 public:
  // After an op ran and was recorded.
  virtual void on_call(const TracedCall&) {}
  // Before an in-place write through `tensor`; the bytes still are the old ones.
  virtual void on_write(const Tensor& tensor, const char* what, const std::source_location& where);
  // Around a node's formula, in backward. `grads`: what flows into its outputs; `results`: the
  // gradients of its inputs; undefined where there is none. A formula that throws has no end, and
  // one may run a backward of its own: RunningNode tells what runs.
  virtual void on_node_begin(const Node&, Span<const Tensor> /*grads*/) {}
  virtual void on_node_end(const Node&, Span<const Tensor> /*grads*/,
                           Span<const Tensor> /*results*/) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 protected:
  Watcher();  // listens to this thread from now on
  virtual ~Watcher();

 private:
  friend void watch_call(const TracedCall& call);
  friend void watch_write(const Tensor&, const char*, const std::source_location&);
  friend void watch_node_begin(const Node& node, Span<const Tensor> grads);
  friend void watch_node_end(const Node& node, Span<const Tensor> grads,
                             Span<const Tensor> results);
  Watcher* outer_;
};

// Called where Modes::watcher is not null.
void watch_call(const TracedCall& call);
void watch_write(const Tensor& tensor, const char* what, const std::source_location& where);
void watch_node_begin(const Node& node, Span<const Tensor> grads);
void watch_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results);

}  // namespace wick
