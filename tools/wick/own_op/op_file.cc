#include "tools/wick/own_op/op_file.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>

#include "wick/error.h"

namespace wick::tool {
namespace {

// Returns what is wrong with a test row, or "".
std::string fault_of(const OpTest* test, const std::vector<const CustomOp*>& ops) {
  if (test == nullptr || test->op == nullptr) return "a test row names no op";
  if (std::find(ops.begin(), ops.end(), test->op) == ops.end())
    return "a test row's op is not in WICK_EXPORT_OPS(...)";
  if (test->samples == nullptr || test->count == 0) return "a test row has no samples";
  std::vector<const OpSample*> all = {&test->bench};
  for (size_t i = 0; i < test->count; ++i) all.push_back(&test->samples[i]);
  for (const OpSample* sample : all) {
    const int most = std::min<int>(test->op->max_inputs, kMaxSampleInputs);
    if (sample->inputs < std::max<int>(test->op->min_inputs, 1) || sample->inputs > most) {
      return "a sample has " + std::to_string(sample->inputs) + " inputs, " + test->op->name +
             " takes " + std::to_string(test->op->min_inputs) + " to " + std::to_string(most);
    }
    const int64_t n = numel(sample->in[0]);
    if (sample->values.size != 0 && static_cast<int64_t>(sample->values.size) != n) {
      return "a sample has " + std::to_string(sample->values.size) + " values, its shape " +
             std::to_string(n) + " elements";
    }
    if (sample->answers.size != 0 && sample->values.size == 0)
      return "a sample has answers and no values";
  }
  return "";
}

// "my_softmax" and "MySoftmax" are one name in two spellings.
std::string camel(const std::string& name) {
  std::string text;
  bool begins = true;
  for (const char c : name) {
    if (c != '_')
      text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return text;
}
std::string snake(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !text.empty() && text.back() != '_') text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

void replace_all(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

}  // namespace

OpFile open_op_file(const std::string& path, const std::vector<std::string>& flags) {
  InlineOptions options;
  options.flags = flags;
  OpFile file;
  file.built = build_source(path, options);
  file.ops = load_ops(file.built.library);
  // Opened a second time: the library itself stays, because its ops are registered.
  void* library = dlopen(file.built.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, kOpTestsEntry);
  if (library != nullptr) dlclose(library);
  if (symbol == nullptr) {
    throw Error(path +
                    " has no test row: give it one by WICK_EXPORT_OP_TESTS(...), as a file of "
                    "`wick ops new` has",
                Code::kUnsupported);
  }
  const OpTestsInfo* info = reinterpret_cast<OpTestsEntry>(symbol)();
  if (info == nullptr || info->abi != kCustomOpAbi || info->test_bytes != sizeof(OpTest) ||
      info->sample_bytes != sizeof(OpSample)) {
    throw Error(path + ": its test rows are of another <wick/op_test.h> than this program's",
                Code::kUnsupported);
  }
  for (uint64_t i = 0; i < info->count; ++i) {
    const std::string fault = fault_of(info->tests[i], file.ops);
    if (!fault.empty()) throw Error(path + ": " + fault, Code::kUnsupported);
    file.tests.push_back(info->tests[i]);
  }
  return file;
}

NewOp new_op(const std::string& name, const std::string& domain, const std::string& skeleton) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const bool sound = !name.empty() && name.size() <= 40 && letter(name[0]) &&
                     std::all_of(name.begin(), name.end(), [&](char c) {
                       return letter(c) || c == '_' || (c >= '0' && c <= '9');
                     });
  if (!sound) {
    throw Error("an op cannot be named '" + name +
                "': it takes a letter, then letters, digits and _, as in my_softmax");
  }
  NewOp made{snake(name) + ".cc", domain + "::" + camel(name), skeleton};
  replace_all(&made.text, "\"my\"", "\"" + domain + "\"");
  replace_all(&made.text, "my::", domain + "::");
  replace_all(&made.text, "RowNorm", camel(name));
  replace_all(&made.text, "row_norm", snake(name));
  // The new name must not be a word of C++, and the domain must be one that Wick takes.
  CustomOp probe;
  probe.domain = domain.c_str();
  const std::string op = camel(name);
  probe.name = op.c_str();
  const KernelRow row = {"probe",
                         kContiguous,
                         [](const KernelQuery&) { return false; },
                         nullptr,
                         nullptr,
                         [](const KernelCtx&, Span<const TensorView>, Span<TensorView>,
                            const void*) { return Status(); }};
  probe.kernels.data = &row;
  probe.kernels.size = 1;
  check_status(check_custom_op(probe));
  return made;
}

}  // namespace wick::tool
