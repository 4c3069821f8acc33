#include "tests/ops/answers.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace wick::test {
namespace {

AnsweredOutput parse_output(const std::string& line) {
  std::istringstream words(line);
  AnsweredOutput out;
  std::string kind;
  if (!(words >> out.dtype >> out.shape >> kind)) throw std::runtime_error("no output: " + line);
  out.exact = kind == "exact";
  out.free = kind == "free";
  if (!out.exact && !out.free && kind != "near") throw std::runtime_error("no kind: " + line);
  if (out.exact && !(words >> std::hex >> out.hash)) throw std::runtime_error("no hash: " + line);
  if (kind != "near") return out;
  for (std::string word; words >> word;) {
    const size_t one = word.find(':'), two = word.find(':', one + 1);
    if (one == std::string::npos || two == std::string::npos)
      throw std::runtime_error("no element: " + word);
    out.elements.push_back({std::stoll(word), std::strtod(word.c_str() + one + 1, nullptr),
                            std::strtod(word.c_str() + two + 1, nullptr)});
  }
  return out;
}

}  // namespace

std::map<std::string, Answer> read_answers(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::map<std::string, Answer> all;
  Answer* last = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    if (line[0] == '\t') {
      if (last == nullptr) throw std::runtime_error("an output without a sample: " + line);
      last->outputs.push_back(parse_output(line));
      continue;
    }
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) throw std::runtime_error("no digest: " + line);
    last = &all[line.substr(0, tab)];
    last->digest = line.substr(tab + 1);
  }
  return all;
}

}  // namespace wick::test
