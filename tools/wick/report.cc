// wick report: a training run's folder as one page.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "tools/wick/page/page.h"
#include "tools/wick/report_data.h"
#include "tools/wick/worker_times.h"

namespace wick::tool {
namespace {

struct ReportCommand {
  std::string folder, out;
  int workers = -1;
  bool json = false;
};

void report(const ReportCommand& c) {
  nlohmann::json data = report_data(c.folder);
  if (c.workers >= 0) {
    for (const WorkerTimes& t : worker_times(c.folder, c.workers)) {
      data["workers"].push_back(
          {{"workers", t.workers}, {"reading", t.reading}, {"training", t.training}});
    }
  }
  const std::string out =
      c.out.empty() ? (std::filesystem::path(c.folder) / "report.html").string() : c.out;
  if (c.out.empty()) refuse_link(out);
  const std::string page = report_page(data);
  write_text(out, page);
  if (c.json) {
    return print_json({{"file", out},
                       {"bytes", page.size()},
                       {"epochs", data["epochs"].size()},
                       {"notes", data["notes"]}});
  }
  fmt::print("{}: {} epochs, {:.1f} KB\n", out, data["epochs"].size(),
             static_cast<double>(page.size()) / 1e3);
  for (const auto& note : data["notes"]) fmt::print("  {}\n", note.get<std::string>());
}

}  // namespace

void add_report(CommandLine& app) {
  auto c = std::make_shared<ReportCommand>();
  Command command = app.add_command(
      "report", "One HTML page of a training run: curves, mistakes, histograms, memory, time");
  command.add_option("run", c->folder, "the folder of wick train --out").required();
  command.add_option("-o,--out", c->out, "the page (default: RUN/report.html); -: standard output")
      .writes_file(".html");
  command
      .add_option("--workers", c->workers,
                  "also measures reading and training with 0 to so many loader workers")
      .between(0, 64);
  command.add_flag("--json", c->json, "print what was written as JSON");
  command.footer("Example:\n  wick report runs/lenet -o lenet.html");
  command.callback([c] { report(*c); });
}

}  // namespace wick::tool
