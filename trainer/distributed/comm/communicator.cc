#include "trainer/distributed/comm/communicator.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "wick/error.h"

namespace wick::distributed {
namespace {

constexpr int kTags = 4;  // of a group
constexpr int kWorldTag = 4;

size_t bytes_of(DType dtype, int64_t count) {
  return static_cast<size_t>(count) * dtype_size(dtype);
}

void check_dtype(const Call& call) {
  if (dtype_size(call.dtype) != 0 && call.dtype != DType::kString) return;
  throw_error(to_text(call.kind),
              std::string("does not send ") + dtype_name(call.dtype) + " tensors", call.where,
              Code::kTypeMismatch);
}

void check_divides(const Call& call, int ranks) {
  if (call.count % ranks == 0) return;
  throw_error(to_text(call.kind),
              std::to_string(call.count) + " elements are not divisible among " +
                  std::to_string(ranks) + " ranks",
              call.where, Code::kShapeMismatch);
}

// A split while it runs. Threads may split groups of one rank at the same time, and each needs tags
// of its own. A rank gives its tags to one split after the other, but does not wait for that, as
// another rank may have begun with the other one: a split that did not get the tags of all of its
// ranks asks again. Of those under way on a rank the one of the group with the lowest tag comes
// first, so that the lowest of the job gets them in the end.
class UnderWay {
 public:
  // Throws Error where another thread splits the group: which of them comes first is not the same
  // on every rank.
  UnderWay(Engine::Tags& tags, const CommGroup& group, const std::source_location& where)
      : tags_(tags), group_(group.tag) {
    std::lock_guard lock(tags_.mutex);
    if (tags_.wanted.count(group_) != 0) {
      throw_error("split",
                  "another thread is splitting the group '" + group.name +
                      "', which is for one thread at a time: give each thread a group of its own",
                  where);
    }
    tags_.wanted.insert(group_);
  }
  ~UnderWay() {
    give_back();
    std::lock_guard lock(tags_.mutex);
    tags_.wanted.erase(tags_.wanted.find(group_));
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  // Returns the first tag that is free on this rank, and keeps other splits from it; -1: another
  // split has it, or comes first.
  int64_t take() {
    std::lock_guard lock(tags_.mutex);
    if (tags_.held || *tags_.wanted.begin() != group_) return -1;
    holds_ = tags_.held = true;
    return tags_.next;
  }
  void give_back() {
    std::lock_guard lock(tags_.mutex);
    if (holds_) holds_ = tags_.held = false;
  }

 private:
  Engine::Tags& tags_;
  int group_;
  bool holds_ = false;
};

}  // namespace

Communicator::Communicator(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)), group_(std::make_shared<CommGroup>()) {
  group_->name = "world";
  group_->tag = kWorldTag;
  group_->rank = engine_->transport().rank();
  group_->ranks.resize(static_cast<size_t>(engine_->transport().size()));
  std::iota(group_->ranks.begin(), group_->ranks.end(), 0);
  std::lock_guard lock(engine_->tags.mutex);
  engine_->tags.next = std::max(engine_->tags.next, kWorldTag + kTags);
}

Handle Communicator::submit(Call call, Schedule schedule, Keep keep) {
  return {engine_, engine_->submit(group_, std::move(call), std::move(schedule), std::move(keep))};
}

Reduction Communicator::reduction(const Call& call, const Sum& sum) const {
  check_dtype(call);
  if (!can_combine(call.op, call.dtype)) {
    throw_error(to_text(call.kind),
                std::string("has no ") + to_text(call.op) + " of " + dtype_name(call.dtype),
                call.where, Code::kTypeMismatch);
  }
  return {.shards = sum.shards > 0 ? sum.shards : size(),
          .inputs = sum.inputs,
          .count = call.count,
          .dtype = call.dtype,
          .op = call.op,
          .divisor = size(),
          .bf16_wire = sum.bf16_wire && call.dtype == DType::kF32};
}

void Communicator::check_peer(const Call& call) const {
  const bool pair = call.kind == Kind::kSend || call.kind == Kind::kReceive;
  if (call.peer >= 0 && call.peer < size() && !(pair && call.peer == rank())) return;
  throw_error(to_text(call.kind),
              "rank " + std::to_string(call.peer) + " is not another of the " +
                  std::to_string(size()) + " ranks of group '" + name() + "'",
              call.where);
}

Handle Communicator::barrier(Call call) {
  call.kind = Kind::kBarrier;
  return submit(std::move(call), {}, nullptr);
}

Handle Communicator::all_reduce(Call call, const Sum& sum, void* out, Keep keep) {
  call.kind = Kind::kAllReduce;
  Schedule s = schedule_all_reduce(place(), reduction(call, sum), out);
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::reduce_scatter(Call call, const Sum& sum, void* out, Keep keep) {
  call.kind = Kind::kReduceScatter;
  check_divides(call, size());
  return reduce_segments(std::move(call), sum, out, std::move(keep));
}

Handle Communicator::reduce_segments(Call call, const Sum& sum, void* out, Keep keep) {
  call.kind = Kind::kReduceScatter;
  Schedule s = schedule_reduce_scatter(place(), reduction(call, sum), out);
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::gather_segments(Call call, void* data, Keep keep) {
  call.kind = Kind::kAllGather;
  check_dtype(call);
  Schedule s = schedule_gather_segments(place(), data, call.count, dtype_size(call.dtype));
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::all_gather(Call call, const void* in, void* out, Keep keep) {
  call.kind = Kind::kAllGather;
  check_dtype(call);
  Schedule s = schedule_all_gather(place(), in, bytes_of(call.dtype, call.count), out);
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::broadcast(Call call, void* data, Keep keep) {
  call.kind = Kind::kBroadcast;
  check_dtype(call);
  check_peer(call);
  Schedule s = schedule_broadcast(place(), call.peer, data, bytes_of(call.dtype, call.count));
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::all_to_all(Call call, const void* in, void* out, Keep keep) {
  call.kind = Kind::kAllToAll;
  check_dtype(call);
  check_divides(call, size());
  Schedule s = schedule_all_to_all(place(), in, bytes_of(call.dtype, call.count / size()), out);
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::send(Call call, const void* data, Keep keep) {
  call.kind = Kind::kSend;
  check_dtype(call);
  check_peer(call);
  Schedule s = schedule_send(call.peer, data, bytes_of(call.dtype, call.count));
  return submit(std::move(call), std::move(s), std::move(keep));
}

Handle Communicator::receive(Call call, void* data, Keep keep) {
  call.kind = Kind::kReceive;
  check_dtype(call);
  check_peer(call);
  Schedule s = schedule_receive(call.peer, data, bytes_of(call.dtype, call.count));
  return submit(std::move(call), std::move(s), std::move(keep));
}

std::shared_ptr<Communicator> Communicator::split(int color, int key, const std::string& name,
                                                  std::source_location where) {
  UnderWay under_way(engine_->tags, *group_, where);
  using Entry = std::array<int64_t, 3>;  // color, key, the first tag that is free on the rank
  std::vector<Entry> all(static_cast<size_t>(size()));
  while (true) {
    const Entry mine{color, key, under_way.take()};
    Call call;
    call.dtype = DType::kI64;
    call.count = static_cast<int64_t>(mine.size());
    call.name = "split " + name;
    call.where = where;
    all_gather(call, mine.data(), all.data(), nullptr).wait();
    if (std::all_of(all.begin(), all.end(), [](const Entry& e) { return e[2] >= 0; })) break;
    under_way.give_back();
    std::this_thread::yield();
  }

  int64_t tag = 0;
  std::vector<int64_t> colors;
  std::vector<std::pair<int64_t, int>> members;  // by key, then by rank
  for (int r = 0; r < size(); ++r) {
    const Entry& e = all[static_cast<size_t>(r)];
    tag = std::max(tag, e[2]);
    colors.push_back(e[0]);
    if (e[0] == color) members.emplace_back(e[1], r);
  }
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  std::sort(members.begin(), members.end());
  // Groups of other colors have no rank in common, but a rank of theirs may be with one of these in
  // a third group: each has tags of its own.
  const auto at = std::lower_bound(colors.begin(), colors.end(), color) - colors.begin();
  const int64_t next = tag + kTags * static_cast<int64_t>(colors.size());
  if (next > engine_->transport().max_tag()) {
    throw_error("split", "no message tags are left for another group", where, Code::kUnsupported);
  }
  {
    std::lock_guard lock(engine_->tags.mutex);
    engine_->tags.next = static_cast<int>(next);
  }
  auto group = std::make_shared<CommGroup>();
  group->name = name;
  group->tag = static_cast<int>(tag + kTags * at);
  for (const auto& [k, r] : members) {
    if (r == rank()) group->rank = static_cast<int>(group->ranks.size());
    group->ranks.push_back(group_->ranks[static_cast<size_t>(r)]);
  }
  return std::shared_ptr<Communicator>(new Communicator(engine_, std::move(group)));
}

}  // namespace wick::distributed
