#include "tools/wick/device_share.h"
#include "tools/lib/print.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace wick::tool {
namespace {

bool touches_floats(Span<const TensorView> views) {
  return std::any_of(views.begin(), views.end(),
                     [](const TensorView& v) { return v.present() && is_float(v.dtype); });
}

}  // namespace

void DeviceShare::begin(const std::vector<HostTensor>& inputs) {
  dtype_.clear();
  on_cpu_.clear();
  on_device_ = false;
  for (const HostTensor& t : inputs) {
    if (dtype_.empty() && is_float(t.dtype())) dtype_ = dtype_name(t.dtype());
  }
}

void DeviceShare::on_op(const TraceEvent& e) {
  if (std::strcmp(e.backend, "cpu") != 0) {
    on_device_ = true;
  } else if (touches_floats(e.in) || touches_floats(e.out)) {
    on_cpu_.insert(e.op);
  }
}

void DeviceShare::end(const std::string& name) {
  if (dtype_.empty()) return;
  ++tests_;
  auto& [whole, all] = by_dtype_[dtype_];
  ++all;
  if (on_device_ && on_cpu_.empty()) {
    ++whole_;
    ++whole;
  }
  for (const std::string& op : on_cpu_) kept_[op].insert(name);
}

double DeviceShare::percent() const {
  return tests_ == 0 ? 0 : 100.0 * static_cast<double>(whole_) / static_cast<double>(tests_);
}

nlohmann::json DeviceShare::json() const {
  nlohmann::json dtypes = nlohmann::json::object(), ops = nlohmann::json::object();
  for (const auto& [dtype, n] : by_dtype_)
    dtypes[dtype] = {{"whole", n.first}, {"tests", n.second}};
  for (const auto& [op, tests] : kept_) ops[op] = tests;
  return {{"whole", whole_}, {"tests", tests_}, {"by_dtype", dtypes}, {"on_the_cpu", ops}};
}

void DeviceShare::print() const {
  say("{} of the {} tests with float inputs ran every float op on the device ({:.1f} %)\n", whole_,
      tests_, percent());
  for (const auto& [dtype, n] : by_dtype_) say("  {}: {} of {}\n", dtype, n.first, n.second);
  std::vector<std::pair<size_t, std::string>> most;
  for (const auto& [op, tests] : kept_) most.emplace_back(tests.size(), op);
  std::sort(most.rbegin(), most.rend());
  std::string line = "  on the CPU, by tests:";
  for (const auto& [count, op] : most) line += fmt::format(" {} {},", op, count);
  if (!most.empty()) say("{}\n", line.substr(0, line.size() - 1));
}

}  // namespace wick::tool
