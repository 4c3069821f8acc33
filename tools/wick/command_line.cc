#include "tools/wick/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "tools/lib/limits.h"
#include "tools/lib/std_files.h"
#include "tools/wick/command.h"
#include "tools/wick/failure.h"

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

CLI::Option* bytes_option(CLI::App* command, const char* names,
                          const std::function<void(uint64_t)>& take, const char* help) {
  return command
      ->add_option_function<std::string>(
          names, [take](const std::string& text) { take(*bytes_in(text)); }, help)
      ->check(CLI::Validator(
          [](const std::string& text) {
            if (bytes_in(text).has_value()) return std::string();
            return "must be a number of bytes, or of K, M or G, got '" + text + "'";
          },
          "BYTES"));
}

std::string names_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) names += " " + command->get_name();
  return names;
}

// CLI11 takes a mistyped word for a missing one or for another option's value, so it is named
// first.
void check_words(const CLI::App& app, const CLI::App* command, const Strings& words) {
  if (words.size() < 2) return;
  if (command == nullptr && !words[1].starts_with('-')) {
    throw CLI::ValidationError("'" + words[1] + "' is no command; there are:" + names_of(app));
  }
  if (command == nullptr && app.get_option_no_throw(words[1]) == nullptr) {
    throw CLI::ValidationError("'" + words[1] +
                               "' is no option of wick; a command comes first:" + names_of(app));
  }
  if (command == nullptr) return;
  for (size_t i = 2; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::string word = words[i].substr(0, words[i].find('='));
    if (command->get_option_no_throw(word) == nullptr)
      throw CLI::ValidationError("'" + word + "' is no option of wick " + words[1]);
  }
}

// What a flag that may name a file has as its value where it names none.
constexpr const char* kAlone = "true";

// Gives each such flag its value: CLI11 would take whatever word follows for it.
void settle_flags(const CLI::App& command, Strings* words) {
  for (size_t i = 2; i < words->size() && (*words)[i] != "--"; ++i) {
    const CLI::Option* option = command.get_option_no_throw((*words)[i]);
    if (option == nullptr || option->get_expected_min() != 0 || option->get_expected_max() != 1)
      continue;
    const bool named = i + 1 < words->size() &&
                       ((*words)[i + 1].ends_with(".json") || is_std_file((*words)[i + 1]));
    if (!named) (*words)[i] += std::string("=") + kAlone;
  }
}

// Returns what is wrong with a word that neither an option nor an argument takes.
std::string extra_text(const std::string& text, const CLI::App& command) {
  const std::string words = text.substr(text.find(": ") + 2);  // the last one first
  const std::string word = words.substr(words.rfind(' ') + 1);
  if (word.starts_with('-')) return "'" + word + "' is no option of wick " + command.get_name();
  std::string taken;
  for (const CLI::Option* o : command.get_options()) {
    if (o->get_positional()) taken += " " + o->get_name(true, false);
  }
  return "'" + word + "' is too many; wick " + command.get_name() +
         " takes: " + (taken.empty() ? "no arguments" : taken.substr(1));
}

// Returns what is missing, with the text that --help has for it.
std::string required_text(const std::string& text, const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw(text.substr(0, text.find(' ')));
  const std::string help = option == nullptr ? "" : option->get_description();
  return help.empty() ? text : text + ": " + help;
}

template <class Kind>
bool is_kind(const CLI::ParseError& wrong) {
  return dynamic_cast<const Kind*>(&wrong) != nullptr;
}

// Returns the message of wrong usage. CLI11's own say neither what a value must be nor what is
// missing.
std::string usage_text(const CLI::ParseError& wrong, const CLI::App& app, const CLI::App* command) {
  std::string text = wrong.what();
  if (command == nullptr)
    return is_kind<CLI::RequiredError>(wrong) ? text + "; there are:" + names_of(app) : text;
  if (is_kind<CLI::ExtrasError>(wrong)) return extra_text(text, *command);
  if (is_kind<CLI::RequiredError>(wrong)) return required_text(text, *command);
  if (is_kind<CLI::RequiresError>(wrong)) return text + "; give both or none";
  if (is_kind<CLI::ExcludesError>(wrong)) return text + "; give one of them";
  const bool number = is_kind<CLI::ConversionError>(wrong);
  if (!number && !is_kind<CLI::ArgumentMismatch>(wrong)) return text;
  const size_t begin = number ? text.find(": ") + 2 : 0;
  const std::string name = text.substr(begin, text.find(number ? " = " : ":", begin) - begin);
  const CLI::Option* option = command->get_option_no_throw(name);
  if (option == nullptr) return text;
  if (text.find("At Most") != text.npos) return name + ": is given more than once; give it once";
  const std::string type = option->get_type_name();
  const std::string wanted = type.starts_with("FLOAT")  ? "a number"
                             : type.starts_with("UINT") ? "a whole number of at least 0"
                             : type.starts_with("INT")  ? "a whole number"
                                                        : "a value";
  if (!number) return name + ": needs " + wanted + " behind it";
  return name + ": must be " + wanted + ", got '" + text.substr(text.find(" = ") + 3) + "'";
}

// Returns what a message of wrong usage is about: the option or argument that it names.
std::string place_of(const std::string& text, const CLI::App* command) {
  if (text.starts_with('\'')) return text.substr(1, text.find('\'', 1) - 1);
  std::string first = text.substr(0, text.find_first_of(": "));
  if (command != nullptr && command->get_option_no_throw(first) != nullptr) return first;
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? "" : text.substr(colon + 2);
}

// Adds a default to the text of an option, unless the text says it in words.
std::string with_default(const char* help, CLI::Option* option) {
  option->capture_default_str();
  std::string value = option->get_default_str();
  option->default_str("");
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  std::string text = help;
  if (value.empty() || value == "{}" || text.find("default") != text.npos) return text;
  return text + (text.empty() ? "" : " ") + "(default: " + value + ")";
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
Option Option::between(double least, double most) const {
  auto why_not = [least, most](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && !(value < least) && !(value > most))
      return std::string();
    return fmt::format("must be a number from {:g} to {:g}, got '{}'", least, most, text);
  };
  return option_->check(CLI::Validator(why_not, fmt::format("{:g} to {:g}", least, most)));
}
Option Option::named_size() const {
  auto why_not = [](const std::string& text) {
    const size_t equals = text.rfind('=');
    const bool named = equals != std::string::npos && equals + 1 < text.size() &&
                       text.find_first_not_of("0123456789", equals + 1) == std::string::npos;
    return named ? std::string() : "must be NAME=N, got '" + text + "'";
  };
  return option_->check(CLI::Validator(why_not, ""));
}
Option Option::reads_file() const {
  return option_->transform(CLI::Validator(
      [](std::string& value) {
        const bool named = value.ends_with("=-");
        if (named) value.pop_back();
        if (named || value == "-") value = (named ? value : "") + stdin_file();
        return std::string();
      },
      ""));
}
Option Option::writes_file(const char* ending) const {
  return option_->transform(CLI::Validator(
      [ending](std::string& value) {
        if (is_std_file(value)) value = stdout_file(value == "-" ? ending : value.substr(1));
        return std::string();
      },
      ""));
}

template <class T>
Option Command::add_option(const char* names, T& value, const char* help) {
  CLI::Option* option = command_->add_option(names, value);
  return option->description(with_default(help, option));
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
void Command::add_flag_or_json(const char* name, bool& alone, std::string& file, const char* help) {
  const auto take = [&alone, &file](const std::string& value) {
    if (value == kAlone)
      alone = true;
    else
      file = value;
  };
  const Option option = command_->add_option_function<std::string>(name, take, help)
                            ->expected(0, 1)
                            ->type_name("[FILE.json]");
  option.writes_file(".json");
}
Option Command::add_bytes(const char* names, uint64_t& value, const char* help) {
  return bytes_option(
      command_, names, [&value](uint64_t bytes) { value = bytes; }, help);
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
  bytes_option(command_, "--max-ram", limit_memory,
               "memory the command may take: bytes, or as 256M, 2G (of 1024)");
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

CLI::App* CommandLine::find(int argc, char** argv) const {
  if (argc < 2) return nullptr;
  const auto named = app_->get_subcommands(
      [&](const CLI::App* command) { return command->get_name() == argv[1]; });
  return named.empty() ? nullptr : named[0];
}
std::string CommandLine::command_of(int argc, char** argv) const {
  const CLI::App* command = find(argc, argv);
  return command == nullptr ? "" : command->get_name();
}
bool CommandLine::wants_json(int argc, char** argv) const {
  const CLI::App* command = find(argc, argv);
  if (command == nullptr) return false;
  const CLI::Option* json = command->get_option_no_throw("--json");
  if (json == nullptr || json->get_expected_max() != 0) return false;
  for (int i = 2; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

// CLI11 prints to C++'s streams, which bypass the guard of stdout and stderr.
void CommandLine::print(const CLI::Error& ended) {
  std::ostringstream out, err;
  app_->exit(ended, out, err);
  fmt::print("{}", out.str());
  fmt::print(stderr, "{}", err.str());
}

int CommandLine::run(int argc, char** argv) {
  words_ = argv;
  Strings words(argv, argv + argc);
  if (words.empty()) words.emplace_back("wick");
  const CLI::App* command = find(argc, argv);
  const auto misused = [&](const std::string& text, const std::string& where) {
    print(CLI::ValidationError(text));
    if (wants_json(argc, argv))
      print_failure({command_of(argc, argv), text, where,
                     fmt::format("wick {} --help lists its options", command_of(argc, argv))});
    return kUsage;
  };
  try {
    check_words(*app_, command, words);
    if (command != nullptr) settle_flags(*command, &words);
    Strings backwards(words.rbegin(), words.rend() - 1);  // as CLI11 takes them
    app_->parse(std::move(backwards));
  } catch (const CLI::Success& done) {  // --help, --version
    print(done);
  } catch (const CLI::ParseError& wrong) {
    const std::string text = usage_text(wrong, *app_, command);
    return misused(text, place_of(text, command));
  } catch (const UsageError& wrong) {
    return misused(wrong.what(), wrong.option());
  }
  return 0;
}

}  // namespace wick::tool
