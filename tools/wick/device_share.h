// Counts which float ops of a set of tests a device ran, and which stayed on the CPU.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/core/trace.h"

namespace wick::tool {

class DeviceShare final : public TraceHook {
 public:
  // Begins a test; only tests with float inputs count.
  void begin(const std::vector<HostTensor>& inputs);
  void on_op(const TraceEvent& e) override;
  bool takes_blocks() const override { return true; }
  void end(const std::string& name);

  // Returns the number of tests with float inputs in which the device ran every step that reads or
  // makes floats.
  size_t whole() const { return whole_; }
  size_t tests() const { return tests_; }
  double percent() const;
  // Has, by op, the tests that it kept off the device; by dtype of the first float input, how many
  // of all tests ran wholly on it.
  nlohmann::json json() const;
  void print() const;

 private:
  std::string dtype_;  // of the current test; "": it does not count
  std::set<std::string> on_cpu_;
  bool on_device_ = false;
  size_t tests_ = 0, whole_ = 0;
  std::map<std::string, std::set<std::string>> kept_;  // op -> tests
  std::map<std::string, std::pair<size_t, size_t>> by_dtype_;
};

}  // namespace wick::tool
