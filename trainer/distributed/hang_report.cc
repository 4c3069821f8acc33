#include "trainer/distributed/hang_report.h"

#include <algorithm>
#include <compare>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "trainer/checkpoint/json.h"

namespace wick::distributed {
namespace {

struct Entry {
  std::string call;
  bool ended = false;
  double age = 0;  // seconds from the call to the dump
};
// Groups may have one name: those of a mesh's axis, or of two DataParallels. The id tells them
// apart.
struct Key {
  std::string group, id;
  int64_t sequence = 0;
  auto operator<=>(const Key&) const = default;
  bool of_group_of(const Key& other) const { return group == other.group && id == other.id; }
};
struct Dump {
  std::string path;
  int64_t rank = 0, ranks = 0;
  std::string reason;
  std::map<Key, Entry> collectives;
  std::vector<std::string> messages;  // of two ranks, that did not end
};

bool of_two_ranks(const std::string& call) {
  return call.rfind("send ", 0) == 0 || call.rfind("receive ", 0) == 0;
}

Dump read_dump(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error("[hang_report] cannot read " + path);
  const nlohmann::json tree = read_json(text.str(), path);
  const JsonPlace top(tree, path);
  Dump dump;
  dump.path = path;
  dump.rank = top.at("rank").integer(0, INT32_MAX);
  dump.ranks = top.at("ranks").integer(1, INT32_MAX);
  dump.reason = top.at("reason").text();
  const double now = top.at("now").number(0, 1e18);
  const JsonPlace entries = top.at("entries");
  for (size_t i = 0; i < entries.size(); ++i) {
    const JsonPlace e = entries.at(i);
    const Entry entry{e.at("call").text(), e.at("ended").number(-1, 1e18) >= 0,
                      now - e.at("called").number(0, 1e18)};
    const Key key{e.at("group").text(), e.has("id") ? e.at("id").text() : "",
                  e.at("sequence").integer(0, UINT32_MAX)};
    if (!of_two_ranks(entry.call)) {
      dump.collectives[key] = entry;
    } else if (!entry.ended) {
      dump.messages.push_back("group '" + key.group + "' #" + std::to_string(key.sequence) +
                              ": rank " + std::to_string(dump.rank) + " waits in " + entry.call);
    }
  }
  return dump;
}

std::string ranks_text(const std::vector<int64_t>& ranks) {
  std::string s = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) s += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return s;
}

// Lists the ranks of 0 to ranks - 1 that are not among `there`, which is sorted, as ranges: a file
// says how many ranks there are, and a line for it has no more ranges than there are files.
// Returns "" if there is none.
std::string absent_text(const std::vector<int64_t>& there, int64_t ranks) {
  std::string s;
  int64_t first = 0, absent = 0;
  const auto add_until = [&](int64_t end) {
    if (first >= end) return;
    s += (s.empty() ? "" : ", ") + std::to_string(first);
    if (end - first == 2) s += ", " + std::to_string(end - 1);
    if (end - first > 2) s += " to " + std::to_string(end - 1);
    absent += end - first;
  };
  for (int64_t rank : there) {
    add_until(std::min(rank, ranks));
    first = rank + 1;
  }
  add_until(ranks);
  return s.empty() ? s : (absent == 1 ? "rank " : "ranks ") + s;
}

std::filesystem::file_time_type written(const std::string& path) {
  std::error_code failed;
  const auto when = std::filesystem::last_write_time(path, failed);
  return failed ? std::filesystem::file_time_type::min() : when;
}

int64_t ranks_of_newest(const std::vector<Dump>& dumps) {
  return std::max_element(
             dumps.begin(), dumps.end(),
             [](const Dump& a, const Dump& b) { return written(a.path) < written(b.path); })
      ->ranks;
}

std::vector<std::string> dumps_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const auto& file : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = file.path().filename().string();
    if (file.is_regular_file(failed) && name.starts_with("wick-flight-") && name.ends_with(".json"))
      paths.push_back(file.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The folder attempt-N of `wick launch --flights` whose dumps are the newest; empty: there is none.
// Not by its number: a job before this one may have had more attempts.
std::string newest_attempt(const std::string& folder) {
  std::string newest;
  auto when = std::filesystem::file_time_type::min();
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (!entry.path().filename().string().starts_with("attempt-")) continue;
    for (const std::string& path : dumps_in(entry.path().string())) {
      if (newest.empty() || written(path) > when) {
        newest = entry.path().string();
        when = written(path);
      }
    }
  }
  return newest;
}

// One line for each call of a collective, and one for the ranks that are not there yet.
std::string describe_collective(const Key& key, const std::vector<Dump>& dumps) {
  std::map<std::string, std::vector<int64_t>> by_call;
  std::vector<int64_t> missing;
  bool all_ended = true;
  double oldest = 0;
  for (const Dump& d : dumps) {
    const auto it = d.collectives.find(key);
    if (it != d.collectives.end()) {
      by_call[it->second.call].push_back(d.rank);
      all_ended = all_ended && it->second.ended;
      if (!it->second.ended) oldest = std::max(oldest, it->second.age);
      continue;
    }
    // Of its group, but not so far: the map's entry before the key has the group's name.
    const auto after = d.collectives.lower_bound(key);
    const bool later = after != d.collectives.end() && after->first.of_group_of(key);
    const bool of_group =
        after != d.collectives.begin() && std::prev(after)->first.of_group_of(key);
    if (of_group && !later) missing.push_back(d.rank);
  }
  if (all_ended && by_call.size() == 1) return "";
  char waited[64] = "";
  if (oldest > 0) snprintf(waited, sizeof waited, ", for up to %.1f s", oldest);
  std::string text = "group '" + key.group + "' #" + std::to_string(key.sequence) +
                     (by_call.size() > 1 ? ": the ranks called different things" : ": not ended") +
                     waited + "\n";
  for (const auto& [call, ranks] : by_call) text += "  " + ranks_text(ranks) + ": " + call + "\n";
  if (!missing.empty()) text += "  " + ranks_text(missing) + ": did not call it\n";
  return text;
}

}  // namespace

std::string hang_report(const std::string& folder) {
  std::vector<std::string> paths = dumps_in(folder);
  std::string text;
  if (paths.empty()) {
    const std::string attempt = newest_attempt(folder);
    if (!attempt.empty()) text = "the newest attempt: " + attempt + "\n";
    paths = dumps_in(attempt);
  }
  if (paths.empty()) {
    throw Error("[hang_report] no wick-flight-RANK.json in " + folder +
                    ": set WICK_FLIGHT_RECORDER=" + folder + " before the ranks start",
                Code::kNotFound);
  }
  std::vector<Dump> dumps;
  for (const std::string& path : paths) dumps.push_back(read_dump(path));
  // A job that was started again on fewer ranks leaves the dumps of those that it has not.
  std::vector<int64_t> old;
  const int64_t ranks = ranks_of_newest(dumps);
  std::erase_if(dumps, [&](const Dump& d) {
    if (d.ranks != ranks) old.push_back(d.rank);
    return d.ranks != ranks;
  });
  std::sort(dumps.begin(), dumps.end(),
            [](const Dump& a, const Dump& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < dumps.size(); ++i) {
    if (dumps[i].rank != dumps[i - 1].rank) continue;
    throw Error("[hang_report] " + dumps[i - 1].path + " and " + dumps[i].path +
                " are both of rank " + std::to_string(dumps[i].rank) + ": take one away");
  }
  std::vector<int64_t> there;
  for (const Dump& d : dumps) there.push_back(d.rank);
  const std::string absent = absent_text(there, dumps[0].ranks);
  text += "dumps of " + ranks_text(there) + " of a job of " + std::to_string(dumps[0].ranks) +
          (dumps[0].ranks == 1 ? " rank\n" : " ranks\n");
  if (!absent.empty()) text += "no dump of " + absent + "\n";
  if (!old.empty()) {
    std::sort(old.begin(), old.end());
    text += "not read, of an earlier job of another size: " + ranks_text(old) + "\n";
  }
  if (!dumps[0].reason.empty())
    text += "rank " + std::to_string(there[0]) + " reported:\n" + dumps[0].reason + "\n";
  std::map<Key, bool> keys;
  for (const Dump& d : dumps) {
    for (const auto& [key, entry] : d.collectives) keys[key] = true;
  }
  std::string found;
  for (const auto& [key, there_is] : keys) found += describe_collective(key, dumps);
  for (const Dump& d : dumps) {
    for (const std::string& message : d.messages) found += message + "\n";
  }
  return text +
         (found.empty() ? "all collectives that are kept were ended, and were the same\n" : found);
}

}  // namespace wick::distributed
