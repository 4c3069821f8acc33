// Watcher: observes the dispatcher and the engine, for trainer/explain. Unlike a Tracer it changes
// nothing, also observes backward's ops, and several may be active. A thread without one pays for
// the test of one pointer per call (Modes::watcher).
#pragma once

#include "trainer/tensor/tracer.h"

namespace wick {

class Node;

class Watcher {
 public:
  // Called after an op ran and was recorded.
  virtual void on_call(const TracedCall&) {}
  // Called before an in-place write through `tensor`; the bytes are still the old ones.
  virtual void on_write(const Tensor& tensor, const char* what, const std::source_location& where);
  // Called around a node's formula in backward. `grads`: the gradients of its outputs; `results`:
  // those of its inputs; undefined where there is none. For a formula that throws, on_node_end is
  // not called, and a formula may run a backward of its own: RunningNode tells what is running.
  virtual void on_node_begin(const Node&, Span<const Tensor> /*grads*/) {}
  virtual void on_node_end(const Node&, Span<const Tensor> /*grads*/,
                           Span<const Tensor> /*results*/) {}
  // Returns whether on_call() reads numbers. An in-place op whose kernel would write over its
  // operand then runs into a tensor of its own, and is a call like others; else only its write is
  // told, after it.
  virtual bool reads_numbers() const { return false; }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 protected:
  Watcher();  // observes this thread from now on
  virtual ~Watcher();

 private:
  friend bool watch_reads_numbers();
  friend void watch_call(const TracedCall& call);
  friend void watch_write(const Tensor&, const char*, const std::source_location&);
  friend void watch_node_begin(const Node& node, Span<const Tensor> grads);
  friend void watch_node_end(const Node& node, Span<const Tensor> grads,
                             Span<const Tensor> results);
  Watcher* outer_;
};

// Called if Modes::watcher is not null.
bool watch_reads_numbers();
void watch_call(const TracedCall& call);
void watch_write(const Tensor& tensor, const char* what, const std::source_location& where);
void watch_node_begin(const Node& node, Span<const Tensor> grads);
void watch_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results);

}  // namespace wick
