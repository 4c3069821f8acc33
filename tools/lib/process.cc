#include "tools/lib/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "tools/lib/limits.h"
#include "tools/lib/process_files.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// The process group of the running program and of those that it started, as a build starts
// compilers: they end with this process.
std::atomic<pid_t> g_group{0};

void end_group() {
  if (const pid_t group = g_group; group > 0) kill(-group, SIGTERM);
}
// Ends it and waits for the program, which may take a while: mpirun waits for its ranks. What they
// write is then written.
void end_program() {
  end_group();
  constexpr timespec kPause = {0, 20'000'000};
  for (int i = 0; i < 500; ++i) {
    const pid_t program = g_group;
    siginfo_t ended = {};
    if (program <= 0 ||
        waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != 0) {
      return;
    }
    nanosleep(&kPause, nullptr);
  }
  if (const pid_t group = g_group; group > 0) kill(-group, SIGKILL);
}
void on_signal(int signal) {
  end_program();
  ::signal(signal, SIG_DFL);
  raise(signal);
}

// Makes signals that would end this process end the group before it.
class Forwarded {
 public:
  Forwarded() {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction ours = {};
      ours.sa_handler = on_signal;
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &ours, nullptr);
    }
  }
  ~Forwarded() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  Forwarded(const Forwarded&) = delete;
  Forwarded& operator=(const Forwarded&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_;
};

// Reads the other files until the program's output has something, or has ended.
void read_others(int output, const OtherFiles& others) {
  for (bool has = !others.open; !has;) {
    std::vector<pollfd> all = {{output, POLLIN, 0}};
    for (const int file : others.open()) all.push_back({file, POLLIN, 0});
    if (poll(all.data(), all.size(), -1) < 0) continue;  // a signal
    for (size_t i = 1; i < all.size(); ++i) {
      if (all[i].revents != 0) others.read(all[i].fd);
    }
    has = all[0].revents != 0;
  }
}

}  // namespace

bool forwards_signals() { return g_group > 0; }

Finished shell(const std::string& command) { return shell(command, nullptr); }

Finished shell(const std::string& command, const std::function<void(const std::string&)>& line) {
  return shell(command, line, {});
}

Finished shell(const std::string& command, const std::function<void(const std::string&)>& line,
               const OtherFiles& others) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot start a process");
  const Forwarded forwarded;
  const AtTimeUp last(end_program);
  char name[] = "sh", option[] = "-c";
  std::string script = command;
  char* const arguments[] = {name, option, script.data(), nullptr};
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDOUT_FILENO);
    execv("/bin/sh", arguments);
    _exit(127);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    throw Error("cannot start a process");
  }
  setpgid(child, child);  // in both processes, whichever comes first
  g_group = child;
  Finished f;
  int status = 0;
  auto wait_for_end = [&] {
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    g_group = 0;
  };
  std::array<char, 4096> buffer;
  try {
    for (;;) {
      read_others(ends[0], others);
      const ssize_t n = read(ends[0], buffer.data(), buffer.size());
      if (n == 0) break;
      if (n > 0) f.out.append(buffer.data(), static_cast<size_t>(n));
      if (n < 0 && errno != EINTR) break;
      size_t begin = 0, end = 0;
      for (; line && (end = f.out.find('\n', begin)) != std::string::npos; begin = end + 1)
        line(f.out.substr(begin, end - begin));
      f.out.erase(0, begin);
    }
    if (line && !f.out.empty()) line(std::exchange(f.out, {}));
  } catch (...) {  // of line(): nobody reads what the program prints any more
    end_group();
    wait_for_end();
    throw;
  }
  wait_for_end();
  f.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return f;
}

struct Peer::Impl {
  pid_t child = -1;
  int socket = -1;
  FILE* from = nullptr;
  std::optional<AtTimeUp> last;

  ~Impl() {
    last.reset();
    if (child > 0) {
      kill(-child, SIGTERM);
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (from != nullptr) {
      std::fclose(from);
    } else if (socket >= 0) {
      close(socket);
    }
  }
};

Peer::Peer(const std::string& command) : impl_(std::make_unique<Impl>()) {
  int ends[2];  // of a socket, since a write to a program that has ended is a signal in a pipe
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error("cannot start a process");
  impl_->socket = ends[0];
  char name[] = "sh", option[] = "-c";
  std::string line = command;
  char* const arguments[] = {name, option, line.data(), nullptr};
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    execv("/bin/sh", arguments);
    _exit(127);
  }
  close(ends[1]);
  if (child < 0) throw Error("cannot start a process");
  setpgid(child, child);  // whoever of the two comes first
  impl_->child = child;
  impl_->last.emplace([child] { kill(-child, SIGTERM); });
  impl_->from = fdopen(ends[0], "r");
  if (impl_->from == nullptr) throw Error("cannot start a process");
}
Peer::~Peer() = default;

std::string Peer::ask(const std::string& line) {
  const std::string whole = line + "\n";  // short: a socket takes it at once
  if (!line.empty()) send(impl_->socket, whole.data(), whole.size(), MSG_NOSIGNAL);
  std::string answer;
  int c = EOF;
  while ((c = std::fgetc(impl_->from)) != EOF && c != '\n') answer += static_cast<char>(c);
  if (c == EOF) throw Error(answer.empty() ? "it ended without a word" : answer);
  return answer;
}

}  // namespace wick::tool
