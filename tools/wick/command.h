// The commands of `wick`. Each adds its subcommand and its options; the callback does the work.
//
// Exit codes: 0 done; 1 the work failed (an unreadable file, an unsupported op ...); 2 wrong usage;
// 3 the comparison or conformance found differences.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace wick::tool {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kDiffers = 3;

// Thrown by a command whose work was done and whose answer is "no".
struct Differs {};

void add_train(CLI::App& app);
void add_export(CLI::App& app);
void add_convert(CLI::App& app);
void add_run(CLI::App& app);
void add_compare(CLI::App& app);
void add_bench(CLI::App& app);
void add_inspect(CLI::App& app);
void add_ops(CLI::App& app);
void add_conformance(CLI::App& app);
void add_prove(CLI::App& app);

// Prints the document to stdout (--json).
void print_json(const nlohmann::json& document);

}  // namespace wick::tool
