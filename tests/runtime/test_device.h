// A device that a test defines: memory of its own, ops that it takes or leaves, and failures
// wherever a device can fail. Its results are those of the reference's kernels.
#pragma once

#include <gtest/gtest.h>

#include <climits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/backend/backend.h"
#include "runtime/kernels/prepared.h"
#include "tests/runtime/control_programs.h"
#include "tests/runtime/small_cnn.h"

namespace wick::test {

inline const KernelSet* const kReference[] = {&kReferenceKernels};

// Runs steps by the reference's kernels, each value in memory of the device's.
class TestDevice final : public Backend {
 public:
  const char* name() const override { return "test"; }
  bool supports(const KernelQuery& q) override { return ops.empty() || ops.count(q.op) != 0; }
  Status why_not(const KernelQuery& q) override {
    ++asked;
    if (lost_when_asked) return Status(Code::kDevice, "the device is lost");
    return Backend::why_not(q);
  }
  Status pays(const PartitionSpec& spec) override {
    seen.push_back(spec.steps.size());
    return cheap ? Status() : Status(Code::kUnsupported, "its copies cost more");
  }
  Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator&) override {
    ++compiled;
    for (uint32_t v : spec.inputs) copies.push_back(spec.values[v].name);
    for (uint32_t v : spec.outputs) copies.push_back(spec.values[v].name);
    if (!at_compile.ok()) return at_compile;
    return Owned<Partition>(new Part(*this, spec));
  }
  // A tensor in its memory, which counts the transfers to and from the host.
  class Tensor final : public DeviceTensor {
   public:
    Tensor(TestDevice& device, DType dtype, const Shape& shape)
        : DeviceTensor(&device, dtype, shape), bytes(nbytes()), device_(device) {}
    Status write(const TensorView& from) override {
      ++device_.written;
      if (device_.fails()) return device_.at_transfer;
      memcpy(bytes.data(), from.data, bytes.size());
      return {};
    }
    Status read(const TensorView& to) override {
      ++device_.read;
      if (device_.fails()) return device_.at_transfer;
      memcpy(to.data, bytes.data(), bytes.size());
      return {};
    }
    void free() override { delete this; }
    std::vector<char> bytes;

   private:
    TestDevice& device_;
  };
  Result<Owned<DeviceTensor>> create_tensor(DType dtype, const Shape& shape) override {
    return Owned<DeviceTensor>(new Tensor(*this, dtype, shape));
  }
  const void* home() const override { return this; }

  std::set<OpId> ops;  // that it takes; none: all
  bool lost_when_asked = false, cheap = true;
  Status at_compile, at_run, at_start, at_finish, at_transfer;
  int transfers = INT_MAX;    // that fail at at_transfer; later ones do not
  int fine = 0;               // parts that run before one fails at at_run
  int written = 0, read = 0;  // transfers of its tensors
  size_t scratch = 0;
  int asked = 0, compiled = 0, ran = 0, finished = 0, alive = 0;
  std::vector<size_t> seen;         // steps of the parts it was asked about
  std::vector<std::string> copies;  // values that cross

 private:
  bool fails() { return !at_transfer.ok() && transfers-- > 0; }

  class Part final : public Partition {
   public:
    Part(TestDevice& device, const PartitionSpec& spec) : device_(device), spec_(spec) {
      ++device_.alive;
    }
    Status run(const RunCtx& ctx) override {
      if (!device_.at_run.ok() && device_.ran >= device_.fine) return device_.at_run;
      return work(ctx);
    }
    Status start(const RunCtx&) override { return device_.at_start; }
    Status finish(const RunCtx& ctx) override {
      ++device_.finished;
      if (!device_.at_finish.ok()) return device_.at_finish;
      return work(ctx);
    }
    size_t scratch_bytes() const override { return device_.scratch; }
    size_t held_bytes() const override { return 100; }
    void free() override {
      --device_.alive;
      delete this;
    }

   private:
    TensorView view(const RunCtx& ctx, uint32_t v) {
      if (v == kNoIndex) return {};
      const PlanValue& value = spec_.values[v];
      void* data = const_cast<void*>(value.data);
      if (data == nullptr && values_.count(v) != 0) data = values_[v].data();
      if (data == nullptr && !ctx.device_in.empty() && ctx.device_in[v] != nullptr)
        data = static_cast<Tensor*>(ctx.device_in[v])->bytes.data();
      if (data == nullptr) data = ctx.values[v].data;
      return TensorView(data, value.dtype, value.shape);
    }
    Status work(const RunCtx& ctx) {
      ++device_.ran;
      values_.clear();
      for (const PlanStep& step : spec_.steps) {
        std::vector<TensorView> in, out;
        for (uint32_t v : step.in) in.push_back(view(ctx, v));
        for (uint32_t v : step.out) {
          TensorView made(nullptr, spec_.values[v].dtype, spec_.values[v].shape);
          values_[v].resize(made.nbytes() + 1);
          made.data = values_[v].data();
          out.push_back(made);
        }
        if (is_view(step.node->op)) {
          memcpy(out[0].data, in[0].data, out[0].nbytes());
          continue;
        }
        const KernelQuery query{step.node->op, step.node->attrs, in, out, 1, step.node->custom};
        PreparedKernel kernel;
        WICK_TRY(kernel.prepare(kReference, query));
        std::vector<uint64_t> scratch(kernel.scratch_bytes() / 8 + 1);
        WICK_TRY(kernel.run({nullptr, scratch.data()}, step.node->op, in, out, step.node->attrs));
      }
      for (uint32_t v : spec_.outputs) {
        void* to = ctx.values[v].data;
        if (!ctx.device_out.empty() && ctx.device_out[v] != nullptr)
          to = static_cast<Tensor*>(ctx.device_out[v])->bytes.data();
        memcpy(to, values_[v].data(), ctx.values[v].nbytes());
      }
      return {};
    }

    TestDevice& device_;
    PartitionSpec spec_;
    std::map<uint32_t, std::vector<char>> values_;
  };
};

// a = relu(x); b = tanh(a); c = neg(b); y = exp(c), and b too.
// `before` clips of x come before it.
inline std::vector<uint8_t> chain_of_four(int before = 0) {
  ProgramBuilder p;
  auto v = [&](const char* name) { return p.value(name, DType::kF32, {4}); };
  auto most = p.constant<float>("most", {}, {100});
  const auto given = v("x");
  uint32_t x = given;
  for (int i = 0; i < before; ++i) {
    const auto clipped = v("clipped");
    p.node(OpId::kClip, {x, kNoIndex, most}, {clipped}, NoAttrs{}, "clip");
    x = clipped;
  }
  auto a = v("a"), b = v("b"), c = v("c"), y = v("y");
  p.node(OpId::kRelu, {x}, {a}, NoAttrs{}, "relu");
  p.node(OpId::kTanh, {a}, {b}, NoAttrs{}, "tanh");
  p.node(OpId::kNeg, {b}, {c}, NoAttrs{}, "neg");
  p.node(OpId::kExp, {c}, {y}, NoAttrs{}, "exp");
  p.entry("main", {given}, {y, b});
  return p.finish();
}

struct Chain {
  explicit Chain(int before = 0) : l(load(chain_of_four(before))) {}
  Loaded l;
  float x[4] = {-1, 0, 1, 2};
  TensorView in = TensorView(x, DType::kF32, {4});
  TensorView out[2];
  SessionOptions options(TestDevice& device) {
    SessionOptions o;
    o.threads = 1;
    o.backend = &device;
    o.kernels = kReference;
    return o;
  }
  Status run(Session& session) {
    clear();
    return session.run(Span<const TensorView>(&in, 1), out);
  }
  void clear() { out[0] = out[1] = TensorView(); }  // the session's own memory, not a dead one's
  std::vector<float> values() const {
    std::vector<float> all(out[0].as<float>(), out[0].as<float>() + 4);
    all.insert(all.end(), out[1].as<float>(), out[1].as<float>() + 4);
    return all;
  }
  std::vector<float> want() {
    SessionOptions o;
    o.threads = 1;
    o.kernels = kReference;
    auto session = open(*l.program, o);
    EXPECT_TRUE(run(*session).ok());
    return values();
  }
};

}  // namespace wick::test
