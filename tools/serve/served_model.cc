#include "tools/serve/served_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/serve/tensors.h"

namespace wick::serve {
namespace {

Port port_of(const PortInfo& info, const char* kind) {
  if (datatype_of(info.dtype) == nullptr) {
    throw Error(fmt::format("{} '{}' is {}, which KServe's protocol has no type for", kind,
                            info.name, dtype_name(info.dtype)),
                Code::kUnsupported);
  }
  Port port{info.name, info.dtype, info.unranked, {}};
  for (const DimDef& d : info.dims) port.dims.push_back(d.symbol >= 0 ? -1 : d.value);
  return port;
}

// Joined runs have powers of two of rows: a session for each keeps its plan.
size_t sessions_for(size_t instances, int64_t most_rows) {
  size_t sizes = 0;
  for (int64_t rows = 1; rows <= most_rows && sizes < 4; rows *= 2) ++sizes;
  return instances + sizes - 1;
}

}  // namespace

ServedModel::ServedModel(const std::string& path, const ServeOptions& options, ThreadPool* threads,
                         ModelMetrics* metrics, const CancelFlag* cancel)
    : model_(tool::Model::open(path)), cancel_(cancel) {
  const Program& program = model_.program();
  if (!program.states().empty()) {
    throw Error(fmt::format("the program keeps state between runs ({} ...), and requests have none",
                            program.states()[0].name),
                Code::kUnsupported);
  }
  if (program.entries().size() > 1 && options.log)
    options.log(fmt::format("{}: of {} entry points the first, {}, is served", path,
                            program.entries().size(), program.entries()[0].name));
  const uint64_t trial =
      options.deadline_ns == 0 ? kTrialNs : std::min(kTrialNs, options.deadline_ns);
  batching_ = batching_of(program, options.max_batch, options.max_ram, cancel, trial);
  SessionPoolOptions pool;
  pool.sessions = sessions_for(options.instances, batching_.rows);
  pool.session.thread_pool = threads;
  pool.session.max_ram = options.max_ram;
  sessions_ = tool::take(SessionPool::create(program, pool), "sessions");
  const auto lease = tool::take(sessions_->acquire(), "a session");
  for (size_t i = 0; i < lease->input_count(); ++i)
    ports_.inputs.push_back(port_of(lease->input(i), "input"));
  for (size_t i = 0; i < lease->output_count(); ++i)
    ports_.outputs.push_back(port_of(lease->output(i), "output"));
  const RunLimits limits = {options.instances, batching_.rows, options.queue};
  queue_ = std::make_unique<RunQueue>(
      limits,
      [this](const std::vector<HostTensor>& inputs, uint64_t deadline_ns) {
        return run(inputs, deadline_ns);
      },
      metrics);
}

std::vector<HostTensor> ServedModel::infer(std::vector<HostTensor> inputs, uint64_t deadline_ns) {
  bool join = batching_.rows > 1;
  for (size_t i = 0; join && i < inputs.size(); ++i)
    join = inputs[i].shape()[0] == inputs[0].shape()[0];
  return queue_->run(std::move(inputs), join, deadline_ns);
}

std::vector<HostTensor> ServedModel::run(const std::vector<HostTensor>& inputs,
                                         uint64_t deadline_ns) {
  std::vector<TensorView> in;
  for (const HostTensor& t : inputs) in.push_back(t.view());
  const auto lease = tool::take(sessions_->acquire(in), "a session");
  std::vector<TensorView> out(lease->output_count());
  RunOptions options;
  options.cancel = cancel_;
  if (deadline_ns != 0) {
    const uint64_t now = now_ns();
    if (now >= deadline_ns) throw Error("the deadline passed before the run", Code::kDeadline);
    options.timeout_ns = deadline_ns - now;
  }
  check_status(lease->run(in, out, options));
  std::vector<HostTensor> results;
  results.reserve(out.size());
  for (const TensorView& v : out) results.emplace_back(v.dtype, v.shape, v.data, v.nbytes());
  return results;
}

}  // namespace wick::serve
