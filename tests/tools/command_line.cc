#include "tests/tools/command_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "exporter/include/wick/compile.h"
#include "tests/support/idx_images.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;

class Scratch {
 public:
  Scratch() : owner_(getpid()) {
    std::string pattern = (fs::temp_directory_path() / "wick_cli_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path = pattern;
  }
  ~Scratch() {  // not by the children that tests fork
    std::error_code ignored;
    if (getpid() == owner_) fs::remove_all(path, ignored);
  }
  std::string path;

 private:
  pid_t owner_;
};

int open_or_die(const std::string& path, int flags) {
  int fd = open(path.c_str(), flags, 0644);
  if (fd < 0) _exit(126);
  return fd;
}

void write_array(const std::string& path, const std::vector<int>& shape, DType dtype) {
  Shape s;
  for (int d : shape) s.push_back(d);
  HostTensor t(dtype, s);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (dtype == DType::kU8)
      t.as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 % 251);
    else
      t.as<float>()[i] = static_cast<float>(i * 37 % 64) / 32 - 1;
  }
  data::write_npy(path, t.view());
}

}  // namespace

const std::string& scratch() {
  static Scratch folder;
  return folder.path;
}

Started::Started(const std::vector<std::string>& arguments, const std::string& cwd) {
  static int serial = 0;
  out_ = scratch() + "/stdout." + std::to_string(++serial);
  err_ = scratch() + "/stderr." + std::to_string(serial);
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  // The shared data folder is another suite's: what these tests read is made here.
  setenv("WICK_SHARED", (scratch() + "/none").c_str(), 1);
  unsetenv("WICK_DATA");
  // Under AddressSanitizer the Vulkan driver's own leaks would be the program's exit code.
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  dup2(open_or_die("/dev/null", O_RDONLY), 0);
  dup2(open_or_die(out_, O_WRONLY | O_CREAT | O_TRUNC), 1);
  dup2(open_or_die(err_, O_WRONLY | O_CREAT | O_TRUNC), 2);
  if (!cwd.empty() && chdir(cwd.c_str()) != 0) _exit(126);
  execvp(argv[0], argv.data());
  _exit(127);
}

Started::~Started() {
  if (ended_ || pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
}

bool Started::running() {
  if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  return !ended_;
}

Ran Started::wait() {
  if (!ended_) waitpid(pid_, &status_, 0);
  ended_ = true;
  Ran r;
  if (WIFEXITED(status_)) r.code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) r.signal = WTERMSIG(status_);
  r.out = read_file(out_);
  r.err = read_file(err_);
  return r;
}

Ran wick(const std::vector<std::string>& arguments, const std::string& cwd) {
  std::vector<std::string> all = {WICK_COMMAND};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Started(all, cwd).wait();
}

Ran shell(const std::string& command) {
  std::string path = shell_word(fs::path(WICK_COMMAND).parent_path().string());
  return Started({"/bin/sh", "-c", "PATH=" + path + ":$PATH; " + command}).wait();
}

std::string shell_word(const std::string& path) {
  std::string word = "'";
  for (char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

nlohmann::json parse_json(const std::string& text) {
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << "not JSON: " << text;
  return document.is_discarded() ? nlohmann::json() : document;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

const TrainedRun& trained_run() {
  static const TrainedRun made = [] {
    TrainedRun t;
    t.images = scratch() + "/images";
    t.run = scratch() + "/run";
    t.onnx = scratch() + "/mlp.onnx";
    t.wick = scratch() + "/mlp.wick";
    write_images(t.images, 320, 100);
    Ran trained = wick({"train", "mlp", "--data", t.images, "--epochs", "1", "--batch", "32",
                        "--out", t.run, "--json", "--quiet"});
    EXPECT_EQ(trained.code, 0) << trained.err;
    t.report = parse_json(trained.out);
    Ran exported = wick({"export", t.run, "-o", t.onnx, "-o", t.wick});
    EXPECT_EQ(exported.code, 0) << exported.err;
    return t;
  }();
  return made;
}

static HostTensor weights(const Shape& shape, float more) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.as<float>()[i] = static_cast<float>(i % 5) / 4 - 0.5f;
  t.as<float>()[0] += more;
  return t;
}

ir::Graph split_graph() {
  ir::Graph g;
  const CastAttrs wide{static_cast<int64_t>(DType::kF64)},
      narrow{static_cast<int64_t>(DType::kF32)};
  ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3)});
  ir::ValueId w1 = g.add_constant(weights({3, 4}, 0), "w1", true);
  ir::ValueId w2 = g.add_constant(weights({4, 2}, 0), "w2", true);
  ir::ValueId h = g.emit(OpId::kMatMul, {x, w1}, "first");
  h = g.emit(OpId::kSinh, {g.emit(OpId::kCast, wide, {h}, "widen")}, "middle");
  h = g.emit(OpId::kCast, narrow, {h}, "narrow");
  g.add_output("y", g.emit(OpId::kMatMul, {h, w2}, "second"));
  return g;
}

ir::Graph small_graph(float change, OpId middle) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3)});
  ir::ValueId w1 = g.add_constant(weights({3, 4}, 0), "w1", true);
  ir::ValueId w2 = g.add_constant(weights({4, 2}, change), "w2", true);
  ir::ValueId h = g.emit(middle, {g.emit(OpId::kMatMul, {x, w1}, "first")}, "middle");
  g.add_output("y", g.emit(OpId::kMatMul, {h, w2}, "second"));
  return g;
}

void write_npy_u8(const std::string& path, const std::vector<int>& shape) {
  write_array(path, shape, DType::kU8);
}
void write_npy_f32(const std::string& path, const std::vector<int>& shape) {
  write_array(path, shape, DType::kF32);
}

}  // namespace wick::test
