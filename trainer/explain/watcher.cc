#include "trainer/tensor/watcher.h"

#include "trainer/tensor/modes.h"
#include "trainer/tensor/tensor.h"

namespace wick {

void Watcher::on_write(const Tensor&, const char*, const std::source_location&) {}

// Scopes nest: the last one made is destroyed first.
Watcher::Watcher() : outer_(modes().watcher) { modes().watcher = this; }
Watcher::~Watcher() { modes().watcher = outer_; }

namespace {

// Calls the watchers from the innermost to the outermost. One that throws ends the op, and the
// outer ones are not called.
template <class F>
void each(Watcher* w, Watcher* Watcher::*outer, const F& f) {
  for (; w != nullptr; w = w->*outer) f(*w);
}

}  // namespace

bool watch_reads_numbers() {
  bool some = false;
  each(modes().watcher, &Watcher::outer_, [&](Watcher& w) { some = some || w.reads_numbers(); });
  return some;
}
void watch_call(const TracedCall& call) {
  each(modes().watcher, &Watcher::outer_, [&](Watcher& w) { w.on_call(call); });
}
void watch_write(const Tensor& tensor, const char* what, const std::source_location& where) {
  each(modes().watcher, &Watcher::outer_, [&](Watcher& w) { w.on_write(tensor, what, where); });
}
void watch_node_begin(const Node& node, Span<const Tensor> grads) {
  each(modes().watcher, &Watcher::outer_, [&](Watcher& w) { w.on_node_begin(node, grads); });
}
void watch_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results) {
  each(modes().watcher, &Watcher::outer_, [&](Watcher& w) { w.on_node_end(node, grads, results); });
}

}  // namespace wick
