#include "tools/wick/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "tools/lib/limits.h"
#include "tools/wick/command.h"

namespace wick::tool {
namespace {

using Strings = std::vector<std::string>;

// CLI::Range accepts NaN, and infinity as the largest double.
CLI::Validator finite(bool (*inside)(double), const char* range) {
  return CLI::Validator(
      [inside, range](const std::string& text) {
        double value = 0;
        bool number = CLI::detail::lexical_cast(text, value);
        if (number && std::isfinite(value) && inside(value)) return std::string();
        return fmt::format("must be a number {}, got '{}'", range, text);
      },
      std::string("NUMBER ") + range);
}

// Parses "4096", "256M", "1G"; nothing if it is no such number.
std::optional<uint64_t> bytes_in(const std::string& text) {
  uint64_t n = 0;
  const char* end = text.data() + text.size();
  const auto [behind, failed] = std::from_chars(text.data(), end, n);
  if (failed != std::errc() || n == 0) return std::nullopt;
  const std::string unit(behind, end);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (shift < 0 || n > UINT64_MAX >> shift) return std::nullopt;
  return n << shift;
}

// CLI11 takes a mistyped word for a missing one or for another option's value, so it is named
// first.
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

Option Option::required() const { return option_->required(); }
Option Option::needs(Option other) const { return option_->needs(other.option_); }
Option Option::excludes(Option other) const { return option_->excludes(other.option_); }
Option Option::one_word() const { return option_->allow_extra_args(false); }
Option Option::delimiter(char between) const { return option_->delimiter(between); }
Option Option::one_of(const Strings& all) const { return option_->check(CLI::IsMember(all)); }
Option Option::one_of(std::initializer_list<int> values) const {
  return option_->check(CLI::IsMember(values));
}
Option Option::at_least(int64_t least) const {
  auto why_not = [least](const std::string& text) {
    int64_t value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least) return std::string();
    return fmt::format("must be a whole number of at least {}, got '{}'", least, text);
  };
  return option_->check(CLI::Validator(why_not, fmt::format(">= {}", least)));
}
Option Option::above_zero() const {
  return option_->check(finite([](double v) { return v > 0; }, "> 0"));
}
Option Option::not_negative() const {
  return option_->check(finite([](double v) { return v >= 0; }, ">= 0"));
}
Option Option::between(double a, double b) const { return option_->check(CLI::Range(a, b)); }

template <class T>
Option Command::add_option(const char* names, T& value, const char* help) {
  return command_->add_option(names, value, help);
}
template Option Command::add_option(const char*, int&, const char*);
template Option Command::add_option(const char*, int64_t&, const char*);
template Option Command::add_option(const char*, uint64_t&, const char*);
template Option Command::add_option(const char*, double&, const char*);
template Option Command::add_option(const char*, std::string&, const char*);
template Option Command::add_option(const char*, std::optional<int64_t>&, const char*);
template Option Command::add_option(const char*, std::optional<uint64_t>&, const char*);
template Option Command::add_option(const char*, std::optional<double>&, const char*);
template Option Command::add_option(const char*, std::optional<std::string>&, const char*);
template Option Command::add_option(const char*, std::vector<int64_t>&, const char*);
template Option Command::add_option(const char*, Strings&, const char*);

template <class T>
Option Command::add_option_function(const char* names, const std::function<void(const T&)>& take,
                                    const char* help) {
  return command_->add_option_function(names, take, help);
}
template Option Command::add_option_function(const char*,
                                             const std::function<void(const std::string&)>&,
                                             const char*);
template Option Command::add_option_function(const char*,
                                             const std::function<void(const Strings&)>&,
                                             const char*);

Option Command::add_flag(const char* names, bool& value, const char* help) {
  return command_->add_flag(names, value, help);
}
void Command::add_flag_callback(const char* names, const std::function<void()>& given,
                                const char* help) {
  command_->add_flag_callback(names, given, help);
}
void Command::footer(const char* text) { command_->footer(text); }
// Called last for a command: after its own options come those that all commands have.
void Command::callback(const std::function<void()>& work) {
  command_
      ->add_option_function<double>(
          "--timeout", [](double seconds) { limit_time(seconds); },
          "seconds the command may take; then it ends with exit code 1 (train saves its work "
          "first)")
      ->check(finite([](double v) { return v > 0; }, "> 0"));
  command_
      ->add_option_function<std::string>(
          "--max-ram", [](const std::string& text) { limit_memory(*bytes_in(text)); },
          "memory the command may take: bytes, or as 256M, 2G (of 1024)")
      ->check(CLI::Validator(
          [](const std::string& text) {
            if (bytes_in(text).has_value()) return std::string();
            return "must be a number of bytes, or of K, M or G, got '" + text + "'";
          },
          "BYTES"));
  command_->callback(work);
}
bool Command::given(const char* option) const { return command_->count(option) > 0; }
Strings Command::values(const char* option) const {
  return command_->get_option(option)->results();
}

CommandLine::CommandLine(const char* name, const char* about, const char* version)
    : app_(std::make_unique<CLI::App>(about, name)) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", std::string(version));
}
CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const char* name, const char* about) {
  return app_->add_subcommand(name, about);
}

// CLI11 prints to C++'s streams, which bypass the guard of stdout and stderr.
int CommandLine::print(const CLI::Error& ended) {
  std::ostringstream out, err;
  const int code = app_->exit(ended, out, err);
  fmt::print("{}", out.str());
  fmt::print(stderr, "{}", err.str());
  return code;
}

int CommandLine::run(int argc, char** argv) {
  try {
    check_words(*app_, argc, argv);
    app_->parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return print(done);
  } catch (const CLI::ParseError& wrong) {
    print(wrong);
    return kUsage;
  } catch (const UsageError& wrong) {
    print(CLI::ValidationError(wrong.option(), wrong.why()));
    return kUsage;
  }
  return 0;
}

}  // namespace wick::tool
