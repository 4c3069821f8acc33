// Times one op in a session, with its weights constant and packed if a row packs them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "exporter/program/program_writer.h"
#include "graph/ir/graph.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/kernel.h"
#include "wick/runtime.h"

namespace wick::bench {

// If one thread runs, measures its CPU time, which other processes on the machine do not lengthen.
inline bool& of_one_thread() {
  static bool one = false;
  return one;
}
inline double now() {
  timespec t;
  clock_gettime(of_one_thread() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Bytes {
  explicit Bytes(size_t n) : data(static_cast<char*>(aligned_alloc(64, (n + 127) / 64 * 64))) {
    memset(data, 0, n + 64);
  }
  ~Bytes() { free(data); }
  Bytes(const Bytes&) = delete;
  char* data;
};

class Tensors {
 public:
  ~Tensors() {
    for (Bytes* b : all_) delete b;
  }
  // Makes numbers from -1 to 1, or any bytes.
  TensorView make(DType dtype, const Shape& shape) {
    TensorView t(nullptr, dtype, shape);
    all_.push_back(new Bytes(t.nbytes()));
    t.data = all_.back()->data;
    uint32_t state = 1;
    for (int64_t i = 0; i < t.numel() && dtype == DType::kF32; ++i) {
      state = state * 1664525 + 1013904223;
      t.as<float>()[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    }
    for (size_t i = 0; i < t.nbytes() && dtype != DType::kF32; ++i) {
      state = state * 1664525 + 1013904223;
      t.as<uint8_t>()[i] = static_cast<uint8_t>(state >> 24);
    }
    return t;
  }
  char* room(size_t n) {
    all_.push_back(new Bytes(n));
    return all_.back()->data;
  }

 private:
  std::vector<Bytes*> all_;
};

// A program of one op, run by a session: what a user gets, the session's own cost included. The
// first input is the program's input, the others are constants.
class Row {
 public:
  Row(Tensors&, const KernelSet& set, OpId op, const void* attrs, std::vector<TensorView> in,
      std::vector<TensorView> out, ThreadPool* pool)
      : in_(in[0]), out_(std::move(out)) {
    ir::Graph g;
    AnyAttrs any;
    memcpy(any.get(), attrs, find_op(op)->attrs->size);
    std::vector<ir::ValueId> inputs = {g.add_input("x", in_.dtype, to_symbolic(in_.shape))};
    for (size_t i = 1; i < in.size(); ++i) {
      inputs.push_back(!in[i].present() ? ir::kNoValue
                                        : g.add_constant(HostTensor(in[i].dtype, in[i].shape,
                                                                    in[i].data, in[i].nbytes())));
    }
    const auto outputs = static_cast<int>(out_.size());
    const ir::NodeId node = g.add_node(op, any, std::move(inputs), outputs);
    std::string name = "y";
    for (int i = 0; i < outputs; ++i, name += 'y')
      g.add_output(name, g.node(node).outputs[static_cast<size_t>(i)]);
    lent_ = std::make_unique<LentProgram>(lend_program(std::move(g)));
    LoadOptions load;
    load.lent = lent_->segments;
    auto program = Program::load(Span<const uint8_t>(lent_->bytes), load);
    if (!program.ok()) exit(puts(program.status().message()));
    program_ = std::move(*program);
    const KernelSet* sets[] = {&set};
    SessionOptions options;
    options.kernels = sets;
    options.threads = pool == nullptr ? 1 : pool->threads();
    const double begin = now();
    auto session = Session::create(*program_, options);
    if (!session.ok()) exit(puts(session.status().message()));
    session_ = std::move(*session);
    open_seconds_ = now() - begin;
  }
  double seconds(int repeat) {
    const double begin = now();
    for (int i = 0; i < repeat; ++i) {
      const Status s = session_->run({&in_, 1}, out_);
      if (!s.ok()) exit(puts(s.message()));
    }
    return (now() - begin) / repeat;
  }
  size_t packed_bytes() const { return session_->packed_bytes(); }
  // Returns the first packed form of a weight.
  const void* form() const { return session_->packed_form(0).value().bytes.data(); }
  size_t form_bytes() const { return session_->packed_form(0).value().bytes.size(); }
  // Returns the time of planning and packing.
  double open_seconds() const { return open_seconds_; }

 private:
  TensorView in_;
  std::vector<TensorView> out_;
  std::unique_ptr<LentProgram> lent_;
  Owned<Program> program_;
  Owned<Session> session_;
  double open_seconds_ = 0;
};

}  // namespace wick::bench
