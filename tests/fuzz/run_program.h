// Runs a .wick file from load to run, as somebody who trusts nothing would: little memory, little
// time, all outputs read.
#pragma once

#include <functional>
#include <vector>

#include "tests/fuzz/driver.h"
#include "tests/fuzz/guard.h"
#include "wick/runtime.h"

namespace wick::fuzz {

// A tensor in memory of its own, which ends or begins at a page that nobody may touch.
class Fed {
 public:
  explicit Fed(GuardAllocator& allocator) : allocator_(allocator) {}
  Fed(const Fed&) = delete;
  ~Fed() { clear(); }
  void clear();

  void* bytes(size_t n, size_t align);
  TensorView tensor(DType dtype, const Shape& shape, Span<const uint8_t> bytes);
  // Makes as many strings as the shape says; the list is repeated.
  TensorView strings(const Shape& shape, const std::vector<std::string>& list);

 private:
  struct Block {
    void* p;
    size_t bytes, align;
  };
  GuardAllocator& allocator_;
  std::vector<Block> blocks_;
};

enum Stage { kLoaded, kCreated, kRan };

struct RunWith {
  size_t entry = 0;  // modulo the number of them
  int threads = 1;
  int runs = 1;
  uint64_t max_ram = 4 << 20;
  uint64_t timeout_ns = 50'000'000;
  bool bind_only = false;    // counted as if it had run
  bool own_outputs = false;  // the caller's memory instead of the session's
  Span<const KernelSet* const> kernels;
  Backend* backend = nullptr;
  Span<const CustomOp* const> custom_ops;  // none: kLoopOp
};

// Counts each Stage that it came to, as that counter of the case. `feed` gives input i of run k;
// `loaded`, where given, sees the program first, `ran` the outputs of each run.
using Feed = std::function<TensorView(const PortInfo&, size_t i, int run, Fed&)>;
void run_program(Case& c, GuardAllocator& allocator, Span<const uint8_t> file, const RunWith& with,
                 const Feed& feed, const std::function<void(const Program&)>& loaded = nullptr,
                 const std::function<void(Span<const TensorView>, int run)>& ran = nullptr);

// Reads every byte of it, what strings and packed values refer to included.
uint64_t read_all(const TensorView& v);

}  // namespace wick::fuzz
