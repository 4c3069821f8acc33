// Requests that nobody should send: valid ones changed by dice. Each gets an answer that is no
// fault of the server's, and the server is as before.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>

#include "tests/serve/http_test.h"
#include "tests/support/dice.h"

namespace wick {
namespace {

using test::Body;
using test::Dice;
using test::Served;

std::string whole(const std::string& head, const std::string& body) {
  return head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// What is sent, in parts that are changed apart.
struct Request {
  std::string head;  // without its end
  std::string json, tail;
};

std::vector<Request> valid_requests() {
  const std::string post = "POST /v2/models/m/infer HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  const Body list(test::rows(1, 33, 1), false), binary(test::rows(2, 33, 2), true);
  return {{post, list.json, ""},
          {post + "Inference-Header-Content-Length: " + std::to_string(binary.json.size()) + "\r\n",
           binary.json, binary.tail},
          {post,
           R"({"id":"7","inputs":[{"name":"x","shape":[1,33],"datatype":"FP32","data":[)" +
               std::string("1.5") +
               [] {
                 std::string more;
                 for (int i = 1; i < 33; ++i) more += ",-" + std::to_string(i);
                 return more;
               }() +
               R"(]}],"outputs":[{"name":"y","parameters":{"binary_data":true}}]})",
           ""}};
}

// Parts of requests that mean something, in places where they may not.
const std::vector<std::string> kWords = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"",
                                         "\\u0000",
                                         "\\ud800",
                                         "-",
                                         "1e999",
                                         "18446744073709551616",
                                         "-9223372036854775809",
                                         "null",
                                         "true",
                                         "NaN",
                                         "\"x\"",
                                         "\"y\"",
                                         "\"inputs\"",
                                         "\"data\"",
                                         "\"shape\"",
                                         "\"datatype\"",
                                         "\"FP32\"",
                                         "\"BYTES\"",
                                         "\"INT64\"",
                                         "\"parameters\"",
                                         "\"binary_data_size\"",
                                         "4611686018427387904",
                                         "[[[[[[[[[[",
                                         "\xff",
                                         std::string(1, '\0'),
                                         "\r\n",
                                         "\r\n\r\n",
                                         "Content-Length: 4\r\n",
                                         "Transfer-Encoding: chunked\r\n",
                                         "Content-Encoding: gzip\r\n",
                                         "Inference-Header-Content-Length: 3\r\n",
                                         "Expect: 100-continue\r\n",
                                         "Range: bytes=0-0,1-1\r\n",
                                         "Connection: close\r\n",
                                         "%00",
                                         "/../",
                                         "?",
                                         "#",
                                         " "};

void change(Dice& dice, std::string* text) {
  const size_t at = dice.below(text->size() + 1);
  const size_t length = std::min(text->size() - at, 1 + dice.below(size_t{12}));
  switch (dice.below(6)) {
    case 0: text->erase(at, length); break;
    case 1: text->insert(at, dice.of(kWords)); break;
    case 2: text->replace(at, length, dice.of(kWords)); break;
    case 3: text->insert(at, text->substr(at, length)); break;
    case 4:
      if (at < text->size()) (*text)[at] = static_cast<char>(dice.next());
      break;
    default: text->resize(at); break;
  }
}

std::string made(const std::vector<Request>& valid, Dice& dice) {
  Request r = dice.of(valid);
  for (int changes = 1 + dice.below(3); changes > 0; --changes) {
    const int part = dice.below(8);
    change(dice, part == 0 ? &r.head : part == 1 && !r.tail.empty() ? &r.tail : &r.json);
  }
  std::string all = whole(r.head, r.json + r.tail);
  if (dice.one_in(10)) change(dice, &all);
  return all;
}

// Sends all of it and the end behind it, so that nothing more can be waited for.
std::string answer_to(int port, const std::string& bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string got;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    char buffer[65536];
    for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      got.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return got;
}

// The status of an answer, behind a "100 Continue"; 0: it is none.
int status_of(std::string answer) {
  const std::string proceed = "HTTP/1.1 100 Continue\r\n\r\n";
  if (answer.starts_with(proceed)) answer.erase(0, proceed.size());
  if (!answer.starts_with("HTTP/1.1 ") || answer.size() < 12) return 0;
  return std::atoi(answer.c_str() + 9);
}

std::string shown(const std::string& bytes) {
  return nlohmann::json(bytes).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

TEST(Malformed, RequestsAreAnsweredAndTheServerIsAsBefore) {
  const int cases = std::getenv("WICK_TEST_FULL") != nullptr ? 10'000 : 400;
  serve::ServeOptions options = test::test_options();
  options.max_body = 1 << 20;
  const std::string file = test::wick_file("malformed", test::mlp());
  const Served served({{"m", file}}, options);
  const HostTensor x = test::rows(2, 33, 7), want = test::alone(file, {x})[0];
  const std::vector<Request> valid = valid_requests();
  for (const Request& r : valid)
    ASSERT_EQ(status_of(answer_to(served.http.port(), whole(r.head, r.json + r.tail))), 200);
  int refused = 0;
  for (int i = 0; i < cases; ++i) {
    Dice dice(static_cast<uint64_t>(i) + 1);
    const std::string request = made(valid, dice);
    if (request.empty()) continue;
    const std::string answer = answer_to(served.http.port(), request);
    const int status = status_of(answer);
    // A change may leave a request valid.
    ASSERT_TRUE(status == 200 || (status >= 400 && status < 500)) << "case " << i << "\n"
                                                                  << shown(request) << "\n"
                                                                  << shown(answer);
    if (status == 200) continue;
    ++refused;
    const size_t body = answer.rfind("\r\n\r\n");
    const nlohmann::json error = nlohmann::json::parse(answer.substr(body + 4), nullptr, false);
    if (request.starts_with("HEAD ")) continue;
    ASSERT_TRUE(error.is_object() && error.contains("error")) << "case " << i << "\n"
                                                              << shown(request) << "\n"
                                                              << shown(answer);
    if (i % 100 != 0) continue;
    httplib::Client c = served.client();
    ASSERT_TRUE(same_bits(test::output_of(test::infer(&c, "m", {x, true}), "y"), want)) << i;
  }
  EXPECT_GT(refused, cases / 2);
  while (served.metric("wick_http_connections") > 1) {
  }
  EXPECT_EQ(served.metric("wick_running{model=\"m\"}"), 0);
  EXPECT_EQ(served.metric("wick_queued_requests{model=\"m\"}"), 0);
}

// What a body's JSON may cost is bounded before a tree is made of it.
TEST(Malformed, ABodysCostIsBounded) {
  serve::ServeOptions options = test::test_options();
  options.json_values = 10'000;
  const Served served({{"m", test::wick_file("costs", test::mlp())}}, options);
  httplib::Client c = served.client();
  const auto said = [&](const std::string& body) {
    return test::error_text(c.Post("/v2/models/m/infer", body, "application/json"));
  };
  EXPECT_EQ(said(std::string(100'000, '[')), "request: nested too deep: over 64 levels");
  std::string many = "[0";
  for (int i = 0; i < 20'000; ++i) many += ",0";
  EXPECT_EQ(said(many + "]"), "request: over 10000 values");
  EXPECT_EQ(said(R"({"inputs":[],"inputs":[]})"), "request: 'inputs' appears twice");
}

// A few bytes that become many: gzip of spaces.
TEST(Malformed, ACompressedBodyIsBoundedAsItGrows) {
  serve::ServeOptions options = test::test_options();
  options.max_body = 1 << 16;
  const Served served({{"m", test::wick_file("grows", test::mlp())}}, options);
  // 10 MiB of spaces, by the client's own library.
  httplib::Client c = served.client();
  c.set_compress(true);
  const httplib::Result got =
      c.Post("/v2/models/m/infer", std::string(10 << 20, ' '), "application/json");
  EXPECT_EQ(test::status(got), 413) << test::error_text(got);
  EXPECT_THAT(test::error_text(got), testing::HasSubstr("longer than 65536 bytes"));
}

// Returns `text` as a stream of gzip.
std::string gzip(std::string text) {
  z_stream s = {};
  std::string out(text.size() + 100, '\0');
  EXPECT_EQ(deflateInit2(&s, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  s.next_in = reinterpret_cast<Bytef*>(text.data());
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  deflateEnd(&s);
  return out.substr(0, s.total_out);
}

// The checksum and the length at its end are looked at, and have to be there.
TEST(Malformed, ACompressedBodyIsWhole) {
  const Served served({{"m", test::wick_file("gzip", test::mlp())}});
  httplib::Client c = served.client();
  const std::string json = Body(test::rows(1, 33, 1), false).json, sent = gzip(json);
  const auto post = [&](const std::string& body) {
    return c.Post("/v2/models/m/infer", {{"Content-Encoding", "gzip"}}, body, "application/json");
  };
  EXPECT_EQ(test::status(post(sent)), 200);
  EXPECT_EQ(test::status(post(gzip(json.substr(0, 50)) + gzip(json.substr(50)))), 200);
  const std::string early =
      "the body ends early, before the checksum of its compression: send it whole";
  // Spaces end the JSON, so that a body is complete before its gzip is.
  const std::string longer = gzip(json + std::string(100'000, ' '));
  for (const std::string& cut : {sent.substr(0, sent.size() - 8), sent.substr(0, sent.size() - 1),
                                 sent.substr(0, 5), longer.substr(0, longer.size() - 12)}) {
    const httplib::Result got = post(cut);
    EXPECT_EQ(test::status(got), 400) << cut.size();
    EXPECT_EQ(test::error_text(got), early) << cut.size();
  }
  const std::pair<size_t, const char*> kChanged[] = {{8, "incorrect data check"},
                                                     {4, "incorrect length check"}};
  for (const auto& [from_end, why] : kChanged) {
    std::string changed = sent;
    changed[changed.size() - from_end] ^= 1;
    const httplib::Result got = post(changed);
    EXPECT_EQ(test::status(got), 400) << why;
    EXPECT_EQ(test::error_text(got),
              std::string("the body is damaged, it does not decompress: ") + why);
  }
  const httplib::Result behind = post(sent + "more");
  EXPECT_EQ(test::status(behind), 400);
  EXPECT_THAT(test::error_text(behind), testing::HasSubstr("incorrect header check"));
  EXPECT_EQ(test::status(post(sent)), 200);
}

TEST(Malformed, HeadsAreBounded) {
  const Served served({{"m", test::wick_file("heads", test::mlp())}});
  const int port = served.http.port();
  EXPECT_EQ(status_of(answer_to(port, "GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n")),
            431);
  EXPECT_EQ(status_of(answer_to(port, "GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\n\r\n")),
            414);
  std::string many = "GET /v2 HTTP/1.1\r\n";
  for (int i = 0; i < 10'000; ++i) many += "a: b\r\n";
  EXPECT_EQ(status_of(answer_to(port, many + "\r\n")), 431);
  const std::string post = "POST /v2/models/m/infer HTTP/1.1\r\n";
  const std::string two = "more than one Content-Length or Transfer-Encoding";
  const std::pair<const char*, std::string> kWrong[] = {
      {"Content-Length: 4\r\nContent-Length: 4\r\n", two},
      {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", two},
      {"Content-Length: -4\r\n", "Content-Length must be a number of bytes"},
      {"Content-Length: 4x\r\n", "Content-Length must be a number of bytes"},
      {"Transfer-Encoding: gzip\r\n", "Transfer-Encoding must be chunked"}};
  for (const auto& [more, text] : kWrong) {
    const std::string answer = answer_to(port, post + more + "\r\nabcd");
    EXPECT_EQ(status_of(answer), 400) << more;
    EXPECT_THAT(answer, testing::HasSubstr(text)) << more;
  }
  EXPECT_EQ(status_of(answer_to(
                port, post + "Content-Length: 4\r\nContent-Type: multipart/x\r\n\r\nabcd")),
            415);
  // A chunk's length that never ends.
  EXPECT_EQ(status_of(answer_to(
                port, post + "Transfer-Encoding: chunked\r\n\r\n" + std::string(100'000, 'a'))),
            400);
}

// Whoever sends too slowly is not waited for, and neither is whoever sends nothing.
TEST(Malformed, SlowSendersLoseTheirConnection) {
  serve::ServeOptions options = test::test_options();
  options.transfer_ns = options.idle_ns = 50'000'000;
  const Served served({{"m", test::wick_file("slow", test::mlp())}}, options);
  const int port = served.http.port();
  constexpr int kMs = 60'000;  // the server closes long before
  EXPECT_EQ(test::raw(port, "", kMs), "");
  EXPECT_EQ(test::raw(port, "POST /v2/mod", kMs), "");
  EXPECT_EQ(status_of(test::raw(
                port, "POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: 9\r\n\r\n{", kMs)),
            400);
}

}  // namespace
}  // namespace wick
