// RecurrentState: what a recurrent model remembers of one stream (a conversation, a sensor) from
// run to run. It is given to SessionPool::run(), so any session serves the next step.
#pragma once

#include <atomic>

#include "runtime/exec/session.h"

namespace wick {

// An input, and the output that becomes this input in the next run, by the names of their ports.
struct StateLink {
  const char* input;
  const char* output;
};

// Options of RecurrentState::create().
struct RecurrentStateOptions {
  const char* entry = nullptr;       // null: the first
  Span<const DimBinding> dims = {};  // sizes that the program leaves free, such as {"batch", 1}
  Allocator* allocator = nullptr;    // null: default_allocator(); must outlive the state
  uint64_t max_ram = 1 << 30;        // bytes that it may hold: two buffers for each link
};

// Holds two buffers for each link: a run reads one and writes the other, and they change places
// when it has succeeded. A run that failed leaves the state as it was.
class RecurrentState {
 public:
  // Starts as zeros. `program` must outlive the state. kNotFound: no such entry, port or symbol;
  // kInvalidArgument: a port is linked twice, or a size is still free; kTypeMismatch: the ports of
  // a link have different dtypes, or are no tensors of numbers; kBudgetExceeded, kOutOfMemory.
  static Result<Owned<RecurrentState>> create(const Program& program, Span<const StateLink> links,
                                              const RecurrentStateOptions& options = {});
  static void destroy(RecurrentState* state);

  // Forgets: zeros again.
  void reset();
  // Return the number of links, and the present value of one, which may be read and written
  // between runs; i must be in range.
  size_t size() const { return links_.size(); }
  TensorView value(size_t i) const { return view(links_[i], now_); }

 private:
  friend class SessionPool;
  struct Link {
    uint32_t input = 0, output = 0;  // numbers of the ports
    DType dtype = DType::kNone;
    Shape shape;
    void* buffers[2] = {};
  };
  RecurrentState(const EntryDef& entry, Allocator& allocator, size_t limit)
      : entry_(entry), allocator_(allocator), arena_(allocator, limit) {}
  ~RecurrentState() = default;
  Status link(const Program& program, const StateLink& names, Span<const DimBinding> dims,
              Link* link);
  static TensorView view(const Link& link, uint32_t which) {
    return {link.buffers[which], link.dtype, link.shape};
  }
  // Puts the state's views among those of the caller, who gave all others in their order.
  Status join(Span<const TensorView> inputs, Span<const TensorView> outputs, Span<TensorView> in,
              Span<TensorView> out) const;

  const EntryDef& entry_;
  Allocator& allocator_;
  Arena arena_;
  Span<Link> links_;
  uint32_t now_ = 0;                 // which of the two buffers has the present value
  std::atomic<uint32_t> in_run_{0};  // a state serves one run at a time
};

}  // namespace wick
