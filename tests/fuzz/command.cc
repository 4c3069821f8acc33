#include "tests/fuzz/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/scratch.h"
#include "tools/wick/command.h"

namespace wick::fuzz {

void begin_commands() {
  if (chdir(scratch().c_str()) != 0) _exit(3);
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) dup2(nothing, fd);
}

int run_command(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"wick"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  const auto argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  return tool::run_wick(argc, argv.data());
}

void write_file(const std::string& name, Span<const uint8_t> bytes) {
  FILE* f = fopen((scratch() + "/" + name).c_str(), "wb");
  if (f == nullptr) _exit(3);
  fwrite(bytes.data(), 1, bytes.size(), f);
  fclose(f);
}

}  // namespace wick::fuzz
