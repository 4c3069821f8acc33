// MPI as a transport: point-to-point messages on a copy of MPI_COMM_WORLD, so that a program's own
// messages do not meet them. One thread calls MPI at a time: the engine's, or before and after it
// the one that starts and ends it (MPI_THREAD_SERIALIZED).
// MPI's C++ classes, which MPI itself has dropped, would need libraries of their own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "trainer/distributed/mpi/processes.h"
#include "trainer/distributed/mpi/world.h"
#include "wick/error.h"

namespace wick::distributed {
namespace {

constexpr size_t kLargest = size_t{1} << 30;  // bytes of one message: MPI's counts are ints

volatile std::sig_atomic_t g_asked_to_end = 0;
void on_terminate(int) { g_asked_to_end = 1; }

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string("[distributed] ") + what + ": " + text, Code::kIo);
}

class MpiRequest final : public Transport::Request {
 public:
  explicit MpiRequest(std::vector<MPI_Request> parts) : parts_(std::move(parts)) {}
  bool done() override {
    int all = 0;
    check(MPI_Testall(static_cast<int>(parts_.size()), parts_.data(), &all, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    return all != 0;
  }

 private:
  std::vector<MPI_Request> parts_;  // one for each kLargest bytes
};

class Mpi final : public Transport {
 public:
  Mpi();
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return name_; }
  int max_tag() const override { return max_tag_; }

  std::unique_ptr<Request> send(int to, int tag, const void* data, size_t bytes) override {
    return message(bytes, [&](size_t at, int n, MPI_Request* r) {
      check(MPI_Isend(static_cast<const char*>(data) + at, n, MPI_BYTE, to, tag, comm_, r),
            "MPI_Isend");
    });
  }
  std::unique_ptr<Request> receive(int from, int tag, void* data, size_t bytes) override {
    return message(bytes, [&](size_t at, int n, MPI_Request* r) {
      check(MPI_Irecv(static_cast<char*>(data) + at, n, MPI_BYTE, from, tag, comm_, r),
            "MPI_Irecv");
    });
  }
  bool poll(int tag, int* from, std::string* bytes) override;
  Peer look_at(int rank) override { return processes_.look_at(rank); }
  bool asked_to_end() override { return g_asked_to_end != 0; }
  void finish() override;
  void end_process() override {
    fflush(nullptr);
    std::_Exit(1);  // the launcher ends the others: a rank has left without MPI_Finalize
  }

 private:
  template <class F>
  std::unique_ptr<Request> message(size_t bytes, const F& post) {
    std::vector<MPI_Request> parts;
    size_t at = 0;
    do {
      const size_t n = std::min(kLargest, bytes - at);
      parts.push_back(MPI_REQUEST_NULL);
      post(at, static_cast<int>(n), &parts.back());
      at += n;
    } while (at < bytes);
    return std::make_unique<MpiRequest>(std::move(parts));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  bool started_here_ = false;
  int rank_ = 0, size_ = 1, max_tag_ = 32767;
  std::string name_;
  Processes processes_;
};

Mpi::Mpi() {
  int running = 0, level = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&running), "MPI_Initialized");
  if (running != 0) {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    started_here_ = true;
  }
  if (level < MPI_THREAD_SERIALIZED) {
    throw Error(
        "[distributed] MPI was started without threads: call MPI_Init_thread with "
        "MPI_THREAD_MULTIPLE, or leave it to distributed::init()",
        Code::kUnsupported);
  }
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  int found = 0;
  void* bound = nullptr;
  check(MPI_Comm_get_attr(comm_, MPI_TAG_UB, &bound, &found), "MPI_Comm_get_attr");
  if (found != 0) max_tag_ = *static_cast<int*>(bound);
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  name_ = std::string(text).substr(0, std::string(text).find_first_of(",\n"));

  const ProcessTag own = own_process();
  std::vector<ProcessTag> all(static_cast<size_t>(size_));
  check(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, comm_),
        "MPI_Allgather");
  processes_ = Processes(rank_, std::move(all));
  // A launcher ends all ranks when one was killed; the signal's default would end this one before
  // its report. A rank alone has no thread that would look at the flag.
  if (size_ == 1) return;
  const auto before = std::signal(SIGTERM, on_terminate);
  if (before != SIG_DFL) std::signal(SIGTERM, before);
}

bool Mpi::poll(int tag, int* from, std::string* bytes) {
  int there = 0, length = 0;
  MPI_Status status;
  check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &there, &status), "MPI_Iprobe");
  if (there == 0) return false;
  check(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
  bytes->resize(static_cast<size_t>(length));
  *from = status.MPI_SOURCE;
  check(MPI_Recv(bytes->data(), length, MPI_BYTE, *from, tag, comm_, MPI_STATUS_IGNORE),
        "MPI_Recv");
  return true;
}

void Mpi::finish() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0) return;
  MPI_Comm_free(&comm_);
  if (started_here_) MPI_Finalize();
}

}  // namespace

bool built_with_mpi() { return true; }
std::unique_ptr<Transport> join_world() { return std::make_unique<Mpi>(); }

}  // namespace wick::distributed
