// Programs from files: which parts are copied and which are mapped, and what happens if a mapped
// file loses bytes, with the guard and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

#include "runtime/core/regular_file.h"
#include "runtime/program/guard.h"
#include "runtime/program/release.h"
#include "tests/runtime/programs.h"
#include "tests/support/leave.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

#if defined(WICK_TEST_EMULATED) || defined(__SANITIZE_ADDRESS__)
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif

using test::ProgramBuilder;
using ::testing::HasSubstr;

constexpr int64_t kFew = 1 << 16, kMany = (9 << 20) / 4;  // floats of a small and a large file

// y = x + w, and w as it is.
std::vector<uint8_t> adder(int64_t n) {
  ProgramBuilder p;
  std::vector<float> ones(static_cast<size_t>(n), 1.0f);
  const auto x = p.value("x", DType::kF32, {n}), y = p.value("y", DType::kF32, {n});
  const auto w = p.constant<float>("w", {n}, ones);
  p.node(OpId::kAdd, {x, w}, {y}, NoAttrs{}, "add");
  p.entry("main", {x}, {y});
  return p.finish();
}

// A file in a folder of the test's, removed in the end.
struct TempFile {
  std::string path;
  explicit TempFile(int64_t n, const char* name = "wick_file_test.wick")
      : path(test::temp_folder() + name) {
    const auto bytes = adder(n);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  }
  ~TempFile() { remove(path.c_str()); }
  void cut() const { ASSERT_EQ(truncate(path.c_str(), 1024), 0); }
};

LoadOptions with(WeightsIn weights, bool guard = false) {
  LoadOptions options;
  options.weights = weights;
  options.guard = guard;
  return options;
}

// The sum in a buffer of the caller's.
struct Sum {
  std::vector<float> x, y;
  Status status;
  explicit Sum(Session& session, int64_t n = kFew)
      : x(static_cast<size_t>(n), 2.0f), y(static_cast<size_t>(n), -1.0f) {
    const TensorView in(x.data(), DType::kF32, {n});
    TensorView out(y.data(), DType::kF32, {n});
    status = session.run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  }
  bool all(float value) const {
    for (float v : y) {
      if (v != value) return false;
    }
    return true;
  }
};

// Returns how a child that runs this ends: its exit code, or the signal's number + 1000.
int end_of(const std::function<int()>& child) {
  (void)test::temp_folder();  // the parent's, which removes it
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGBUS, SIG_DFL);  // whatever a sanitizer has there
    alarm(60);
    test::leave(child());
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}
constexpr int kDiedOfBus = 1000 + SIGBUS;

TEST(Files, AreMappedOnlyWhereTheyAreLarge) {
  const TempFile few(kFew), many(kMany, "wick_file_test_large.wick");
  RegularFile file;
  ASSERT_TRUE(file.open(many.path.c_str()).ok());
  auto mapped = [](const TempFile& f, WeightsIn weights) {
    auto program = Program::load(f.path.c_str(), with(weights));
    EXPECT_TRUE(program.ok()) << program.status().message();
    const TensorView& w = (*program)->constants()[0].view;
    EXPECT_EQ(w.as<float>()[w.numel() - 1], 1.0f);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data) % 64, 0u);
    const bool is = is_mapped(**program, w.data, w.nbytes());
    release_pages(**program, w.data, w.nbytes());  // only of what is mapped: the rest stays
    EXPECT_EQ(w.as<float>()[w.numel() - 1], 1.0f);
    EXPECT_FALSE(is_mapped(**program, (*program)->entries()[0].name, 1)) << "structure is copied";
    EXPECT_FALSE(is_mapped(**program, &w, sizeof(w)));
    EXPECT_TRUE(Sum(*test::open(**program), w.numel()).all(3.0f));
    return is;
  };
  EXPECT_FALSE(mapped(few, WeightsIn::kAuto));
  EXPECT_FALSE(mapped(few, WeightsIn::kCopy));
  EXPECT_TRUE(mapped(few, WeightsIn::kMap));
  EXPECT_EQ(mapped(many, WeightsIn::kAuto), file.is_local());
  EXPECT_FALSE(mapped(many, WeightsIn::kCopy));
  EXPECT_TRUE(mapped(many, WeightsIn::kMap));
}

TEST(Files, WhatIsMappedEndsWithTheFile) {
  const TempFile f(kFew);
  auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap));
  ASSERT_TRUE(program.ok());
  const auto& w = (*program)->constants()[0].view;
  const auto* begin = w.as<char>();
  const size_t bytes = w.nbytes();
  EXPECT_TRUE(is_mapped(**program, begin, bytes)) << "the weights are the file's end";
  EXPECT_FALSE(is_mapped(**program, begin, bytes + 1));
  EXPECT_TRUE(is_mapped(**program, begin + bytes, 0));
  EXPECT_FALSE(is_mapped(**program, begin + bytes + 1, 0));
  release_pages(**program, begin, 64);  // less than a page: nothing to let go
  EXPECT_EQ(w.as<float>()[0], 1.0f);
}

TEST(Files, SizesThatNobodyReads) {
  const TempFile f(kFew), empty(0, "wick_file_test_empty.wick");
  LoadOptions options;
  options.max_file = 1000;
  Status s = Program::load(f.path.c_str(), options).status();
  EXPECT_EQ(s.code(), Code::kBudgetExceeded);
  EXPECT_THAT(s.message(), HasSubstr("bytes, max_file is 1000"));
  ASSERT_EQ(truncate(empty.path.c_str(), 0), 0);
  EXPECT_THAT(Program::load(empty.path.c_str()).status().message(), HasSubstr("is empty"));
  EXPECT_STREQ(Program::load(static_cast<const char*>(nullptr)).status().message(), "path is null");
  // A table of more than flatbuffers can have, in a file without blocks.
  FileHeader h;
  ASSERT_TRUE(std::ifstream(f.path, std::ios::binary).read(reinterpret_cast<char*>(&h), sizeof(h)));
  h.file_bytes = h.segments_offset = uint64_t{3} << 30;
  h.segments_bytes = 0;
  h.table_bytes = h.file_bytes - h.table_offset;
  std::ofstream(empty.path, std::ios::binary).write(reinterpret_cast<const char*>(&h), sizeof(h));
  if (truncate(empty.path.c_str(), static_cast<off_t>(h.file_bytes)) != 0) return;  // no room
  s = Program::load(empty.path.c_str()).status();
  EXPECT_EQ(s.code(), Code::kInvalidProgram);
  EXPECT_THAT(s.message(), HasSubstr("the header's place of the table is not sound"));
}

// Files of the kernel's say that they have a page and have less.
TEST(Files, AHeadThatIsNotThere) {
  const char* path = "/sys/devices/system/cpu/online";
  RegularFile file;
  if (!file.open(path).ok() || file.size() == 0) return;  // a system that has none of them
  const Status s = Program::load(path).status();
  EXPECT_EQ(s.code(), Code::kIo);
  EXPECT_THAT(s.message(), HasSubstr("it became shorter while it was read"));
}

// Changes a file's size when the load asks for memory the n-th time: of the program and its packed
// forms, of the table, of what stands behind the table.
struct Meanwhile final : Allocator {
  std::string path;
  int at = 0;
  off_t bytes = 0;
  void* allocate(size_t n, size_t align) override {
    if (at-- == 0) {
      EXPECT_EQ(truncate(path.c_str(), bytes), 0);
    }
    return default_allocator().allocate(n, align);
  }
  void deallocate(void* p, size_t n, size_t align) override {
    default_allocator().deallocate(p, n, align);
  }
};

TEST(Files, SizesThatChangeMeanwhile) {
  auto text = [](int at, off_t bytes, WeightsIn weights) {
    const TempFile f(kFew);
    Meanwhile allocator;
    allocator.path = f.path;
    allocator.at = at;
    allocator.bytes = bytes;
    LoadOptions options = with(weights);
    options.allocator = &allocator;
    const Status s = Program::load(f.path.c_str(), options).status();
    EXPECT_EQ(s.code(), Code::kIo);
    return std::string(s.message());
  };
  EXPECT_THAT(text(2, 128, WeightsIn::kCopy), HasSubstr("it became shorter while it was read"));
  EXPECT_THAT(text(3, 1024, WeightsIn::kCopy), HasSubstr("it became shorter while it was read"));
  EXPECT_THAT(text(2, 1 << 20, WeightsIn::kMap), HasSubstr("it was written while it was read"));
}

TEST(Files, MappingsThatAreRefused) {
  if (kEmulated)
    GTEST_SKIP()
        << "limits of addresses and signals that wait are the emulator's or the sanitizer's";
  EXPECT_EQ(end_of([] {
              const TempFile f(kMany);
              const rlimit none{1 << 20, 1 << 20};  // limits new addresses; mapped memory stays
              if (setrlimit(RLIMIT_AS, &none) != 0) return 1;
              const Status s = Program::load(f.path.c_str(), with(WeightsIn::kMap)).status();
              if (s.code() != Code::kIo) return 2;
              return strstr(s.message(), "cannot map it") != nullptr ? 0 : 3;
            }),
            0);
}

TEST(Files, StorageOfOthersIsNotLocal) {
  RegularFile proc;
  ASSERT_TRUE(proc.open("/proc/version").ok());
  EXPECT_FALSE(proc.is_local());
  const char* shm = "/dev/shm/wick_file_test";
  std::ofstream(shm) << "x";
  RegularFile memory;
  if (memory.open(shm).ok()) {
    EXPECT_TRUE(memory.is_local());
  }
  remove(shm);
}

TEST(Files, ASizeThatChangesIsAnError) {
  const TempFile f(kFew);
  RegularFile file;
  ASSERT_TRUE(file.open(f.path.c_str()).ok());
  EXPECT_TRUE(file.check_size().ok());
  std::ofstream(f.path, std::ios::app) << "x";
  EXPECT_EQ(file.check_size().code(), Code::kIo);
  f.cut();
  EXPECT_THAT(file.check_size().message(), HasSubstr("and has 1024 now"));
}

// The checked structure stays as it was, whatever is written into the file. Mapped weights are the
// file's bytes, which is why a file is replaced by renaming.
TEST(Files, TheStructureIsACopy) {
  const TempFile f(kFew);
  auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap));
  ASSERT_TRUE(program.ok());
  const std::string zeros((*program)->file_bytes(), '\0');
  std::fstream(f.path, std::ios::in | std::ios::out | std::ios::binary) << zeros;
  EXPECT_STREQ((*program)->entries()[0].name, "main");
  EXPECT_EQ((*program)->entries()[0].body().nodes[0].inputs[1], 2u);
  const Sum run(*test::open(**program));
  EXPECT_TRUE(run.status.ok());
  EXPECT_TRUE(run.all(2.0f)) << "the file's zeros";
}

TEST(Cut, ASmallFileWasCopied) {
  EXPECT_EQ(end_of([] {
              const TempFile f(kFew);
              auto program = Program::load(f.path.c_str());
              f.cut();
              return Sum(*test::open(**program)).all(3.0f) ? 0 : 1;
            }),
            0);
}

TEST(Cut, AMappedFileWithoutAGuardEndsTheProcess) {
  EXPECT_EQ(end_of([] {
              const TempFile f(kFew);
              auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap));
              auto session = test::open(**program);
              f.cut();
              return Sum(*session).status.ok() ? 0 : 1;
            }),
            kDiedOfBus);
}

// After load, and after a good run: kIo, nothing handed out, and so from then on.
TEST(Cut, AGuardedOneIsAnError) {
  for (bool late : {false, true}) {
    EXPECT_EQ(end_of([late] {
                const TempFile f(kFew);
                auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap, true));
                if (!program.ok() || !(*program)->intact().ok()) return 1;
                auto session = test::open(**program);
                if (late && !Sum(*session).all(3.0f)) return 2;
                f.cut();
                const Sum run(*session);
                if (run.status.code() != Code::kIo) return 3;
                if (strstr(run.status.message(), "became shorter") == nullptr) return 4;
                if (!run.all(-1.0f)) return 5;
                if ((*program)->intact().code() != Code::kIo) return 6;
                if (session->bind(Span<const Shape>()).code() != Code::kIo) return 7;
                if (Session::create(**program).status().code() != Code::kIo) return 8;
                if (Sum(*session).status.code() != Code::kIo) return 9;
                const TensorView in(const_cast<float*>(run.x.data()), DType::kF32, {kFew});
                if (session->start(Span<const TensorView>(&in, 1)).code() != Code::kIo) return 10;
                return 0;
              }),
              0);
  }
}

// What is gone is within a page that the file still has: no read of it fails, it reads as zeros.
TEST(Cut, WithinAPageToo) {
  for (bool late : {false, true}) {
    EXPECT_EQ(end_of([late] {
                const TempFile f(kFew);
                auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap, true));
                if (!program.ok()) return 1;
                auto session = test::open(**program);
                if (late && !Sum(*session).all(3.0f)) return 2;
                const uint64_t size = (*program)->file_bytes();
                if (truncate(f.path.c_str(), static_cast<off_t>(size - 16)) != 0) return 3;
                const Sum run(*session);
                if (run.status.code() != Code::kIo || !run.all(-1.0f)) return 4;
                if (truncate(f.path.c_str(), static_cast<off_t>(size)) != 0) return 5;
                return Sum(*session).status.code() == Code::kIo ? 0 : 6;
              }),
              0);
  }
}

// The file has its size again when the run ends: the fault is remembered.
TEST(Cut, AndGrownAgain) {
  EXPECT_EQ(end_of([] {
              const TempFile f(kFew);
              auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap, true));
              if (!program.ok()) return 1;
              f.cut();
              const auto* w = static_cast<const float*>((*program)->constants()[0].view.data);
              if (static_cast<const volatile float*>(w)[kFew / 2] != 0.0f) return 2;
              const uint64_t size = (*program)->file_bytes();
              if (truncate(f.path.c_str(), static_cast<off_t>(size)) != 0) return 3;
              return (*program)->intact().code() == Code::kIo ? 0 : 4;
            }),
            0);
}

// While the load itself compares the digests.
TEST(Cut, WhileItIsLoaded) {
  EXPECT_EQ(end_of([] {
              const TempFile f(kFew);
              struct Cutting final : Allocator {
                const TempFile* file = nullptr;
                void* allocate(size_t bytes, size_t align) override {
                  return default_allocator().allocate(bytes, align);
                }
                void deallocate(void* p, size_t bytes, size_t align) override {
                  default_allocator().deallocate(p, bytes, align);
                  if (bytes > 0 && file != nullptr) file->cut();  // the walk's list of places
                }
              } allocator;
              allocator.file = &f;
              LoadOptions options = with(WeightsIn::kMap, true);
              options.allocator = &allocator;
              options.verify_digests = true;
              const Status s = Program::load(f.path.c_str(), options).status();
              return s.code() == Code::kIo ? 0 : 1;
            }),
            0);
}

// Reads of a file of another's that lost its bytes.
int read_beyond_a_file() {
  const std::string path = test::temp_folder() + "wick_file_test_other";
  std::ofstream(path) << "x";
  RegularFile file;
  if (!file.open(path.c_str()).ok()) return 1;
  void* p = mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  remove(path.c_str());
  return static_cast<volatile char*>(p)[60000] == 0 ? 20 : 21;
}

int g_calls = 0;
void with_info(int signal, siginfo_t* info, void* context) {
  const bool whole =
      signal == SIGBUS && info->si_code > 0 && info->si_addr != nullptr && context != nullptr;
  test::leave(whole ? 42 : 43);
}
void plain(int) { ++g_calls; }

// Runs `then` in a child that has a SIGBUS handler of the host's, the guard, and a guarded whole
// program.
int end_with(const std::function<void(struct sigaction&)>& set, const std::function<int()>& then) {
  return end_of([&] {
    const TempFile f(kFew);
    struct sigaction host = {};
    sigemptyset(&host.sa_mask);
    set(host);
    sigaction(SIGBUS, &host, nullptr);
    auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap, true));
    if (!program.ok()) return 1;
    const int end = then();
    return (*program)->intact().ok() ? end : 2;
  });
}

TEST(Guard, FaultsOfOthersAreTheHosts) {
  auto default_action = [](struct sigaction& a) { a.sa_handler = SIG_DFL; };
  auto ignored = [](struct sigaction& a) { a.sa_handler = SIG_IGN; };
  auto counted = [](struct sigaction& a) { a.sa_handler = plain; };
  EXPECT_EQ(end_with(
                [](struct sigaction& a) {
                  a.sa_sigaction = with_info;
                  a.sa_flags = SA_SIGINFO;
                },
                read_beyond_a_file),
            42);
  EXPECT_EQ(end_with(default_action, read_beyond_a_file), kDiedOfBus);
  EXPECT_EQ(end_with(ignored, read_beyond_a_file), kDiedOfBus) << "the kernel ignores no fault";
  auto raised = [] {
    raise(SIGBUS);
    raise(SIGBUS);
    return g_calls;
  };
  EXPECT_EQ(end_with(default_action, raised), kDiedOfBus);
  EXPECT_EQ(end_with(ignored, raised), 0);
  EXPECT_EQ(end_with(counted, raised), 2);
  EXPECT_EQ(end_with(
                [](struct sigaction& a) {
                  a.sa_handler = plain;
                  a.sa_flags = static_cast<int>(SA_RESETHAND);
                },
                raised),
            kDiedOfBus)
      << "once, then the default";
}

// The guard's handling of a signal, called as the kernel would call it, so that the process goes
// on: without a handler of the host's the next signal ends it.
TEST(Guard, WithoutAHandlerTheNextSignalEnds) {
  if (kEmulated)
    GTEST_SKIP()
        << "limits of addresses and signals that wait are the emulator's or the sanitizer's";
  for (void (*host)(int) : {SIG_DFL, SIG_IGN}) {
    for (bool fault : {true, false}) {
      const int ended = end_with([host](struct sigaction& a) { a.sa_handler = host; },
                                 [fault] {
                                   sigset_t bus, pending;
                                   sigemptyset(&bus);
                                   sigaddset(&bus, SIGBUS);
                                   sigprocmask(SIG_BLOCK, &bus, nullptr);
                                   struct sigaction guard = {}, after = {};
                                   sigaction(SIGBUS, nullptr, &guard);
                                   siginfo_t info = {};
                                   info.si_signo = SIGBUS;
                                   info.si_code = fault ? int{BUS_ADRERR} : int{SI_USER};
                                   guard.sa_sigaction(SIGBUS, &info, nullptr);
                                   sigaction(SIGBUS, nullptr, &after);
                                   sigpending(&pending);
                                   return (after.sa_handler == SIG_DFL ? 10 : 20) +
                                          (sigismember(&pending, SIGBUS) == 1 ? 1 : 0);
                                 });
      // a fault comes again by itself; what somebody sent is sent once more, or was ignored
      EXPECT_EQ(ended, fault ? 10 : host == SIG_DFL ? 11 : 20);
    }
  }
}

int g_within = 0, g_deepest = 0;
void sends_another(int) {
  ++g_within;
  g_deepest = std::max(g_deepest, g_within);
  if (++g_calls == 1) raise(SIGBUS);
  --g_within;
}

TEST(Guard, TheHostsFlagsAreKept) {
  for (int flags : {0, static_cast<int>(SA_NODEFER), static_cast<int>(SA_RESETHAND)}) {
    const int ended = end_with(
        [flags](struct sigaction& a) {
          a.sa_handler = flags == static_cast<int>(SA_RESETHAND) ? plain : sends_another;
          a.sa_flags = flags;
        },
        [] {
          raise(SIGBUS);
          return 10 * g_calls + g_deepest;
        });
    // one within the other only where the host asked for it
    EXPECT_EQ(ended, flags == 0 ? 21 : flags == static_cast<int>(SA_NODEFER) ? 22 : 10);
  }
}

// A page of zeros that the kernel refuses: the fault is the host's.
TEST(Guard, APageThatCannotBeMended) {
  if (kEmulated)
    GTEST_SKIP()
        << "limits of addresses and signals that wait are the emulator's or the sanitizer's";
  EXPECT_EQ(end_with(
                [](struct sigaction& a) {
                  a.sa_sigaction = with_info;
                  a.sa_flags = SA_SIGINFO;
                },
                [] {
                  const TempFile f(kFew, "wick_file_test_cut.wick");
                  auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap, true));
                  f.cut();
                  const rlimit none{1 << 20, 1 << 20};
                  if (!program.ok() || setrlimit(RLIMIT_AS, &none) != 0) return 3;
                  const TensorView& w = (*program)->constants()[0].view;
                  const volatile float* last = w.as<float>() + w.numel() - 1;
                  return *last == 0 ? 4 : 5;
                }),
            42);
}

// A host's handler that came later, and the guard again on top of it.
TEST(Guard, IsInstalledAgain) {
  EXPECT_EQ(end_of([] {
              const TempFile f(kFew);
              auto program = Program::load(f.path.c_str(), with(WeightsIn::kMap, true));
              signal(SIGBUS, plain);
              if (!install_guard().ok() || !install_guard().ok()) return 1;
              raise(SIGBUS);
              if (g_calls != 1) return 2;
              auto session = test::open(**program);
              f.cut();
              return Sum(*session).status.code() == Code::kIo ? 0 : 3;
            }),
            0);
}

TEST(Guard, HasRoomForSoMany) {
  EXPECT_EQ(end_of([] {
              const TempFile f(64);
              const LoadOptions options = with(WeightsIn::kMap, true);
              std::vector<Owned<Program>> programs;
              for (int i = 0; i < kMostGuarded; ++i) {
                auto program = Program::load(f.path.c_str(), options);
                if (!program.ok()) return 1;
                programs.push_back(std::move(*program));
              }
              const Status s = Program::load(f.path.c_str(), options).status();
              if (s.code() != Code::kBudgetExceeded || strstr(s.message(), "kCopy") == nullptr)
                return 2;
              if (!Program::load(f.path.c_str()).ok()) return 3;
              programs.pop_back();
              return Program::load(f.path.c_str(), options).ok() ? 0 : 4;
            }),
            0);
}

// Faults while other programs come and go: each is its own program's, and nobody else's.
TEST(Guard, WhileOthersComeAndGo) {
  EXPECT_EQ(end_of([] {
              const LoadOptions options = with(WeightsIn::kMap, true);
              std::atomic<bool> stop{false};
              std::atomic<int> wrong{0};
              std::vector<std::thread> threads;
              const TempFile whole(64, "wick_file_test_whole.wick");
              for (int t = 0; t < 3; ++t) {
                threads.emplace_back([&] {
                  while (!stop) {
                    auto program = Program::load(whole.path.c_str(), options);
                    if (!program.ok() || !(*program)->intact().ok()) ++wrong;
                  }
                });
              }
              for (int i = 0; i < 40; ++i) {
                const TempFile f(kFew, "wick_file_test_cut.wick");
                auto program = Program::load(f.path.c_str(), options);
                auto session = test::open(**program);
                f.cut();
                if (Sum(*session).status.code() != Code::kIo) ++wrong;
              }
              stop = true;
              for (auto& t : threads) t.join();
              return wrong.load();
            }),
            0);
}

}  // namespace
}  // namespace wick
