#include "graph/rewrite/checked.h"

#include <algorithm>
#include <cstdio>

#include "wick/error.h"

namespace wick::ir {
namespace {

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", v);
  return text;
}

}  // namespace

Promise promise_of(Numerics numerics) {
  switch (numerics) {
    case Numerics::kExact: return Promise::kBits;
    case Numerics::kReassociates: return Promise::kReassociates;
    case Numerics::kApproximates: return Promise::kNothing;
  }
  return Promise::kBits;
}

PassChecker::PassChecker(const Graph& graph, std::vector<std::vector<HostTensor>> samples,
                         double work, uint64_t bytes)
    : samples_(std::move(samples)), work_left_(work), bytes_(bytes) {
  try {
    for (const auto& sample : samples_)
      values_.push_back(named_values(graph, sample, options(), bytes_));
  } catch (const Error& e) {
    if (e.code() != Code::kBudgetExceeded) throw;
    unchecked_ = e.what();
  }
}

InterpreterOptions PassChecker::options() {
  InterpreterOptions options;
  options.work_left = &work_left_;
  options.max_bytes = std::min(options.max_bytes, bytes_);
  return options;
}

std::optional<PassFault> PassChecker::check(const Pass& pass, const Graph& after) {
  if (!unchecked_.empty()) return std::nullopt;
  const Promise promise = promise_of(pass.numerics);
  std::vector<GivenValues> made;
  for (size_t s = 0; s < samples_.size(); ++s) {
    std::optional<PassFault> fault;
    GivenValues now;
    try {
      run_beside(
          after, samples_[s], values_[s], promise,
          [&](const Beside& b) {
            const Apart d = apart(b.made, b.given, promise, b.bound);
            if (!d.differs) return true;
            fault = PassFault{pass.name, maker_text(after, b.place, b.value), b.name, ""};
            if (!d.comparable) {
              fault->why = std::string(dtype_name(b.made.dtype())) + to_text(b.made.shape()).text +
                           ", before the pass " + dtype_name(b.given.dtype()) +
                           to_text(b.given.shape()).text;
            } else if (d.text) {
              fault->why = "element " + std::to_string(d.element) + " is another text";
            } else {
              fault->why = "element " + std::to_string(d.element) + " is " + number(d.made) +
                           ", before the pass " + number(d.given) +
                           (b.bound > 0 ? ", allowed " + number(b.bound)
                                        : std::string(", equal bits are promised"));
            }
            return false;
          },
          options());
      if (!fault) now = named_values(after, samples_[s], options(), bytes_);
    } catch (const Error& e) {
      if (e.code() == Code::kBudgetExceeded) {
        unchecked_ = e.what();
        return std::nullopt;
      }
      fault = PassFault{pass.name, "", "", std::string("the graph no longer runs: ") + e.what()};
    }
    if (fault) return fault;
    made.push_back(std::move(now));
  }
  values_ = std::move(made);
  return std::nullopt;
}

}  // namespace wick::ir
