#include "tools/wick/bench/zoo_page.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/lib/peer.h"
#include "tools/lib/text.h"

namespace wick::tool {
namespace {

using nlohmann::json;

std::string cell(const std::string& text) {
  std::string out;
  for (const char ch : one_line(text)) out += ch == '|' ? std::string("\\|") : std::string(1, ch);
  return out;
}

std::string number(const json& doc, const char* key) {
  const double v = doc.at(key).is_number() ? doc.at(key).get<double>() : 0;
  if (v < 1) return fmt::format("{:.4f}", v);
  return v < 10 ? fmt::format("{:.3f}", v) : fmt::format("{:.1f}", v);
}

// Returns "least / median".
std::string both(const json& doc, const char* least, const char* median) {
  return number(doc, least) + " / " + number(doc, median);
}

std::string millions(const json& counters, const char* key) {
  if (counters.contains("missing")) return "";
  return fmt::format("{:.3f}", counters.at(key).get<double>() / 1e6);
}

std::string shapes(const json& inputs) {
  std::string out;
  for (const json& input : inputs) {
    std::string sizes;
    for (const json& size : input.at("shape"))
      sizes += fmt::format("{}{}", sizes.empty() ? "" : "×", size.get<int64_t>());
    out += (out.empty() ? "" : ", ") + (sizes.empty() ? std::string("scalar") : sizes);
  }
  return out;
}

// Returns "ONNX Runtime 1.30.0"; without the version where it never ran.
std::string title_and_version(const json& models, const std::string& peer) {
  std::string title = peer_runtime(peer).title;
  for (const json& m : models) {
    if (m.contains("against") && m["against"].contains(peer) &&
        m["against"][peer].contains("version"))
      return title + " " + m["against"][peer]["version"].get<std::string>();
  }
  return title;
}

std::string own_table(const json& models) {
  std::string out =
      "| model | inputs | threads | first answer | wall | p95 | p99 | CPU | peak RSS, MB "
      "| Mcycles | Minstructions | M cache misses | load |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  std::string missing;
  for (const json& m : models) {
    if (m.contains("error")) continue;
    const json& counters = m.at("counters");
    if (counters.contains("missing")) missing = counters["missing"].get<std::string>();
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {} | {} | {} | {:.2f} |\n",
        cell(m.at("model").get<std::string>()), shapes(m.value("inputs", json::array())),
        m.at("threads").get<int>(), number(m, "first_answer_ms"), both(m, "min_ms", "p50_ms"),
        number(m, "p95_ms"), number(m, "p99_ms"), both(m, "cpu_min_ms", "cpu_p50_ms"),
        m.at("peak_rss_mb").get<double>(), millions(counters, "cycles"),
        millions(counters, "instructions"), millions(counters, "cache_misses"),
        m.at("load_average").get<double>());
  }
  if (!missing.empty()) out += fmt::format("\nCounters: none: {}.\n", missing);
  return out;
}

std::string peer_table(const json& models, const std::string& peer, const std::string& heading) {
  const char* title = peer_runtime(peer).title;
  std::string out = fmt::format(
      "\n## Beside {}\n\n| model | Wick, wall | {}, wall | Wick, CPU | {}, CPU | times as fast, "
      "wall | CPU | its first answer | its peak RSS, MB | load |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      heading, title, title);
  for (const json& m : models) {
    if (!m.contains("against") || !m["against"].contains(peer)) continue;
    const json& a = m["against"][peer];
    if (a.contains("error")) continue;
    const json &wick = a.at("wick"), &other = a.at("peer"), &fast = a.at("times_as_fast");
    // A ratio to a time of 0, which a coarse clock says, is null.
    const auto one = [&](const char* key) {
      const json& ratio = fast.at(key);
      return ratio.is_number() ? fmt::format("{:.2f}", ratio.get<double>()) : "unknown";
    };
    const auto times = [&](const char* least, const char* median) {
      return one(least) + " / " + one(median);
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {:.2f} |\n",
                       cell(m.at("model").get<std::string>()), both(wick, "min_ms", "p50_ms"),
                       both(other, "min_ms", "p50_ms"), both(wick, "cpu_min_ms", "cpu_p50_ms"),
                       both(other, "cpu_min_ms", "cpu_p50_ms"), times("min", "p50"),
                       times("cpu_min", "cpu"), number(a, "first_answer_ms"),
                       a.at("peak_rss_mb").get<double>(), a.at("load_average").get<double>());
  }
  return out;
}

std::string not_measured(const json& models) {
  std::string out;
  for (const json& m : models) {
    const std::string name = cell(m.at("model").get<std::string>());
    if (m.contains("error")) out += fmt::format("- {}: {}\n", name, m["error"].get<std::string>());
    if (!m.contains("against")) continue;
    for (const auto& [peer, a] : m["against"].items()) {
      if (a.contains("error"))
        out += fmt::format("- {} in {}: {}\n", name, peer, a["error"].get<std::string>());
    }
  }
  return out.empty() ? out : "\nNot measured:\n\n" + out;
}

}  // namespace

std::string zoo_page(const json& doc) {
  const json &about = doc.at("about"), &models = doc.at("models");
  std::vector<std::string> peers;
  for (const char* peer : {kOnnxRuntime.name, kOpenVino.name}) {
    for (const json& m : models) {
      if (m.contains("against") && m["against"].contains(peer)) {
        peers.emplace_back(peer);
        break;
      }
    }
  }
  std::string versions = "Wick " + about.at("wick").get<std::string>(), tables;
  for (const std::string& peer : peers) {
    const std::string title = title_and_version(models, peer);
    versions += ", " + title;
    tables += peer_table(models, peer, title);
  }
  std::string out = fmt::format(
      "# Latency of a folder of models\n\n{}, {}, {} logical CPUs; {}; {} s a side. Printed by "
      "`{}`.\n\n",
      about.at("date").get<std::string>(), about.at("cpu").get<std::string>(),
      about.at("logical_cpus").get<int>(), versions, about.at("seconds").get<double>(),
      about.at("command").get<std::string>());
  out +=
      "Times are milliseconds of one run; where there are two, the least and the median. CPU is "
      "the processor time of all threads. The first answer is counted from the file: opened, "
      "bound, packed, run once. Each model ran in a process of its own; load is that of the "
      "machine's last minute before it. Figures beside another runtime are of slices of 50 ms in "
      "turn; its peak memory is Python's, too.\n\n";
  return out + own_table(models) + tables + not_measured(models);
}

}  // namespace wick::tool
