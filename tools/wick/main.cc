#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "tools/wick/command.h"

namespace wick::tool {

void print_json(const nlohmann::json& document) { fmt::print("{}\n", document.dump(2)); }

}  // namespace wick::tool

namespace {

// CLI11 takes a mistyped word for a missing one or for another option's value: name it first.
void check_words(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return;
  const std::string first = argv[1];
  const CLI::App* command = nullptr;
  std::string known;
  for (const CLI::App* sub : app.get_subcommands({})) {
    known += " " + sub->get_name();
    if (sub->get_name() == first) command = sub;
  }
  if (command == nullptr && first[0] != '-') {
    throw CLI::ValidationError("'" + first + "' is no command; there are:" + known);
  }
  if (command == nullptr) return;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--") return;
    if (!word.starts_with("--")) continue;
    word = word.substr(0, word.find('='));
    if (command->get_option_no_throw(word) == nullptr)
      throw CLI::ValidationError("'" + word + "' is no option of wick " + first);
  }
}

}  // namespace

namespace {

// A library's user wants the line that made the mistake; the lines behind a command are our own.
std::string without_source_line(std::string text) {
  size_t open = text.rfind(" (");
  if (open == std::string::npos || !text.ends_with(")")) return text;
  std::string inside = text.substr(open + 2, text.size() - open - 3);
  size_t colon = inside.rfind(':');
  if (colon == std::string::npos || colon + 1 == inside.size()) return text;
  std::string file = inside.substr(0, colon), line = inside.substr(colon + 1);
  bool source = file.ends_with(".cc") || file.ends_with(".h");
  if (source && line.find_first_not_of("0123456789") == std::string::npos) text.resize(open);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace wick::tool;  // NOLINT: every command is named once below
  CLI::App app{"Wick: train a model, export it, run it anywhere, with the same bits.", "wick"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(WICK_VERSION));
  add_train(app);
  add_explain(app);
  add_export(app);
  add_convert(app);
  add_run(app);
  add_compare(app);
  add_bench(app);
  add_inspect(app);
  add_ops(app);
  add_devices(app);
  add_selftest(app);
  add_conformance(app);
  add_prove(app);
  add_report(app);
  add_quantize(app);
  add_data(app);
  try {
    check_words(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return kUsage;
  } catch (const UsageError& wrong) {
    app.exit(CLI::ValidationError(wrong.option(), wrong.why()));
    return kUsage;
  } catch (const Differs&) {
    return kDiffers;
  } catch (const Interrupted&) {
    return kInterrupted;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "wick: {}\n", without_source_line(failed.what()));
    return kFailed;
  }
  return 0;
}
