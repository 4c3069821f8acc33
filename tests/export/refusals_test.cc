// The code that capture refuses, its messages, and how to write it instead: this makes the table of
// docs/use/exporter.md (WICK_WRITE_DOCS=1); each rewrite is captured and is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <regex>

#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "tests/support/where.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

struct Written {
  std::string text;
  std::function<Tensor(const Tensor&)> f;
};
#define WICK_WRITTEN(...)                                       \
  Written {                                                     \
    #__VA_ARGS__, [](const Tensor& x) -> Tensor { __VA_ARGS__ } \
  }

struct Refusal {
  Written wrong;
  std::string says;  // part of the error
  Written instead;
  std::string why;  // where the rewrite gives something else than the original meant
};

const std::vector<float> table = {3, 1, 4, 1, 5};  // NOLINT(cert-err58-cpp)

std::vector<Refusal> refusals() {
  return {
      {WICK_WRITTEN(return x * sum(x).item();), "item reads the value of a traced tensor",
       WICK_WRITTEN(return x * sum(x);), ""},
      {WICK_WRITTEN(if (sum(x).item() > 0) return relu(x); return exp(x);),
       "A branch on it is cond(",
       WICK_WRITTEN(return cond(
                               sum(x) > 0, [&] { return relu(x); }, [&] { return exp(x); });),
       ""},
      {WICK_WRITTEN(if (x.size(1) > 3) return relu(x); return exp(x);), "a size that is read at",
       WICK_WRITTEN(return cond(
                               tensor<int64_t>({x.size(1)}) > 3, [&] { return relu(x); },
                               [&] { return exp(x); });),
       "or keep the size on one side: {1, \"time\", 4}"},
      {WICK_WRITTEN(Tensor h = zeros({x.size(0), 8});
                    for (int64_t t = 0; t < x.size(1); ++t) h = tanh(h + x.select(1, t));
                    return h;),
       "a loop over a dynamic size is scan(",
       WICK_WRITTEN(auto step =
                        [](const Tensor& h, const Tensor& x_t) {
                          Tensor next = tanh(h + x_t);
                          return std::pair(next, next);
                        };
                    return scan(step, zeros({x.size(0), 8}), x, 1).first;),
       ""},
      {WICK_WRITTEN(std::vector<Tensor> all;
                    for (int64_t n = 0; n < x.size(0); ++n) all.push_back(relu(x.select(0, n)));
                    return stack(all);),
       "control flow depends on data or on a dynamic size", WICK_WRITTEN(return relu(x);),
       "ops take the batch at once"},
      {WICK_WRITTEN(return x * std::sin(static_cast<double>(x.size(1)));), "is baked in",
       WICK_WRITTEN(return x * sin(full({}, x.size(1)));), ""},
      {WICK_WRITTEN(return x * table[x.size(1) % 5];), "is baked in",
       WICK_WRITTEN(return x * index_select(tensor(table), 0, tensor<int64_t>({x.size(1) % 5}));),
       ""},
      {WICK_WRITTEN(return max_pool1d(x.transpose(1, 2), x.size(1));), "kernel_shape is baked in",
       WICK_WRITTEN(return amax(x.transpose(1, 2), {2}, true);),
       "adaptive_avg_pool1d(x, 1) for means"},
      {WICK_WRITTEN(return adaptive_avg_pool1d(x.transpose(1, 2), 3);),
       "control flow depends on data or on a dynamic size",
       WICK_WRITTEN(return adaptive_avg_pool1d(x.transpose(1, 2), 1);),
       "one number is taken at every size"},
      {WICK_WRITTEN(return masked_select(x, x > 0);), "depends on data",
       WICK_WRITTEN(return where(x > 0, x, zeros_like(x));), "the shape stays"},
      {WICK_WRITTEN(Tensor y = x.clone(); y.mutable_data<float>()[0] = 3; return y;),
       "writes to a traced tensor from outside of the ops",
       WICK_WRITTEN(Tensor y = x.clone(); y.slice(0, 0, 1).slice(1, 0, 1).slice(2, 0, 1).fill_(3);
                    return y;),
       ""},
      {WICK_WRITTEN(return dropout(x, 0.5, true);), "differs",
       WICK_WRITTEN(return dropout(x, 0.5, false);), "a Dropout layer needs model.eval() alone"},
      {WICK_WRITTEN(EnableGrad on; Tensor v = x.clone().requires_grad_();
                    return grad({sum(tanh(v))}, {v})[0];),
       "grad of a traced tensor", WICK_WRITTEN(return 1 - tanh(x) * tanh(x);),
       "the derivative as ops"},
  };
}

const std::vector<DynamicDim> kBoth = {{0, "batch"}, {1, "time"}};

std::string captured(const Written& w, std::optional<ir::Graph>* graph) {
  Program p = form("written", {2, 6, 8}, kBoth, w.f);
  return error_of([&] { *graph = capture_call(*p.module, p.inputs, p.call); });
}

TEST(Refusals, NameTheLine) {
  for (const Refusal& r : refusals()) {
    std::optional<ir::Graph> graph;
    const std::string error = captured(r.wrong, &graph);
    EXPECT_FALSE(graph) << r.wrong.text;
    EXPECT_THAT(error, testing::HasSubstr(r.says)) << r.wrong.text;
    EXPECT_THAT(error, testing::HasSubstr("refusals_test.cc:")) << r.wrong.text;
  }
}

TEST(Refusals, HaveARewriteThatIsRight) {
  NoGrad guard;
  for (const Refusal& r : refusals()) {
    std::optional<ir::Graph> graph;
    const std::string error = captured(r.instead, &graph);
    ASSERT_TRUE(graph) << r.instead.text << ": " << error;
    for (const Shape& s : {Shape{1, 1, 8}, Shape{3, 4, 8}, Shape{2, 3, 8}, Shape{5, 60, 8}}) {
      const Tensor x = some_floats(s);
      const HostTensor in = host_copy(x);
      EXPECT_TRUE(same_bits(ir::run(*graph, {&in, 1})[0], host_copy(r.instead.f(x))))
          << r.instead.text << " at " << to_text(s).text;
    }
  }
}

TEST(Refusals, AreTheTableOfThePage) {
  const std::string path = source_dir("/docs/use/exporter.md");
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "skipped: no " << path;
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto code = [](std::string text) {
    text = std::regex_replace(text, std::regex(R"(^return (.*);$)"), "$1");
    text = std::regex_replace(text, std::regex(R"(\( )"), "(");
    return "`" + std::regex_replace(text, std::regex(R"(\|)"), "\\|") + "`";
  };
  std::string made = "| you wrote | the error says | write |\n|---|---|---|\n";
  for (const Refusal& r : refusals()) {
    made += "| " + code(r.wrong.text) + " | " + r.says + " ... | " + code(r.instead.text) +
            (r.why.empty() ? "" : " (" + r.why + ")") + " |\n";
  }
  const std::string begin = "<!-- made by tests/export/refusals_test.cc -->\n",
                    end = "<!-- end -->\n";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << path;
  const std::string whole = page.substr(0, from + begin.size()) + made + page.substr(to);
  if (std::getenv("WICK_WRITE_DOCS") != nullptr)
    std::ofstream(path) << whole;
  else
    EXPECT_EQ(whole, page) << "run it with WICK_WRITE_DOCS=1";
}

}  // namespace
}  // namespace wick::test
