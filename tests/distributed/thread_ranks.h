// Ranks as threads of a test: each has an engine, a generator and nets of its own.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/distributed/thread_transport.h"
#include "trainer/distributed/comm/communicator.h"
#include "trainer/distributed/group.h"
#include "trainer/tensor/philox.h"

namespace wick::distributed {

// What one rank threw; empty: nothing.
using Reports = std::vector<std::string>;

inline EngineOptions quick_faults() {
  EngineOptions o;
  o.timeout_s = 20;
  o.answer_s = 1;
  return o;
}

// Runs f(world, rank) on n ranks, and returns what each of them threw.
inline Reports run_ranks(int n, const std::function<void(Group)>& f,
                         const EngineOptions& options = quick_faults(),
                         std::shared_ptr<ThreadJob> job = nullptr) {
  if (!job) job = std::make_shared<ThreadJob>(n);
  Reports reports(static_cast<size_t>(n));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = std::make_shared<Engine>(std::make_unique<ThreadTransport>(job, rank), options);
      Generator own{7, 0};
      GeneratorScope scope(own);
      try {
        f(Group(std::make_shared<Communicator>(engine)));
      } catch (const std::exception& e) {
        reports[static_cast<size_t>(rank)] = e.what();
      }
      engine->stop();
    });
  }
  for (std::thread& t : threads) t.join();
  return reports;
}

}  // namespace wick::distributed
