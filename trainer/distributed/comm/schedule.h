// A collective as a list of rounds: what a rank sends and receives in each, and what it computes
// when the messages of the round are there. The byte counts of a collective follow from its
// schedule: with N bytes of the whole value, n ranks and segment r of N/n bytes (rounded to
// elements), rank r sends
//   all_reduce      pieces_r (N - segment_r) + (n - 1) segment_r, where pieces_r is the number of
//                   nodes of the tree that it owns: 1 where n is a power of two that divides K, and
//                   in all_reduce of one value per rank; then 2 (n - 1) / n N in all, as a ring's
//   reduce_scatter  pieces_r (N - segment_r), N being the bytes of its input
//   all_gather      (n - 1) times its block
//   broadcast       the root N - segment_root + (n - 1) segment_root, others (n - 2) segment_r
//   all_to_all      (n - 1) times a block
//   send            its bytes
// and 16 bytes of fingerprint to every other rank of the group (send: to one).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/distributed/comm/tree.h"

namespace wick::distributed {

// A message to or from a rank of the group.
struct Transfer {
  int peer = 0;
  void* data = nullptr;
  size_t bytes = 0;
};

struct Round {
  std::vector<Transfer> sends, receives;
  std::function<void()> after;  // runs when all of them are done; may be empty
};

struct Schedule {
  std::vector<Round> rounds;
  std::vector<std::unique_ptr<std::byte[]>> scratch;  // lives as long as the schedule

  std::byte* buffer(size_t bytes);
  size_t sent_bytes() const;
};

// The place of a rank in its group.
struct Place {
  int rank = 0, size = 1;
};

// The elements [begin, end) of `count` that a rank reduces, and broadcasts on.
struct Segment {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
Segment segment_of(int rank, int ranks, int64_t count);

// What is summed: `inputs` are the values of the rank's pieces (pieces_of(shards_of(rank, size,
// shards), shards)), of `count` elements each.
struct Reduction {
  int shards = 1;
  std::vector<const void*> inputs;
  int64_t count = 0;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  int divisor = 1;         // kMean divides by it
  bool bf16_wire = false;  // float32 only: messages are bfloat16, sums float32
};
// `out` has `count` elements and may be an input.
Schedule schedule_all_reduce(Place at, const Reduction& what, void* out);
// `out` has the elements of the rank's segment.
Schedule schedule_reduce_scatter(Place at, const Reduction& what, void* out);
// `out` has `bytes` for each rank, in order of the ranks.
Schedule schedule_all_gather(Place at, const void* in, size_t bytes, void* out);
// The ranks' segments of `data`, of `count` elements of `size` bytes, to all ranks, in place.
Schedule schedule_gather_segments(Place at, void* data, int64_t count, size_t size);
Schedule schedule_broadcast(Place at, int root, void* data, size_t bytes);
// Block i of `in` goes to rank i; block i of `out` comes from it.
Schedule schedule_all_to_all(Place at, const void* in, size_t block_bytes, void* out);
Schedule schedule_send(int to, const void* data, size_t bytes);
Schedule schedule_receive(int from, void* data, size_t bytes);

}  // namespace wick::distributed
