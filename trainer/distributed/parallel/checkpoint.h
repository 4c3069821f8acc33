// Checkpoints of a job: a folder that is replaced as a whole when every rank has written its file.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace wick::distributed {

// Texts that a checkpoint keeps for the program: {{"epoch", "2"}, {"batch", "40"}}.
using Notes = std::map<std::string, std::string>;

// A checkpoint that is being written by a thread. Every rank waits for it, or lets it go, which
// waits too, and prints an error that nobody has waited for.
class Saving {
 public:
  // Returns once the folder is replaced on all ranks. Throws Error, on every rank, where a rank
  // could not write: the checkpoint before is then still there.
  void wait();

 private:
  friend class DataParallel;
  struct State;
  void settle();  // wait(), unless that has thrown its error before
  std::shared_ptr<State> state_;
};

// Returns whether FOLDER, or FOLDER.old, which a save that was interrupted leaves, has a checkpoint
// for load().
bool has_checkpoint(const std::string& folder);

}  // namespace wick::distributed
