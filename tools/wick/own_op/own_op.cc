#include "tools/wick/own_op/own_op.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "tools/wick/own_op/op_check.h"
#include "tools/wick/own_op/op_file.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string name_of(const OpTest& test) {
  return custom_op_name(test.op->domain, test.op->name).text;
}

void print_head(const OpFile& file, const OpTest& test, const std::string& path) {
  fmt::print("{}  {}, {}\n", name_of(test), path,
             file.built.compiled ? fmt::format("compiled in {:.1f} s", file.built.seconds)
                                 : "compiled before");
}

}  // namespace

void ops_new(const std::string& name, const OwnOp& options) {
  const NewOp made = new_op(name, options.domain, kOpSkeleton);
  if (std::filesystem::exists(made.file))
    throw Error(made.file + " is there already: choose another name, or move it", Code::kIo);
  std::ofstream file(made.file, std::ios::binary);
  file << made.text;
  file.close();
  if (!file) throw Error("cannot write " + made.file + ": check its folder", Code::kIo);
  if (options.json) return print_json({{"file", made.file}, {"op", made.op}});
  fmt::print(
      "{0}: the op {1}; now\n  wick ops test {0}\n  wick ops bench {0} --flag=-march=native\n",
      made.file, made.op);
}

void ops_test(const std::string& path, const OwnOp& options) {
  const OpFile file = open_op_file(path, options.flags);
  auto document = nlohmann::json::array();
  size_t passed = 0, failed = 0;
  for (const OpTest* test : file.tests) {
    auto checks = nlohmann::json::array();
    if (!options.json) print_head(file, *test, path);
    for (const OpCheck& c : check_op(*test)) {
      (c.ok ? passed : failed) += 1;
      checks.push_back({{"check", c.what}, {"ok", c.ok}, {"detail", c.detail}});
      if (!options.json)
        fmt::print("  {:<6}  {:<12}  {}\n", c.ok ? "ok" : "FAILED", c.what, c.detail);
    }
    document.push_back({{"op", name_of(*test)}, {"checks", checks}});
  }
  if (options.json) {
    print_json(document);
  } else {
    fmt::print("{} passed, {} failed\n", passed, failed);
  }
  if (failed != 0) throw Differs{};
}

void ops_bench(const std::string& path, const OwnOp& options) {
  const OpFile file = open_op_file(path, options.flags);
  auto document = nlohmann::json::array();
  for (const OpTest* test : file.tests) {
    auto kernels = nlohmann::json::array();
    if (!options.json) print_head(file, *test, path);
    for (const OpTime& t : time_op(*test)) {
      kernels.push_back(
          {{"kernel", t.kernel}, {"ms", t.seconds * 1e3}, {"gb_per_s", t.bytes_per_second * 1e-9}});
      if (!options.json)
        fmt::print("  {:<24} {:>10.4f} ms  {:>8.2f} GB/s\n", t.kernel, t.seconds * 1e3,
                   t.bytes_per_second * 1e-9);
    }
    document.push_back({{"op", name_of(*test)}, {"kernels", kernels}});
  }
  if (options.json) print_json(document);
}

}  // namespace wick::tool
