#include "tools/wick/warm.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/lib/kept_state.h"
#include "tools/lib/limits.h"
#include "tools/lib/model.h"
#include "tools/lib/open_vulkan.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/std_files.h"
#include "tools/lib/usage.h"
#include "tools/wick/command.h"
#include "tools/wick/places.h"

namespace wick::tool {
namespace {

// Binds and runs each entry point once: stages whose sizes depend on values are known after a run
// only.
void run_sample(const Model& model, VulkanBackend& device, const SampleSizes& sizes) {
  const Program& program = model.program();
  for (const EntryDef& entry : program.entries()) {
    SessionOptions options;
    options.entry = entry.name;
    options.backend = &device;
    options.max_ram = within_memory(options.max_ram);
    const Owned<Session> session = take(Session::create(program, options), "session");
    Sample sample = sample_inputs(*session, program, sizes);
    std::vector<TensorView> in, out(session->output_count());
    for (const HostTensor& t : sample.inputs) in.push_back(t.view());
    RunOptions run;
    run.timeout_ns = time_left_ns();
    Owned<RecurrentState> state;
    if (!program.states().empty())
      state = make_state(program, *session, {sample.inputs, sizes.named, {}});
    run.state = state.get();
    check_status(session->run(in, out, run));
    if (session->left_backend()[0] == '\0') continue;
    throw Error(
        fmt::format("{} was left for the CPU: {}", device.device_name(), session->left_backend()),
        Code::kDevice);
  }
}

}  // namespace

void check_not_warm(const WarmCommand& c) {
  for (const auto& [name, given] : {std::pair<const char*, bool>{"--out", !c.out.empty()},
                                    {"--device", !c.device.empty()},
                                    {"--batch", !c.batches.empty()},
                                    {"--dim", !c.dims.empty()}}) {
    if (given) wrong_usage(name, "is for --warm MODEL");
  }
}

void warm(const WarmCommand& c, bool json) {
  if (c.out.empty()) wrong_usage("--warm", "needs the file to write: -o model.cache");
  check_places({c.model}, {{"--out", c.out}});
  const Model model = Model::open(c.model, {});
  // Neither what this machine knows nor what it learns here is of another model.
  VulkanOptions options;
  options.cache_folder = "";
  if (!c.device.empty()) options.device = c.device.c_str();
  auto opened = VulkanBackend::create(default_allocator(), options);
  if (!opened.ok()) throw no_vulkan(opened.status());
  const Owned<VulkanBackend> device = std::move(*opened);
  SampleSizes sizes;
  sizes.named = c.dims;
  if (c.batches.empty()) run_sample(model, *device, sizes);
  for (int64_t batch : c.batches) {
    sizes.batch = batch;
    run_sample(model, *device, sizes);
  }
  check_status(device->save_cache(c.out.c_str()));
  const size_t wrong = device->complaint_count();
  const uint64_t bytes = std::filesystem::file_size(c.out);
  if (json) {
    auto complaints = nlohmann::json::array();
    for (size_t i = 0; i < wrong; ++i) complaints.push_back(device->complaint(i));
    print_json({{"device", device->device_name()},
                {"file", shown(c.out)},
                {"bytes", bytes},
                {"checked", device->checked()},
                {"on_the_cpu", complaints}});
  } else {
    fmt::print("{} -> {}: {} kernels checked on {}, {} bytes\n", shown(c.model), shown(c.out),
               device->checked(), device->device_name(), bytes);
    for (size_t i = 0; i < wrong; ++i) fmt::print("  the CPU runs it: {}\n", device->complaint(i));
  }
}

}  // namespace wick::tool
