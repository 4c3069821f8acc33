// wick launch: starts the ranks of a training with mpirun, marks their lines, and starts them again
// when one is lost.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tools/lib/process_files.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/launch/mpi_command.h"
#include "tools/wick/launch/rank_output.h"
#include "trainer/distributed/hang_report.h"

namespace wick::tool {
namespace {

struct LaunchCommand {
  std::optional<int64_t> ranks, min_ranks, only;
  std::optional<uint64_t> seed;
  std::optional<double> timeout;
  int restarts = 0;
  std::string mpirun = "mpirun", agent, flights, logs;
  std::vector<std::string> hosts, set, program;
  bool json = false, dry = false;
};

// The variable by which a rank finds `wick launch`; the program does not see it.
constexpr char kOutput[] = "WICK_LAUNCH_OUTPUT";

const char* variable(const char* name) { return std::getenv(name); }

std::pair<std::string, std::string> name_and_value(const std::string& text) {
  const size_t at = text.find('=');
  if (at == 0 || at == std::string::npos)
    wrong_usage("--set", "must be NAME=VALUE, got '" + text + "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

// What options say by environment variables that distributed::init() reads.
std::vector<std::pair<std::string, std::string>> settings(const LaunchCommand& c) {
  std::vector<std::pair<std::string, std::string>> list;
  if (c.seed) list.emplace_back("WICK_SEED", std::to_string(*c.seed));
  if (c.timeout) list.emplace_back("WICK_COLLECTIVE_TIMEOUT", fmt::format("{}", *c.timeout));
  return list;
}

// Becomes the program, as a rank of the job that a launcher started.
[[noreturn]] void become(const LaunchCommand& c, const RankPlace& place) {
  auto set = [](const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
  };
  set("RANK", std::to_string(place.rank));
  set("WORLD_SIZE", std::to_string(place.ranks));
  set("LOCAL_RANK", std::to_string(place.local));
  for (const std::string& text : c.set) {
    const auto [name, value] = name_and_value(text);
    set(name, value);
  }
  for (const auto& [name, value] : settings(c)) set(name, value);
  if (const char* output = variable(kOutput)) {
    give_output(output, place.rank);
    unsetenv(kOutput);
  }
  std::vector<std::string> words = c.program;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw Error("launch: cannot start " + one_line(c.program[0]) + ": " + std::strerror(errno));
}

// Where the lines of ranks go: to the terminal with their rank in front, and to a file for each.
class Lines {
 public:
  Lines(const LaunchCommand& c, int attempt) : only_(c.only), out_(c.json ? stderr : stdout) {
    if (c.logs.empty()) return;
    folder_ = c.logs + "/attempt-" + std::to_string(attempt);
    make_folder(folder_);
  }
  ~Lines() {
    for (const auto& [rank, file] : files_) std::fclose(file);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void take(int rank, const std::string& text) {
    if (rank < 0) {
      fmt::print(out_, "{}\n", text);
    } else {
      if (!only_ || rank == *only_) fmt::print(out_, "[{}] {}\n", rank, text);
      if (!folder_.empty()) fmt::print(file_of(rank), "{}\n", text);
    }
    std::fflush(out_);
  }
  // A line that came through the launcher.
  void take_launchers(const std::string& line) {
    for (const RankLine& part : rank_lines(line)) {
      const auto whole = [&](const std::string& text) { take(part.rank, text); };
      WholeLines& lines = launchers_[part.rank];
      lines.add(part.ends ? part.text + "\n" : part.text, whole);
    }
  }
  void end_launchers() {
    for (auto& [rank, lines] : launchers_)
      lines.end([&, of = rank](const std::string& text) { take(of, text); });
  }

 private:
  FILE* file_of(int rank) {
    FILE*& file = files_[rank];
    const std::string path = folder_ + "/rank-" + std::to_string(rank) + ".log";
    if (file != nullptr) return file;
    file = std::fopen(path.c_str(), "w");
    if (file == nullptr) throw Error("launch: cannot write " + path);
    std::setvbuf(file, nullptr, _IOLBF, 0);  // a signal or --timeout may end this process
    return file;
  }

  std::optional<int64_t> only_;
  FILE* out_;
  std::string folder_;
  std::map<int, FILE*> files_;
  std::map<int, WholeLines> launchers_;
};

std::string own_path() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "wick" : path.string();
}

// What the flight recorders of an attempt say, if there are any.
void print_flights(FILE* to, const std::string& folder) {
  if (folder.empty() || !std::filesystem::exists(folder)) return;
  try {
    fmt::print(to, "{}", distributed::hang_report(folder));
  } catch (const Error&) {  // the ranks left none: the program does not train by Wick's groups
  }
}

std::string ranks_text(int ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

void launch(const LaunchCommand& c, const Command& command_line) {
  if (const RankPlace place = rank_place(variable); place.rank >= 0 && !c.ranks) {
    for (const char* option : {"--hosts", "--restarts", "--min-ranks", "--flights", "--logs",
                               "--only", "--mpirun", "--agent", "--dry-run", "--json"}) {
      if (command_line.given(option))
        wrong_usage(option, "is for -n; another launcher has started this process as a rank");
    }
    become(c, place);
  }
  if (!c.ranks)
    wrong_usage("-n", "is required, as neither mpirun nor srun has started this process as a rank");
  const auto all = static_cast<int>(*c.ranks);
  const auto least = static_cast<int>(c.min_ranks.value_or(*c.ranks));
  if (least > all)
    wrong_usage("--min-ranks", fmt::format("is {}, more than the {} of -n", least, all));
  if (c.min_ranks && c.restarts == 0) wrong_usage("--min-ranks", "is for --restarts");
  if (c.only && *c.only >= all)
    wrong_usage("--only", fmt::format("is {}; the ranks are 0 to {}", *c.only, all - 1));
  const MpiKind kind = mpi_kind(shell(shell_quote(c.mpirun) + " --version 2>&1").out, c.mpirun);
  FILE* const out = c.json ? stderr : stdout;
  nlohmann::json attempts = nlohmann::json::array();
  for (int attempt = 0;; ++attempt) {
    LaunchJob job;
    job.ranks = std::max(least, all - attempt);
    job.hosts = c.hosts;
    job.agent = c.agent;
    job.program = c.program;
    for (const std::string& text : c.set) job.variables.push_back(name_and_value(text));
    job.variables.emplace_back("WICK_RESTART", std::to_string(attempt));
    for (const auto& setting : settings(c)) job.variables.push_back(setting);
    std::string flights;
    if (!c.flights.empty()) {
      flights =
          std::filesystem::absolute(c.flights).string() + "/attempt-" + std::to_string(attempt);
      make_folder(flights);
      job.variables.emplace_back("WICK_FLIGHT_RECORDER", flights);
    }
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    const auto command_of = [&] {
      return mpi_command(job, kind, c.mpirun, own_path(), geteuid() == 0, processors);
    };
    if (c.dry) {
      const std::string command = command_of();
      if (c.json) return print_json({{"command", command}});
      fmt::print("{}\n", command);
      return;
    }
    const auto began = std::chrono::steady_clock::now();
    Finished ended;
    {
      Lines lines(c, attempt);
      RankOutput output(job.ranks,
                        [&](int rank, const std::string& text) { lines.take(rank, text); });
      if (!output.name().empty()) job.variables.emplace_back(kOutput, output.name());
      ended = shell(
          command_of(), [&](const std::string& line) { lines.take_launchers(line); },
          output.files());
      output.finish();
      lines.end_launchers();
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    attempts.push_back({{"ranks", job.ranks}, {"code", ended.code}, {"seconds", seconds}});
    if (ended.code == 0) break;
    print_flights(out, flights);
    const std::string how = fmt::format("the job of {} ended with code {} after {:.1f} s",
                                        ranks_text(job.ranks), ended.code, seconds);
    if (attempt == c.restarts)
      throw Error("launch: " + how + (c.restarts > 0 ? ", and no restart is left" : ""));
    fmt::print(out, "launch: {}; restart {} of {} on {}\n", how, attempt + 1, c.restarts,
               ranks_text(std::max(least, all - attempt - 1)));
    std::fflush(out);
  }
  if (c.json) print_json({{"attempts", attempts}, {"code", 0}});
}

}  // namespace

void add_launch(CommandLine& app) {
  auto c = std::make_shared<LaunchCommand>();
  Command command = app.add_command(
      "launch", "Start a training on several processes, and again when one is lost");
  command
      .add_option("-n,--ranks", c->ranks, "processes; not given where mpirun or srun started this")
      .at_least(1)
      .between(1, 100000);
  command.add_option("--hosts", c->hosts, "machines, as a,b or a:4,b:4 with their processes")
      .delimiter(',')
      .one_word();
  command.add_option("--restarts", c->restarts, "how often a job that failed is started again")
      .at_least(0);
  command
      .add_option("--min-ranks", c->min_ranks,
                  "each restart has a rank less, down to this number; without it all again")
      .at_least(1);
  command.add_option("--seed", c->seed, "seed of the default generator, one for all ranks")
      .at_least(0);
  command
      .add_option("--collective-timeout", c->timeout,
                  "seconds after which a silent rank is an error")
      .above_zero();
  command.add_option("--flights", c->flights, "folder for the ranks' flight recorders");
  command.add_option("--logs", c->logs, "folder for a file of each rank's lines");
  command.add_option("--only", c->only, "print the lines of this rank only").at_least(0);
  command.add_option("--set", c->set, "NAME=VALUE, an environment variable of every rank")
      .one_word();
  command.add_option("--mpirun", c->mpirun, "the launcher of Open MPI or MPICH");
  command.add_option("--agent", c->agent, "program that starts processes on other hosts, for ssh");
  command.add_flag("--dry-run", c->dry, "print mpirun's command line and start nothing");
  command.add_flag("--json", c->json, "print the attempts as JSON; the ranks' lines go to stderr");
  command.add_option("program", c->program, "the program and its arguments, behind --").required();
  command.footer("Example:\n  wick launch -n 4 --restarts 3 -- ./train");
  command.callback([c, command] { launch(*c, command); });
}

}  // namespace wick::tool
