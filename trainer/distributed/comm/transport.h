// What moves bytes between the ranks of a job. One thread calls it, except for the constructor and
// what is said otherwise. mpi/ has the one of MPI; tests have one of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace wick::distributed {

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "Open MPI v4.1.4"
  virtual int max_tag() const = 0;       // tags are 0 .. max_tag()

  // A message under way; destroying it gives it up.
  class Request {
   public:
    virtual ~Request() = default;
    virtual bool done() = 0;  // does not wait; throws Error where the message failed
  };
  // Messages of one tag from one rank to another arrive in the order in which they were sent. A
  // message is received with its length. `data` must live until the request is done.
  virtual std::unique_ptr<Request> send(int to, int tag, const void* data, size_t bytes) = 0;
  virtual std::unique_ptr<Request> receive(int from, int tag, void* data, size_t bytes) = 0;
  // Takes a message of this tag and of any length, if one has come.
  virtual bool poll(int tag, int* from, std::string* bytes) = 0;

  // What is known of the process of another rank.
  enum class Peer { kAlive, kStopped, kDead };
  virtual Peer look_at(int rank) = 0;
  // Whether this process was asked to end by a signal. May be called by any thread.
  virtual bool asked_to_end() { return false; }

  // Leaves the job; the other ranks do the same. Called once, when no message is under way.
  virtual void finish() = 0;
  // Ends this process at once after a fault, without waiting for other ranks. A test's transport
  // returns.
  virtual void end_process() = 0;
};

}  // namespace wick::distributed
