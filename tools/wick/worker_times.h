// Throughput by loader workers, for the report of a run.
#pragma once

#include <string>
#include <vector>

namespace wick::tool {

struct WorkerTimes {
  int workers = 0;
  double reading = 0, training = 0;  // items a second
};

// Reads batches of the run's training images, and makes steps of its training with them, with 0, 1,
// 2, 4 ... and `most` loader workers. The run's files stay as they are. Throws Error where the run
// or its images are missing.
std::vector<WorkerTimes> worker_times(const std::string& run, int most);

}  // namespace wick::tool
