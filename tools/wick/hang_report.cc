// wick hang-report: merges the flight recorders of ranks that hung or failed.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "trainer/distributed/hang_report.h"

namespace wick::tool {
namespace {

struct HangReportCommand {
  std::string folder;
  bool json = false;
};

void hang_report(const HangReportCommand& c) {
  const std::string text = distributed::hang_report(c.folder);
  if (c.json) return print_json({{"folder", c.folder}, {"report", text}});
  fmt::print("{}", text);
}

}  // namespace

void add_hang_report(CommandLine& app) {
  auto c = std::make_shared<HangReportCommand>();
  Command command =
      app.add_command("hang-report", "Say where the ranks of a distributed training parted");
  command
      .add_option("folder", c->folder,
                  "the folder of wick-flight-RANK.json files, or of attempt-N folders with them")
      .required();
  command.add_flag("--json", c->json, "print JSON");
  command.footer("Example:\n  wick hang-report flights");
  command.callback([c] { hang_report(*c); });
}

}  // namespace wick::tool
