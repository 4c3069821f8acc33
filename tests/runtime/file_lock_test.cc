// One writer at a time, and the files that killed writers left.
#include "runtime/core/file_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/core/atomic_file.h"
#include "runtime/core/leftovers.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FileLocks : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wick_lock_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    lock_ = folder_ + "/.lock";
  }
  void TearDown() override { fs::remove_all(folder_); }
  void make(const std::string& name) const { std::ofstream(folder_ + "/" + name) << "x"; }
  bool there(const std::string& name) const { return fs::exists(folder_ + "/" + name); }
  int64_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  std::string folder_, lock_;
};

// The number of a process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST_F(FileLocks, AnotherThreadIsToldWhoHasIt) {
  {
    FileLock lock;
    ASSERT_TRUE(lock.take(lock_.c_str(), "the run").ok());
    std::thread([this] {
      FileLock other;
      const Status s = other.take(lock_.c_str(), "the run");
      EXPECT_EQ(s.code(), Code::kIo);
      EXPECT_THAT(s.message(), AllOf(HasSubstr("process " + std::to_string(getpid())),
                                     HasSubstr("writes the run"), HasSubstr(lock_)));
    }).join();
    FileLock again;  // within the same thread
    EXPECT_TRUE(again.take(lock_.c_str(), "the run").ok());
  }
  EXPECT_EQ(files(), 0);
  std::thread([this] {
    FileLock other;
    EXPECT_TRUE(other.take(lock_.c_str(), "the run").ok());
  }).join();
}

TEST_F(FileLocks, ItEndsWithAKilledProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    FileLock lock;
    const char byte = lock.take(lock_.c_str(), "it").ok() ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]), close(ready[1]);
  EXPECT_EQ(byte, 'y');
  {
    FileLock lock;
    EXPECT_THAT(lock.take(lock_.c_str(), "it").message(),
                HasSubstr("process " + std::to_string(child)));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(there(".lock"));
  FileLock lock;
  EXPECT_TRUE(lock.take(lock_.c_str(), "it").ok());
}

TEST_F(FileLocks, AFolderThatIsNotThereIsAnError) {
  FileLock lock;
  EXPECT_THAT(lock.take((folder_ + "/none/.lock").c_str(), "it").message(),
              AllOf(HasSubstr("cannot lock it"), HasSubstr("No such file")));
}

TEST_F(FileLocks, LeftoversAreKnownByNameAndProcess) {
  const std::string dead = std::to_string(ended_process()), live = std::to_string(getppid());
  EXPECT_TRUE(left_behind(("m.wick.tmp." + dead + ".3").c_str(), "m.wick", "tmp"));
  EXPECT_TRUE(left_behind(("m.wick.tmp." + dead + ".3").c_str(), nullptr, "tmp"));
  EXPECT_FALSE(left_behind(("m.wick.tmp." + dead + ".3").c_str(), "wick", "tmp"));
  EXPECT_FALSE(left_behind(("m.wick.tmp." + dead + ".3").c_str(), "m.wick", "old"));
  EXPECT_FALSE(left_behind(("m.wick.tmp." + live + ".3").c_str(), "m.wick", "tmp"));
  for (const char* other : {"m.wick", "m.wick.tmp", "m.wick.tmp.1", "m.wick.tmp..1", ".tmp.1.1", "",
                            "m.wick.tmp.1x.1", "m.wick.tmp.99999999999999999999.1", "..."})
    EXPECT_FALSE(left_behind(other, nullptr, "tmp")) << other;
}

TEST_F(FileLocks, WritingAFileRemovesWhatItsKilledWritersLeft) {
  const std::string dead = std::to_string(ended_process()), live = std::to_string(getppid());
  make("m.tmp." + dead + ".0"), make("m.tmp." + dead + ".71"), make("m.tmp." + live + ".0");
  make("other.tmp." + dead + ".0"), make("m.old." + dead + ".0");
  ASSERT_TRUE(write_file_atomically((folder_ + "/m").c_str(), "m", 1).ok());
  EXPECT_FALSE(there("m.tmp." + dead + ".0"));
  EXPECT_FALSE(there("m.tmp." + dead + ".71"));
  EXPECT_TRUE(there("m.tmp." + live + ".0"));
  EXPECT_TRUE(there("other.tmp." + dead + ".0"));
  EXPECT_TRUE(there("m.old." + dead + ".0"));
  // A file whose process lives on another machine: its lock says so.
  make("m.tmp." + dead + ".5");
  const int held = open((folder_ + "/m.tmp." + dead + ".5").c_str(), O_RDONLY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  remove_leftovers(folder_.c_str());
  EXPECT_TRUE(there("m.tmp." + dead + ".5"));
  EXPECT_FALSE(there("other.tmp." + dead + ".0"));
  close(held);
  remove_leftovers(folder_.c_str());
  EXPECT_FALSE(there("m.tmp." + dead + ".5"));
  EXPECT_EQ(files(), 3);
}

}  // namespace
}  // namespace wick
