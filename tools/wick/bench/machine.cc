#include "tools/wick/bench/machine.h"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace wick::tool {

double peak_rss_mb() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double resident_mb(const std::string& model) {
  std::error_code unknown;
  const std::string file = std::filesystem::canonical(model, unknown).string();
  std::ifstream maps("/proc/self/smaps");
  double kb = 0;
  bool counts = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string key, permissions, offset, device, inode, path;
    words >> key;
    if (key == "Rss:" && counts) {
      double rss = 0;
      words >> rss;
      kb += rss;
    } else if (key.back() != ':') {  // a mapping's first line
      words >> permissions >> offset >> device >> inode >> path;
      counts = path.empty() || path == file || path == "[heap]" || path == "[stack]";
    }
  }
  return kb / 1024;
}

double load_average() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(':');
    if (line.rfind("model name", 0) != 0 || colon == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 1));
    std::string name, word;
    while (words >> word) name += (name.empty() ? "" : " ") + word;
    return name;
  }
  return "unknown CPU";
}

}  // namespace wick::tool
