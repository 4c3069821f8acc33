#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "trainer/distributed/parallel/part_run.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"

namespace wick::distributed {

// One thread runs at a time: the one whose place in the list of parts is `turn`.
struct Lockstep::State {
  std::mutex mutex;
  std::condition_variable changed;
  size_t turn = 0;
  std::vector<Part>* parts = nullptr;
  std::vector<bool> over;      // by part: its thread has ended
  std::vector<bool> here;      // by part: it waits for the others
  std::vector<Tensor> values;  // by part: what it brought to a sum
  size_t meetings = 0;
  Tensor result;             // of the last meeting
  std::exception_ptr error;  // the first; the other threads end when they see it

  size_t place_of(int index) const {
    size_t at = 0;
    while ((*parts)[at].index != index) ++at;
    return at;
  }
  // Passes the turn to the next thread that can go on.
  void pass_on(size_t from) {
    for (size_t step = 1; step <= over.size(); ++step) {
      const size_t next = (from + step) % over.size();
      if (over[next]) continue;
      turn = next;
      break;
    }
    changed.notify_all();
  }
};

Tensor Lockstep::sum_of_all(const std::vector<Tensor>& values, const char* what,
                            const Where& where) {
  const int64_t n = values[0].layout().numel();
  Forest<Tensor> forest(shards_of(communicator_.rank(), communicator_.size(), shards_), shards_);
  for (const Tensor& value : values) {
    forest.push(value.clone(), [n](Tensor* left, const Tensor& right) {
      combine(ReduceOp::kSum, DType::kF64, left->raw().data, right.raw().data, left->raw().data, n);
    });
  }
  Communicator::Sum sum{.inputs = {}, .shards = shards_};
  forest.each([&](const Tensor& t) { sum.inputs.push_back(t.raw().data); });
  Tensor out = new_tensor(values[0].raw_shape(), DType::kF64, where);
  Call call;
  call.dtype = DType::kF64;
  call.count = n;
  call.name = what;
  call.where = where;
  communicator_.all_reduce(call, sum, out.raw().data, nullptr).wait();
  return out;
}

void Lockstep::meet(int part, const char* what, const Where& where,
                    const std::function<void()>& action) {
  if (state_ == nullptr) return action();
  State& s = *state_;
  const size_t self = s.place_of(part);
  std::unique_lock lock(s.mutex);
  s.here[self] = true;
  const size_t meeting = s.meetings;
  if (std::find(s.here.begin(), s.here.end(), false) == s.here.end()) {
    action();
    s.here.assign(s.here.size(), false);
    ++s.meetings;
  }
  s.pass_on(self);
  s.changed.wait(lock, [&] { return s.turn == self; });
  if (s.error) throw Error("[data_parallel] another part failed");
  if (s.meetings > meeting) return;
  // The turn came back although not all are here: some part is over.
  throw_error("data_parallel",
              "part " + std::to_string(part) + " asks for the " + what +
                  ", and another part of this rank ended without that: all parts must run the "
                  "same layers",
              where);
}

Tensor Lockstep::sum(int part, const Tensor& value, const char* what, const Where& where) {
  if (state_ == nullptr) return sum_of_all({value}, what, where);
  State& s = *state_;
  s.values[s.place_of(part)] = value;  // one thread runs at a time
  meet(part, what, where, [&] { s.result = sum_of_all(s.values, what, where); });
  return s.result;
}

void Lockstep::run(std::vector<Part>& parts, const std::function<void(Part&, Meeting&)>& f) {
  if (parts.size() < 2) {
    for (Part& part : parts) f(part, *this);
    return;
  }
  State s;
  s.parts = &parts;
  s.over.resize(parts.size());
  s.here.resize(parts.size());
  s.values.resize(parts.size());
  state_ = &s;
  const Modes caller = modes();
  std::vector<std::thread> threads;
  const auto run_part = [&](size_t i) {
    std::unique_lock lock(s.mutex);
    s.changed.wait(lock, [&] { return s.turn == i; });
    const bool goes_on = !s.error;
    lock.unlock();
    std::exception_ptr error;
    if (goes_on) {
      modes() = caller;
      try {
        f(parts[i], *this);
      } catch (...) {
        error = std::current_exception();
      }
    }
    lock.lock();
    if (error && !s.error) s.error = error;
    s.over[i] = true;
    s.pass_on(i);
  };
  threads.reserve(parts.size());
  std::unique_lock begins(s.mutex);  // no part begins before all of them have a thread
  for (size_t i = 0; i < parts.size() && !s.error; ++i) {
    try {
      threads.emplace_back(run_part, i);
    } catch (const std::exception& e) {  // those that were started end without running their parts
      s.error = std::make_exception_ptr(
          Error("[data_parallel] no thread could be started for part " +
                std::to_string(parts[i].index) + " of a batch (" + e.what() +
                "): raise the limit of threads, or take more ranks, each with fewer parts"));
    }
  }
  for (size_t i = threads.size(); i < parts.size(); ++i) s.over[i] = true;
  begins.unlock();
  for (std::thread& t : threads) t.join();
  state_ = nullptr;
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace wick::distributed
