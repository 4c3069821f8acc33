// `wick serve` as a process: what it prints, that it answers, and how it ends. tests/serve has what
// it answers.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The answer to GET of a path; "" without one.
std::string get(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string got;
  const std::string request = "GET " + path + " HTTP/1.1\r\nConnection: close\r\n\r\n";
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      got.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return got;
}

const std::string& model() {
  static const std::string path = [] {
    const std::string to = scratch() + "/served.wick";
    export_wick(small_graph(), to);
    return to;
  }();
  return path;
}

// A server of a free port, started as a shell would with its output in a file.
class ServeCommand : public testing::Test {
 protected:
  void SetUp() override {
    const Ran none = wick({"serve", model(), "--host", "192.0.2.1"});
    if (none.err.find("this build cannot serve") != std::string::npos)
      GTEST_SKIP() << "cpp-httplib not installed";
  }
  // Returns its port; 0: it ended.
  int port_of(Started& server, const std::string& out) {
    while (server.running()) {
      const std::string text = read_file(out);
      const size_t at = text.rfind(':');
      if (at != std::string::npos && text.back() == '\n') return std::atoi(text.c_str() + at + 1);
      usleep(2000);
    }
    return 0;
  }
  static std::vector<std::string> line(const std::string& out, const std::string& more = "") {
    return {"/bin/sh", "-c",
            "exec " + shell_word(WICK_COMMAND) + " serve " + shell_word(model()) + " --port 0 " +
                more + " >" + shell_word(out)};
  }
};

TEST_F(ServeCommand, PrintsItsPortAnswersAndEndsAtSigterm) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string out = scratch() + "/port." + std::to_string(signal);
    Started server(line(out));
    const int port = port_of(server, out);
    ASSERT_GT(port, 0) << server.wait().err;
    EXPECT_EQ(read_file(out), "http://127.0.0.1:" + std::to_string(port) + "\n");
    EXPECT_THAT(get(port, "/v2/models/served"),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("shape":[-1,3])")));
    kill(server.pid(), SIGHUP);  // loads the models again
    kill(server.pid(), signal);
    const Ran ran = server.wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("wick: model served: "), HasSubstr("up to 8 rows a run"),
                               HasSubstr("ends: ")));
    EXPECT_EQ(get(port, "/v2"), "");
  }
}

TEST_F(ServeCommand, ATimeLimitEndsItInOrder) {
  const std::string out = scratch() + "/port.timeout";
  Started server(line(out, "--timeout 1"));
  const Ran ran = server.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the time is up"));
}

TEST_F(ServeCommand, SaysWhatIsWrong) {
  EXPECT_THAT(wick({"serve", scratch() + "/none.wick"}).err, HasSubstr("none.wick"));
  EXPECT_EQ(wick({"serve", scratch() + "/none.wick"}).code, 1);
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"serve"},
                                             {"serve", model(), "--port", "65536"},
                                             {"serve", model(), "--max-batch", "0"},
                                             {"serve", "a/b=" + model()}})
    EXPECT_EQ(wick(wrong).code, 2) << wrong.back();
  const Ran twice = wick({"serve", model(), model(), "--port", "0"});
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.err, HasSubstr("are both named 'served': write NAME=FILE"));
  const Ran nowhere = wick({"serve", model(), "--host", "192.0.2.1"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot listen on 192.0.2.1:8000: "));
}

}  // namespace
}  // namespace wick::test
