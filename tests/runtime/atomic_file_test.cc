// A save that fails, in every way that a disk offers: the old file stays, and no other file is
// left.
#include "runtime/core/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/small_disk.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AtomicFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wick_atomic_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/file";
  }
  void TearDown() override { fs::remove_all(folder_); }
  Status save(const std::string& bytes) const {
    return write_file_atomically(path_.c_str(), bytes.data(), bytes.size());
  }
  std::string contents() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int64_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  std::string folder_, path_;
};

TEST_F(AtomicFiles, ReplacesTheWholeFile) {
  ASSERT_TRUE(save(std::string(5000, 'a')).ok());
  ASSERT_TRUE(save("new").ok());
  EXPECT_EQ(contents(), "new");
  EXPECT_EQ(files(), 1);
}

// A rename would put a file in the place of /dev/null, for whoever may.
TEST_F(AtomicFiles, APipeStaysWhatItIs) {
  const std::string pipe = folder_ + "/pipe", link = folder_ + "/link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(symlink(pipe.c_str(), link.c_str()), 0);
  for (const std::string& name : {pipe, link}) {
    const Status s = write_file_atomically(name.c_str(), "x", 1);
    EXPECT_EQ(s.code(), Code::kIo);
    EXPECT_THAT(s.message(), HasSubstr("it is a device or a pipe, not a regular file"));
  }
  struct stat st;
  ASSERT_EQ(lstat(pipe.c_str(), &st), 0);
  EXPECT_TRUE(S_ISFIFO(st.st_mode));
}

mode_t mode_of(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 ? st.st_mode & 0777 : 0;
}

// A link stays, whether or not its file is there already; so does a chain of links.
TEST_F(AtomicFiles, ALinkIsWrittenThrough) {
  fs::create_directories(folder_ + "/far/away");
  const std::string file = folder_ + "/far/away/file", middle = folder_ + "/far/middle";
  fs::create_symlink("away/file", middle);
  fs::create_symlink(middle, path_);
  for (const std::string bytes : {"first", "second"}) {
    ASSERT_TRUE(save(bytes).ok());
    EXPECT_TRUE(fs::is_symlink(path_));
    EXPECT_TRUE(fs::is_symlink(middle));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
    EXPECT_EQ(contents(), bytes);
  }
  EXPECT_EQ(files(), 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/far/away"), fs::directory_iterator()),
            1);
  {
    AtomicFile dropped;
    ASSERT_TRUE(dropped.open(path_.c_str()).ok());
    ASSERT_TRUE(dropped.write("half", 4).ok());
  }
  EXPECT_EQ(contents(), "second");
  fs::remove(path_);
  fs::create_symlink("file", path_);  // to itself
  EXPECT_THAT(save("x").message(), HasSubstr("cannot create " + path_));
  fs::remove(path_);
  fs::create_symlink("none/file", path_);
  EXPECT_THAT(save("x").message(), HasSubstr("its folder is missing"));
  EXPECT_TRUE(fs::is_symlink(path_));
}

// Everybody may put a link into a folder such as /tmp, under the name that another will write to.
TEST_F(AtomicFiles, AStrangersLinkIsNotFollowedWhereEverybodyMayPutOne) {
  constexpr uid_t kStranger = 65534;
  const std::string shared = folder_ + "/shared";
  ASSERT_TRUE(save("old").ok());
  fs::create_directories(shared);
  ASSERT_EQ(chmod(shared.c_str(), 01777), 0);
  path_ = shared + "/link";
  fs::create_symlink("../file", path_);
  EXPECT_TRUE(save("through a link of one's own").ok());
  if (lchown(path_.c_str(), kStranger, kStranger) != 0)
    GTEST_SKIP() << "only root gives a link away";
  // It may be behind another link, too.
  fs::create_symlink("shared/link", folder_ + "/first");
  for (const std::string& name : {path_, folder_ + "/first"}) {
    const Status s = write_file_atomically(name.c_str(), "new", 3);
    EXPECT_EQ(s.code(), Code::kIo) << name;
    EXPECT_THAT(s.message(), AllOf(HasSubstr("cannot create " + name), HasSubstr("Permission")));
  }
  EXPECT_EQ(contents(), "through a link of one's own");
  ASSERT_EQ(chown(shared.c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(save("through a link of the folder's owner").ok());
  EXPECT_EQ(contents(), "through a link of the folder's owner");
}

// A file keeps its mode; a new one has what the umask leaves.
TEST_F(AtomicFiles, ModesAreKept) {
  const mode_t before = umask(027);
  Status made = save("a");
  EXPECT_EQ(mode_of(path_), 0640U);
  umask(0);
  fs::remove(path_);
  made = save("b");
  EXPECT_EQ(mode_of(path_), 0666U);
  for (const mode_t mode : {0600U, 0664U, 0444U, 0777U}) {
    umask(mode == 0664U ? 077 : 0);
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    made = save("c");
    EXPECT_TRUE(made.ok()) << made.message();
    EXPECT_EQ(mode_of(path_), mode);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  {
    AtomicFile file;
    ASSERT_TRUE(file.open(path_.c_str()).ok());
    for (const auto& entry : fs::directory_iterator(folder_))
      EXPECT_EQ(mode_of(entry.path()), 0600U) << "nobody else may read what is being written";
  }
  umask(before);
}

TEST_F(AtomicFiles, WithoutCommitNothingHappened) {
  ASSERT_TRUE(save("old").ok());
  {
    AtomicFile file;
    ASSERT_TRUE(file.open(path_.c_str()).ok());
    ASSERT_TRUE(file.write("half", 4).ok());
    EXPECT_EQ(contents(), "old");
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(contents(), "old");
  EXPECT_EQ(files(), 1);
}

// A writer that is killed leaves its file; the next one removes it, and no other's.
TEST_F(AtomicFiles, LeftoversOfTheKilledAreRemoved) {
  ASSERT_TRUE(save("old").ok());
  for (int k = 0; k < 3; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      AtomicFile file;
      const bool ok = file.open(path_.c_str()).ok() && file.write("half", 4).ok();
      if (ok) kill(getpid(), SIGKILL);
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(files(), 2);  // never more than one is left
    EXPECT_EQ(contents(), "old");
  }
  AtomicFile living;
  ASSERT_TRUE(living.open(path_.c_str()).ok());
  ASSERT_TRUE(living.write("first", 5).ok());
  EXPECT_EQ(files(), 2);
  ASSERT_TRUE(save("second").ok());
  EXPECT_EQ(contents(), "second");
  EXPECT_EQ(files(), 2);
  ASSERT_TRUE(living.commit().ok());
  EXPECT_EQ(contents(), "first");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFiles, ManyProcessesWriteOnePath) {
  std::vector<pid_t> children;
  for (int k = 0; k < 8; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      bool ok = true;
      for (int i = 0; i < 50; ++i)
        ok = ok && save(std::string(3000, static_cast<char>('a' + k))).ok();
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const std::string text = contents();
  EXPECT_EQ(text, std::string(3000, text[0]));
  EXPECT_EQ(files(), 1);
}

// A process that ends while others of its threads write removes what they have not finished.
TEST_F(AtomicFiles, AbandonedFilesAreRemoved) {
  ASSERT_TRUE(save("old").ok());
  AtomicFile one, two;
  ASSERT_TRUE(one.open(path_.c_str()).ok());
  ASSERT_TRUE(two.open(path_.c_str()).ok());
  EXPECT_EQ(files(), 3);
  remove_unfinished();
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(contents(), "old");
}

TEST_F(AtomicFiles, ErrorsSayWhatAndWhy) {
  path_ = folder_ + "/none/file";
  Status s = save("x");
  EXPECT_EQ(s.code(), Code::kIo);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("cannot create"), HasSubstr(path_),
                                 HasSubstr("No such file or directory")));
  path_ = folder_ + "/taken";
  fs::create_directories(path_ + "/by_a_folder");
  s = save("x");
  EXPECT_EQ(s.code(), Code::kIo);
  EXPECT_THAT(s.message(), HasSubstr("cannot replace " + path_));
  EXPECT_EQ(files(), 1);
  path_ = folder_ + "/" + std::string(5000, 'x');
  EXPECT_THAT(save("x").message(), HasSubstr("cannot create"));
}

// Each writer has a temporary file of its own: the result is the whole of one of them.
TEST_F(AtomicFiles, TwoThreadsOnOnePath) {
  std::vector<std::thread> threads;
  for (char c : {'a', 'b'}) {
    threads.emplace_back([this, c] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(save(std::string(100000, c)).ok());
    });
  }
  for (auto& t : threads) t.join();
  std::string all = contents();
  ASSERT_EQ(all.size(), 100000u);
  EXPECT_EQ(all.find_first_not_of(all[0]), std::string::npos);
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFiles, FullDiskKeepsTheOldFile) {
  bool done = test::on_small_disk(folder_, 64 << 10, [&] {
    std::string old(30000, 'o');
    EXPECT_TRUE(save(old).ok());
    Status s = save(std::string(50000, 'n'));  // fits the disk, but not beside the old file
    EXPECT_EQ(s.code(), Code::kIo);
    EXPECT_THAT(s.message(), AllOf(HasSubstr("cannot write " + path_),
                                   HasSubstr("No space left on device"), HasSubstr("unchanged")));
    EXPECT_EQ(contents(), old);
    EXPECT_EQ(files(), 1);
  });
  if (!done) GTEST_SKIP() << WICK_NO_SMALL_DISK;
}

// The same by a limit on the size of files, which needs no rights: write() is cut short, then
// fails.
TEST_F(AtomicFiles, FileSizeLimitKeepsTheOldFile) {
  ASSERT_TRUE(save("old").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Status s = save(std::string(10000, 'n'));
  std::string text = s.message();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(s.code(), Code::kIo);
  EXPECT_THAT(text, AllOf(HasSubstr("cannot write " + path_), HasSubstr("File too large")));
  EXPECT_EQ(contents(), "old");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace wick
