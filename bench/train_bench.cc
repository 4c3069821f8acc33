// Times training steps as the peers' train_bench.py does (forward, loss, zero_grad, backward,
// optimizer): five to warm up, then the median over some seconds. Prints one line per model with
// figures in ms, the CPU time of all threads, which on a machine with other jobs says more, and the
// peak bytes of tensors beyond model and data.
//   train_bench [--by-op | --by-shape] [--seconds S] [--autocast none|bf16|f16] THREADS
//               [mlp lenet resnet18 gpt transformer lstm gru rnn dcgan upconv ...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/train_cases.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/tensor/storage.h"

namespace wick::bench {
namespace {

double now_ms() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}
double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Case : TrainCase {
  optim::Amp amp;

  double step() {
    optimizer->zero_grad();
    Tensor value;
    {
      const auto scope = amp.begin();
      value = loss(x, target);
    }
    amp.backward(value);
    amp.step(*optimizer);
    return value.item();
  }
};

struct ByOp : TraceHook {
  bool shapes = false;
  std::map<std::string, std::pair<double, int>> time;
  void on_op(const TraceEvent& e) override {
    std::string key = e.kernel;
    for (size_t i = 0; shapes && i < e.in.size(); ++i)
      key.append(" ").append(to_text(e.in[i].shape).text);
    auto& [ms, calls] = time[key];
    ms += static_cast<double>(e.end_ns - e.begin_ns) * 1e-6;
    ++calls;
  }
};

void print_by_op(Case& c, double step_ms, bool shapes) {
  constexpr int kSteps = 10;
  ByOp hook;
  hook.shapes = shapes;
  set_trace_hook(&hook);
  for (int i = 0; i < kSteps; ++i) c.step();
  set_trace_hook(nullptr);
  std::vector<std::pair<double, std::string>> rows;
  double sum = 0;
  for (auto& [kernel, t] : hook.time) {
    rows.emplace_back(t.first / kSteps, kernel + " x" + std::to_string(t.second / kSteps));
    sum += t.first / kSteps;
  }
  std::sort(rows.rbegin(), rows.rend());
  for (auto& [ms, kernel] : rows) printf("  %8.3f ms  %s\n", ms, kernel.c_str());
  printf("  %8.3f ms  outside of ops (optimizer, engine, allocation)\n", step_ms - sum);
}

enum class Detail : uint8_t { kNone, kOps, kShapes };

void run(const std::string& name, int threads, double seconds, Detail detail,
         const optim::AmpOptions& amp) {
  set_num_threads(threads);
  manual_seed(0);
  Case c;
  static_cast<TrainCase&>(c) = make_case(name);
  c.amp = optim::Amp(amp);
  for (int i = 0; i < 5; ++i) c.step();
  const size_t before = live_bytes();
  reset_peak_bytes();
  std::vector<double> ms;
  const double cpu = cpu_ms(), end = now_ms() + seconds * 1e3;
  while (now_ms() < end || ms.size() < 5) {
    const double begin = now_ms();
    c.step();
    ms.push_back(now_ms() - begin);
  }
  const double cpu_step = (cpu_ms() - cpu) / static_cast<double>(ms.size());
  std::sort(ms.begin(), ms.end());
  const double median = ms[ms.size() / 2];
  int64_t parameters = 0;
  for (const Tensor& p : c.model->parameters()) parameters += p.numel();
  printf("%s T=%d step median %.3f ms min %.3f ms cpu %.3f ms n=%zu params=%lld peak +%zu bytes\n",
         name.c_str(), threads, median, ms[0], cpu_step, ms.size(),
         static_cast<long long>(parameters), peak_bytes() - before);
  if (detail != Detail::kNone) print_by_op(c, median, detail == Detail::kShapes);
}

}  // namespace
}  // namespace wick::bench

int main(int argc, char** argv) {
  using wick::bench::Detail;
  Detail detail = Detail::kNone;
  double seconds = 4;
  std::vector<std::string> words;
  std::string autocast = "none";
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--by-op") == 0) {
      detail = Detail::kOps;
    } else if (strcmp(argv[i], "--by-shape") == 0) {
      detail = Detail::kShapes;
    } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = atof(argv[++i]);
    } else if (strcmp(argv[i], "--autocast") == 0 && i + 1 < argc) {
      autocast = argv[++i];
    } else {
      words.emplace_back(argv[i]);
    }
  }
  try {
    int threads = words.empty() ? 1 : atoi(words[0].c_str());
    std::vector<std::string> models(words.begin() + (words.empty() ? 0 : 1), words.end());
    if (models.empty()) models = {"mlp", "lenet", "resnet18", "gpt"};
    const wick::optim::AmpOptions amp{.autocast = wick::loop::autocast_named(autocast)};
    for (const std::string& m : models) wick::bench::run(m, threads, seconds, detail, amp);
  } catch (const wick::Error& e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
