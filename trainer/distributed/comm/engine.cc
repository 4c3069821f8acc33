#include "trainer/distributed/comm/engine.h"

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "wick/error.h"

namespace wick::distributed {
namespace {

constexpr char kGoodbye = 'E';
constinit thread_local int t_beside = 0;  // WaitsBeside of this thread
constexpr int kHeader = 0, kPayload = 1, kPairHeader = 2, kPairPayload = 3;

}  // namespace

WaitsBeside::WaitsBeside() { ++t_beside; }
WaitsBeside::~WaitsBeside() { --t_beside; }

bool Handle::done() const { return op_ == nullptr || engine_->done(*op_); }
void Handle::wait() const {
  if (op_ != nullptr) engine_->wait(*op_);
}

Engine::Engine(std::unique_ptr<Transport> transport, const EngineOptions& options)
    : transport_(std::move(transport)), options_(options) {
  const auto ranks = static_cast<size_t>(transport_->size());
  dead_.resize(ranks);
  stopped_since_.assign(ranks, -1);
  ended_.assign(ranks, -1);
  // A dump of an earlier job is not to be taken for one of this.
  if (!options_.dump_folder.empty()) {
    const std::string dump = flight_dump_path(options_.dump_folder, transport_->rank());
    (void)std::rename(dump.c_str(), (dump + ".before").c_str());
  }
  if (ranks == 1) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    throw Error(std::string("[distributed] no thread could be started that moves collectives (") +
                e.what() + "): raise the limit of threads");
  }
}

Engine::~Engine() { stop(); }

Traffic Engine::traffic() const {
  return {payload_.load(), fingerprints_.load(), messages_.load(),
          static_cast<double>(waited_us_.load()) / 1e6};
}

std::shared_ptr<Operation> Engine::submit(const std::shared_ptr<CommGroup>& group, Call call,
                                          Schedule schedule, std::shared_ptr<const void> keep) {
  auto op = std::make_shared<Operation>();
  op->group_ = group;
  op->keep_ = std::move(keep);
  op->schedule_ = std::move(schedule);
  op->call_ = std::move(call);
  std::unique_lock lock(mutex_);
  if (!report_.empty()) throw_report(&lock);
  if (left_) {
    lock.unlock();
    throw Error("[distributed] " + op->call_.text() +
                " was called behind the end of the job: its ranks have left it");
  }
  const int lane = op->call_.between_two() ? static_cast<int>(op->call_.kind) : 0;
  const uint32_t sequence = ++group->sequences[{lane, lane == 0 ? 0 : op->call_.peer}];
  op->mine_ = fingerprint_of(op->call_, sequence);
  op->entry_ =
      recorder_.begin(group->name, group->id(), sequence, op->call_, op->schedule_.sent_bytes());
  if (group->ranks.size() == 1) {  // nothing to wait for
    lock.unlock();
    for (const Round& round : op->schedule_.rounds) {
      if (round.after) round.after();
    }
    op->finished_ = true;
    recorder_.met(op->entry_);
    recorder_.ended(op->entry_);
    return op;
  }
  submitted_.push_back(op);
  wake_.notify_one();
  return op;
}

bool Engine::done(const Operation& op) {
  std::lock_guard lock(mutex_);
  return op.finished_ || !report_.empty();
}

void Engine::wait(const Operation& op) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return op.finished_ || !report_.empty(); };
  if (!over()) {
    const double began = recorder_.now();
    changed_.wait(lock, over);
    if (t_beside == 0) waited_us_ += static_cast<int64_t>((recorder_.now() - began) * 1e6);
  }
  if (!op.finished_) throw_report(&lock);
}

// Where nobody catches the error, std::terminate runs here, and fail() takes the lock again.
void Engine::throw_report(std::unique_lock<std::mutex>* lock) {
  noticed_ = true;
  wake_.notify_one();
  const std::string report = report_;
  lock->unlock();
  throw Error(report);
}

bool Engine::take_submitted() {
  std::lock_guard lock(mutex_);
  for (std::shared_ptr<Operation>& op : submitted_) {
    const bool pair = op->call_.between_two();
    const Lane lane{op->group_->tag, pair ? static_cast<int>(op->call_.kind) : 0,
                    pair ? op->call_.peer : 0};
    lanes_[lane].push_back(std::move(op));
  }
  const bool any = !submitted_.empty();
  submitted_.clear();
  if (fault_.empty()) fault_ = wanted_fault_;
  return any;
}

// Posts the sends of a round, or its receives from one rank (-1: from all).
void Engine::post(Operation& op, const Round& round, bool sends, int receives_from) {
  const CommGroup& group = *op.group_;
  const int tag = group.tag + (op.call_.between_two() ? kPairPayload : kPayload);
  auto world = [&](int peer) { return group.ranks[static_cast<size_t>(peer)]; };
  if (sends) {
    for (const Transfer& t : round.sends) {
      op.requests_.push_back({t.peer, transport_->send(world(t.peer), tag, t.data, t.bytes)});
      payload_ += static_cast<int64_t>(t.bytes);
      ++messages_;
    }
    return;
  }
  for (const Transfer& t : round.receives) {
    if (receives_from >= 0 && t.peer != receives_from) continue;
    op.requests_.push_back({t.peer, transport_->receive(world(t.peer), tag, t.data, t.bytes)});
  }
}

void Engine::start(Operation& op) {
  op.started_ = true;
  op.started_at_ = recorder_.now();
  const CommGroup& group = *op.group_;
  const bool pair = op.call_.between_two();
  const int tag = group.tag + (pair ? kPairHeader : kHeader);
  for (int peer = 0; peer < static_cast<int>(group.ranks.size()); ++peer) {
    if (peer == group.rank || (pair && peer != op.call_.peer)) continue;
    const int world = group.ranks[static_cast<size_t>(peer)];
    if (op.call_.kind != Kind::kReceive) {
      op.requests_.push_back({peer, transport_->send(world, tag, &op.mine_, sizeof(Fingerprint))});
      fingerprints_ += sizeof(Fingerprint);
      ++messages_;
    }
    if (op.call_.kind != Kind::kSend) op.headers_.push_back({peer, {}, nullptr});
  }
  for (Operation::Header& h : op.headers_) {
    h.request = transport_->receive(group.ranks[static_cast<size_t>(h.peer)], tag, &h.theirs,
                                    sizeof(Fingerprint));
  }
  if (!op.schedule_.rounds.empty()) post(op, op.schedule_.rounds[0], true, -1);
}

// Does what can be done without waiting, and returns whether that was anything.
bool Engine::progress(Operation& op) {
  bool moved = !op.started_;
  if (!op.started_) start(op);
  const std::vector<Round>& rounds = op.schedule_.rounds;
  bool all_here = true;
  for (Operation::Header& h : op.headers_) {
    if (!h.request) continue;
    if (!h.request->done()) {
      all_here = false;
      continue;
    }
    h.request.reset();
    moved = true;
    if (const std::string how = difference(op.mine_, h.theirs); !how.empty()) {
      fault_ = reason_of_difference(op, h, how);
      return true;
    }
    // Receives of the first round are posted now, as their sizes are known to be equal.
    if (!rounds.empty()) post(op, rounds[0], false, h.peer);
  }
  auto& requests = op.requests_;
  const size_t before = requests.size();
  std::erase_if(requests, [](const auto& m) { return m.request->done(); });
  moved = moved || requests.size() != before;
  if (all_here && !op.met_) {
    op.met_ = true;
    recorder_.met(op.entry_);
  }
  while (all_here && requests.empty() && op.round_ < rounds.size()) {
    moved = true;
    if (rounds[op.round_].after) rounds[op.round_].after();
    if (++op.round_ == rounds.size()) break;
    post(op, rounds[op.round_], true, -1);
    post(op, rounds[op.round_], false, -1);
  }
  if (all_here && requests.empty() && op.round_ >= rounds.size()) finish(op);
  return moved;
}

void Engine::finish(Operation& op) {
  recorder_.ended(op.entry_);
  {
    std::lock_guard lock(mutex_);
    op.finished_ = true;
    op.keep_.reset();
    op.schedule_ = {};
  }
  changed_.notify_all();
}

// Does in all lanes what can be done without waiting. `busy`: something is under way.
bool Engine::advance(bool* busy) {
  bool moved = false;
  for (auto& [key, lane] : lanes_) {
    while (!lane.empty() && fault_.empty()) {
      moved = progress(*lane.front()) || moved;
      if (!lane.front()->finished_) break;
      lane.pop_front();
    }
    if (busy != nullptr) *busy = *busy || !lane.empty();
  }
  return moved;
}

void Engine::run() {
  int idle = 0;
  while (true) {
    bool moved = take_submitted(), busy = false;
    std::map<int, Statement> answers;
    try {
      moved = advance(&busy) || moved;
      moved = read_control(&answers) || moved;
      watch();
    } catch (const std::exception& e) {
      fault_ = std::string("2a message failed: ") + e.what();
    }
    if (!fault_.empty() || !answers.empty()) return inquest(std::move(answers));
    {
      std::unique_lock lock(mutex_);
      if (stopping_ && !busy && submitted_.empty()) {
        if (!said_goodbye_) say_goodbye();
        bool all = true;
        for (int rank = 0; rank < transport_->size(); ++rank)
          all = all && (rank == transport_->rank() || ended_[static_cast<size_t>(rank)] >= 0);
        std::erase_if(control_, [](const auto& c) { return c->done(); });
        left_ = all && control_.empty();
        if (left_) return;
      }
      if (moved) {
        idle = 0;
      } else if (busy && ++idle < 50) {
        lock.unlock();
        std::this_thread::yield();
      } else {
        wake_.wait_for(lock, busy ? std::chrono::microseconds(50) : std::chrono::milliseconds(10));
      }
    }
  }
}

void Engine::say_goodbye() {
  said_goodbye_ = true;
  for (int rank = 0; rank < transport_->size(); ++rank) {
    if (rank != transport_->rank()) {
      control_.push_back(transport_->send(rank, kControlTag, &kGoodbye, 1));
    }
  }
}

bool Engine::read_control(std::map<int, Statement>* answers) {
  bool any = false;
  int from = 0;
  std::string text;
  while (transport_->poll(kControlTag, &from, &text)) {
    any = true;
    if (text.size() == 1 && text[0] == kGoodbye) {
      ended_[static_cast<size_t>(from)] = recorder_.now();
    } else {
      (*answers)[from] = unpack(text);
    }
  }
  return any;
}

void Engine::stop() {
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::string report;
  bool noticed = false;
  {
    std::lock_guard lock(mutex_);  // a thread that writes a checkpoint may be in wait()
    report = report_, noticed = noticed_;
  }
  if (report.empty()) return transport_->finish();
  if (!noticed) {
    fprintf(stderr, "%s\n", report.c_str());
    fflush(stderr);
  }
  // The other ranks have the report as well, but some may not have printed it yet, and the launcher
  // ends them all when one process ends.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  transport_->end_process();
}

}  // namespace wick::distributed
