// The ranks' output, past the launcher. mpirun passes chunks of 4 KB on, in which lines of ranks
// are cut and mixed, and its marks (--tag-output) lose text where lines are short. A rank of this
// machine therefore hands the read ends of its own stdout and stderr to `wick launch`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/lib/process_files.h"

namespace wick::tool {

// A rank's output so far, as lines.
class WholeLines {
 public:
  // Calls `line` with each line that `text` ends, without its end.
  void add(const std::string& text, const std::function<void(const std::string&)>& line);
  // Calls it with what is left.
  void end(const std::function<void(const std::string&)>& line);

 private:
  std::string rest_;
};

// `wick launch`'s side.
class RankOutput {
 public:
  using Line = std::function<void(int rank, const std::string& text)>;
  // `line` gets the lines of ranks 0 to `ranks` - 1, whole.
  RankOutput(int ranks, Line line);
  ~RankOutput();
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  // What give_output() needs; empty: this process may not have so many files open.
  const std::string& name() const { return name_; }
  OtherFiles files();
  // Reads what is left when the job has ended. A process that a rank left behind does not hold
  // this up.
  void finish();

 private:
  struct Stream {
    int rank = 0;
    WholeLines lines;
  };
  std::vector<int> open() const;
  void read_from(int file);
  void accept();
  void end_stream(int file);

  int ranks_;
  Line line_;
  std::string name_;
  int socket_ = -1;
  std::map<int, Stream> streams_;  // by descriptor
};

// A rank's side: its stdout, a terminal as mpirun's is, so that lines come as they are printed, and
// its stderr go to the RankOutput of this name. On another machine they stay the launcher's.
void give_output(const std::string& name, int rank);

}  // namespace wick::tool
