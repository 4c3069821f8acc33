// A transport between threads of one process, for tests: every rank is an engine, and messages may
// be delayed.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "trainer/distributed/comm/transport.h"
#include "wick/error.h"

namespace wick::distributed {

// The messages of a job whose ranks are threads.
class ThreadJob {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ThreadJob(int ranks) : peers_(static_cast<size_t>(ranks), Transport::Peer::kAlive) {}

  // Each message arrives this much after it was sent.
  std::chrono::microseconds delay{0};
  // The link from one rank to another is a slow one: so many bytes a second, 0 for none.
  int slow_from = -1, slow_to = -1;
  double bytes_per_second = 0;
  std::chrono::microseconds time_of(int from, int to, size_t bytes) const {
    if (from != slow_from || to != slow_to || bytes_per_second <= 0) return delay;
    return delay + std::chrono::microseconds(
                       static_cast<int64_t>(1e6 * static_cast<double>(bytes) / bytes_per_second));
  }
  // What others see of a rank's process.
  void set_peer(int rank, Transport::Peer peer) {
    std::lock_guard lock(mutex_);
    peers_[static_cast<size_t>(rank)] = peer;
  }
  int ranks() const { return static_cast<int>(peers_.size()); }

 private:
  friend class ThreadTransport;
  using Key = std::tuple<int, int, int>;  // from, to, tag
  struct Message {
    std::string bytes;
    Clock::time_point arrives;
  };
  struct Box {
    std::deque<Message> messages;
    uint64_t posted = 0, taken = 0;  // receives; the k-th message goes to the k-th of them
  };
  std::mutex mutex_;
  std::map<Key, Box> boxes_;
  std::vector<Transport::Peer> peers_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadJob> job, int rank) : job_(std::move(job)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return job_->ranks(); }
  std::string name() const override { return "threads"; }
  int max_tag() const override { return 1 << 20; }

  std::unique_ptr<Request> send(int to, int tag, const void* data, size_t bytes) override {
    std::lock_guard lock(job_->mutex_);
    const auto* p = static_cast<const char*>(data);
    job_->boxes_[{rank_, to, tag}].messages.push_back(
        {std::string(p, p + bytes), ThreadJob::Clock::now() + job_->time_of(rank_, to, bytes)});
    return std::make_unique<Sent>();
  }
  std::unique_ptr<Request> receive(int from, int tag, void* data, size_t bytes) override {
    return std::make_unique<Receive>(job_, ThreadJob::Key{from, rank_, tag}, data, bytes);
  }
  bool poll(int tag, int* from, std::string* bytes) override {
    for (int rank = 0; rank < size(); ++rank) {
      std::lock_guard lock(job_->mutex_);
      if (!take(&job_->boxes_[{rank, rank_, tag}], bytes)) continue;
      *from = rank;
      return true;
    }
    return false;
  }
  Peer look_at(int rank) override {
    std::lock_guard lock(job_->mutex_);
    return job_->peers_[static_cast<size_t>(rank)];
  }
  void finish() override {}
  void end_process() override {}

 private:
  struct Sent final : Request {
    bool done() override { return true; }
  };
  class Receive final : public Request {
   public:
    Receive(std::shared_ptr<ThreadJob> job, ThreadJob::Key key, void* data, size_t bytes)
        : job_(std::move(job)), data_(data), bytes_(bytes) {
      std::lock_guard lock(job_->mutex_);
      box_ = &job_->boxes_[key];
      ticket_ = box_->posted++;
    }
    bool done() override {
      std::string text;
      {
        std::lock_guard lock(job_->mutex_);
        if (box_->taken != ticket_ || !take(box_, &text)) return false;
        ++box_->taken;
      }
      if (text.size() != bytes_) throw Error("a message of another length");
      memcpy(data_, text.data(), text.size());
      return true;
    }

   private:
    std::shared_ptr<ThreadJob> job_;
    ThreadJob::Box* box_;  // of a map, whose entries stay where they are
    uint64_t ticket_;
    void* data_;
    size_t bytes_;
  };
  static bool take(ThreadJob::Box* box, std::string* bytes) {
    if (box->messages.empty() || box->messages.front().arrives > ThreadJob::Clock::now()) {
      return false;
    }
    *bytes = std::move(box->messages.front().bytes);
    box->messages.pop_front();
    return true;
  }

  std::shared_ptr<ThreadJob> job_;
  int rank_;
};

}  // namespace wick::distributed
