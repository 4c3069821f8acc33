#include "trainer/distributed/mpi/processes.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace wick::distributed {
namespace {

// The state and the start time of a process, of /proc/PID/stat; false: there is none.
bool look(long pid, char* state, unsigned long long* started) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const size_t name_end = line.rfind(')');  // the name may have spaces and brackets
  if (name_end == std::string::npos) return false;
  std::istringstream fields(line.substr(name_end + 1));
  fields >> *state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  return static_cast<bool>(fields >> *started);
}

}  // namespace

ProcessTag own_process() {
  ProcessTag tag;
  gethostname(tag.host, sizeof tag.host - 1);
  tag.pid = static_cast<long>(getpid());
  char state = 0;
  if (!look(tag.pid, &state, &tag.started)) tag.started = 0;
  return tag;
}

Processes::Processes(int self, std::vector<ProcessTag> tags) : tags_(std::move(tags)) {
  const ProcessTag& own = tags_[static_cast<size_t>(self)];
  for (const ProcessTag& tag : tags_) {
    char state = 0;
    unsigned long long started = 0;
    seen_.push_back(strncmp(tag.host, own.host, sizeof tag.host) == 0 && tag.started != 0 &&
                    look(tag.pid, &state, &started) && started == tag.started);
  }
}

Transport::Peer Processes::look_at(int rank) const {
  const auto at = static_cast<size_t>(rank);
  if (!seen_[at]) return Transport::Peer::kAlive;
  char state = 0;
  unsigned long long started = 0;
  if (!look(tags_[at].pid, &state, &started) || started != tags_[at].started || state == 'Z' ||
      state == 'X') {
    return Transport::Peer::kDead;
  }
  return state == 'T' ? Transport::Peer::kStopped : Transport::Peer::kAlive;
}

}  // namespace wick::distributed
