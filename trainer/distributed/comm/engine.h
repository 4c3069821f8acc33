// The thread of a process that moves its collectives forward, watches the other ranks, and ends all
// of them with one report where something is wrong. All waiting is polling with a deadline.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "trainer/distributed/comm/fingerprint.h"
#include "trainer/distributed/comm/flight_recorder.h"
#include "trainer/distributed/comm/handle.h"
#include "trainer/distributed/comm/schedule.h"
#include "trainer/distributed/comm/transport.h"

namespace wick::distributed {

constexpr int kControlTag = 0;  // of messages about faults and ends; groups' tags begin at 4

// The ranks of a communicator, as ranks of the job.
struct CommGroup {
  std::string name;
  int tag = 0;                                        // the first of its four message tags
  std::vector<int> ranks;                             // in order of their rank within the group
  int rank = 0;                                       // of this process within the group
  std::map<std::pair<int, int>, uint32_t> sequences;  // next number by lane; the engine's
  // Groups that share a rank have other tags; groups of one tag and name, as the rows of a mesh,
  // have other ranks.
  std::string id() const { return std::to_string(tag) + "." + std::to_string(ranks[0]); }
};

// A collective that was called. The caller holds it until it is done; the engine works on it.
class Operation {
 public:
  const Call& call() const { return call_; }

 private:
  friend class Engine;
  struct Header {
    int peer;
    Fingerprint theirs;
    std::unique_ptr<Transport::Request> request;  // null: it has come, and is equal
  };
  std::shared_ptr<CommGroup> group_;
  Call call_;
  std::shared_ptr<const void> keep_;  // what owns the caller's buffers
  Schedule schedule_;                 // before the requests, which use its buffers
  Fingerprint mine_;
  std::vector<Header> headers_;
  struct Message {
    int peer;
    std::unique_ptr<Transport::Request> request;
  };
  std::vector<Message> requests_;
  size_t round_ = 0;
  bool started_ = false, met_ = false, finished_ = false;
  uint64_t entry_ = 0;  // of the flight recorder
  double started_at_ = 0;
};

struct EngineOptions {
  double timeout_s = 600;        // after which a rank that waits for others ends the job
  double answer_s = 1.5;         // for the answers of the other ranks to a fault
  double grace_s = 3;            // for the program to notice a fault before its process is ended
  double stopped_s = 2;          // a process that is stopped for longer is a fault
  std::string dump_folder = {};  // flight recorders are written here after a fault; empty: nowhere
};

// While it lives, waits of this thread are not the program's: it works beside the training.
class WaitsBeside {
 public:
  WaitsBeside();
  ~WaitsBeside();
  WaitsBeside(const WaitsBeside&) = delete;
  WaitsBeside& operator=(const WaitsBeside&) = delete;
};

class Engine {
 public:
  Engine(std::unique_ptr<Transport> transport, const EngineOptions& options);
  ~Engine();  // stop()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Transport& transport() { return *transport_; }
  const EngineOptions& options() const { return options_; }
  FlightRecorder& recorder() { return recorder_; }
  Traffic traffic() const;
  // The message tags of this rank's groups; communicator.cc's.
  struct Tags {
    std::mutex mutex;
    int next = 0;               // the first that no group has
    bool held = false;          // by a split that is under way
    std::multiset<int> wanted;  // the tags of the groups that are being split
  };
  Tags tags;

  // Queues a collective. Those of a group run in the order of their calls, messages between two
  // ranks in the order of theirs. `keep` owns the buffers until the operation is done. Throws the
  // report of an earlier fault.
  std::shared_ptr<Operation> submit(const std::shared_ptr<CommGroup>& group, Call call,
                                    Schedule schedule, std::shared_ptr<const void> keep);
  bool done(const Operation& op);
  // Waits until it is done. Throws Error with the report of a fault.
  void wait(const Operation& op);
  // Ends all ranks because of an error on this one; returns the report, which the caller throws.
  std::string fail(const std::string& reason);
  // Waits for what is queued, and for the other ranks to stop as well. A rank that still waits for
  // this one reports that it has ended. After a fault it ends the process.
  void stop();

 private:
  // What a rank says of itself when something is wrong.
  struct Statement {
    struct Current {
      std::string place;  // place_of(): of one collective, the same on its ranks
      std::string call;
    };
    std::string reason;  // begins with its weight, '1' to '5'; empty: it only answers
    std::string state;
    std::vector<Current> current;
  };
  using Lane = std::tuple<int, int, int>;  // the group's tag, 0 or the kind, the other rank

  [[noreturn]] void throw_report(std::unique_lock<std::mutex>* lock);
  void run();
  bool take_submitted();
  bool progress(Operation& op);
  bool advance(bool* busy);
  void start(Operation& op);
  void post(Operation& op, const Round& round, bool sends, int receives_from);
  void finish(Operation& op);
  bool read_control(std::map<int, Statement>* answers);
  void watch();
  void watch_operation(const Operation& op, const std::vector<int>& stopped);
  void say_goodbye();
  void wait_for_own_call(const std::map<int, Statement>& answers);
  void inquest(std::map<int, Statement> answers);
  static std::vector<int> peers_under_way(const Operation& op);
  static std::string place_of(const Operation& op);
  static std::string reason_of_difference(const Operation& op, const Operation::Header& header,
                                          const std::string& how);
  Statement own_statement(const std::string& reason) const;
  std::string compose(const std::map<int, Statement>& statements) const;
  std::string differing_calls(const std::map<int, Statement>& statements) const;
  void announce(const std::string& report);
  static std::string pack(const Statement& s);
  static Statement unpack(const std::string& text);

  std::unique_ptr<Transport> transport_;
  EngineOptions options_;
  FlightRecorder recorder_;

  // The engine's thread alone uses these.
  std::map<Lane, std::deque<std::shared_ptr<Operation>>> lanes_;
  std::vector<std::unique_ptr<Transport::Request>> control_;  // messages that were sent
  std::vector<std::string> dead_;      // by rank: how it is known to be gone; empty: alive
  std::vector<double> stopped_since_;  // by rank; < 0: it runs
  std::vector<double> ended_;          // by rank: when it said that it ends; < 0: not yet
  std::string fault_;                  // the reason of this rank; empty: it has found nothing
  double next_watch_ = 0, asked_ = -1;
  bool said_goodbye_ = false;

  // mutex_ holds these.
  std::mutex mutex_;
  std::condition_variable wake_, changed_;
  std::deque<std::shared_ptr<Operation>> submitted_;
  std::string wanted_fault_, report_;
  bool stopping_ = false, noticed_ = false, over_ = false, left_ = false;

  std::atomic<int64_t> payload_{0}, fingerprints_{0}, messages_{0}, waited_us_{0};
  std::thread thread_;
};

}  // namespace wick::distributed
