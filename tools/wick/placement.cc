#include "tools/wick/placement.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/lib/model.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string type_text(const TensorView& v) {
  return v.present() ? std::string(dtype_name(v.dtype)) + to_text(v.shape).text : "-";
}

std::string amount(uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  return bytes < 10'000'000 ? fmt::format("{:.1f} KB", b / 1e3) : fmt::format("{:.1f} MB", b / 1e6);
}

std::string joined(const uint32_t (&n)[3]) { return fmt::format("{}x{}x{}", n[0], n[1], n[2]); }

}  // namespace

void check_fallback(const Fallback& fallback, bool on_device, const std::string& options) {
  if (on_device || (!fallback.allowed && !fallback.refused)) return;
  wrong_usage(fallback.allowed ? "--allow-fallback" : "--strict", "is for " + options);
}

void check_device(const std::string& device, bool all_it_can, bool on_device) {
  if (on_device || (device.empty() && !all_it_can)) return;
  wrong_usage(device.empty() ? "--offload" : "--device", "is for --backend vulkan");
}

void refuse_fallback(Runner* runner) {
  const Session& session = runner->session();
  if (runner->vulkan() == nullptr || session.left_backend()[0] != '\0') {
    throw Error(fmt::format("--strict: the device was left, and the CPU ran all steps: {}",
                            session.left_backend()),
                Code::kUnsupported);
  }
  const std::string on_cpu = Placement(session, runner->vulkan()).on_cpu();
  if (on_cpu.empty()) return;
  throw Error(fmt::format("--strict: the CPU ran {}; wick run --explain says why, and --offload "
                          "all takes what the device can run",
                          on_cpu),
              Code::kUnsupported);
}

Placement::Placement(const Session& session, const VulkanBackend* device) {
  if (device != nullptr) device_ = device->device();
  has_device_ = device != nullptr;
  check(session.explain(*this), "explain");
}

void Placement::on_step(const PlacedStep& s) {
  Step step{s.op, s.node, s.backend, s.kernel, s.why, "", s.index, s.region, {}};
  for (const TensorView& v : s.in) step.types += fmt::format("{} ", type_text(v));
  step.types += "->";
  for (const TensorView& v : s.out) step.types += fmt::format(" {}", type_text(v));
  steps_.push_back(std::move(step));
}

void Placement::on_kernel(const PlacedKernel& k) {
  for (size_t i = steps_.size(); i-- > 0;) {
    if (steps_[i].index != k.index) continue;
    Kernel kernel{k.name,          {}, {},           k.shared_bytes,
                  k.subgroup_size, {}, k.read_bytes, k.written_bytes};
    std::copy(std::begin(k.groups), std::end(k.groups), kernel.groups);
    std::copy(std::begin(k.group_size), std::end(k.group_size), kernel.group_size);
    kernel.constants.assign(k.constants.begin(), k.constants.end());
    steps_[i].kernels.push_back(std::move(kernel));
    return;
  }
}

void Placement::on_copy(const PlacedCopy& c) {
  Copy copy{c.value, type_text(c.type), "", c.type.nbytes(), c.to_device, steps_.size()};
  if (c.op[0] != '\0') {
    copy.other = std::strcmp(c.op, c.node) == 0 ? c.op : fmt::format("{} {}", c.op, c.node);
    if (std::strcmp(c.backend, "cpu") != 0) copy.other += fmt::format(" ({})", c.backend);
  }
  copies_.push_back(std::move(copy));
}

void Placement::on_part(const PlacedPart& part) { parts_.push_back(part); }

Placement::Totals Placement::totals() const {
  Totals t;
  for (const Step& s : steps_) {
    if (s.index < 0) continue;
    ++t.steps;
    t.on_device += s.backend == "cpu" ? 0 : 1;
  }
  t.parts = parts_.size();
  for (const PlacedPart& p : parts_) {
    t.kernels += p.kernels, t.barriers += p.barriers;
    t.read += p.read_bytes, t.written += p.written_bytes, t.flops += p.flops;
    t.arena += p.arena_bytes, t.constants += p.constant_bytes, t.staging += p.staging_bytes;
  }
  for (const Copy& c : copies_) {
    (c.to_device ? t.to_device : t.to_host) += c.bytes;
    if (c.other.empty()) continue;
    ++t.copies_inside;
    t.bytes_inside += c.bytes;
  }
  return t;
}

std::string Placement::on_cpu() const {
  std::map<std::string, size_t> steps;
  for (const Step& s : steps_) {
    if (s.index >= 0 && s.backend == "cpu") ++steps[s.op];
  }
  std::string text;
  for (const auto& [op, n] : steps)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", op, n);
  return text;
}

std::string Placement::split() const {
  const Totals t = totals();
  const std::string rest = on_cpu();
  return fmt::format("ran {} of {} steps{}{}", t.on_device, t.steps,
                     rest.empty() ? "" : "; on the CPU (--explain says why): ", rest);
}

std::string Placement::text() const {
  std::string out;
  if (has_device_) {
    out += fmt::format("vulkan: {}, {}; subgroups of {}, {} KiB shared, one tensor up to {} MiB\n",
                       device_.name, device_.type, device_.subgroup_size,
                       device_.shared_memory_bytes >> 10, device_.largest_tensor_bytes >> 20);
  }
  size_t op_width = 4, node_width = 4;
  for (const Step& s : steps_) {
    op_width = std::max(op_width, s.op.size());
    node_width = std::max(node_width, std::min<size_t>(s.node.size(), 40));
  }
  out += fmt::format("{:>4} {:<{}} {:<{}} {:<7} kernel, or why not on the device\n", "step", "op",
                     op_width, "node", node_width, "where");
  auto copies_before = [&](size_t step) {
    for (const Copy& c : copies_) {
      if (c.before != step) continue;
      const char* end = c.to_device ? "the program's input" : "the program's output";
      out += fmt::format(
          "   {} copy {} {}, {}, {}\n", c.to_device ? ">" : "<", one_line(c.value), c.type,
          amount(c.bytes),
          c.other.empty() ? end : (c.to_device ? "made by " : "for ") + one_line(c.other));
    }
  };
  size_t region = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    copies_before(i);
    if (s.region != region) out += fmt::format("region {}\n", region = s.region);
    std::string what;
    for (size_t k = 0, same = 0; k < s.kernels.size(); k += same) {
      const std::string one =
          fmt::format("{} [{}]", s.kernels[k].name, joined(s.kernels[k].groups));
      for (same = 1; k + same < s.kernels.size(); ++same) {
        const Kernel& next = s.kernels[k + same];
        if (fmt::format("{} [{}]", next.name, joined(next.groups)) != one) break;
      }
      what += fmt::format("{}{}{}", what.empty() ? "" : ", ", one,
                          same == 1 ? "" : fmt::format(" x {}", same));
    }
    if (s.backend == "cpu") {
      what = s.why.empty() ? s.kernel
                           : s.why + (s.kernel.empty() ? "" : fmt::format(" ({})", s.kernel));
    } else if (what.empty()) {
      what = "the same bytes";
    }
    out +=
        fmt::format("{:>4} {:<{}} {:<{}} {:<7} {}\n", s.index < 0 ? "-" : std::to_string(s.index),
                    s.op, op_width, one_line(s.node.substr(0, 40)), node_width,
                    s.index < 0 ? "host" : s.backend, what);
  }
  copies_before(steps_.size());
  return out + kernel_table() + totals_text();
}

// Lists each configuration once.
std::string Placement::kernel_table() const {
  std::map<std::string, size_t> times;
  for (const Step& s : steps_) {
    for (const Kernel& k : s.kernels) {
      const std::string constants = fmt::format("{}", fmt::join(k.constants, ","));
      ++times[fmt::format("{:<24} {:<9} {:>7} B  {}", k.name, joined(k.group_size), k.shared_bytes,
                          constants)];
    }
  }
  if (times.empty()) return "";
  std::string out = fmt::format("{:>5} {:<24} {:<9} {:>9}  {}\n", "times", "kernel", "group",
                                "shared", "specialisation constants");
  for (const auto& [line, n] : times) out += fmt::format("{:>5} {}\n", n, line);
  return out;
}

std::string Placement::totals_text() const {
  const Totals t = totals();
  std::string out = fmt::format("{} steps: {} on the device, {} on the CPU", t.steps, t.on_device,
                                t.steps - t.on_device);
  if (parts_.empty()) return out + "\n";
  out += fmt::format("; {} part{}, {} dispatches, {} barriers\n", t.parts, t.parts == 1 ? "" : "s",
                     t.kernels, t.barriers);
  out += fmt::format("a run: kernels read {} and write {}, {:.3f} MFLOP; {} copied in, {} out\n",
                     amount(t.read), amount(t.written), static_cast<double>(t.flops) / 1e6,
                     amount(t.to_device), amount(t.to_host));
  out += fmt::format("between CPU and device inside the model: {} copies, {}\n", t.copies_inside,
                     amount(t.bytes_inside));
  return out + fmt::format("on the device: {} of values, {} of constants, {} for copies\n",
                           amount(t.arena), amount(t.constants), amount(t.staging));
}

nlohmann::json Placement::json() const {
  auto steps = nlohmann::json::array(), copies = nlohmann::json::array();
  for (const Step& s : steps_) {
    auto kernels = nlohmann::json::array();
    for (const Kernel& k : s.kernels) {
      kernels.push_back({{"name", k.name},
                         {"groups", k.groups},
                         {"group_size", k.group_size},
                         {"shared_bytes", k.shared_bytes},
                         {"subgroup_size", k.subgroup_size},
                         {"constants", k.constants},
                         {"read_bytes", k.read_bytes},
                         {"written_bytes", k.written_bytes}});
    }
    steps.push_back({{"index", s.index},
                     {"region", s.region},
                     {"op", s.op},
                     {"node", s.node},
                     {"types", s.types},
                     {"backend", s.index < 0 ? "host" : s.backend},
                     {"kernel", s.kernel},
                     {"why", s.why},
                     {"kernels", kernels}});
  }
  for (const Copy& c : copies_) {
    copies.push_back({{"value", c.value},
                      {"type", c.type},
                      {"bytes", c.bytes},
                      {"to_device", c.to_device},
                      {"other", c.other}});
  }
  const Totals t = totals();
  nlohmann::json doc = {{"steps", steps},
                        {"copies", copies},
                        {"totals",
                         {{"steps", t.steps},
                          {"on_device", t.on_device},
                          {"parts", t.parts},
                          {"dispatches", t.kernels},
                          {"barriers", t.barriers},
                          {"read_bytes", t.read},
                          {"written_bytes", t.written},
                          {"flops", t.flops},
                          {"copied_in_bytes", t.to_device},
                          {"copied_out_bytes", t.to_host},
                          {"copies_inside", t.copies_inside},
                          {"copied_inside_bytes", t.bytes_inside},
                          {"arena_bytes", t.arena},
                          {"constant_bytes", t.constants},
                          {"staging_bytes", t.staging}}}};
  if (has_device_) doc["device"] = {{"name", device_.name}, {"type", device_.type}};
  return doc;
}

}  // namespace wick::tool
