// Graphs that nobody ran backward on: what keeps memory when a loss is kept instead of its value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick {

struct LiveGraphSite {
  std::string where;  // the line of the graph's last op
  int64_t step = 0;   // the optimizer step it began in, from 1
  int64_t graphs = 0;
};
struct LiveGraphs {
  int64_t graphs = 0;                        // results with a history that no backward has consumed
  int64_t nodes = 0;                         // ops recorded in them
  uint64_t saved_bytes = 0;                  // kept for their backward; parameters are not counted
  int64_t oldest_step = 0, newest_step = 0;  // in which their ops were recorded
  std::string oldest_at;                     // "train.cpp:52"
  std::vector<LiveGraphSite> sites;          // oldest first, one a line and step

  // "37 graphs alive, 412 MiB of saved tensors; oldest made at train.cpp:52 in step 3. Use
  // loss.item() or detach()."
  std::string text() const;
};

// The graphs this thread has recorded and that are alive: call it between steps, where none is in
// use. An optimizer calls it by itself now and then and warns ("kept-graphs").
LiveGraphs live_graphs();

// An optimizer has made its `taken`-th step: what is recorded from now on belongs to the next.
void note_optimizer_step(int64_t taken);

}  // namespace wick
