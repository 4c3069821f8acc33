// StepProfile: measures where a training step's time goes, to find out why training is slow.
#pragma once

#include <array>
#include <chrono>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/data/read_time.h"

namespace wick::data {

// The parts of a training step: waiting for a batch, moving it to the device, forward, backward,
// the update, communication, and the rest.
enum class Phase { kWait, kTransfer, kForward, kBackward, kOptimizer, kComm, kOther };
constexpr int kPhases = 7;  // number of phases

// Training waited for the arithmetic, the loader's threads, the disk, moving batches, or
// communication.
enum class Bottleneck { kCompute, kLoader, kDisk, kTransfer, kComm };

// Where the time of training steps went.
struct StepReport {
  int64_t steps = 0;                      // number of steps
  double wall = 0;                        // seconds
  std::array<double, kPhases> seconds{};  // by Phase; kOther: time that no phase was measured for
  double reading = 0, making = 0;         // times of the loader's threads during the same period
  Bottleneck verdict = Bottleneck::kCompute;  // what the steps waited for
  std::string to_text() const;  // the table, and a last line with the verdict and advice
};

// StepProfile profile;
// while (profile.next(loader, batch)) {
//   { auto t = profile.measure(Phase::kForward); loss = ...; }
//   { auto t = profile.measure(Phase::kBackward); loss.backward(); }
//   { auto t = profile.measure(Phase::kOptimizer); optimizer.step(); }
// }
// std::cout << profile.report().to_text();
//
// The verdict is the largest of waiting, transfer, communication and computing (forward, backward,
// optimizer and the rest). Waiting is attributed to the disk if the loader's threads spend at least
// half of their time on reading files, otherwise to the loader. For use by one thread.
class StepProfile {
 public:
  StepProfile();
  // Counts the time of its life to a phase.
  class Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class StepProfile;
    Scope(StepProfile* profile, Phase phase);
    StepProfile* profile_;
    Phase phase_;
    std::chrono::steady_clock::time_point start_;
  };
  [[nodiscard]] Scope measure(Phase phase) { return Scope(this, phase); }
  bool next(DataLoader& loader, Batch& batch);  // loader.next(), measured as kWait
  void reset();                                 // forgets all measurements and restarts the clock
  StepReport report() const;

 private:
  int64_t steps_ = 0;
  std::array<double, kPhases> seconds_{};
  std::chrono::steady_clock::time_point start_;
  ReadTotals before_;
};

// Returns the bottleneck that the report's times show.
Bottleneck judge(const StepReport& report);

}  // namespace wick::data
