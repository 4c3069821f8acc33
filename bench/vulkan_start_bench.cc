// Measures what a program's start on Vulkan takes, and where: vulkan_start_bench MODEL.wick. Starts
// itself twice, in a cache folder that is empty the first time. Time in the driver is measured at
// the table of Vulkan's functions; the rest is Wick's own.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/exec/session.h"

namespace {

using namespace wick;
using vulkan::Api;

enum Part { kOpen, kMemory, kPipelines, kRecord, kWait, kOther, kParts };
constexpr const char* kPartNames[] = {"instance and device", "memory and mapping",      "pipelines",
                                      "recording",           "submissions and waiting", "other"};

struct Function {
  const char* name;
  Part part;
  // Several threads create pipelines. CPU time is the calling thread's.
  std::atomic<uint64_t> ns{0}, cpu_ns{0}, calls{0};
};
bool starts(const char* text, const char* with) { return std::string(text).rfind(with, 0) == 0; }
Part part_of(const char* n) {
  if (starts(n, "CreateInstance") || starts(n, "Enumerate") || starts(n, "GetPhysical") ||
      starts(n, "CreateDevice") || starts(n, "GetDevice"))
    return kOpen;
  if (starts(n, "CreateBuffer") || starts(n, "GetBuffer") || starts(n, "AllocateMemory") ||
      starts(n, "Bind") || starts(n, "MapMemory"))
    return kMemory;
  if (starts(n, "CreateShader") || starts(n, "DestroyShader") || starts(n, "CreatePipeline") ||
      starts(n, "CreateCompute") || starts(n, "GetPipeline"))
    return kPipelines;
  if (starts(n, "Cmd") || starts(n, "BeginCommand") || starts(n, "EndCommand") ||
      starts(n, "UpdateDescriptor") || starts(n, "AllocateDescriptor") ||
      starts(n, "AllocateCommand") || starts(n, "CreateCommandPool") ||
      starts(n, "CreateDescriptor"))
    return kRecord;
  if (starts(n, "Queue") || starts(n, "Wait")) return kWait;
  return kOther;
}

#define X(name) k##name,
enum Id : size_t {
  WICK_VK_GLOBAL_FUNCTIONS(X) WICK_VK_INSTANCE_FUNCTIONS(X) WICK_VK_DEVICE_FUNCTIONS(X)
      WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X) kFunctions
};
#undef X
Function functions[] = {
#define X(name) {#name, part_of(#name), {}, {}, {}},
    WICK_VK_GLOBAL_FUNCTIONS(X) WICK_VK_INSTANCE_FUNCTIONS(X) WICK_VK_DEVICE_FUNCTIONS(X)
        WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X
};
Api real;

uint64_t cpu_ns(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

template <class F, F Api::*kMember, size_t kId>
struct Timed;
template <class R, class... Args, R (*Api::*kMember)(Args...), size_t kId>
struct Timed<R (*)(Args...), kMember, kId> {
  struct Clock {
    uint64_t begin = now_ns(), cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    ~Clock() {
      functions[kId].cpu_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
      functions[kId].ns += now_ns() - begin;
      ++functions[kId].calls;
    }
  };
  static R call(Args... args) {
    Clock clock;
    return (real.*kMember)(args...);
  }
  static void put(Api& api) {
    if (api.*kMember == nullptr || api.*kMember == call) return;
    real.*kMember = api.*kMember;
    api.*kMember = call;
  }
};
void time_all(Api& api) {
#define X(name) Timed<PFN_vk##name, &Api::name, k##name>::put(api);
  WICK_VK_GLOBAL_FUNCTIONS(X)
  WICK_VK_INSTANCE_FUNCTIONS(X)
  WICK_VK_DEVICE_FUNCTIONS(X) WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X
}

uint64_t driver_cpu() {
  uint64_t ns = 0;
  for (const Function& f : functions) ns += f.cpu_ns;
  return ns;
}
double ms(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

int fail(const char* what, const Status& s) {
  std::fprintf(stderr, "%s: %s\n", what, s.message());
  return 1;
}

// The time of a step of the start, and the CPU time of the process, in the driver and outside: on a
// busy machine that says more.
struct Times {
  uint64_t wall = 0, cpu = 0, driver = 0;
  void operator+=(const Times& t) { wall += t.wall, cpu += t.cpu, driver += t.driver; }
  void print(const char* name) const {
    std::printf("  %-22s %8.2f ms; CPU %8.2f ms, of it in the driver %8.2f\n", name, ms(wall),
                ms(cpu), ms(driver));
  }
};
struct Step {
  uint64_t begin = now_ns(), cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID), driver = driver_cpu();
  Times end(const char* name) {
    const Times t{now_ns() - begin, cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu, driver_cpu() - driver};
    t.print(name);
    return t;
  }
};

int once(const char* path, const char* folder, bool verbose) {
  Times total;
  Step load;
  auto program = Program::load(path);
  if (!program.ok()) return fail("program", program.status());
  total += load.end("program");
  Step open;
  VulkanOptions vulkan;
  vulkan.cache_folder = folder;
  vulkan.intercept = time_all;
  auto backend = VulkanBackend::create(default_allocator(), vulkan);
  if (!backend.ok()) return fail("vulkan", backend.status());
  total += open.end("device");
  Step bind;
  SessionOptions options;
  options.backend = backend->get();
  auto session = Session::create(**program, options);
  if (!session.ok()) return fail("session", session.status());
  std::vector<Shape> shapes;
  for (size_t i = 0; i < (*session)->input_count(); ++i) {
    Shape shape;
    for (const DimDef& d : (*session)->input(i).dims) shape.push_back(d.symbol >= 0 ? 1 : d.value);
    shapes.push_back(shape);
  }
  // If all sizes are known, it is bound already.
  if (!(*session)->output_shape(0).ok()) {
    if (Status s = (*session)->bind(shapes); !s.ok()) return fail("bind", s);
  }
  total += bind.end("session");
  std::vector<std::vector<std::byte>> data;
  std::vector<TensorView> in, out((*session)->output_count());
  for (size_t i = 0; i < shapes.size(); ++i) {
    TensorView v(nullptr, (*session)->input(i).dtype, shapes[i]);
    data.emplace_back(v.nbytes());
    v.data = data.back().data();
    in.push_back(v);
  }
  for (int round = 0; round < 3; ++round) {
    Step run;
    if (Status s = (*session)->run(in, out); !s.ok()) return fail("run", s);
    run.end(round == 0 ? "first run" : "run");
  }
  if ((*session)->left_backend()[0] != '\0')
    std::printf("  left the device: %s\n", (*session)->left_backend());
  uint64_t by_part[kParts] = {}, calls[kParts] = {};
  for (const Function& f : functions) by_part[f.part] += f.cpu_ns, calls[f.part] += f.calls;
  total.print("start");
  std::printf("  %zu kernels checked, %.1f MB on the device, %zu steps\n", (*backend)->checked(),
              static_cast<double>((*session)->packed_bytes()) / 1e6, (*session)->step_count());
  // The least that an upload needs: pages of the file, read for the first time, into fresh ones.
  const auto bytes = static_cast<size_t>((*program)->file_bytes());
  const int file = ::open(path, O_RDONLY);
  void* from = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (from == MAP_FAILED) return fail("file", Status(Code::kIo, "cannot map it"));
  Step copy;
  std::unique_ptr<std::byte[]> to(new std::byte[bytes]);
  std::memcpy(to.get(), from, bytes);
  const Times upload = copy.end("copying as many bytes");
  std::printf("  start without upload: CPU %.1f ms\n", ms(total.cpu) - ms(upload.cpu));
  for (int p = 0; p < kParts; ++p) {
    std::printf("    driver, %-24s CPU %8.2f ms in %llu calls\n", kPartNames[p], ms(by_part[p]),
                static_cast<unsigned long long>(calls[p]));
  }
  for (const Function& f : functions) {
    if (verbose && f.calls > 0)
      std::printf("      %-36s %8.2f ms, CPU %8.2f ms, %llu calls\n", f.name, ms(f.ns.load()),
                  ms(f.cpu_ns.load()), static_cast<unsigned long long>(f.calls.load()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return once(argv[1], argv[2], argv[3][0] == 'v');
  if (argc != 2) {
    std::fprintf(stderr, "vulkan_start_bench MODEL.wick\n");
    return 2;
  }
  char folder[] = "/tmp/wick_start_XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  int status = 0;
  for (const char* start : {"first start", "second start", "third start"}) {
    if (status != 0) break;
    std::printf("%s\n", start);
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      // The driver keeps what it compiled in a folder of its own.
      setenv("MESA_SHADER_CACHE_DIR", folder, 1);
      execl("/proc/self/exe", argv[0], argv[1], folder, "v", nullptr);
      _exit(127);
    }
    waitpid(child, &status, 0);
  }
  std::filesystem::remove_all(folder);
  return status == 0 ? 0 : 1;
}
