// wick/c/session.h, hooks.h and kernels.h: what a session can, in C as in C++.
#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "runtime/backend/backend.h"
#include "runtime/exec/c_handles.h"
#include "tests/runtime/c_abi/opened.h"
#include "tests/runtime/small_cnn.h"
#include "tests/runtime/test_device.h"
#include "tests/support/output_of.h"
#include "tests/support/temp_folder.h"
#include "wick/c/hooks.h"
#include "wick/c/kernels.h"
#include "wick/c/session.h"

namespace wick {
namespace {

using test::c_matrix;
using test::CSession;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x = 1, 2, 3 through mlp(): r = (0, 28.5).
TEST(CSessionTest, RunsByNameAndOnlyWhatIsWanted) {
  CSession s(test::mlp());
  float x[3] = {1, 2, 3}, r[2] = {};
  wick_named_tensor in = {"x", c_matrix(x, 1, 3)}, out = {"r", c_matrix(r, 1, 2)};
  ASSERT_EQ(wick_session_run_named(s.session, &in, 1, &out, 1, nullptr), WICK_OK)
      << wick_last_error();
  EXPECT_THAT(r, ElementsAre(0, 28.5f));
  // In any order, in the session's memory.
  wick_named_tensor both[2] = {{"r", {}}, {"y", {}}};
  ASSERT_EQ(wick_session_run_named(s.session, &in, 1, both, 2, nullptr), WICK_OK);
  EXPECT_EQ(both[0].tensor.rank, 2);
  EXPECT_EQ(both[1].tensor.rank, 1);
  EXPECT_EQ(static_cast<const float*>(both[1].tensor.data)[1], 28.5f);

  in.name = "z";
  EXPECT_EQ(wick_session_run_named(s.session, &in, 1, &out, 1, nullptr), WICK_NOT_FOUND);
  EXPECT_STREQ(wick_last_error(), "no input is named z; there are: x");
  EXPECT_EQ(wick_session_run_named(s.session, nullptr, 0, &out, 1, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "input x is missing");
  in = {"x", c_matrix(x, 1, 3)};
  in.tensor.rank = 99;
  EXPECT_EQ(wick_session_run_named(s.session, &in, 1, &out, 1, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "input x: rank 99 or dtype 1 is out of range");
  wick_named_tensor many[3] = {};
  EXPECT_EQ(wick_session_run_named(s.session, many, 3, &out, 1, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("3 inputs and 1 outputs given"));
}

TEST(CSessionTest, RunsInTwoHalves) {
  CSession s(test::mlp());
  float x[3] = {1, 2, 3}, r[2] = {}, y[2] = {};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {{y, WICK_FLOAT32, 1, {2}}, c_matrix(r, 1, 2)};
  EXPECT_EQ(wick_session_finish(s.session, out, 2), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "no run was started");
  ASSERT_EQ(wick_session_start(s.session, &in, 1, nullptr), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("is not finished yet"));
  EXPECT_EQ(wick_session_finish(s.session, out, 1), WICK_INVALID_ARGUMENT);
  EXPECT_EQ(r[1], 0);
  ASSERT_EQ(wick_session_finish(s.session, out, 2), WICK_OK) << wick_last_error();
  EXPECT_THAT(r, ElementsAre(0, 28.5f));
  EXPECT_THAT(y, ElementsAre(0, 28.5f));
  // The session serves others again; a flag that is up ends a run that starts.
  wick_cancel* cancel = nullptr;
  ASSERT_EQ(wick_cancel_create(&cancel), WICK_OK);
  EXPECT_EQ(wick_cancel_requested(cancel), 0);
  wick_cancel_request(cancel);
  EXPECT_EQ(wick_cancel_requested(cancel), 1);
  wick_run_options options = WICK_INIT(wick_run_options);
  options.cancel = cancel;
  EXPECT_EQ(wick_session_start(s.session, &in, 1, &options), WICK_CANCELLED);
  wick_cancel_free(cancel);
  EXPECT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK);
}

// Tensors on a device and its cache are of no use to a session on the CPU.
TEST(CSessionTest, WhatIsForADeviceNeedsOne) {
  wick_session_options options = WICK_INIT(wick_session_options);
  options.device_cache = "model.cache";
  CSession s(test::mlp(), &options);
  EXPECT_STREQ(wick_session_refused_cache(s.session), "the session has no device");
  float x[3] = {1, 2, 3};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {};
  wick_device_tensor* none[2] = {};
  wick_run_options run = WICK_INIT(wick_run_options);
  run.device_inputs = none;
  run.device_input_count = 1;
  EXPECT_EQ(wick_session_run(s.session, &in, 1, out, 2, &run), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("the session has no device"));
  run.device_inputs = nullptr;
  run.device_input_count = 0;
  run.device_output_count = 1;
  EXPECT_EQ(wick_session_run(s.session, &in, 1, out, 2, &run), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.device_outputs is null"));
  EXPECT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK) << wick_last_error();
}

// Device tensors are by port number; the caller's own list leaves out the ports that a state links,
// and its entries for ports on the device are not read.
TEST(CSessionTest, LinksAndDeviceTensorsMeetInOneRun) {
  test::ProgramBuilder p;  // n = x + h, h becomes n; y = n * z
  auto h = p.value("h", DType::kF32, {2}), x = p.value("x", DType::kF32, {2}),
       z = p.value("z", DType::kF32, {2}), n = p.value("n", DType::kF32, {2}),
       y = p.value("y", DType::kF32, {2}), t = p.value("t", DType::kF32, {2});
  p.node(OpId::kAdd, {x, h}, {n});
  p.node(OpId::kMul, {n, z}, {y});
  p.node(OpId::kNeg, {y}, {t});
  p.entry("main", {h, x, z}, {n, y, t});
  test::TestDevice device;
  wick_backend backend = {&device};
  wick_session_options options = WICK_INIT(wick_session_options);
  options.backend = &backend;
  options.threads = 1;
  CSession s(p.finish(), &options);
  const wick_state_link link = {"h", "n"};
  wick_state_options state_options = WICK_INIT(wick_state_options);
  state_options.links = &link;
  state_options.link_count = 1;
  wick_state* state = nullptr;
  ASSERT_EQ(wick_state_create(s.program, &state_options, &state), WICK_OK) << wick_last_error();
  auto made = device.create_tensor(DType::kF32, {2}),
       given = device.create_tensor(DType::kF32, {2});
  wick_device_tensor to = {made->get()}, from = {given->get()};
  float xs[2] = {1, 2}, zs[2] = {10, 100}, ts[2] = {}, ys[2] = {};
  ASSERT_TRUE(from.tensor->write(TensorView(zs, DType::kF32, {2})).ok());
  wick_device_tensor *ins[] = {nullptr, nullptr, &from}, *outs[] = {nullptr, &to};
  wick_run_options run = WICK_INIT(wick_run_options);
  run.state = state;
  run.device_inputs = ins;
  run.device_input_count = 3;
  run.device_outputs = outs;
  run.device_output_count = 2;
  const wick_tensor unread = {xs, 77, -5, {}};
  const wick_tensor in[] = {{xs, WICK_FLOAT32, 1, {2}}, unread};
  wick_tensor out[] = {unread, {ts, WICK_FLOAT32, 1, {2}}};
  ASSERT_EQ(wick_session_run(s.session, in, 2, out, 2, &run), WICK_OK) << wick_last_error();
  EXPECT_THAT(ts, ElementsAre(-10, -200));
  ASSERT_EQ(wick_session_start(s.session, in, 2, &run), WICK_OK) << wick_last_error();
  wick_tensor rest[] = {{}, {ts, WICK_FLOAT32, 1, {2}}};
  ASSERT_EQ(wick_session_finish(s.session, rest, 2), WICK_OK) << wick_last_error();
  EXPECT_THAT(ts, ElementsAre(-20, -400));
  ASSERT_TRUE(to.tensor->read(TensorView(ys, DType::kF32, {2})).ok());
  EXPECT_THAT(ys, ElementsAre(20, 400));
  EXPECT_EQ(out[0].dtype, 77) << "nor written";

  wick_pool_options pool_options = WICK_INIT(wick_pool_options);
  pool_options.session = &options;
  wick_pool* pool = nullptr;
  ASSERT_EQ(wick_pool_create(s.program, &pool_options, &pool), WICK_OK) << wick_last_error();
  run.state = nullptr;
  ASSERT_EQ(wick_pool_run_state(pool, in, 2, out, 2, state, &run), WICK_OK) << wick_last_error();
  EXPECT_THAT(ts, ElementsAre(-30, -600));
  wick_pool_free(pool);
  wick_state_free(state);
}

TEST(CSessionTest, CountsAreTheCppSessions) {
  wick_session_options options = WICK_INIT(wick_session_options);
  options.threads = 2;
  CSession s(test::mlp(), &options);
  float x[3] = {1, 2, 3};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {};
  ASSERT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK);
  const Session& same = *s.session->session;
  EXPECT_GT(wick_session_step_count(s.session), 0u);
  EXPECT_EQ(wick_session_step_count(s.session), same.step_count());
  EXPECT_EQ(wick_session_arena_bytes(s.session), same.arena_bytes());
  EXPECT_EQ(wick_session_packed_bytes(s.session), same.packed_bytes());
  EXPECT_EQ(wick_session_arena_bytes(s.session) + wick_session_packed_bytes(s.session),
            wick_session_memory(s.session));
  EXPECT_EQ(wick_session_threads(s.session), 2);
  EXPECT_STREQ(wick_session_left_backend(s.session), "");
  EXPECT_STREQ(wick_session_refused_cache(s.session), "");
  ASSERT_EQ(wick_session_packed_form_count(s.session), same.packed_form_count());
  for (size_t i = 0; i < same.packed_form_count(); ++i) {
    wick_packed_form form = WICK_INIT(wick_packed_form);
    ASSERT_EQ(wick_session_packed_form(s.session, i, &form), WICK_OK);
    auto form_of_cpp = same.packed_form(i);
    EXPECT_EQ(form.layout, form_of_cpp->layout);
    EXPECT_EQ(form.constant, form_of_cpp->constant);
    EXPECT_EQ(form.data, form_of_cpp->bytes.data());
    EXPECT_EQ(form.bytes, form_of_cpp->bytes.size());
  }
  wick_packed_form form = WICK_INIT(wick_packed_form);
  EXPECT_EQ(wick_session_packed_form(s.session, 99, &form), WICK_INVALID_ARGUMENT);
}

TEST(CSessionTest, BytesOfTensors) {
  wick_tensor t = c_matrix(nullptr, 3, 5);
  int64_t elements = 0;
  size_t bytes = 0;
  ASSERT_EQ(wick_tensor_elements(&t, &elements), WICK_OK);
  ASSERT_EQ(wick_tensor_bytes(&t, &bytes), WICK_OK);
  EXPECT_EQ(elements, 15);
  EXPECT_EQ(bytes, 60u);
  t.dtype = 22;  // int4: two in a byte
  ASSERT_EQ(wick_tensor_bytes(&t, &bytes), WICK_OK);
  EXPECT_EQ(bytes, 8u);
  t.dims[0] = -1;
  EXPECT_EQ(wick_tensor_elements(&t, &elements), WICK_SHAPE_MISMATCH);
  t.dims[0] = INT64_MAX;
  EXPECT_EQ(wick_tensor_bytes(&t, &bytes), WICK_SHAPE_MISMATCH);
  t.rank = -1;
  EXPECT_EQ(wick_tensor_bytes(&t, &bytes), WICK_INVALID_ARGUMENT);
}

// The hooks' texts, step by step.
struct Seen {
  std::string steps, values;
  int parts = 0;
};

void on_step(void* user, const wick_trace_event* event) {
  auto& seen = *static_cast<Seen*>(user);
  seen.steps += std::string(event->op) + " " + event->node + " " + event->backend + "; ";
  EXPECT_EQ(event->size, sizeof(wick_trace_event));
  EXPECT_LE(event->begin_ns, event->end_ns);
  wick_tensor out = {};
  ASSERT_EQ(wick_views_count(event->out), 1u);
  ASSERT_EQ(wick_views_tensor(event->out, 0, &out), WICK_OK);
  seen.values += std::to_string(static_cast<const float*>(out.data)[1]) + "; ";
  int64_t strides[WICK_MAX_RANK] = {};
  int block = -1;
  ASSERT_EQ(wick_views_layout(event->out, 0, strides, &block), WICK_OK);
  EXPECT_EQ(block, 0);
  EXPECT_EQ(strides[0], 2);
  EXPECT_EQ(wick_views_tensor(event->out, 1, &out), WICK_INVALID_ARGUMENT);
}

TEST(CHooks, ATraceSeesEachStepAndItsValues) {
  Seen seen;
  wick_trace_hook trace = WICK_INIT(wick_trace_hook);
  trace.user = &seen;
  trace.on_step = on_step;
  wick_session_options options = WICK_INIT(wick_session_options);
  options.trace = &trace;
  CSession s(test::mlp(), &options);
  trace.on_step = nullptr;  // was copied
  float x[3] = {1, 2, 3};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {};
  ASSERT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK) << wick_last_error();
  EXPECT_EQ(seen.steps, "MatMul mm cpu; Add bias cpu; Relu act cpu; ");
  EXPECT_EQ(seen.values, "28.000000; 28.500000; 28.500000; ");
  wick_session* refused = nullptr;
  EXPECT_EQ(wick_session_create(s.program, &options, &refused), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "options.trace.on_step is null");
}

// Blocks reach a hook that takes them, and no other.
TEST(CHooks, BlockedValues) {
  for (int takes : {0, 1}) {
    int blocks = 0;
    wick_trace_hook trace = WICK_INIT(wick_trace_hook);
    trace.user = &blocks;
    trace.takes_blocks = takes;
    trace.on_step = [](void* user, const wick_trace_event* event) {
      for (size_t i = 0; i < wick_views_count(event->out); ++i) {
        int64_t strides[WICK_MAX_RANK];
        int block = 0;
        EXPECT_EQ(wick_views_layout(event->out, i, strides, &block), WICK_OK);
        *static_cast<int*>(user) += block != 0 ? 1 : 0;
      }
    };
    wick_session_options options = WICK_INIT(wick_session_options);
    options.trace = &trace;
    CSession s(test::small_cnn(), &options);
    EXPECT_EQ(s.session->trace.takes_blocks(), takes != 0);
    wick_port port;
    ASSERT_EQ(wick_session_input(s.session, 0, &port), WICK_OK);
    wick_tensor in = {nullptr, port.dtype, port.rank, {}};
    int64_t n = 1;
    for (int d = 0; d < port.rank; ++d) n *= in.dims[d] = port.dims[d] < 0 ? 1 : port.dims[d];
    std::vector<float> x(static_cast<size_t>(n), 1);
    in.data = x.data();
    std::vector<wick_tensor> out(wick_session_output_count(s.session));
    ASSERT_EQ(wick_session_run(s.session, &in, 1, out.data(), out.size(), nullptr), WICK_OK)
        << wick_last_error();
    if (takes == 0) {
      EXPECT_EQ(blocks, 0);
    }
  }
}

TEST(CHooks, ExplainTellsWhereStepsRun) {
  CSession s(test::mlp());
  float x[3] = {1, 2, 3};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {};
  ASSERT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK);
  Seen seen;
  wick_explain_hook hook = WICK_INIT(wick_explain_hook);
  ASSERT_EQ(wick_session_explain(s.session, &hook), WICK_OK) << "every function may be null";
  hook.user = &seen;
  hook.on_step = [](void* user, const wick_placed_step* step) {
    auto& to = *static_cast<Seen*>(user);
    to.steps += std::string(step->op) + " " + step->backend + "; ";
    if (step->index >= 0) {
      EXPECT_STRNE(step->kernel, "") << step->op;
    }
    EXPECT_EQ(wick_views_count(step->out), 1u);
  };
  hook.on_part = [](void* user, const wick_placed_part*) { ++static_cast<Seen*>(user)->parts; };
  ASSERT_EQ(wick_session_explain(s.session, &hook), WICK_OK) << wick_last_error();
  EXPECT_EQ(seen.steps, "MatMul cpu; Add cpu; Relu cpu; Reshape cpu; ");
  EXPECT_EQ(seen.parts, 0);
}

// A device that takes every step and is lost when it is asked to compile them.
class LostDevice final : public Backend {
 public:
  const char* name() const override { return "lost"; }
  bool supports(const KernelQuery&) override { return true; }
  Result<Owned<Partition>> compile(const PartitionSpec&, Allocator&) override {
    return Status(Code::kDevice, "unplugged");
  }
};

TEST(CSessionTest, ADeviceThatIsLostIsLeft) {
  LostDevice device;
  wick_backend backend{&device};
  EXPECT_STREQ(wick_backend_name(&backend), "lost");
  wick_session_options options = WICK_INIT(wick_session_options);
  options.backend = &backend;
  CSession s(test::mlp(), &options);
  float x[3] = {1, 2, 3};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {};
  ASSERT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK) << wick_last_error();
  EXPECT_EQ(static_cast<const float*>(out[1].data)[1], 28.5f);
  EXPECT_THAT(wick_session_left_backend(s.session), HasSubstr("unplugged"));
}

std::string kernels_of(const wick_kernel_set* set) {
  std::string kernels;
  wick_trace_hook trace = WICK_INIT(wick_trace_hook);
  trace.user = &kernels;
  trace.on_step = [](void* user, const wick_trace_event* event) {
    *static_cast<std::string*>(user) += std::string(event->kernel) + " ";
  };
  wick_session_options options = WICK_INIT(wick_session_options);
  options.trace = &trace;
  options.kernels = &set;
  options.kernel_count = 1;
  CSession s(test::mlp(), &options);
  float x[3] = {1, 2, 3};
  wick_tensor in = c_matrix(x, 1, 3), out[2] = {};
  EXPECT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK) << wick_last_error();
  return kernels;
}

TEST(CKernels, ASessionUsesTheSetsThatItIsGiven) {
  EXPECT_STREQ(wick_kernel_set_name(wick_kernels_reference()), "reference");
  EXPECT_STREQ(wick_kernel_set_name(wick_kernels_cpu()), "cpu");
  EXPECT_EQ(wick_kernel_set_has(wick_kernels_reference(), "MatMul"), 1);
  EXPECT_EQ(wick_kernel_set_has(wick_kernels_cpu(), "NoSuchOp"), 0);
  EXPECT_EQ(wick_kernel_set_selected(wick_kernels_cpu()), 0);
  ASSERT_EQ(wick_default_kernel_count(), default_kernels().size());
  for (size_t i = 0; i < wick_default_kernel_count(); ++i)
    EXPECT_STREQ(wick_kernel_set_name(wick_default_kernel_set(i)), default_kernels()[i]->name);
  EXPECT_EQ(wick_default_kernel_set(99), nullptr);
  EXPECT_THAT(kernels_of(wick_kernels_reference()), HasSubstr(".ref"));
  EXPECT_NE(kernels_of(wick_kernels_reference()), kernels_of(wick_kernels_cpu()));
}

#ifdef WICK_C_SESSION
std::string example(const std::string& arguments) {
  // Drivers of devices leak.
  return test::output_of("LSAN_OPTIONS=detect_leaks=0 " + std::string(WICK_C_SESSION) + arguments);
}

// Reads and prints what this test does not know, such as a device's name; the rest is compared.
TEST(CExample, UsesWhatASessionCan) {
  const std::string path = test::temp_folder() + "wick_c_session.wick";
  const auto file = test::mlp();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  const std::string said = example(" '" + path + "'");
  for (const char* line : {"made by test, Wick 0.1.0", "batch: 1 to 64", "author = me", "ran ",
                           "MatMul mm: ", "r alone: 2 elements", "started and finished",
                           "ended by another thread: cancelled"})
    EXPECT_THAT(said, HasSubstr(line));
  // Without a device the CPU does it all.
  const std::string none = example(" '" + path + "' 'no such device'");
  EXPECT_THAT(none, HasSubstr("on the CPU: "));
  EXPECT_THAT(none, HasSubstr("ran Relu act on cpu"));
  EXPECT_THAT(none, HasSubstr("3 trace events, 4 steps"));
}
#endif

}  // namespace
}  // namespace wick
