// What all ranks did, on one time line: ops and modules of each rank's training thread, and beside
// them its collectives, as a file for Perfetto (ui.perfetto.dev).
//
//   distributed::RankTrace trace(world);
//   for (int i = 0; i < 3; ++i) step();
//   trace.save("ranks.json");
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/distributed/group.h"

namespace wick::distributed {

// How much of a rank's communication had work beside it.
struct Overlap {
  double communication_s = 0;  // in which a collective was called and not done
  double hidden_s = 0;         // the part of it in which an op ran
  // Returns hidden_s / communication_s; 1 without communication.
  double fraction() const;
};

// Records the thread that makes it, from then on. A Profiler is running meanwhile.
class RankTrace {
 public:
  // Every rank of the job calls it at the same place; clocks are set by a barrier, so that tracks
  // of several machines agree to its length.
  explicit RankTrace(const Group& world, Where where = Where::current());
  ~RankTrace();
  RankTrace(const RankTrace&) = delete;
  RankTrace& operator=(const RankTrace&) = delete;

  // Ends the recording; rank 0 writes the file. Every rank calls it. Returns the overlap of each
  // rank, on all ranks. Has the last 1,000 collectives of a rank. Throws Error, on all ranks, where
  // the file cannot be written, and when called again.
  std::vector<Overlap> save(const std::string& path, Where where = Where::current());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick::distributed
