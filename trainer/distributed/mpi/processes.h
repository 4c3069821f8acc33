// Whether the processes of other ranks still run, as far as this machine's /proc shows it. Of ranks
// on other machines, and where there is no /proc, nothing is known: the time-out finds those.
#pragma once

#include <vector>

#include "trainer/distributed/comm/transport.h"

namespace wick::distributed {

// What identifies a process on all machines of a job.
struct ProcessTag {
  char host[64] = "";
  long pid = 0;
  unsigned long long started = 0;  // in ticks since the machine's start; 0: unknown
};
ProcessTag own_process();

class Processes {
 public:
  Processes() = default;
  // `tags` by rank. Processes that cannot be seen from here now are not watched.
  Processes(int self, std::vector<ProcessTag> tags);
  Transport::Peer look_at(int rank) const;

 private:
  std::vector<ProcessTag> tags_;
  std::vector<bool> seen_;
};

}  // namespace wick::distributed
