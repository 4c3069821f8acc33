// Process groups: the ranks of a job, and tensors that travel between them. Names are those of
// torch.distributed where it has the same thing.
//
//   distributed::Group world = distributed::init();
//   world.all_reduce(t);                       // t is the sum of all ranks' t
//   Handle h = world.all_reduce_async(t);      // ... backward goes on ...
//   h.wait();
//
// Sums are made by one fixed tree, so that they are the same bits in every run and on every rank.
// Every call carries a fingerprint: where ranks call different things, or one does not call at all,
// every rank throws the same Error, which names the ranks, the collective and the lines.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/distributed/comm/handle.h"
#include "trainer/distributed/comm/reduce_op.h"
#include "trainer/tensor/tensor.h"

namespace wick::distributed {

class Communicator;  // comm/communicator.h: the same over plain memory
struct Call;

// Options of init().
struct InitOptions {
  // Seconds after which a collective that not all ranks have called is an error. 0: the environment
  // variable WICK_COLLECTIVE_TIMEOUT, or 600.
  double timeout_s = 0;
  // Where every rank writes its flight recorder after an error, as wick-flight-RANK.json. Empty:
  // the environment variable WICK_FLIGHT_RECORDER, or nowhere.
  std::string flight_recorder = {};
};

// Options of a collective.
struct CallOptions {
  ReduceOp op = ReduceOp::kSum;  // of all_reduce and reduce_scatter
  // A name for the reports. Ranks must give the same one; without it they must call from the same
  // line.
  std::string name = {};
  double timeout_s = 0;  // 0: that of init()
};

// A group of ranks. Copies are handles of one group. Tensors are contiguous and on the CPU, of any
// dtype but strings and those below 8 bits. For use by one thread at a time. Functions throw Error
// where a tensor does not fit, and for the failures above.
class Group {
 public:
  explicit Group(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  // This process's number in the group, and how many there are.
  int rank() const;
  int size() const;
  // The name given to split(), an axis of a mesh, or "world".
  const std::string& name() const;

  // Sets t to the sum (or opts.op) of all ranks' t, which have one shape and dtype.
  void all_reduce(const Tensor& t, const CallOptions& opts = {}, Where where = Where::current());
  // Returns the ranks' tensors of one shape, stacked: [size, ...].
  Tensor all_gather(const Tensor& t, const CallOptions& opts = {}, Where where = Where::current());
  // Returns this rank's share, [d / size, ...], of the sum of all ranks' t [d, ...].
  Tensor reduce_scatter(const Tensor& t, const CallOptions& opts = {},
                        Where where = Where::current());
  // Sets t to that of rank `root`.
  void broadcast(const Tensor& t, int root = 0, const CallOptions& opts = {},
                 Where where = Where::current());
  // Of t [d, ...], d / size rows go to each rank; returns those that came, in order of the ranks.
  Tensor all_to_all(const Tensor& t, const CallOptions& opts = {}, Where where = Where::current());
  // Sends t to another rank, and sets t to what it sent. The other rank calls the other one, with a
  // tensor of the same size and dtype.
  void send(const Tensor& t, int to, const CallOptions& opts = {}, Where where = Where::current());
  void recv(const Tensor& t, int from, const CallOptions& opts = {},
            Where where = Where::current());
  // Returns when every rank has called it.
  void barrier(const CallOptions& opts = {}, Where where = Where::current());

  // The same, started: neither read nor write the tensors before wait(). Results go to `out`.
  [[nodiscard]] Handle all_reduce_async(const Tensor& t, const CallOptions& opts = {},
                                        Where where = Where::current());
  [[nodiscard]] Handle all_gather_async(const Tensor& out, const Tensor& t,
                                        const CallOptions& opts = {},
                                        Where where = Where::current());
  [[nodiscard]] Handle reduce_scatter_async(const Tensor& out, const Tensor& t,
                                            const CallOptions& opts = {},
                                            Where where = Where::current());
  [[nodiscard]] Handle broadcast_async(const Tensor& t, int root = 0, const CallOptions& opts = {},
                                       Where where = Where::current());
  [[nodiscard]] Handle all_to_all_async(const Tensor& out, const Tensor& t,
                                        const CallOptions& opts = {},
                                        Where where = Where::current());
  [[nodiscard]] Handle send_async(const Tensor& t, int to, const CallOptions& opts = {},
                                  Where where = Where::current());
  [[nodiscard]] Handle recv_async(const Tensor& t, int from, const CallOptions& opts = {},
                                  Where where = Where::current());

  // Returns the group of the ranks that call it with the same color, ordered by key. Every rank
  // calls it.
  Group split(int color, int key, const std::string& name, Where where = Where::current());

  // Returns what this process has sent so far, and how long it waited, in all groups.
  Traffic traffic() const;
  // Returns the last 1,000 collectives of this process, in all groups, as JSON.
  std::string flight_recorder() const;
  // Ends every rank of the job with a report of this text: throws it here, and from the other
  // ranks' next collective. For errors that only one rank sees.
  [[noreturn]] void fail(const std::string& text, Where where = Where::current());

  Communicator& communicator() const { return *communicator_; }  // for Wick itself

 private:
  Call call(const char* op, const Tensor& t, const CallOptions& opts, const Where& where) const;

  std::shared_ptr<Communicator> communicator_;
};

// Returns the group of all ranks of the job that mpirun or srun started; of one process without
// them. Calling it again returns the same group. An exception that ends a process is reported by
// all ranks; a process that ends waits until the others do. The first call seeds the default
// generator where WICK_SEED is set, with one seed on all ranks.
Group init(const InitOptions& options = {});
// Returns how often `wick launch` has started this job again after a rank was lost: WICK_RESTART,
// 0 without it.
int restart_count();
// Returns whether this build has MPI. Without it init() takes one process only.
bool has_mpi();

// A grid of ranks with named axes: Mesh({{"data", 2}, {"tensor", 4}}, world). The last axis varies
// fastest, so that its ranks are neighbours.
class Mesh {
 public:
  // Names and sizes, the slowest axis first.
  using Axes = std::vector<std::pair<std::string, int>>;
  // Every rank of `world` calls it. Throws Error unless the product of the sizes is world.size().
  Mesh(Axes axes, Group world, Where where = Where::current());
  // Returns the group of the ranks that differ from this one along that axis only. Throws Error if
  // there is no such axis.
  Group axis(const std::string& name, Where where = Where::current()) const;
  // Returns the axes of the constructor.
  const Axes& axes() const { return axes_; }

 private:
  Axes axes_;
  std::vector<Group> groups_;
};

}  // namespace wick::distributed
