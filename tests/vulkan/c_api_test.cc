// wick/c/vulkan.h: devices from C.
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <string>

#include "runtime/backend/vulkan/backend.h"
#include "tests/runtime/c_abi/opened.h"
#include "tests/support/output_of.h"
#include "tests/support/temp_folder.h"
#include "wick/c/hooks.h"
#include "wick/c/session.h"
#include "wick/c/vulkan.h"

namespace wick {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class VulkanCApi : public ::testing::Test {
 protected:
  // Opens the device that tests run on; a test is skipped without one.
  void SetUp() override {
    if (wick_vulkan_create(nullptr, &backend_) != WICK_OK)
      GTEST_SKIP() << "no Vulkan device: " << wick_last_error();
  }
  void TearDown() override { wick_vulkan_free(backend_); }
  wick_backend* backend_ = nullptr;
};

TEST_F(VulkanCApi, ListsTheDevicesOfTheCppInterface) {
  wick_vulkan_devices* list = nullptr;
  ASSERT_EQ(wick_vulkan_devices_list(&list), WICK_OK) << wick_last_error();
  Array<VulkanDevice> devices(default_allocator());
  ASSERT_TRUE(VulkanBackend::devices(devices).ok());
  ASSERT_EQ(wick_vulkan_devices_count(list), devices.size());
  int best = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    wick_vulkan_device d = WICK_INIT(wick_vulkan_device);
    ASSERT_EQ(wick_vulkan_devices_get(list, i, &d), WICK_OK);
    EXPECT_STREQ(d.name, devices[i].name);
    EXPECT_STREQ(d.type, devices[i].type);
    EXPECT_STREQ(d.why_unusable, devices[i].why_unusable);
    EXPECT_EQ(d.memory_bytes, devices[i].memory_bytes);
    EXPECT_EQ(d.largest_tensor_bytes, devices[i].largest_tensor_bytes);
    EXPECT_EQ(d.shared_memory_bytes, devices[i].shared_memory_bytes);
    EXPECT_EQ(d.matrix_units != 0, devices[i].matrix_units);
    best += d.best;
  }
  EXPECT_EQ(best, 1);
  wick_vulkan_device d = WICK_INIT(wick_vulkan_device);
  EXPECT_EQ(wick_vulkan_devices_get(list, devices.size(), &d), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("there is no device"));
  wick_vulkan_devices_free(list);
  ASSERT_EQ(wick_vulkan_opened(backend_, &d), WICK_OK);
  EXPECT_GT(d.memory_bytes, 0u);
  EXPECT_STREQ(wick_backend_name(backend_), "vulkan");
  wick_backend* other = nullptr;
  wick_vulkan_options options = WICK_INIT(wick_vulkan_options);
  options.device = "no such device";
  EXPECT_EQ(wick_vulkan_create(&options, &other), WICK_NOT_FOUND);
  EXPECT_EQ(other, nullptr);
}

TEST_F(VulkanCApi, ASessionRunsThereAndSaysSo) {
  wick_session_options options = WICK_INIT(wick_session_options);
  options.backend = backend_;
  std::set<std::string> traced;
  wick_trace_hook trace = WICK_INIT(wick_trace_hook);
  trace.user = &traced;
  trace.on_step = [](void* user, const wick_trace_event* event) {
    static_cast<std::set<std::string>*>(user)->insert(event->backend);
  };
  options.trace = &trace;
  test::CSession s(test::mlp(), &options);
  float x[3] = {1, 2, 3};
  wick_tensor in = test::c_matrix(x, 1, 3), out[2] = {};
  ASSERT_EQ(wick_session_start(s.session, &in, 1, nullptr), WICK_OK) << wick_last_error();
  ASSERT_EQ(wick_session_finish(s.session, out, 2), WICK_OK) << wick_last_error();
  EXPECT_EQ(static_cast<const float*>(out[1].data)[0], 0);
  EXPECT_EQ(static_cast<const float*>(out[1].data)[1], 28.5f);  // exact in f32 in any order
  EXPECT_STREQ(wick_session_left_backend(s.session), "");
  EXPECT_EQ(traced.count("vulkan"), 1u);

  struct Placed {
    int steps = 0, kernels = 0, to_device = 0, back = 0;
    uint64_t recorded = 0;
  } placed;
  wick_explain_hook hook = WICK_INIT(wick_explain_hook);
  hook.user = &placed;
  hook.on_step = [](void* user, const wick_placed_step* step) {
    static_cast<Placed*>(user)->steps += std::string(step->backend) == "vulkan" ? 1 : 0;
  };
  hook.on_kernel = [](void* user, const wick_placed_kernel* kernel) {
    ++static_cast<Placed*>(user)->kernels;
    EXPECT_STRNE(kernel->name, "");
    EXPECT_GT(kernel->groups[0], 0u);
    EXPECT_GT(kernel->group_size[0], 0u);
  };
  hook.on_copy = [](void* user, const wick_placed_copy* copy) {
    auto& to = *static_cast<Placed*>(user);
    ++(copy->to_device != 0 ? to.to_device : to.back);
    EXPECT_EQ(copy->type.dtype, WICK_FLOAT32);
  };
  hook.on_part = [](void* user, const wick_placed_part* part) {
    static_cast<Placed*>(user)->recorded += part->kernels;
    EXPECT_STREQ(part->backend, "vulkan");
    EXPECT_GT(part->arena_bytes + part->constant_bytes, 0u);
  };
  ASSERT_EQ(wick_session_explain(s.session, &hook), WICK_OK) << wick_last_error();
  EXPECT_GE(placed.steps, 3);
  EXPECT_GT(placed.kernels, 0);
  EXPECT_EQ(placed.recorded, static_cast<uint64_t>(placed.kernels));
  EXPECT_EQ(placed.to_device, 1);
  EXPECT_EQ(placed.back, 2);
}

// Without checks no kernel is compared with the CPU.
TEST_F(VulkanCApi, KernelsAreCheckedUnlessTheCallerSkipsIt) {
  wick_vulkan_options options = WICK_INIT(wick_vulkan_options);
  options.cache_folder = "";
  for (int skip : {0, 1}) {
    options.skip_kernel_checks = skip;
    wick_backend* backend = nullptr;
    ASSERT_EQ(wick_vulkan_create(&options, &backend), WICK_OK) << wick_last_error();
    wick_session_options session = WICK_INIT(wick_session_options);
    session.backend = backend;
    {
      test::CSession s(test::mlp(), &session);
      float x[3] = {1, 2, 3};
      wick_tensor in = test::c_matrix(x, 1, 3), out[2] = {};
      ASSERT_EQ(wick_session_run(s.session, &in, 1, out, 2, nullptr), WICK_OK);
    }
    if (skip != 0) {
      EXPECT_EQ(wick_vulkan_checked_count(backend), 0u);
    } else {
      EXPECT_GT(wick_vulkan_checked_count(backend), 0u);
    }
    EXPECT_EQ(wick_vulkan_complaint_count(backend), 0u);
    EXPECT_EQ(wick_vulkan_complaint(backend, 0), nullptr);
    wick_vulkan_free(backend);
  }
}

// x, h [2, 3] -> y = x + h', h' = h + x.
std::vector<uint8_t> cell() {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2, 3}), h = p.value("h", DType::kF32, {2, 3}),
       n = p.value("n", DType::kF32, {2, 3}), y = p.value("y", DType::kF32, {2, 3});
  p.node(OpId::kAdd, {h, x}, {n});
  p.node(OpId::kAdd, {n, x}, {y});
  p.entry("main", {x, h}, {y, n});
  return p.finish();
}

// The state never leaves the device; a pool's sessions and runs by name take it as well, and it
// outlives them and the handle of the device.
TEST_F(VulkanCApi, AStateStaysOnTheDevice) {
  wick_session_options options = WICK_INIT(wick_session_options);
  options.backend = backend_;
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6], h[6] = {};
  wick_tensor type = test::c_matrix(nullptr, 2, 3), host = test::c_matrix(h, 2, 3);
  wick_device_tensor* state = nullptr;
  ASSERT_EQ(wick_vulkan_tensor_create(backend_, &type, &state), WICK_OK) << wick_last_error();
  wick_tensor seen = {};
  ASSERT_EQ(wick_vulkan_tensor_type(state, &seen), WICK_OK);
  EXPECT_EQ(seen.data, nullptr);
  EXPECT_EQ(seen.dtype, WICK_FLOAT32);
  EXPECT_EQ(seen.rank, 2);
  EXPECT_EQ(seen.dims[1], 3);
  {
    test::CSession s(cell(), &options);
    wick_tensor in[2] = {test::c_matrix(x, 2, 3), {}}, out[2] = {test::c_matrix(y, 2, 3), {}};
    wick_device_tensor* ports[] = {nullptr, state};
    wick_run_options run = WICK_INIT(wick_run_options);
    run.device_inputs = run.device_outputs = ports;
    run.device_input_count = run.device_output_count = 2;
    ASSERT_EQ(wick_session_run(s.session, in, 2, out, 2, &run), WICK_OK) << wick_last_error();
    EXPECT_EQ(y[5], 12);
    EXPECT_EQ(out[1].data, nullptr);
    ASSERT_EQ(wick_session_start(s.session, in, 2, &run), WICK_OK) << wick_last_error();
    ASSERT_EQ(wick_session_finish(s.session, out, 2), WICK_OK) << wick_last_error();
    EXPECT_EQ(y[5], 18);
    wick_named_tensor named = {"x", in[0]}, wanted = {"y", out[0]};
    ASSERT_EQ(wick_session_run_named(s.session, &named, 1, &wanted, 1, &run), WICK_OK)
        << wick_last_error();
    EXPECT_EQ(y[5], 24);
    wick_pool_options pool_options = WICK_INIT(wick_pool_options);
    pool_options.session = &options;
    wick_pool* pool = nullptr;
    ASSERT_EQ(wick_pool_create(s.program, &pool_options, &pool), WICK_OK) << wick_last_error();
    ASSERT_EQ(wick_pool_run(pool, in, 2, out, 2, &run), WICK_OK) << wick_last_error();
    EXPECT_EQ(y[5], 30);
    wick_pool_free(pool);

    run.device_input_count = 65;
    EXPECT_EQ(wick_session_run(s.session, in, 2, out, 2, &run), WICK_INVALID_ARGUMENT);
    EXPECT_THAT(wick_last_error(), HasSubstr("options.device_inputs: 65 are given, at most 64"));
    run.device_inputs = nullptr;
    EXPECT_EQ(wick_session_run(s.session, in, 2, out, 2, &run), WICK_INVALID_ARGUMENT);
    EXPECT_THAT(wick_last_error(), HasSubstr("options.device_inputs is null"));
  }
  wick_vulkan_free(backend_);
  backend_ = nullptr;
  ASSERT_EQ(wick_vulkan_tensor_read(state, &host), WICK_OK) << wick_last_error();
  EXPECT_EQ(h[5], 24);
  h[5] = -1;
  ASSERT_EQ(wick_vulkan_tensor_write(state, &host), WICK_OK) << wick_last_error();
  h[5] = 0;
  ASSERT_EQ(wick_vulkan_tensor_read(state, &host), WICK_OK) << wick_last_error();
  EXPECT_EQ(h[5], -1);
  host.dims[0] = 3;
  EXPECT_EQ(wick_vulkan_tensor_read(state, &host), WICK_SHAPE_MISMATCH);
  wick_vulkan_tensor_free(state);
}

TEST_F(VulkanCApi, ACacheShipsWithAModel) {
  const std::string path = test::temp_folder() + "c.cache";
  wick_vulkan_options fresh = WICK_INIT(wick_vulkan_options);
  fresh.cache_folder = "";
  wick_session_options options = WICK_INIT(wick_session_options);
  auto checked = [&](const char* cache, bool save) {
    wick_backend* backend = nullptr;
    EXPECT_EQ(wick_vulkan_create(&fresh, &backend), WICK_OK) << wick_last_error();
    options.backend = backend;
    options.device_cache = cache;
    size_t count = 0;
    {
      test::CSession s(cell(), &options);
      count = wick_vulkan_checked_count(backend);
      if (cache != nullptr && path != cache) {
        EXPECT_THAT(wick_session_refused_cache(s.session), HasSubstr("is not used: "));
      } else {
        EXPECT_STREQ(wick_session_refused_cache(s.session), "");
      }
    }
    if (save) {
      EXPECT_EQ(wick_vulkan_save_cache(backend, path.c_str()), WICK_OK);
    }
    wick_vulkan_free(backend);
    return count;
  };
  EXPECT_GT(checked(nullptr, true), 0u);
  EXPECT_EQ(checked(path.c_str(), false), 0u);
  EXPECT_GT(checked("/no such file", false), 0u);
  EXPECT_EQ(wick_vulkan_load_cache(backend_, path.c_str()), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_vulkan_load_cache(backend_, "/no such file"), WICK_NOT_FOUND);
}

#ifdef WICK_C_DEVICE
// Each step of the state is one on the device; what the host knows of it is read once.
TEST_F(VulkanCApi, TheExampleKeepsAStateOnTheDevice) {
  const std::string model = test::temp_folder() + "cell.wick", cache = test::temp_folder() + "cell";
  const auto file = cell();
  std::ofstream(model, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  wick_vulkan_options fresh = WICK_INIT(wick_vulkan_options);
  fresh.cache_folder = "";
  wick_backend* backend = nullptr;
  ASSERT_EQ(wick_vulkan_create(&fresh, &backend), WICK_OK) << wick_last_error();
  {
    wick_session_options options = WICK_INIT(wick_session_options);
    options.backend = backend;
    test::CSession s(file, &options);
    ASSERT_EQ(wick_vulkan_save_cache(backend, cache.c_str()), WICK_OK) << wick_last_error();
  }
  wick_vulkan_free(backend);
  auto example = [&](const std::string& arguments) {
    // Drivers of devices leak.
    return test::output_of("LSAN_OPTIONS=detect_leaks=0 WICK_CACHE_DIR='" + test::temp_folder() +
                           "example' " + WICK_C_DEVICE + " '" + model + "' '' " + arguments);
  };
  const std::string said = example("'" + cache + "'");
  for (const char* line : {"0 kernels were checked now", " on vulkan", "Add ", ": vulkan",
                           "read the state after three steps", "the stream ended: cancelled"})
    EXPECT_THAT(said, HasSubstr(line));
  EXPECT_THAT(said, Not(HasSubstr("the device was left")));
  EXPECT_THAT(example("'" + model + "'"), HasSubstr("it is no cache of a model's kernels"));
}
#endif

TEST_F(VulkanCApi, KernelsOfTheBuild) {
  size_t count = 0;
  ASSERT_EQ(wick_vulkan_kernel_count(&count), WICK_OK);
  Array<VulkanKernel> kernels(default_allocator());
  ASSERT_TRUE(VulkanBackend::kernels(kernels).ok());
  ASSERT_EQ(count, kernels.size());
  wick_vulkan_kernel kernel = WICK_INIT(wick_vulkan_kernel);
  ASSERT_EQ(wick_vulkan_kernel_get(count - 1, &kernel), WICK_OK);
  EXPECT_STREQ(kernel.name, kernels[count - 1].name);
  EXPECT_EQ(kernel.buffers, kernels[count - 1].buffers);
  EXPECT_EQ(wick_vulkan_kernel_get(count, &kernel), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_vulkan_why_no_shader("MatMul"), "");
  EXPECT_STRNE(wick_vulkan_why_no_shader("RegexFullMatch"), "");
  EXPECT_EQ(wick_vulkan_why_no_shader("NoSuchOp"), nullptr);
}

TEST_F(VulkanCApi, NullsAreErrors) {
  auto refused = [](int code, const char* name) {
    EXPECT_EQ(code, WICK_INVALID_ARGUMENT) << name;
    EXPECT_THAT(wick_last_error(), HasSubstr(std::string(name) + " is null"));
  };
  wick_vulkan_device device = WICK_INIT(wick_vulkan_device);
  refused(wick_vulkan_devices_list(nullptr), "devices");
  refused(wick_vulkan_devices_get(nullptr, 0, &device), "devices");
  EXPECT_EQ(wick_vulkan_devices_count(nullptr), 0u);
  wick_vulkan_devices_free(nullptr);
  refused(wick_vulkan_create(nullptr, nullptr), "backend");
  wick_vulkan_options options = WICK_INIT(wick_vulkan_options);
  options.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  wick_backend* backend = nullptr;
  refused(wick_vulkan_create(&options, &backend), "allocator.deallocate");
  options = {};
  EXPECT_EQ(wick_vulkan_create(&options, &backend), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.size is 0"));
  EXPECT_EQ(backend, nullptr);
  wick_vulkan_free(nullptr);
  refused(wick_vulkan_opened(nullptr, &device), "backend");
  refused(wick_vulkan_opened(backend_, nullptr), "device");
  EXPECT_EQ(wick_vulkan_checked_count(nullptr), 0u);
  EXPECT_EQ(wick_vulkan_complaint_count(nullptr), 0u);
  EXPECT_EQ(wick_vulkan_complaint(nullptr, 0), nullptr);
  wick_tensor type = test::c_matrix(nullptr, 2, 3);
  wick_device_tensor* tensor = nullptr;
  refused(wick_vulkan_tensor_create(nullptr, &type, &tensor), "backend");
  refused(wick_vulkan_tensor_create(backend_, nullptr, &tensor), "type");
  refused(wick_vulkan_tensor_create(backend_, &type, nullptr), "tensor");
  type.dtype = 99;
  EXPECT_EQ(wick_vulkan_tensor_create(backend_, &type, &tensor), WICK_INVALID_ARGUMENT);
  EXPECT_EQ(tensor, nullptr);
  type.dtype = WICK_FLOAT32;
  ASSERT_EQ(wick_vulkan_tensor_create(backend_, &type, &tensor), WICK_OK) << wick_last_error();
  refused(wick_vulkan_tensor_type(nullptr, &type), "tensor");
  refused(wick_vulkan_tensor_type(tensor, nullptr), "type");
  refused(wick_vulkan_tensor_write(nullptr, &type), "tensor");
  refused(wick_vulkan_tensor_write(tensor, nullptr), "from");
  refused(wick_vulkan_tensor_read(nullptr, &type), "tensor");
  refused(wick_vulkan_tensor_read(tensor, nullptr), "to");
  EXPECT_EQ(wick_vulkan_tensor_read(tensor, &type), WICK_INVALID_ARGUMENT);
  wick_vulkan_tensor_free(tensor);
  wick_vulkan_tensor_free(nullptr);
  refused(wick_vulkan_save_cache(nullptr, "x"), "backend");
  refused(wick_vulkan_save_cache(backend_, nullptr), "path");
  refused(wick_vulkan_load_cache(nullptr, "x"), "backend");
  refused(wick_vulkan_load_cache(backend_, nullptr), "path");
  EXPECT_EQ(wick_session_refused_cache(nullptr), nullptr);
  refused(wick_vulkan_self_test(nullptr, nullptr), "backend");
  wick_vulkan_report report = {};
  EXPECT_EQ(wick_vulkan_self_test(backend_, &report), WICK_INVALID_ARGUMENT);
  refused(wick_vulkan_kernel_count(nullptr), "count");
  refused(wick_vulkan_kernel_get(0, nullptr), "kernel");
  EXPECT_EQ(wick_vulkan_why_no_shader(nullptr), nullptr);
}

}  // namespace
}  // namespace wick
