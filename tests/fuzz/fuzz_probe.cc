// A target for the driver's own test: each case has another fault. It prints where it works.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/fuzz/driver.h"
#include "tests/fuzz/scratch.h"

namespace wick::fuzz {
namespace {

enum { kEmpty };

void spin() {
  std::atomic<int> kept{0};
  for (;;) kept = 1;
}

void run(Case& c) {
  if (std::filesystem::is_empty(scratch())) c.count(kEmpty);
  std::ofstream(scratch() + "/file") << "left by a case";
  printf("works in %s\n", scratch().c_str());
  fflush(stdout);
  switch (c.number) {
    case 1: return spin();
    case 2: return std::thread(spin).join();
    case 3: raise(SIGSEGV); break;
    case 4: return c.fault("it is wrong");
    case 5: std::filesystem::remove(scratch() + "/file"); break;
    case 7: pause(); break;  // the slowest to be seen: last
    default: break;
  }
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  return wick::fuzz::fuzz_main(argc, argv,
                               {"fuzz_probe", {"began in an empty folder"}, wick::fuzz::run, 1});
}
