#include "trainer/distributed/rank_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/core/atomic_file.h"
#include "trainer/distributed/comm/communicator.h"
#include "trainer/profile/profiler.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

using TraceJson = nlohmann::ordered_json;
constexpr int kTrainingTrack = 1, kCollectiveTrack = 2;

// Seconds [begin, end).
struct Stretch {
  double begin, end;
};

std::vector<Stretch> joined_stretches(std::vector<Stretch> list) {
  std::sort(list.begin(), list.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> joined;
  for (const Stretch& s : list) {
    if (!joined.empty() && s.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, s.end);
    } else {
      joined.push_back(s);
    }
  }
  return joined;
}

Overlap overlap_of(const std::vector<Stretch>& calls, const std::vector<Stretch>& work) {
  Overlap o;
  const std::vector<Stretch> a = joined_stretches(calls), b = joined_stretches(work);
  for (const Stretch& s : a) o.communication_s += s.end - s.begin;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    o.hidden_s += std::max(0.0, std::min(a[i].end, b[k].end) - std::max(a[i].begin, b[k].begin));
    a[i].end < b[k].end ? ++i : ++k;
  }
  return o;
}

TraceJson track_name(int rank, int track, const std::string& name) {
  return {{"name", track == 0 ? "process_name" : "thread_name"},
          {"ph", "M"},
          {"pid", rank},
          {"tid", track},
          {"args", {{"name", name}}}};
}

// Texts of other lengths from all ranks, on rank 0 in their order.
std::vector<std::string> texts_on_rank_zero(Group group, const std::string& mine,
                                            const Where& where) {
  std::vector<std::string> all;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (group.rank() == 0 && rank == 0) all.push_back(mine);
    if (rank == 0 || (group.rank() != 0 && group.rank() != rank)) continue;
    const Tensor size = full({1}, static_cast<double>(mine.size()), DType::kI64);
    if (group.rank() == rank) {
      group.send(size, 0, {.name = "size of a trace"}, where);
      const Tensor bytes =
          from_blob(mine.data(), Shape{static_cast<int64_t>(mine.size())}, DType::kU8, where);
      group.send(bytes, 0, {.name = "trace"}, where);
    } else {
      group.recv(size, rank, {.name = "size of a trace"}, where);
      const Tensor bytes =
          new_tensor(Shape{static_cast<int64_t>(size.item(where))}, DType::kU8, where);
      group.recv(bytes, rank, {.name = "trace"}, where);
      all.emplace_back(static_cast<const char*>(bytes.raw().data), bytes.nbytes());
    }
  }
  return all;
}

}  // namespace

double Overlap::fraction() const { return communication_s > 0 ? hidden_s / communication_s : 1; }

struct RankTrace::Impl {
  Group group;
  double began = 0;  // by the flight recorder's clock
  std::optional<Profiler> profiler;
};

RankTrace::RankTrace(const Group& world, Where where) : impl_(new Impl{world, 0, {}}) {
  impl_->group.barrier({.name = "trace begins"}, where);
  impl_->began = impl_->group.communicator().engine().recorder().now();
  impl_->profiler.emplace();
}

RankTrace::~RankTrace() = default;

std::vector<Overlap> RankTrace::save(const std::string& path, Where where) {
  Impl& m = *impl_;
  if (!m.profiler) throw_error("rank_trace", "was saved before", where);
  FlightRecorder& recorder = m.group.communicator().engine().recorder();
  const double ended = recorder.now();
  const int rank = m.group.rank();
  TraceJson events = TraceJson::array();
  events.push_back(track_name(rank, 0, "rank " + std::to_string(rank)));
  const Profile profile = m.profiler->stop();
  std::vector<Stretch> calls, work;
  for (const ProfileSlice& s : profile.slices) {
    if (s.kind == SliceKind::kKernel)
      work.push_back(
          {static_cast<double>(s.begin_ns) * 1e-9, static_cast<double>(s.end_ns) * 1e-9});
  }
  std::vector<std::string> groups;  // ids
  for (const FlightRecorder::Entry& e : recorder.entries()) {
    if (e.called < m.began) continue;
    // Groups run beside each other: each has a track.
    auto it = std::find(groups.begin(), groups.end(), e.id);
    if (it == groups.end()) {
      it = groups.insert(it, e.id);
      const int track = kCollectiveTrack + static_cast<int>(it - groups.begin());
      events.push_back(track_name(rank, track, "collectives of " + e.group));
    }
    const Stretch s{e.called - m.began, (e.ended < 0 ? ended : e.ended) - m.began};
    calls.push_back(s);
    events.push_back({{"name", e.call},
                      {"cat", "collective"},
                      {"ph", "X"},
                      {"ts", 1e6 * s.begin},
                      {"dur", 1e6 * (s.end - s.begin)},
                      {"pid", rank},
                      {"tid", kCollectiveTrack + static_cast<int>(it - groups.begin())},
                      {"args",
                       {{"number", e.sequence},
                        {"bytes", e.bytes},
                        {"all called after us", e.met < 0 ? -1 : 1e6 * (e.met - e.called)}}}});
  }
  m.profiler.reset();
  const Overlap mine = overlap_of(calls, work);
  const auto ranks = static_cast<size_t>(m.group.size());
  std::vector<double> numbers(2 * ranks);
  const double two[] = {mine.communication_s, mine.hidden_s};
  Call call;
  call.dtype = DType::kF64;
  call.count = 2;
  call.name = "overlap of a trace";
  call.where = where;
  m.group.communicator().all_gather(call, two, numbers.data(), nullptr).wait();
  std::vector<Overlap> overlaps(ranks);
  for (size_t i = 0; i < ranks; ++i) overlaps[i] = {numbers[2 * i], numbers[2 * i + 1]};

  const std::string list = events.dump(-1, ' ', false, TraceJson::error_handler_t::replace);
  const std::string text =
      list.substr(1, list.size() - 2) + ",\n" + profile.chrome_events(rank, kTrainingTrack);
  const std::vector<std::string> all = texts_on_rank_zero(m.group, text, where);
  if (rank == 0) {
    std::string file = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    for (size_t i = 0; i < all.size(); ++i) file += (i == 0 ? "" : ",\n") + all[i];
    file += "]}\n";
    const Status status = write_file_atomically(path.c_str(), file.data(), file.size());
    if (!status.ok()) {
      const std::string why = "[rank_trace] cannot write " + path;
      if (ranks == 1) throw Error(why);
      m.group.fail(why, where);
    }
  }
  m.group.barrier({.name = "trace written"}, where);
  return overlaps;
}

}  // namespace wick::distributed
