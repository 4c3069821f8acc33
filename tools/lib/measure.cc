#include "tools/lib/measure.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/lib/limits.h"
#include "tools/lib/now_ms.h"
#include "tools/lib/process_time.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

std::vector<HostTensor> session_inputs(const Session& session, const quantize::Batch& batch,
                                       bool one) {
  std::vector<HostTensor> inputs;
  bool choice = one;
  for (size_t i = 0; i < session.input_count(); ++i) {
    const PortInfo port = session.input(i);
    choice = choice && !port.unranked && !port.dims.empty() && port.dims[0].symbol >= 0 &&
             port.dims[0].symbol == session.input(0).dims[0].symbol;
    inputs.push_back(batch.at(port.name));
  }
  if (!choice) return inputs;
  for (HostTensor& t : inputs) {
    Shape s = t.shape();
    const size_t each = t.nbytes() / static_cast<size_t>(s[0]);
    s[0] = 1;
    t = HostTensor(t.dtype(), s, t.data(), each);
  }
  return inputs;
}

double accuracy_of(Runner& runner, const InputData& data,
                   const std::function<void(int64_t)>& progress) {
  return accuracy_of(
      [&](const quantize::Batch& batch) {
        return runner.run(session_inputs(runner.session(), batch, false))[0];
      },
      data, progress);
}

double accuracy_of(const std::function<HostTensor(const quantize::Batch&)>& run,
                   const InputData& data, const std::function<void(int64_t)>& progress) {
  int64_t right = 0, all = 0;
  for (int64_t i = 0; i < data.count; ++i) {
    const std::optional<quantize::Batch> batch = data.batches(i);
    if (!batch) break;
    const std::vector<int64_t> labels = data.labels(i);
    const HostTensor out = run(*batch);
    const auto rows = static_cast<int64_t>(labels.size());
    if (out.dtype() != DType::kF32 || out.shape().rank() != 2 || out.shape()[0] != rows) {
      throw Error(
          fmt::format("--eval: the first output is {}{}; accuracy needs float32[{},classes]",
                      dtype_name(out.dtype()), to_text(out.shape()).text, rows),
          Code::kShapeMismatch);
    }
    const int64_t classes = out.shape()[1];
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t label = labels[static_cast<size_t>(r)];
      if (label < 0 || label >= classes) {
        throw Error(fmt::format("--eval: label {} of item {}; the model has {} classes", label,
                                all + r, classes));
      }
      const float* row = out.as<float>() + r * classes;
      right += std::max_element(row, row + classes) - row == label ? 1 : 0;
    }
    all += rows;
    if (progress) progress(i + 1);
  }
  return static_cast<double>(right) / static_cast<double>(std::max<int64_t>(1, all));
}

namespace {

// The wall and the processor time of each run of something, in milliseconds.
struct TurnTimes {
  std::vector<double> wall, cpu;
};

std::vector<TurnTimes> in_turn(const std::vector<std::function<void()>>& runs, double seconds) {
  const double each = static_cast<double>(runs.size());
  const double warm = now_ms() + 250 * seconds * each;
  for (int i = 0; i < 5 && (i == 0 || now_ms() < warm); ++i) {
    for (const auto& run : runs) run();
  }
  std::vector<TurnTimes> times(runs.size());
  const double start = now_ms();
  const auto enough = [&] {
    const double passed = (now_ms() - start) / 1e3;
    const size_t n = times[0].wall.size();
    return n >= 10 ? passed >= each * seconds : n >= 3 && passed >= 5 * each * seconds;
  };
  while (!enough()) {
    for (size_t k = 0; k < runs.size(); ++k) {
      const double cpu = cpu_ms(), begin = now_ms();
      runs[k]();
      times[k].wall.push_back(now_ms() - begin);
      times[k].cpu.push_back(cpu_ms() - cpu);
    }
  }
  return times;
}

}  // namespace

std::vector<std::vector<double>> time_in_turn(const std::vector<std::function<void()>>& runs,
                                              double seconds) {
  std::vector<std::vector<double>> wall;
  for (TurnTimes& t : in_turn(runs, seconds)) wall.push_back(std::move(t.wall));
  return wall;
}

Times time_both(Runner& before, Runner& after, const std::vector<HostTensor>& inputs,
                double seconds) {
  std::vector<TensorView> in;
  for (const HostTensor& t : inputs) in.push_back(t.view());
  const auto once = [&](Session& s) {
    return [&] {
      // The session uses its own memory each time: outputs are not copied.
      std::vector<TensorView> out(s.output_count());
      check(s.run(in, out, {.timeout_ns = time_left_ns()}), "run");
    };
  };
  const auto times = in_turn({once(before.session()), once(after.session())}, seconds);
  Times t;
  t.before_ms = median(times[0].cpu);
  t.after_ms = median(times[1].cpu);
  t.before_wall_ms = median(times[0].wall);
  t.after_wall_ms = median(times[1].wall);
  t.runs = times[0].wall.size();
  t.items = inputs.empty() || inputs[0].shape().rank() == 0 ? 1 : inputs[0].shape()[0];
  t.threads = before.session().threads();
  return t;
}

}  // namespace wick::tool
