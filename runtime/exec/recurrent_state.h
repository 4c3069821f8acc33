// RecurrentState: what a model remembers of one stream (a conversation, a sensor) from run to run:
// the state buffers of a program, and outputs that become inputs of the next run. It is an object
// that is given to each run, so any session of the program serves the next step.
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
  const char* entry = nullptr;       // of the links; null: the first
  Span<const DimBinding> dims = {};  // sizes that the program leaves free, such as {"batch", 1}
  Allocator* allocator = nullptr;    // null: default_allocator(); must outlive the state
  uint64_t max_ram = 1 << 30;        // bytes that it may hold
};

// Holds the program's state buffers (Program::states), which serve all of its entry points, and
// then the links, which serve one. A run that failed leaves the state as it was. What a run makes
// anew is written to a second buffer, and the two change places when the run has succeeded; a
// buffer into which the program only scatters rows (ScatterND) is written in place.
class RecurrentState {
 public:
  // Buffers start as the program says, links as zeros. `program` must outlive the state. kNotFound:
  // no such entry, port or symbol; kInvalidArgument: a port is linked twice, or a size is still
  // free; kShapeMismatch: a size is outside of its symbol's bounds, or the ports of a link never
  // have one shape; kTypeMismatch: they have different dtypes, or are no tensors of numbers;
  // kBudgetExceeded, kOutOfMemory; kIo: an initial value cannot be read.
  static Result<Owned<RecurrentState>> create(const Program& program,
                                              Span<const StateLink> links = {},
                                              const RecurrentStateOptions& options = {});
  static void destroy(RecurrentState* state);

  // Returns a copy, which goes on from here by itself: a prompt is read once and answered several
  // times. It has the same max_ram and, if none is given, the same allocator. kInvalidArgument: a
  // run uses the state just now; kBudgetExceeded, kOutOfMemory.
  Result<Owned<RecurrentState>> fork(Allocator* allocator = nullptr);
  // Makes it what it was at first. Not to be called during a run.
  void reset();

  // Return the number of buffers and links, the name of one (a link's is its input's), the number
  // of a name (-1: none), and the present value, which may be read and written between runs; i must
  // be in range.
  size_t size() const { return slots_.size(); }
  const char* name(size_t i) const { return slots_[i].name; }
  int find(const char* name) const;
  TensorView value(size_t i) const { return slots_[i].view(slots_[i].now); }
  // Returns the bytes that it holds.
  size_t bytes() const { return arena_.held(); }

 private:
  friend class StateRun;
  struct Slot {
    const char* name = "";
    DType dtype = DType::kNone;
    Shape shape;
    const void* init = nullptr;      // null: zeros
    uint32_t input = 0, output = 0;  // of a link: numbers of the ports
    uint32_t now = 0;                // which of the two buffers has the present value
    bool made = false;               // the other one has that of after the present run
    void* buffers[2] = {};           // the second is null where every entry point writes in place
    TensorView view(uint32_t which) const { return {buffers[which], dtype, shape}; }
  };
  RecurrentState(const Program& program, const EntryDef& entry, Allocator& allocator, size_t limit)
      : program_(program), entry_(entry), allocator_(allocator), arena_(allocator, limit) {}
  ~RecurrentState() = default;
  static Result<Owned<RecurrentState>> make(const Program& program, const EntryDef& entry,
                                            Allocator& allocator, size_t limit, size_t slots);
  Status find_copied(Span<uint8_t> copied) const;
  Status keep(uint32_t i, Span<const DimBinding> dims, Slot* slot) const;
  Status link(const StateLink& names, Span<const DimBinding> dims, Slot* slot) const;
  Status hold(Slot* slot, bool twice);
  Span<Slot> links() const { return slots_.subspan(program_.states().size()); }

  const Program& program_;
  const EntryDef& entry_;  // of the links
  Allocator& allocator_;
  Arena arena_;
  Span<Slot> slots_;                 // the program's states, then the links
  std::atomic<uint32_t> in_run_{0};  // a state serves one run at a time
};

}  // namespace wick
