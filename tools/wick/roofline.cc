// wick roofline: every op of a training step beside what this machine can do.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/wick/bench/peaks.h"
#include "tools/wick/command.h"
#include "tools/wick/first_batch.h"
#include "tools/wick/page/page.h"
#include "tools/wick/places.h"
#include "trainer/nn/models/models.h"
#include "trainer/profile/profiler.h"
#include "trainer/profile/roofline_report.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"

namespace wick::tool {
namespace {

struct RooflineCommand {
  FirstBatchOptions first;
  std::string out;
  int threads = 1;
  int64_t steps = 5, top = 20;
  bool json = false;
};

// Records `steps` steps after one that makes gradients and the optimizer's state.
Profile recorded_steps(const FirstBatch& first, int64_t steps) {
  const std::unique_ptr<optim::Optimizer> optimizer = first_optimizer(first, *first.module);
  const auto step = [&] {
    optimizer->zero_grad();
    cross_entropy((*first.module)(first.images), first.labels).backward();
    optimizer->step();
  };
  step();
  Profiler profiler;
  for (int64_t i = 0; i < steps; ++i) step();
  return profiler.stop();
}

nlohmann::json document_of(const FirstBatch& first, int64_t steps, const Roofline& machine,
                           const std::vector<RooflinePoint>& points) {
  auto list = nlohmann::json::array();
  for (const RooflinePoint& p : points) {
    list.push_back({{"op", p.op},
                    {"module", p.module},
                    {"shapes", p.shapes},
                    {"backward", p.backward},
                    {"calls", p.calls},
                    {"seconds", p.seconds},
                    {"flops", p.flops},
                    {"bytes", p.bytes},
                    {"intensity", p.intensity},
                    {"gflops", p.gflops},
                    {"gbytes", p.gbytes},
                    {"of_roof", p.of_roof},
                    {"verdict", p.verdict()}});
  }
  return {{"model", first.model},
          {"data", first.data},
          {"batch", first.images.raw_shape()[0]},
          {"steps", steps},
          {"threads", machine.threads},
          {"target", peak_target()},
          {"peak_flops_per_second", machine.flops_per_second},
          {"peak_bytes_per_second", machine.bytes_per_second},
          {"wick", WICK_VERSION},
          {"points", list}};
}

void roofline(const RooflineCommand& c) {
  check_places({}, {{"--out", c.out}});
  const FirstBatch first = first_batch(c.first);
  set_num_threads(c.threads);
  const Roofline machine = measure_peaks(c.threads);
  const auto points = roofline_points(recorded_steps(first, c.steps), machine);
  const nlohmann::json document = document_of(first, c.steps, machine, points);
  if (!c.out.empty()) write_text(c.out, roofline_page(document));
  if (c.json) return print_json(document);
  fmt::print("{} on {} of {}, {}, {}\n{}", first.model,
             counted(first.images.raw_shape()[0], "image"), first.data, counted(c.steps, "step"),
             peak_target(), roofline_report(points, machine, static_cast<size_t>(c.top)));
  if (!c.out.empty()) fmt::print("{}\n", c.out);
}

}  // namespace

void add_roofline(CommandLine& app) {
  auto c = std::make_shared<RooflineCommand>();
  Command command = app.add_command(
      "roofline", "Every op of a training step beside the machine's measured limits");
  const Option model = command
                           .add_option("model", c->first.model,
                                       "lenet, mlp, mobilenet or resnet8, freshly initialised")
                           .one_of(nn::model_names());
  command.add_option("--run", c->first.run, "the trained weights of a folder of wick train instead")
      .excludes(model);
  accept_batch(command, &c->first);
  command.add_option("--threads", c->threads, "of the step and of the limits").between(1, 1024);
  command.add_option("--steps", c->steps, "that are recorded").between(1, 1000);
  command.add_option("--top", c->top, "lines that are printed").at_least(1);
  command.add_option("-o,--out", c->out, "one HTML page with the plot; -: standard output")
      .writes_file(".html");
  command.add_flag("--json", c->json, "print all points as JSON");
  command.footer("Example:\n  wick roofline lenet --threads 2 -o roofline.html");
  command.callback([c] { roofline(*c); });
}

}  // namespace wick::tool
