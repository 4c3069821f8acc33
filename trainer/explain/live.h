// Finds graphs that nobody ran backward on, which use memory when a loss is kept instead of its
// value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick {

// Graphs that one line of the program keeps alive.
struct LiveGraphSite {
  std::string where;   // the line of the graph's last op
  int64_t step = 0;    // the optimizer step in which it began, counted from 1
  int64_t graphs = 0;  // number of them
};
// Graphs of ops that no backward has freed, in this process.
struct LiveGraphs {
  int64_t graphs = 0;                        // results with a history that no backward has freed
  int64_t nodes = 0;                         // ops recorded in them
  uint64_t saved_bytes = 0;                  // tensors saved for backward, without parameters
  int64_t oldest_step = 0, newest_step = 0;  // in which their ops were recorded
  std::string oldest_at;                     // line of the oldest, "train.cpp:52"
  std::vector<LiveGraphSite> sites;          // oldest first, one per line and step

  // Returns text such as "37 graphs alive, 412 MiB of saved tensors; oldest made at train.cpp:52 in
  // step 3. Use loss.item() or detach()."
  std::string text() const;
};

// Returns the live graphs that this thread has recorded. Call it between steps, when none is in
// use. Optimizers call it from time to time and warn ("kept-graphs").
LiveGraphs live_graphs();

// Called when an optimizer has made its `taken`-th step: ops recorded from now on belong to the
// next one.
void note_optimizer_step(int64_t taken);

}  // namespace wick
