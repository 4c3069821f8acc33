// wick launch: mpirun's command line, the lines of ranks, and wrong uses. tests/distributed/run.py
// starts jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>

#include "tests/tools/command_line.h"
#include "tools/lib/process.h"
#include "tools/wick/launch/mpi_command.h"
#include "tools/wick/launch/rank_output.h"
#include "wick/error.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

tool::LaunchJob job() {
  tool::LaunchJob j;
  j.ranks = 3;
  j.variables = {{"A", "b c"}};
  j.program = {"./train", "--name", "it's"};
  return j;
}

TEST(Launch, MakesTheCommandLineOfMpirun) {
  using tool::MpiKind;
  EXPECT_EQ(tool::mpi_command(job(), MpiKind::kOpenMpi, "mpirun", "/bin/wick", false, 4),
            "exec mpirun -n 3 --tag-output --oversubscribe /bin/wick launch --set 'A=b c' -- "
            "./train --name "
            "'it'\\''s' 2>&1 </dev/null");
  EXPECT_THAT(tool::mpi_command(job(), MpiKind::kOpenMpi, "mpirun", "wick", true, 2),
              HasSubstr(" --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 wick "));
  tool::LaunchJob two = job();
  two.hosts = {"a", "b:4"};
  two.agent = "agent.sh";
  EXPECT_THAT(tool::mpi_command(two, MpiKind::kOpenMpi, "mpirun", "wick", false, 1),
              HasSubstr(" --host a:1,b:4 --mca plm_rsh_agent agent.sh wick launch "));
  EXPECT_THAT(tool::mpi_command(two, MpiKind::kMpich, "mpirun", "wick", true, 1),
              HasSubstr("-n 3 -prepend-rank -hosts a,b:4 -launcher-exec agent.sh wick launch "));
  two.hosts = {"a", "b"};
  EXPECT_THAT(tool::mpi_command(two, MpiKind::kOpenMpi, "mpirun", "wick", false, 1),
              HasSubstr(" --host a:1,b:2 "));
  EXPECT_EQ(tool::mpi_kind("mpirun (Open MPI) 4.1.4\n", "mpirun"), MpiKind::kOpenMpi);
  EXPECT_EQ(tool::mpi_kind("HYDRA build details:\n", "mpirun"), MpiKind::kMpich);
  EXPECT_THROW(tool::mpi_kind("sh: mpirun: not found", "mpirun"), Error);
}

TEST(Launch, TellsTheLinesOfRanksFromOthers) {
  auto is = [](const std::string& line, int rank, const std::string& text) {
    const std::vector<tool::RankLine> parts = tool::rank_lines(line);
    ASSERT_EQ(parts.size(), 1u) << line;
    EXPECT_EQ(parts[0].rank, rank) << line;
    EXPECT_EQ(parts[0].text, text);
    EXPECT_TRUE(parts[0].ends);
  };
  is("[1,2]<stdout>:step 1", 2, "step 1");
  is("[1,12]<stderr>:", 12, "");
  is("[3] [distributed] x", 3, "[distributed] x");
  is("[distributed] x", -1, "[distributed] x");
  is("[1,2]<other>:x", -1, "[1,2]<other>:x");
  is("", -1, "");
  is("[12345678901234] x", -1, "[12345678901234] x");
  // Chunks of two ranks in one line.
  const auto parts = tool::rank_lines("[1,0]<stdout>:a[1][1,1]<stdout>:b[1,0]<stdout>: c");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].rank, 0);
  EXPECT_EQ(parts[0].text, "a[1]");
  EXPECT_FALSE(parts[0].ends);
  EXPECT_EQ(parts[1].rank, 1);
  EXPECT_EQ(parts[1].text, "b");
  EXPECT_FALSE(parts[1].ends);
  EXPECT_EQ(parts[2].rank, 0);
  EXPECT_EQ(parts[2].text, " c");
  EXPECT_TRUE(parts[2].ends);
}

// Lines of any length, partial ones and the launcher's marks: a rank's text is its own.
TEST(Launch, TakesTheWholeLinesOfRanks) {
  std::map<int, std::vector<std::string>> lines;
  tool::RankOutput output(2,
                          [&](int rank, const std::string& text) { lines[rank].push_back(text); });
  ASSERT_FALSE(output.name().empty());
  std::vector<pid_t> ranks;
  for (const int rank : {0, 1, 2}) {  // there is no rank 2
    ranks.push_back(fork());
    if (ranks.back() != 0) continue;
    tool::give_output(output.name(), rank);
    const std::string r = std::to_string(rank);
    std::signal(SIGPIPE, SIG_DFL);
    for (const std::string& text :
         {r + "..", std::string(" done\n"), std::string(50000, r[0]) + "\n\n[1,0]<stdout>:" + r})
      if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(1);
    _exit(0);
  }
  tool::shell("sleep 0.5", {}, output.files());
  output.finish();
  for (const pid_t rank : ranks) waitpid(rank, nullptr, 0);
  ASSERT_EQ(lines.size(), 2u);
  for (const int rank : {0, 1}) {
    const std::string r = std::to_string(rank);
    EXPECT_THAT(lines[rank], ::testing::ElementsAre(r + ".. done", std::string(50000, r[0]), "",
                                                    "[1,0]<stdout>:" + r));
  }
  tool::give_output("nobody", 0);  // nothing happens
}

TEST(Launch, FindsItsPlaceInAJob) {
  static std::map<std::string, const char*> set;
  auto place = [](std::map<std::string, const char*> variables) {
    set = std::move(variables);
    const tool::RankPlace p = tool::rank_place([](const char* name) -> const char* {
      const auto it = set.find(name);
      return it == set.end() ? nullptr : it->second;
    });
    return std::vector<int>{p.rank, p.ranks, p.local};
  };
  EXPECT_EQ(place({{"OMPI_COMM_WORLD_RANK", "3"},
                   {"OMPI_COMM_WORLD_SIZE", "4"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}),
            (std::vector<int>{3, 4, 1}));
  EXPECT_EQ(place({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), (std::vector<int>{1, 2, 1}));
  EXPECT_EQ(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})[0], -1);  // a batch script
  EXPECT_EQ(place({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}}),
            (std::vector<int>{5, 8, 5}));
}

// Where a rank's log cannot be written, the job does not go on behind the launcher.
TEST(Launch, AnErrorOfALineEndsTheProgram) {
  pid_t program = 0;
  EXPECT_THROW(tool::shell("echo $$; exec sleep 60",
                           [&](const std::string& line) {
                             program = static_cast<pid_t>(std::stol(line));
                             throw Error("the disk is full");
                           }),
               Error);
  ASSERT_GT(program, 0);
  EXPECT_EQ(kill(program, 0), -1);
}

TEST(Launch, SaysWhatIsWrong) {
  EXPECT_EQ(wick({"launch", "--", "x"}).code, 2);
  EXPECT_THAT(wick({"launch", "--", "x"}).err, HasSubstr("-n: is required"));
  EXPECT_THAT(wick({"launch", "-n", "2", "--min-ranks", "3", "--", "x"}).err,
              HasSubstr("--min-ranks: is 3, more than the 2 of -n"));
  EXPECT_THAT(wick({"launch", "-n", "2", "--min-ranks", "1", "--", "x"}).err,
              HasSubstr("--min-ranks: is for --restarts"));
  EXPECT_THAT(wick({"launch", "-n", "2", "--only", "2", "--", "x"}).err,
              HasSubstr("--only: is 2; the ranks are 0 to 1"));
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "1", 1);
  const Ran rank = wick({"launch", "--logs", "x", "--", "true"});
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
  EXPECT_EQ(rank.code, 2);
  EXPECT_THAT(rank.err, HasSubstr("--logs: is for -n"));
  EXPECT_THAT(wick({"launch", "-n", "2", "--set", "=x", "--mpirun", "true", "--", "x"}).err,
              Not(HasSubstr("restart")));
  EXPECT_THAT(wick({"launch", "-n", "2", "--mpirun", "true", "--", "x"}).err,
              HasSubstr("'true' is neither Open MPI's nor MPICH's mpirun"));
}

TEST(PlanCommand, PrintsItsRule) {
  const std::vector<std::string> gpt = {"plan",    "gpt", "--layers", "4",   "--width",   "64",
                                        "--heads", "4",   "--vocab",  "100", "--context", "32",
                                        "--ranks", "4",   "--gflops", "100"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), gpt.begin(), gpt.end());
    return wick(more);
  };
  const Ran text = with({});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("* data parallel   4 x 1 x 1"));
  EXPECT_THAT(text.out, HasSubstr("data parallel is the first that fits."));
  const auto json = parse_json(with({"--json"}).out);
  EXPECT_EQ(json.at("parameters"), 4 * (12 * 64 * 64 + 13 * 64) + 200 * 64 + 32 * 64 + 2 * 64);
  EXPECT_EQ(json.at("choices").size(), 7u);
  EXPECT_EQ(with({"--memory", "0.0001"}).code, 3);
  EXPECT_THAT(text.out, Not(HasSubstr("with --vocab")));
  auto instead = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> words = gpt;
    *(std::find(words.begin(), words.end(), option) + 1) = value;
    return wick(words);
  };
  const Ran odd = instead("--vocab", "101");
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_THAT(odd.out, HasSubstr("4 heads and a vocabulary of 101 alike: into at most 1, and into "
                                 "4 with --vocab 104."));
  EXPECT_THAT(odd.out, Not(HasSubstr("\n  tensor parallel")));
  EXPECT_THAT(instead("--ranks", "5000000000").err, HasSubstr("--ranks: must be a number from 1"));
  EXPECT_THAT(wick({"plan", "lenet", "--vocab", "5"}).err, HasSubstr("--vocab: is for gpt"));
  EXPECT_EQ(wick({"plan", "lenet", "--ranks", "2", "--gflops", "50"}).code, 0);
  EXPECT_THAT(with({"--heads", "5"}).err, HasSubstr("--heads"));
  EXPECT_THAT(wick({"plan", "gpt", "--width", "10", "--heads", "3"}).err,
              HasSubstr("--heads: 3 do not divide the width 10"));
}

}  // namespace
}  // namespace wick::test
