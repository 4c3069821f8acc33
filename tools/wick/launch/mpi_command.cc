#include "tools/wick/launch/mpi_command.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tools/lib/text.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ",") + item;
  return text;
}

// "a" takes as many ranks as the others of the job leave it: Open MPI wants to be told.
std::string slots(const LaunchJob& job) {
  std::vector<std::string> list;
  const auto hosts = static_cast<int>(job.hosts.size());
  for (int i = 0; i < hosts; ++i) {
    const std::string& host = job.hosts[static_cast<size_t>(i)];
    const bool counted = host.find(':') != std::string::npos;
    const int each = (job.ranks * (i + 1)) / hosts - job.ranks * i / hosts;
    list.push_back(counted ? host : host + ":" + std::to_string(std::max(1, each)));
  }
  return joined(list);
}

// The digits at `at`, and behind them `after`; -1: they are not there.
int number_at(const std::string& text, size_t at, const std::string& after, size_t* end) {
  size_t stop = at;
  while (stop < text.size() && stop - at < 9 &&
         std::isdigit(static_cast<unsigned char>(text[stop])))
    ++stop;
  if (stop == at || text.compare(stop, after.size(), after) != 0) return -1;
  *end = stop + after.size();
  return atoi(text.c_str() + at);
}

// The rank of Open MPI's mark at `at`, and where it ends; -1: there is none.
int open_mpi_rank(const std::string& line, size_t at, size_t* end) {
  size_t second = 0;
  if (number_at(line, at + 1, ",", &second) < 0) return -1;
  for (const char* stream : {"]<stdout>:", "]<stderr>:", "]<stddiag>:"}) {
    if (const int rank = number_at(line, second, stream, end); rank >= 0) return rank;
  }
  return -1;
}

}  // namespace

MpiKind mpi_kind(const std::string& version, const std::string& mpirun) {
  for (const char* name : {"Open MPI", "OpenRTE", "PRRTE"}) {
    if (version.find(name) != std::string::npos) return MpiKind::kOpenMpi;
  }
  if (version.find("HYDRA") != std::string::npos || version.find("mpich") != std::string::npos)
    return MpiKind::kMpich;
  throw Error("launch: '" + one_line(mpirun) +
              "' is neither Open MPI's nor MPICH's mpirun; its --version prints '" +
              one_line(version.substr(0, version.find('\n')).substr(0, 80)) + "'");
}

std::string mpi_command(const LaunchJob& job, MpiKind kind, const std::string& mpirun,
                        const std::string& wick, bool root, int processors) {
  std::string line = "exec " + shell_quote(mpirun) + " -n " + std::to_string(job.ranks);
  if (kind == MpiKind::kOpenMpi) {
    line += " --tag-output";
    if (root) line += " --allow-run-as-root";
    // Open MPI counts cores, not processors; ranks that have one each need not yield.
    if (job.hosts.empty()) line += " --oversubscribe";
    if (job.hosts.empty() && job.ranks > processors) line += " --mca mpi_yield_when_idle 1";
    if (!job.hosts.empty()) line += " --host " + shell_quote(slots(job));
    if (!job.agent.empty()) line += " --mca plm_rsh_agent " + shell_quote(job.agent);
  } else {
    line += " -prepend-rank";
    if (!job.hosts.empty()) line += " -hosts " + shell_quote(joined(job.hosts));
    if (!job.agent.empty()) line += " -launcher-exec " + shell_quote(job.agent);
  }
  line += " " + shell_quote(wick) + " launch";
  for (const auto& [name, value] : job.variables)
    line += " --set " + shell_quote(name + "=" + value);
  line += " --";
  for (const std::string& word : job.program) line += " " + shell_quote(word);
  return line + " 2>&1 </dev/null";
}

std::vector<RankLine> rank_lines(const std::string& line) {
  size_t end = 0;
  if (const int rank = line.starts_with('[') ? number_at(line, 1, "] ", &end) : -1; rank >= 0)
    return {{rank, line.substr(end)}};
  std::vector<RankLine> parts;
  size_t begin = 0;
  int rank = -1;
  for (size_t at = 0; (at = line.find('[', at)) != std::string::npos;) {
    const int next = open_mpi_rank(line, at, &end);
    if (next < 0) {
      ++at;
      continue;
    }
    if (at > 0) parts.push_back({rank, line.substr(begin, at - begin), rank < 0});
    rank = next;
    begin = at = end;
  }
  parts.push_back({rank, line.substr(begin)});
  return parts;
}

RankPlace rank_place(const char* (*variable)(const char* name)) {
  struct Names {
    const char *rank, *ranks, *local;
  };
  // Slurm's variables are there in a batch script, too, which is no rank: a step tells one.
  const bool step = variable("SLURM_STEP_ID") != nullptr;
  for (const Names& n :
       {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        Names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
        Names{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}}) {
    const char *rank = variable(n.rank), *ranks = variable(n.ranks), *local = variable(n.local);
    if (rank == nullptr || ranks == nullptr) continue;
    if (std::string(n.rank) == "SLURM_PROCID" && !step) continue;
    return {atoi(rank), atoi(ranks), local != nullptr ? atoi(local) : atoi(rank)};
  }
  return {};
}

}  // namespace wick::tool
