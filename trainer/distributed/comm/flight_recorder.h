// The last collectives of a rank, for a report after a hang: a ring in memory, written as JSON when
// a collective fails or when asked for.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "trainer/distributed/comm/fingerprint.h"

namespace wick::distributed {

class FlightRecorder {
 public:
  static constexpr size_t kCapacity = 1000;  // entries kept

  struct Entry {
    uint64_t number = 0;  // of the entry; the first is 1
    std::string group;    // its name, which other groups may have
    std::string id;       // of this group alone among those of a rank, the same on all of its ranks
    uint32_t sequence = 0;
    std::string call;   // Call::text()
    uint32_t site = 0;  // of the fingerprint
    size_t bytes = 0;   // sent by this rank
    double called = 0;  // seconds since the recorder was made; < 0: not yet
    double met = -1;    // when every rank of the group had called
    double ended = -1;
  };

  FlightRecorder();
  double now() const;
  // Begins an entry and returns its number.
  uint64_t begin(const std::string& group, const std::string& id, uint32_t sequence,
                 const Call& call, size_t bytes);
  // Set the time of an entry that may have been overwritten.
  void met(uint64_t number);
  void ended(uint64_t number);
  // Returns the entries that are kept, the oldest first.
  std::vector<Entry> entries() const;
  // "in no collective; the last was ..." or "in all_reduce ... for 3.2 s".
  std::string state() const;
  // Returns the dump: {"rank", "ranks", "reason", "entries": [...]}.
  std::string json(int rank, int ranks, const std::string& reason) const;

 private:
  Entry* find(uint64_t number);

  mutable std::mutex mutex_;
  int64_t start_;
  uint64_t next_ = 1;
  std::vector<Entry> ring_;
};

// The file of a rank's dump: DIR/wick-flight-RANK.json.
std::string flight_dump_path(const std::string& folder, int rank);
// Writes the dump of a rank there and returns the path. Throws Error.
std::string write_flight_dump(const std::string& folder, int rank, const std::string& json);

}  // namespace wick::distributed
