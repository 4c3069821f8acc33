// The commands of `wick`. Each adds its subcommand and its options; the callback does the work.
//
// Exit codes: 0 done; 1 the work failed (an unreadable file, an unsupported op ...); 2 wrong usage;
// 3 the comparison or conformance found differences; 130 Ctrl-C, and the work so far is saved.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/lib/text.h"
#include "tools/lib/usage.h"

namespace wick::tool {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kDiffers = 3;
constexpr int kInterrupted = 130;  // as a shell reports a program that SIGINT ended

// Thrown by a command whose work was done and whose answer is "no".
struct Differs {};
// Thrown by a command that Ctrl-C ended and that has saved what a later run needs.
struct Interrupted {};

// Ranges of options' values; out of them is wrong usage. wrong_usage() (tools/lib/usage.h) is for a
// value that only the command itself can judge: exit kUsage.
CLI::Validator at_least(int64_t least);  // integers
CLI::Validator above_zero();             // numbers, finite as they stand
CLI::Validator not_negative();
bool ends_with(const std::string& text, const std::string& end);

// --ops LIBRARY.so (any number of times): users' own ops that the command's models may name.
void accept_ops(CLI::App& command);
// --backend cpu|vulkan and --device INDEX|NAME.
void accept_backend(CLI::App& command, std::string* backend, std::string* device);
// --offload pays|all: RunnerOptions::all_it_can.
void accept_offload(CLI::App& command, bool* all_it_can);
// --qdq integer|float: how a quantized ONNX model is read.
void accept_qdq(CLI::App& command, bool* lower);

void add_train(CLI::App& app);
void add_explain(CLI::App& app);
void add_export(CLI::App& app);
void add_convert(CLI::App& app);
void add_run(CLI::App& app);
void add_compare(CLI::App& app);
void add_bench(CLI::App& app);
void add_inspect(CLI::App& app);
void add_ops(CLI::App& app);
void add_devices(CLI::App& app);
void add_selftest(CLI::App& app);
void add_conformance(CLI::App& app);
void add_prove(CLI::App& app);
void add_report(CLI::App& app);
void add_quantize(CLI::App& app);
void add_data(CLI::App& app);

// Prints the document to stdout (--json).
void print_json(const nlohmann::json& document);

}  // namespace wick::tool
