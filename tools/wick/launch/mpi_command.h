// The command line of mpirun, and what it makes of the lines that ranks print.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wick::tool {

// A job as `wick launch` starts it.
struct LaunchJob {
  int ranks = 0;
  std::vector<std::string> hosts;  // "a" or "a:4", with its number of ranks
  std::string agent;               // the program that starts processes on other hosts; empty: ssh
  std::vector<std::pair<std::string, std::string>> variables;  // of every rank
  std::vector<std::string> program;                            // with its arguments
};

enum class MpiKind { kOpenMpi, kMpich };
// Tells them apart by what `mpirun --version` prints. Throws Error for another one.
MpiKind mpi_kind(const std::string& version, const std::string& mpirun);

// Returns the shell's command line, of which each rank is `wick launch --set ... -- PROGRAM`. Lines
// have their rank in front, stderr comes with stdout.
std::string mpi_command(const LaunchJob& job, MpiKind kind, const std::string& mpirun,
                        const std::string& wick, bool root, int processors);

// A part of a line of the job's output: rank -1 is the launcher itself.
struct RankLine {
  int rank = -1;
  std::string text;
  bool ends = true;  // the line; not where the launcher goes on with another rank's
};
// Takes "[1,2]<stdout>:text" (Open MPI) and "[2] text" (MPICH) apart. Open MPI marks each chunk
// that it passes on, so that its marks stand within lines too; a program that prints such a mark
// is misread. Only for ranks whose output comes through the launcher (rank_output.h).
std::vector<RankLine> rank_lines(const std::string& line);

// The place of this process in a job that a launcher started.
struct RankPlace {
  int rank = -1, ranks = 0, local = 0;
};
// Reads what Open MPI, MPICH and Slurm tell a rank, by `variable`, which returns nullptr for one
// that is not set; rank -1: no launcher started this process.
RankPlace rank_place(const char* (*variable)(const char* name));

}  // namespace wick::tool
