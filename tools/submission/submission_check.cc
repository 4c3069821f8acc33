// The schema's judgement of a submission, by valijson.

#include "tools/submission/submission.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace wick {
namespace {

const valijson::Schema& schema() {
  static const std::unique_ptr<const valijson::Schema> made = [] {
    auto s = std::make_unique<valijson::Schema>();
    const auto text = read_json(submission_schema(), "the schema");
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(text), *s);
    return s;
  }();
  return *made;
}

// Turns "<root>", "[baseline]", "[metrics]" into "baseline.metrics".
std::string place(const std::vector<std::string>& context) {
  std::string text;
  for (size_t i = 1; i < context.size(); ++i) {
    const std::string& part = context[i];
    const bool framed = part.size() > 2 && part.front() == '[' && part.back() == ']';
    text += (text.empty() ? "" : ".") + (framed ? part.substr(1, part.size() - 2) : part);
  }
  return text.empty() ? "the document" : text;
}

}  // namespace

void validate_submission_schema(const std::string& submission) {
  nlohmann::json doc;
  try {
    doc = read_json(submission, "the text is no JSON");
  } catch (const JsonError& e) {
    throw_error("validate_submission_schema", e.what());
  }
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(doc);
  if (validator.validate(schema(), target, &results)) return;
  constexpr size_t kMost = 2000;  // bytes of a message; both parts quote the document
  std::string text;
  valijson::ValidationResults::Error e;
  while (text.size() < kMost && results.popError(e)) {
    text +=
        (text.empty() ? "" : "; ") + shortened(place(e.context)) + ": " + shortened(e.description);
  }
  throw_error("validate_submission_schema", text);
}

}  // namespace wick
