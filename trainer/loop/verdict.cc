#include "trainer/loop/verdict.h"

#include <fmt/core.h>

namespace wick::loop {

void add_steps(data::StepReport& to, const data::StepReport& more) {
  to.steps += more.steps;
  to.wall += more.wall;
  for (size_t i = 0; i < to.seconds.size(); ++i) to.seconds[i] += more.seconds[i];
  to.reading += more.reading;
  to.making += more.making;
  to.verdict = data::judge(to);
}

std::string verdict_line(const data::StepReport& r) {
  auto of = [&](data::Phase p) { return r.seconds[static_cast<size_t>(p)]; };
  double spent = of(data::Phase::kWait);
  const char* what = "waiting for the loader";
  switch (r.verdict) {
    case data::Bottleneck::kLoader:
    case data::Bottleneck::kDisk: break;
    case data::Bottleneck::kTransfer:
      spent = of(data::Phase::kTransfer);
      what = "transfer";
      break;
    case data::Bottleneck::kComm:
      spent = of(data::Phase::kComm);
      what = "communication";
      break;
    case data::Bottleneck::kCompute:
      spent = r.wall - spent - of(data::Phase::kTransfer) - of(data::Phase::kComm);
      what = "forward, backward and optimizer";
  }
  // The last line of the report is "verdict: NAME (ADVICE)".
  std::string text = r.to_text();
  text = text.substr(text.rfind("verdict: ") + 9);
  const size_t advice = text.find(' ');
  return fmt::format("{}: {} took {:.0f} % of {:.1f} s {}", text.substr(0, advice), what,
                     r.wall > 0 ? 100 * spent / r.wall : 0.0, r.wall,
                     text.substr(advice + 1, text.find('\n') - advice - 1));
}

}  // namespace wick::loop
