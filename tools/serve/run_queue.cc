#include "tools/serve/run_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "runtime/core/stop.h"
#include "wick/error.h"

namespace wick::serve {
namespace {

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

[[noreturn]] void throw_late(const char* where) {
  throw Error(std::string("the deadline passed ") + where, Code::kDeadline);
}

// Returns whether the inputs differ in dim 0 only.
bool same_rows(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    Shape x = a[i].shape(), y = b[i].shape();
    x[0] = y[0] = 0;
    if (!(x == y)) return false;
  }
  return true;
}

}  // namespace

HostTensor join_rows(const std::vector<const HostTensor*>& parts) {
  Shape shape = parts[0]->shape();
  shape[0] = 0;
  for (const HostTensor* p : parts) shape[0] += p->shape()[0];
  HostTensor whole(parts[0]->dtype(), shape);
  char* to = whole.as<char>();
  for (const HostTensor* p : parts) {
    memcpy(to, p->data(), p->nbytes());
    to += p->nbytes();
  }
  return whole;
}

HostTensor rows_of(const HostTensor& whole, int64_t begin, int64_t rows) {
  Shape shape = whole.shape();
  const size_t row = whole.nbytes() / static_cast<size_t>(shape[0]);
  shape[0] = rows;
  return HostTensor(whole.dtype(), shape, whole.as<char>() + row * static_cast<size_t>(begin),
                    row * static_cast<size_t>(rows));
}

std::vector<HostTensor> RunQueue::run(std::vector<HostTensor> inputs, bool join,
                                      uint64_t deadline_ns) {
  const auto job = std::make_shared<Job>();
  job->inputs = std::move(inputs);
  job->deadline_ns = deadline_ns;
  job->since_ns = now_ns();
  if (join) job->rows = job->inputs[0].shape()[0];
  Jobs jobs;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (enter(job, &lock)) {
      try {
        jobs = take_along(job);
      } catch (...) {  // no memory: nobody was taken yet
        hand_on();
        throw;
      }
    }
  }
  if (!jobs.empty()) {
    run_jobs(jobs);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::shared_ptr<Job>& j : jobs) {
      j->state = State::kDone;
      if (j != job) j->changed.notify_one();
    }
    hand_on();
  }
  if (job->error != nullptr) std::rethrow_exception(job->error);
  return std::move(job->outputs);
}

// Returns true when the caller is to run the job, and has a place for that; false when it is done.
bool RunQueue::enter(const std::shared_ptr<Job>& job, std::unique_lock<std::mutex>* lock) {
  if (running_ < limits_.instances) {  // then nobody waits
    ++running_;
    ++metrics_.running;
    metrics_.queue_seconds.add(0);
    job->state = State::kTaken;
    return true;
  }
  if (waiting_.size() >= limits_.queue) {
    throw Error(
        fmt::format("{} requests wait for this model already: try again later", limits_.queue),
        Code::kBusy);
  }
  waiting_.push_back(job);
  ++metrics_.queued;
  const auto ready = [&] { return job->state == State::kLeads || job->state == State::kDone; };
  bool in_time = true;
  if (job->deadline_ns == 0) {
    job->changed.wait(*lock, ready);
  } else {
    const uint64_t now = now_ns();
    const uint64_t left = job->deadline_ns > now ? job->deadline_ns - now : 0;
    in_time = job->changed.wait_for(*lock, std::chrono::nanoseconds(left), ready);
  }
  if (job->state == State::kDone) return false;
  if (job->state == State::kTaken) throw_late("during the run");
  leave(job);
  if (!in_time && job->state == State::kWaiting) throw_late("in the queue");
  if (job->deadline_ns != 0 && now_ns() >= job->deadline_ns) {
    hand_on();
    throw_late("in the queue");
  }
  return true;
}

// Takes a job out of the queue.
void RunQueue::leave(const std::shared_ptr<Job>& job) {
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), job));
  --metrics_.queued;
  metrics_.queue_seconds.add(seconds(now_ns() - job->since_ns));
}

// Gives the place of a run that has ended to the first job in line that has none.
void RunQueue::hand_on() {
  const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                 [](const auto& j) { return j->state == State::kWaiting; });
  if (next != waiting_.end()) {
    (*next)->state = State::kLeads;
    (*next)->changed.notify_one();
    return;
  }
  --running_;
  --metrics_.running;
}

// Returns the jobs that run with the leader. Several have a power of two of rows together: a
// session is bound to sizes, and sizes that return need no new binding.
RunQueue::Jobs RunQueue::take_along(const std::shared_ptr<Job>& leader) {
  Jobs jobs = {leader};
  if (leader->rows == 0) return jobs;
  int64_t rows = leader->rows;
  size_t keep = 1;
  for (const std::shared_ptr<Job>& j : waiting_) {
    if (j->state != State::kWaiting || j->rows == 0 || j->rows > limits_.max_batch - rows ||
        !same_rows(leader->inputs, j->inputs))
      continue;
    jobs.push_back(j);
    rows += j->rows;
    if (std::has_single_bit(static_cast<uint64_t>(rows))) keep = jobs.size();
  }
  jobs.resize(keep);
  for (size_t i = 1; i < jobs.size(); ++i) {
    leave(jobs[i]);
    jobs[i]->state = State::kTaken;
  }
  return jobs;
}

std::vector<HostTensor> RunQueue::timed(const std::vector<HostTensor>& inputs, uint64_t deadline_ns,
                                        int64_t rows) {
  const uint64_t begin = now_ns();
  std::vector<HostTensor> outputs = run_(inputs, deadline_ns);
  metrics_.run_seconds.add(seconds(now_ns() - begin));
  metrics_.batch_rows.add(static_cast<double>(rows));
  return outputs;
}

void RunQueue::run_alone(Job* job) {
  try {
    const bool rows = !job->inputs.empty() && job->inputs[0].shape().rank() > 0;
    job->outputs = timed(job->inputs, job->deadline_ns, rows ? job->inputs[0].shape()[0] : 1);
  } catch (...) {
    job->error = std::current_exception();
  }
}

// A run of several has the latest of their deadlines.
void RunQueue::run_joined(const Jobs& jobs) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < jobs[0]->inputs.size(); ++i) {
    std::vector<const HostTensor*> parts;
    for (const std::shared_ptr<Job>& j : jobs) parts.push_back(&j->inputs[i]);
    inputs.push_back(join_rows(parts));
  }
  int64_t rows = 0;
  uint64_t deadline = 1;
  for (const std::shared_ptr<Job>& j : jobs) {
    rows += j->rows;
    const bool none = deadline == 0 || j->deadline_ns == 0;
    deadline = none ? 0 : std::max(deadline, j->deadline_ns);
  }
  const std::vector<HostTensor> outputs = timed(inputs, deadline, rows);
  int64_t begin = 0;
  for (const std::shared_ptr<Job>& j : jobs) {
    for (const HostTensor& whole : outputs) {
      if (whole.shape().rank() == 0 || whole.shape()[0] != rows)
        throw Error(
            fmt::format("an output of {} rows has shape {}", rows, to_text(whole.shape()).text),
            Code::kInternal);
    }
    for (const HostTensor& whole : outputs) j->outputs.push_back(rows_of(whole, begin, j->rows));
    begin += j->rows;
  }
}

void RunQueue::run_jobs(const Jobs& jobs) {
  if (jobs.size() > 1) {
    try {
      return run_joined(jobs);
    } catch (...) {
      // The error is of one of them, or of them together: each gets the answer that it has alone.
    }
  }
  for (const std::shared_ptr<Job>& j : jobs) {
    j->outputs.clear();
    run_alone(j.get());
  }
}

}  // namespace wick::serve
