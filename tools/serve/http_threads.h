// The threads of an HTTP server: one for each connection, up to a limit, and one that refuses those
// beyond it.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace wick::serve {

// What a connection's thread is to do with it.
enum class Welcome : uint8_t { kServe, kRefuse, kClose };
// Of the calling thread's connection.
inline thread_local Welcome t_welcome = Welcome::kServe;

class Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(size_t most) : most_(most) {}

  void enqueue(std::function<void()> connection) override {
    Welcome welcome = Welcome::kClose;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      welcome = place(connection);
    }
    if (welcome != Welcome::kClose) return;
    t_welcome = Welcome::kClose;
    connection();
  }

  void shutdown() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    served_.come.notify_all();
    refused_.come.notify_all();
    for (std::thread& t : threads_) t.join();
  }

 private:
  struct Line {
    std::deque<std::function<void()>> jobs;
    std::condition_variable come;
    size_t threads = 0, busy = 0;
  };
  static constexpr size_t kMostRefused = 256;

  Welcome place(const std::function<void()>& connection) {
    try {
      if (served_.busy + served_.jobs.size() < most_) {
        put(&served_, connection, most_, Welcome::kServe);
        return Welcome::kServe;
      }
      if (refused_.jobs.size() < kMostRefused) {
        put(&refused_, connection, 1, Welcome::kRefuse);
        return Welcome::kRefuse;
      }
    } catch (const std::exception&) {  // no thread or no memory
    }
    return Welcome::kClose;
  }

  void put(Line* line, const std::function<void()>& connection, size_t most, Welcome welcome) {
    if (line->busy + line->jobs.size() >= line->threads && line->threads < most) {
      threads_.reserve(threads_.size() + 1);
      threads_.emplace_back([this, line, welcome] { work(line, welcome); });
      ++line->threads;
    }
    line->jobs.push_back(connection);
    line->come.notify_one();
  }

  void work(Line* line, Welcome welcome) {
    t_welcome = welcome;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      line->come.wait(lock, [&] { return ends_ || !line->jobs.empty(); });
      if (line->jobs.empty()) return;
      const std::function<void()> connection = std::move(line->jobs.front());
      line->jobs.pop_front();
      ++line->busy;
      lock.unlock();
      connection();
      lock.lock();
      --line->busy;
    }
  }

  const size_t most_;
  std::mutex mutex_;  // guards what follows
  Line served_, refused_;
  std::vector<std::thread> threads_;
  bool ends_ = false;
};

}  // namespace wick::serve
