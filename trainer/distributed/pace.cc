#include "trainer/distributed/pace.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "trainer/distributed/comm/communicator.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string one_decimal(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

std::vector<int> slow_ranks(const std::vector<double>& own_ms, double slow) {
  std::vector<int> list;
  const double limit = own_ms.empty() ? 0 : slow * median_of(own_ms);
  for (size_t i = 0; i < own_ms.size(); ++i) {
    if (own_ms[i] > limit) list.push_back(static_cast<int>(i));
  }
  return list;
}

Pace::Pace(const Group& group, const PaceOptions& options, Where where)
    : group_(group), options_(options), began_(now()), waited_(group_.traffic().waited_s) {
  if (options.every < 1 || !(options.slow > 1)) {
    throw_error("pace",
                "takes every >= 1 and slow > 1, got " + std::to_string(options.every) + " and " +
                    std::to_string(options.slow),
                where);
  }
}

double Pace::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Pace::step(Where where) {
  if (++steps_ % options_.every != 0) return "";
  const double wall = now() - began_, waited = group_.traffic().waited_s - waited_;
  const double own = 1e3 * (wall - waited) / static_cast<double>(options_.every);
  own_ms_.resize(static_cast<size_t>(group_.size()));
  Call call;
  call.dtype = DType::kF64;
  call.count = 1;
  call.name = "pace";
  call.where = where;
  group_.communicator().all_gather(call, &own, own_ms_.data(), nullptr).wait();
  stragglers_ = slow_ranks(own_ms_, options_.slow);
  // The exchange counts neither as work nor as waiting.
  began_ = now();
  waited_ = group_.traffic().waited_s;
  if (group_.rank() != 0) return "";
  std::string text = "step " + std::to_string(steps_) + ": " +
                     one_decimal(1e3 * wall / static_cast<double>(options_.every)) +
                     " ms; own work";
  for (size_t i = 0; i < own_ms_.size(); ++i) {
    text +=
        (i == 0 ? own_ms_.size() == 1 ? " of rank 0: "
                                      : " of rank 0.." + std::to_string(own_ms_.size() - 1) + ": "
                : ", ") +
        one_decimal(own_ms_[i]);
  }
  text += " ms";
  for (int rank : stragglers_) {
    text += "; rank " + std::to_string(rank) + " is slow (" +
            one_decimal(own_ms_[static_cast<size_t>(rank)] / median_of(own_ms_)) + "x)";
  }
  return text;
}

}  // namespace wick::distributed
