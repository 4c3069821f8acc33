// Runs a model from somebody else in a process that can only compute: the file is read first, then
// seccomp (Linux) leaves the process memory, time and the pipe for its answer. docs/security.md
// states what Wick promises for hostile files; this is for users who do not rely on promises alone.
//
//   sandbox MODEL.wick
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "wick/runtime.h"

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArch = 0;
#endif

// From here on all other system calls fail with EPERM. A session with one thread needs no more.
bool leave_nothing_but_memory() {
  const long allowed[] = {SYS_write,     SYS_brk,           SYS_munmap,
                          SYS_mremap,    SYS_mprotect,      SYS_madvise,
                          SYS_futex,     SYS_clock_gettime, SYS_sched_getaffinity,
                          SYS_getrandom, SYS_rt_sigreturn,  SYS_rt_sigprocmask,
                          SYS_exit,      SYS_exit_group};
  std::vector<sock_filter> program;
  auto load = [&](size_t field) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(field)));
  };
  auto answer = [&](uint32_t what) { program.push_back(BPF_STMT(BPF_RET | BPF_K, what)); };
  auto if_equal = [&](uint32_t value, uint32_t what) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(what);
  };
  load(offsetof(seccomp_data, arch));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0));
  answer(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(seccomp_data, nr));
  for (long call : allowed) if_equal(static_cast<uint32_t>(call), SECCOMP_RET_ALLOW);
  // mmap is only allowed for memory, not for files: its fifth argument must be -1.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3));
  load(offsetof(seccomp_data, args[4]));
  if_equal(0xFFFFFFFF, SECCOMP_RET_ALLOW);
  answer(SECCOMP_RET_ERRNO | EPERM);
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

int failed(const wick::Status& status) {
  std::printf("%s\n", status.message());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: sandbox MODEL.wick\n", stderr), 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  in.close();
  std::printf("%zu bytes read\n", file.size());
  if (!leave_nothing_but_memory()) return std::perror("seccomp"), 1;
  std::printf("opening a file now: %s\n",
              open("/etc/passwd", O_RDONLY) < 0 ? strerror(errno) : "works");

  // Uses Wick's own budgets too: the file's structure, the session's memory, the run's time.
  wick::LoadOptions trusted_little;
  trusted_little.max_ram = 64 << 20;
  auto program = wick::Program::load(
      wick::Span<const uint8_t>(reinterpret_cast<const uint8_t*>(file.data()), file.size()),
      trusted_little);
  if (!program.ok()) return failed(program.status());
  wick::SessionOptions small;
  small.threads = 1;
  small.max_ram = 256 << 20;
  auto session = wick::Session::create(**program, small);
  if (!session.ok()) return failed(session.status());

  // The inputs are zeros of the smallest sizes.
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<wick::TensorView> inputs, outputs((*session)->output_count());
  for (size_t i = 0; i < (*session)->input_count(); ++i) {
    const wick::PortInfo port = (*session)->input(i);
    wick::Shape shape;
    for (const wick::DimDef& d : port.dims) shape.push_back(d.symbol < 0 ? d.value : 1);
    inputs.emplace_back(nullptr, port.dtype, shape);
    bytes.emplace_back(inputs.back().nbytes() + 1);
    inputs.back().data = bytes.back().data();
  }
  wick::RunOptions soon;
  soon.timeout_ns = 5'000'000'000;
  const wick::Status ran =
      (*session)->run(inputs, wick::Span<wick::TensorView>(outputs.data(), outputs.size()), soon);
  if (!ran.ok()) return failed(ran);
  for (size_t i = 0; i < outputs.size(); ++i)
    std::printf("%s %s%s\n", (*session)->output(i).name, wick::dtype_name(outputs[i].dtype),
                wick::to_text(outputs[i].shape).text);
  return 0;
}
