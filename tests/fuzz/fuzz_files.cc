// Readers of files: damaged bytes and words give an Error or a result, in little memory.
#include <sys/resource.h>

#include <cstdlib>
#include <exception>

#include "tests/fuzz/byte_mutate.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/formats.h"
#include "wick/error.h"

namespace wick::fuzz {
namespace {

enum { kRead, kRefused };

long peak_kib() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

void run(Case& c) {
  static std::vector<std::vector<std::string>> seeds(formats().size());
  const size_t which = c.dice.below(formats().size());
  const Format& format = formats()[which];
  if (seeds[which].empty()) seeds[which] = format.seeds();
  if (seeds[which].empty()) return c.fault(std::string(format.name) + " has no seeds");
  std::string bytes = c.dice.of(seeds[which]);
  mutate_bytes(bytes, c.dice.of(seeds[which]), format.words, c.dice);
  c.file({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  const long before = peak_kib();
  const char* text = "it was read";
  std::string said;
  try {
    format.read(bytes);
    c.count(kRead);
  } catch (const Error& e) {
    c.count(kRefused);
    said = e.what();
    text = said.c_str();
    if (said.size() > 5000)
      c.fault(std::string(format.name) + ": an error of " + std::to_string(said.size()) + " bytes");
  } catch (const std::exception& e) {
    c.fault(std::string(format.name) + ": not an Error: " + e.what());
  }
  if (c.verbose) printf("%s: %.300s\n", format.name, text);
  if (!kAsan && peak_kib() - before > kMostKiB) {
    c.fault(std::string(format.name) + ": it took " + std::to_string(peak_kib() - before) + " KiB");
    std::abort();  // a new process then shows what the next case takes
  }
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  return wick::fuzz::fuzz_main(argc, argv, {"fuzz_files", {"read", "refused"}, wick::fuzz::run});
}
