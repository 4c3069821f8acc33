// A job of one process: no message is ever sent.
#include <cstdlib>

#include "trainer/distributed/mpi/world.h"
#include "wick/error.h"

namespace wick::distributed {
namespace {

class Alone final : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "one process"; }
  int max_tag() const override { return 1 << 30; }
  std::unique_ptr<Request> send(int, int, const void*, size_t) override { refuse(); }
  std::unique_ptr<Request> receive(int, int, void*, size_t) override { refuse(); }
  bool poll(int, int*, std::string*) override { return false; }
  Peer look_at(int) override { return Peer::kAlive; }
  void finish() override {}
  void end_process() override { std::_Exit(1); }

 private:
  [[noreturn]] static void refuse() {
    throw Error("[distributed] a message in a job of one process", Code::kInternal);
  }
};

}  // namespace

std::unique_ptr<Transport> alone() { return std::make_unique<Alone>(); }

}  // namespace wick::distributed
