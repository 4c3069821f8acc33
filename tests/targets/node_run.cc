// node_run CASES FOLDER: runs each program that node_cases wrote on its inputs, on the machine that
// this was built for, and writes the outputs into FOLDER, for node_cases to check. It is linked
// with the runtime alone.
#include <cstdio>

#include "tests/targets/tensor_file.h"

namespace {

wick::Status run(const std::string& from, const std::string& to) {
  const wick::test::TensorFile given(from + ".in");
  if (!given.ok) return {wick::Code::kIo, "the inputs cannot be read"};
  WICK_ASSIGN(auto program, wick::Program::load((from + ".wick").c_str()));
  wick::SessionOptions options;
  options.threads = 1;
  WICK_ASSIGN(auto session, wick::Session::create(*program, options));
  std::vector<wick::TensorView> out(session->output_count());
  WICK_TRY(session->run(given.tensors, out));
  if (!wick::test::write_tensors(to + ".out", out))
    return {wick::Code::kIo, "the outputs cannot be written"};
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: node_run CASES FOLDER"), 2;
  const std::string from = std::string(argv[1]) + "/", to = std::string(argv[2]) + "/";
  const wick::test::File list = wick::test::open_file(from + "list", "rb");
  if (list == nullptr) return std::puts("there is no list of cases"), 2;
  int cases = 0;
  char line[512];
  for (; std::fgets(line, sizeof(line), list.get()) != nullptr; ++cases) {
    const std::string name(line, std::strcspn(line, "\n"));
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);  // the last line says whose run ended the program
    const wick::Status status = run(from + name, to + name);
    if (!status.ok()) std::printf("  %s\n", status.message());
  }
  std::printf("%d cases\n", cases);
  return cases == 0 ? 1 : 0;
}
