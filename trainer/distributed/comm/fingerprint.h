// The fingerprint that goes with the first message of every collective: 16 bytes that are equal on
// all ranks if all of them called the same thing. Its text, which names the line, is sent only when
// ranks differ.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "trainer/distributed/comm/tree.h"

namespace wick::distributed {

enum class Kind : uint8_t {
  kBarrier,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kSend,
  kReceive,
};
const char* to_text(Kind kind);  // "all_reduce"

// A collective as its caller wrote it.
struct Call {
  Kind kind = Kind::kBarrier;
  DType dtype = DType::kNone;
  int64_t count = 0;             // elements of the tensor
  ReduceOp op = ReduceOp::kSum;  // of reductions
  int peer = 0;                  // the root of a broadcast, the other rank of send and receive
  std::string name;              // of the tensor; empty: the line identifies the call
  std::source_location where;
  double timeout_s = 0;  // 0: the communicator's

  bool between_two() const { return kind == Kind::kSend || kind == Kind::kReceive; }
  bool reduces() const { return kind == Kind::kAllReduce || kind == Kind::kReduceScatter; }
  // "all_reduce float32[1024] sum 'fc1.weight' (train.cc:31)"
  std::string text() const;
};

struct Fingerprint {
  uint32_t sequence = 0;  // of the call within its group, or among the messages of two ranks
  uint8_t kind = 0, dtype = 0;
  uint16_t detail = 0;  // the function of a reduction and the root
  uint32_t count = 0;   // elements, folded
  uint32_t site = 0;    // a hash of the name, or of the line where there is none

  bool operator==(const Fingerprint&) const = default;
};
static_assert(sizeof(Fingerprint) == 16, "the fingerprint is sent as its bytes");

// Send and receive have one fingerprint: of different lines, so it hashes the name only.
Fingerprint fingerprint_of(const Call& call, uint32_t sequence);
// What two fingerprints of calls with one sequence number differ in: "dtype", "kind", "size",
// "function or root", "name or line", "order".
std::string difference(const Fingerprint& mine, const Fingerprint& theirs);

// What the parts of a fingerprint tell without its text: "broadcast float32".
std::string outline(const Fingerprint& f);

}  // namespace wick::distributed
