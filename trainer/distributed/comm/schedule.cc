#include "trainer/distributed/comm/schedule.h"

#include <cstring>

namespace wick::distributed {
namespace {

std::byte* at_byte(const void* data, size_t bytes) {
  return static_cast<std::byte*>(const_cast<void*>(data)) + bytes;  // NOLINT: MPI sends from void*
}

void add_transfer(std::vector<Transfer>* list, int peer, void* data, size_t bytes) {
  if (bytes > 0) list->push_back({peer, data, bytes});
}

// The first round of a reduction: rank s collects segment s of every piece and sums it into `sum`,
// which has the elements of the segment, in what.dtype.
void add_reduction(Schedule* s, Place at, const Reduction& what, void* sum) {
  const size_t size = what.bf16_wire ? 2 : dtype_size(what.dtype);
  const Segment own = segment_of(at.rank, at.size, what.count);
  std::vector<const void*> mine = what.inputs;
  if (what.bf16_wire) {
    for (const void*& in : mine) {
      auto* rounded = reinterpret_cast<uint16_t*>(s->buffer(static_cast<size_t>(what.count) * 2));
      to_bf16(static_cast<const float*>(in), rounded, what.count);
      in = rounded;
    }
  }
  Round round;
  std::vector<Shards> pieces;
  std::vector<const void*> values;  // of the own segment, one for each piece
  for (int peer = 0; peer < at.size; ++peer) {
    const Segment theirs = segment_of(peer, at.size, what.count);
    const auto of_peer = pieces_of(shards_of(peer, at.size, what.shards), what.shards);
    pieces.insert(pieces.end(), of_peer.begin(), of_peer.end());
    if (peer == at.rank) {
      for (const void* in : mine)
        values.push_back(at_byte(in, static_cast<size_t>(own.begin) * size));
      continue;
    }
    for (const void* in : mine) {
      add_transfer(&round.sends, peer, at_byte(in, static_cast<size_t>(theirs.begin) * size),
                   static_cast<size_t>(theirs.count()) * size);
    }
    for (size_t i = 0; i < of_peer.size(); ++i) {
      const size_t bytes = static_cast<size_t>(own.count()) * size;
      std::byte* const to = s->buffer(bytes);
      add_transfer(&round.receives, peer, to, bytes);
      values.push_back(to);
    }
  }
  round.after = [=, tree = TreeSum(what.shards, pieces), n = own.count()] {
    std::vector<const void*> inputs = values;
    std::vector<std::vector<float>> wide;
    if (what.bf16_wire) {
      for (const void*& in : inputs) {
        wide.emplace_back(static_cast<size_t>(n));
        from_bf16(static_cast<const uint16_t*>(in), wide.back().data(), n);
        in = wide.back().data();
      }
    }
    tree.run(inputs, sum, n, what.dtype, what.op);
    if (what.op == ReduceOp::kMean) divide(what.dtype, sum, n, what.divisor);
  };
  s->rounds.push_back(std::move(round));
}

// Sends segment `rank` of `data` to all ranks but `except`, and receives the others'.
Round exchange_segments(Place at, void* data, int64_t count, size_t size, int except) {
  Round round;
  const Segment own = segment_of(at.rank, at.size, count);
  for (int peer = 0; peer < at.size; ++peer) {
    if (peer == at.rank) continue;
    const Segment theirs = segment_of(peer, at.size, count);
    if (peer != except) {
      add_transfer(&round.sends, peer, at_byte(data, static_cast<size_t>(own.begin) * size),
                   static_cast<size_t>(own.count()) * size);
    }
    if (at.rank != except) {
      add_transfer(&round.receives, peer, at_byte(data, static_cast<size_t>(theirs.begin) * size),
                   static_cast<size_t>(theirs.count()) * size);
    }
  }
  return round;
}

}  // namespace

std::byte* Schedule::buffer(size_t bytes) {
  scratch.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  return scratch.back().get();
}

size_t Schedule::sent_bytes() const {
  size_t sum = 0;
  for (const Round& round : rounds) {
    for (const Transfer& t : round.sends) sum += t.bytes;
  }
  return sum;
}

Segment segment_of(int rank, int ranks, int64_t count) {
  auto bound = [&](int r) { return count / ranks * r + count % ranks * r / ranks; };
  return {bound(rank), bound(rank + 1)};
}

Schedule schedule_all_reduce(Place at, const Reduction& what, void* out) {
  Schedule s;
  if (at.size == 1) {  // nothing travels, so nothing is rounded for it
    Reduction whole = what;
    whole.bf16_wire = false;
    add_reduction(&s, at, whole, out);
    return s;
  }
  const Segment own = segment_of(at.rank, at.size, what.count);
  const size_t size = dtype_size(what.dtype);
  if (!what.bf16_wire) {
    add_reduction(&s, at, what, at_byte(out, static_cast<size_t>(own.begin) * size));
    s.rounds.push_back(exchange_segments(at, out, what.count, size, -1));
    return s;
  }
  auto* sum = reinterpret_cast<float*>(s.buffer(static_cast<size_t>(own.count()) * 4));
  auto* wire = reinterpret_cast<uint16_t*>(s.buffer(static_cast<size_t>(what.count) * 2));
  add_reduction(&s, at, what, sum);
  s.rounds[0].after = [reduce = std::move(s.rounds[0].after), own, sum, wire] {
    reduce();
    to_bf16(sum, wire + own.begin, own.count());
  };
  s.rounds.push_back(exchange_segments(at, wire, what.count, 2, -1));
  s.rounds[1].after = [wire, out, n = what.count] { from_bf16(wire, static_cast<float*>(out), n); };
  return s;
}

Schedule schedule_reduce_scatter(Place at, const Reduction& what, void* out) {
  Schedule s;
  add_reduction(&s, at, what, out);
  return s;
}

Schedule schedule_all_gather(Place at, const void* in, size_t bytes, void* out) {
  Schedule s;
  Round round;
  if (bytes > 0) memmove(at_byte(out, static_cast<size_t>(at.rank) * bytes), in, bytes);
  for (int peer = 0; peer < at.size; ++peer) {
    if (peer == at.rank) continue;
    add_transfer(&round.sends, peer, at_byte(out, static_cast<size_t>(at.rank) * bytes), bytes);
    add_transfer(&round.receives, peer, at_byte(out, static_cast<size_t>(peer) * bytes), bytes);
  }
  s.rounds.push_back(std::move(round));
  return s;
}

Schedule schedule_gather_segments(Place at, void* data, int64_t count, size_t size) {
  Schedule s;
  s.rounds.push_back(exchange_segments(at, data, count, size, -1));
  return s;
}

Schedule schedule_broadcast(Place at, int root, void* data, size_t bytes) {
  Schedule s;
  const auto count = static_cast<int64_t>(bytes);
  Round first;
  auto slice = [&](int rank) { return segment_of(rank, at.size, count); };
  for (int peer = 0; peer < at.size && at.rank == root; ++peer) {
    if (peer == root) continue;
    add_transfer(&first.sends, peer, at_byte(data, static_cast<size_t>(slice(peer).begin)),
                 static_cast<size_t>(slice(peer).count()));
  }
  if (at.rank != root) {
    add_transfer(&first.receives, root, at_byte(data, static_cast<size_t>(slice(at.rank).begin)),
                 static_cast<size_t>(slice(at.rank).count()));
  }
  s.rounds.push_back(std::move(first));
  s.rounds.push_back(exchange_segments(at, data, count, 1, root));
  return s;
}

Schedule schedule_all_to_all(Place at, const void* in, size_t block, void* out) {
  Schedule s;
  Round round;
  const auto own = static_cast<size_t>(at.rank);
  if (block > 0) memmove(at_byte(out, own * block), at_byte(in, own * block), block);
  for (int peer = 0; peer < at.size; ++peer) {
    if (peer == at.rank) continue;
    add_transfer(&round.sends, peer, at_byte(in, static_cast<size_t>(peer) * block), block);
    add_transfer(&round.receives, peer, at_byte(out, static_cast<size_t>(peer) * block), block);
  }
  s.rounds.push_back(std::move(round));
  return s;
}

Schedule schedule_send(int to, const void* data, size_t bytes) {
  Schedule s;
  s.rounds.emplace_back();
  add_transfer(&s.rounds[0].sends, to, at_byte(data, 0), bytes);
  return s;
}

Schedule schedule_receive(int from, void* data, size_t bytes) {
  Schedule s;
  s.rounds.emplace_back();
  add_transfer(&s.rounds[0].receives, from, data, bytes);
  return s;
}

}  // namespace wick::distributed
