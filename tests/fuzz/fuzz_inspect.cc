// `wick inspect` of changed programs: as text, as JSON and as a page.
#include "tests/fuzz/command.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/program_seeds.h"

namespace wick::fuzz {
namespace {

enum { kShown, kRefused };

void run(Case& c) {
  ProgramText p = draw_program(c.dice);
  mutate(p, c.dice);
  const std::vector<uint8_t> file = p.file();
  c.file(file);
  write_file("model.wick", file);
  static const std::vector<std::string> kForms[] = {
      {}, {"--json"}, {"--html", "page.html"}, {"--html", "page.html", "--json"}};
  std::vector<std::string> words = {"inspect", "model.wick"};
  for (const std::string& w : c.dice.of(kForms)) words.push_back(w);
  const int code = run_command(words);
  if (code != 0 && code != 1) c.fault("the exit code is " + std::to_string(code));
  c.count(code == 0 ? kShown : kRefused);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  using namespace wick::fuzz;
  return fuzz_main(argc, argv, {"fuzz_inspect", {"shown", "refused"}, run, 20, begin_commands});
}
