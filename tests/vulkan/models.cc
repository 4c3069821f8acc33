#include "tests/vulkan/models.h"

#include <cstring>
#include <memory>
#include <stdexcept>

#include "tests/program/program_builder.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/nn/models/models.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

bool have_device() {
  static const bool have = [] {
    auto backend = VulkanBackend::create(default_allocator());
    return backend.ok();
  }();
  return have;
}

// Compiles a net and asks the CPU.
const TestModel* make(const char* name, nn::Module& net, const Tensor& x) {
  struct Kept {
    AlignedBytes file;
    TestModel model;
  };
  auto* kept = new Kept;  // for the program's life, as its models are
  TestModel& m = kept->model;
  m.name = name;
  net.eval();
  NoGrad guard;
  const std::vector<uint8_t> file = compile_program(capture(net, {{"x", x, {}, {}}}));
  kept->file = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(kept->file.get(), file.size()));
  if (!program.ok()) throw std::runtime_error(program.status().message());
  m.program = std::move(*program);
  const TensorView raw = x.raw();
  m.data.resize((raw.nbytes() + 3) / 4);
  std::memcpy(m.data.data(), raw.data, raw.nbytes());
  m.input = TensorView(m.data.data(), raw.dtype, raw.shape);
  auto session = Session::create(*m.program);
  if (!session.ok()) throw std::runtime_error(session.status().message());
  Status s = run_into(**session, m, m.want);
  if (!s.ok()) throw std::runtime_error(s.message());
  return &m;
}

}  // namespace

Owned<VulkanBackend> open_device(const VulkanOptions& options) {
  auto backend = VulkanBackend::create(default_allocator(), options);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  return std::move(*backend);
}

Owned<Session> open_session(const TestModel& m, VulkanBackend& device, TraceHook* trace) {
  SessionOptions options;
  options.backend = &device;
  options.trace = trace;
  auto session = Session::create(*m.program, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

Status run_into(Session& session, const TestModel& m, std::vector<float>& y) {
  TensorView in = m.input, out;
  WICK_TRY(session.run({&in, 1}, {&out, 1}));
  y.assign(out.as<float>(), out.as<float>() + out.numel());
  return {};
}

const TestModel* lenet_model() {
  static const TestModel* model = []() -> const TestModel* {
    if (!have_device()) return nullptr;
    manual_seed(3);
    auto net = nn::lenet();
    return make("LeNet", *net, randn({2, 1, 28, 28}));
  }();
  return model;
}

const TestModel* gpt_model() {
  static const TestModel* model = []() -> const TestModel* {
    if (!have_device()) return nullptr;
    manual_seed(4);
    nn::GptOptions o;
    o.vocab_size = 31, o.embed_dim = 32, o.num_layers = 2, o.num_heads = 2, o.max_seq_len = 16;
    nn::GPT net(o);
    const int64_t tokens[] = {1, 5, 9, 30, 2, 2, 17, 8};
    return make("GPT", net, from_blob(tokens, {1, 8}, DType::kI64));
  }();
  return model;
}

}  // namespace wick::test
