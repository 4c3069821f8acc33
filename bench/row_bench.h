// One kernel row with its constants packed, as a session runs it, and the time of a run.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "runtime/kernels/kernel.h"

namespace wick::bench {

// Of one thread its CPU's time, which others on the machine do not lengthen.
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
  // Numbers from -1 to 1, or bytes of any kind.
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

class Row {
 public:
  Row(Tensors& tensors, const KernelSet& set, OpId op, const void* attrs,
      std::vector<TensorView> in, std::vector<TensorView> out, ThreadPool* pool)
      : in_(std::move(in)), out_(std::move(out)), attrs_(attrs) {
    const KernelQuery query{op, attrs, in_, out_, pool == nullptr ? 1 : pool->threads()};
    const KernelSet* sets[] = {&set};
    row_ = find_kernel(sets, query);
    if (row_ == nullptr) exit(puts("no kernel"));
    if (row_->plan != nullptr && !row_->plan(query, &plan_).ok()) exit(puts("no plan"));
    ctx_ = {pool, tensors.room(plan_.scratch_bytes), nullptr, {}};
    for (int slot = 0; slot < kMaxPacked && row_->pack != nullptr; ++slot) {
      if (plan_.packs[slot].bytes == 0) continue;
      packed_ += plan_.packs[slot].bytes;
      char* form = tensors.room(plan_.packs[slot].bytes);
      const double begin = now();
      if (!row_->pack(query, plan_, slot, form).ok()) exit(puts("cannot pack"));
      pack_seconds_ += now() - begin;
      ctx_.packed[slot] = form;
    }
  }
  double seconds(int repeat) {
    ctx_.plan = &plan_;  // this may have moved
    const double begin = now();
    for (int i = 0; i < repeat; ++i) {
      if (!row_->run(ctx_, in_, out_, attrs_).ok()) exit(puts("failed"));
    }
    return (now() - begin) / repeat;
  }
  size_t packed_bytes() const { return packed_; }
  // The largest form of a weight.
  const void* form() const { return ctx_.packed[0]; }
  size_t form_bytes() const { return plan_.packs[0].bytes; }
  double pack_seconds() const { return pack_seconds_; }

 private:
  std::vector<TensorView> in_, out_;
  const void* attrs_;
  const KernelRow* row_;
  KernelPlan plan_;
  KernelCtx ctx_;
  size_t packed_ = 0;
  double pack_seconds_ = 0;
};

}  // namespace wick::bench
