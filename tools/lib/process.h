// Runs other programs to their end.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace wick::tool {

struct Finished {
  int code;  // 128: it was ended by a signal
  std::string out;
};
// Returns whether a program runs. While one does, SIGINT and the like end it and what it started,
// then this process.
bool forwards_signals();
// Runs a shell's command line. Throws Error if no process can be started.
Finished shell(const std::string& command);
// The same, but gives each line of the output to `line` as it comes, without its end; `out` is
// empty.
Finished shell(const std::string& command, const std::function<void(const std::string&)>& line);

// A program that answers lines with lines. It and what it started end with this object, and when
// this process's time is up. Signals of the terminal reach it as they reach this process.
class Peer {
 public:
  // A shell's command line. Throws Error where no process can be started.
  explicit Peer(const std::string& command);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Sends a line, if it is not empty, and waits for one. Throws Error with what the program had to
  // say where it ended instead.
  std::string ask(const std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick::tool
