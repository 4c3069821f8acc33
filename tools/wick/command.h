// The commands of `wick`. Each function adds its subcommand and its options; the callback does the
// work.
//
// Exit codes: 0 done; 1 the work failed (an unreadable file, an unsupported op ...); 2 wrong usage;
// 3 the comparison or conformance found differences; 130 Ctrl-C, and the work so far is saved.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/ops/attrs.h"
#include "tools/lib/text.h"
#include "tools/lib/usage.h"
#include "tools/wick/command_line.h"

namespace wick::tool {

constexpr int kFailed = 1;
constexpr int kUsage = 2;  // an Option's check; wrong_usage() for what only the command can judge
constexpr int kDiffers = 3;
constexpr int kInterrupted = 130;  // as a shell reports a program that SIGINT ended

// Thrown by a command that did its work and whose answer is "no".
struct Differs {};
// Thrown by a command that Ctrl-C ended and that has saved what a later run needs.
struct Interrupted {};

// Runs the whole command line, argv[0] included; returns the exit code.
int run_wick(int argc, char** argv);
// The same with the commands that `add` adds.
int run_commands(int argc, char** argv, void (*add)(CommandLine& app));

bool ends_with(const std::string& text, const std::string& end);

// Accepts --ops LIBRARY.so (any number of times): users' own ops that the command's models may
// name.
void accept_ops(Command command);
// Accepts --require-signature KEY.pub: the command's models must be signed by one of these keys.
void accept_signature(Command command);
// Accepts --backend cpu|vulkan and --device INDEX|NAME.
void accept_backend(Command command, std::string* backend, std::string* device);
struct Fallback {
  bool allowed = false;  // the CPU runs all of it where there is no device
  bool refused = false;  // a step that the CPU runs is an error
};
// Accepts --allow-fallback and --strict.
void accept_fallback(Command command, Fallback* fallback);
// Accepts --offload pays|all: RunnerOptions::all_it_can.
void accept_offload(Command command, bool* all_it_can);
// How the kernels of a device are checked before a model's first run.
struct KernelChecks {
  bool skipped = false;      // RunnerOptions::unchecked
  std::string device_cache;  // RunnerOptions::device_cache
};
// Accepts --skip-kernel-checks and --device-cache.
void accept_kernel_checks(Command command, KernelChecks* checks);
// Throws wrong usage where they are given for the CPU.
void check_kernel_checks(const KernelChecks& checks, const std::string& backend);
// Accepts --entry NAME: RunnerOptions::entry.
void accept_entry(Command command, std::string* entry);
// Accepts --qdq integer|float: how a quantized ONNX model is read.
void accept_qdq(Command command, bool* lower);
// Accepts --numerics exact|fast|bf16, of .wick files: ir::OptimizeOptions::products.
void accept_numerics(Command command, Products* products);

void add_train(CommandLine& app);
void add_explain(CommandLine& app);
void add_roofline(CommandLine& app);
void add_doctor(CommandLine& app);
void add_export(CommandLine& app);
void add_convert(CommandLine& app);
void add_run(CommandLine& app);
void add_serve(CommandLine& app);
void add_compare(CommandLine& app);
void add_bench(CommandLine& app);
void add_inspect(CommandLine& app);
void add_ops(CommandLine& app);
void add_devices(CommandLine& app);
void add_selftest(CommandLine& app);
void add_conformance(CommandLine& app);
void add_verify(CommandLine& app);
void add_prove(CommandLine& app);
void add_report(CommandLine& app);
void add_hang_report(CommandLine& app);
void add_launch(CommandLine& app);
void add_plan(CommandLine& app);
void add_quantize(CommandLine& app);
void add_data(CommandLine& app);
void add_sign(CommandLine& app);
void add_build(CommandLine& app);  // build, size, targets

// Prints the document to stdout (--json).
void print_json(const nlohmann::json& document);
// Returns whether this command line has printed one.
bool json_printed();

}  // namespace wick::tool
