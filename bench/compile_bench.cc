// Times compile_step() beside eager training: the same model twice, from one seed, on the same
// batches, in turns. Prints the median CPU time of a step in ms (of all threads: on a machine with
// other jobs it says more than the clock), their quotient, the first three calls with what making
// the form took, the kernels of a step before and after fusing, the planned bytes, and whether the
// weights of both have the same SHA-256 in the end.
//   compile_bench [--seconds S] [--no-fuse] THREADS [mlp lenet resnet18 gpt transformer lstm ...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "bench/train_cases.h"
#include "runtime/core/sha256.h"

namespace wick::bench {
namespace {

double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double now_ms() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::string digest(const nn::Module& model) {
  Sha256 sha;
  for (const Tensor& p : model.parameters())
    sha.update({static_cast<const uint8_t*>(p.layout().data), p.layout().nbytes()});
  return sha.finish_text().text;
}

Tensor eager_step(TrainCase& c, const Tensor& x, const Tensor& y) {
  c.optimizer->zero_grad();
  Tensor loss = c.loss(x, y);
  loss.backward();
  c.optimizer->step();
  return loss;
}

void run(const std::string& name, double seconds, const CompileStepOptions& options) {
  manual_seed(0);
  TrainCase eager = make_case(name);
  manual_seed(0);
  TrainCase compiled = make_case(name);
  auto step = compile_step(
      [&](const Tensor& x, const Tensor& y) { return eager_step(compiled, x, y); }, options);
  double first = 0;
  for (int i = 0; i < 5; ++i) {  // three that record, two that warm up
    const double begin = now_ms();
    step(compiled.x, compiled.target);
    if (i < 3) first = std::max(first, now_ms() - begin);
    eager_step(eager, eager.x, eager.target);
  }
  std::vector<double> times[2];
  for (const double end = now_ms() + 1e3 * seconds; now_ms() < end || times[0].size() < 5;) {
    double begin = cpu_ms();
    eager_step(eager, eager.x, eager.target);
    times[0].push_back(cpu_ms() - begin);
    begin = cpu_ms();
    step(compiled.x, compiled.target);
    times[1].push_back(cpu_ms() - begin);
  }
  const CompileReport r = step.report();
  const double a = median(times[0]), b = median(times[1]);
  std::printf(
      "%-12s eager %8.3f  compiled %8.3f ms  ratio %5.3f  first call at most %7.1f ms (form %.1f)  "
      "kernels %d -> %d  planned %.1f of %.1f MB  bits %s\n",
      name.c_str(), a, b, a / b, first, r.compile_ms, r.kernels, r.launches,
      static_cast<double>(r.planned) / 1e6, static_cast<double>(r.unplanned) / 1e6,
      digest(*eager.model) == digest(*compiled.model) ? "equal" : "DIFFER");
  if (!r.breaks.empty()) std::printf("%s", r.text().c_str());
}

}  // namespace
}  // namespace wick::bench

int main(int argc, char** argv) {
  double seconds = 5;
  wick::CompileStepOptions options;
  std::vector<std::string> names;
  int threads = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--no-fuse") == 0) {
      options.fuse = false;
    } else if (threads == 0) {
      threads = std::atoi(argv[i]);
    } else {
      names.emplace_back(argv[i]);
    }
  }
  if (threads < 1) {
    std::fprintf(stderr, "usage: compile_bench [--seconds S] [--no-fuse] THREADS [MODEL...]\n");
    return 2;
  }
  if (names.empty()) names = {"mlp", "lenet", "resnet18", "gpt", "transformer", "lstm"};
  try {
    wick::set_num_threads(threads);
    for (const std::string& name : names) wick::bench::run(name, seconds, options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
