#include "trainer/explain/warn.h"

#include <cstdio>
#include <mutex>
#include <new>
#include <set>
#include <tuple>

#include "trainer/explain/broadcast_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/tensor.h"

namespace wick {
namespace {

using Site = std::tuple<std::string, std::string, uint32_t, uint32_t>;  // code, file, line, column

struct Channel {
  std::mutex mutex;
  WarningHandler handler;
  std::set<Site> seen;
};
// Never destroyed: a tensor in a static object may still warn at exit.
Channel& channel() {
  alignas(Channel) static char memory[sizeof(Channel)];
  static Channel* c = new (memory) Channel;
  return *c;
}

void deliver(const WarningHandler& handler, const Warning& w) {
  if (handler) {
    handler(w);
  } else {
    fprintf(stderr, "wick: warning: %s [%s]\n", w.text.c_str(), w.code.c_str());
  }
}

}  // namespace

void warn(const char* code, const std::string& op, const std::string& text,
          const std::source_location& where) {
  Channel& c = channel();
  WarningHandler handler;
  {
    std::lock_guard lock(c.mutex);
    if (!c.seen.emplace(code, where.file_name(), where.line(), where.column()).second) return;
    handler = c.handler;
  }
  deliver(handler, {code, joined("[", op, "] ", text, " (", to_text(where), ")")});
}

void warn_text(const char* code, const std::string& text) {
  Channel& c = channel();
  WarningHandler handler;
  {
    std::lock_guard lock(c.mutex);
    handler = c.handler;
  }
  deliver(handler, {code, text});
}

WarningHandler set_warning_handler(WarningHandler handler) {
  Channel& c = channel();
  std::lock_guard lock(c.mutex);
  c.seen.clear();
  std::swap(c.handler, handler);
  return handler;
}

struct CollectWarnings::State {
  std::mutex mutex;
  std::vector<Warning> warnings;
};

CollectWarnings::CollectWarnings()
    : state_(new State), saved_(set_warning_handler([s = state_](const Warning& w) {
        std::lock_guard lock(s->mutex);
        s->warnings.push_back(w);
      })) {}
CollectWarnings::~CollectWarnings() {
  set_warning_handler(std::move(saved_));
  delete state_;
}
std::vector<Warning> CollectWarnings::warnings() const {
  std::lock_guard lock(state_->mutex);
  return state_->warnings;
}
std::string CollectWarnings::text() const {
  std::string all;
  for (const Warning& w : warnings()) all += w.text + " [" + w.code + "]\n";
  return all;
}

void warn_broadcast(const char* loss, const Tensor& input, const Tensor& target,
                    const Where& where) {
  if (!input.defined() || !target.defined()) {
    throw_error(loss, !input.defined() ? "the input is undefined" : "the target is undefined",
                where);
  }
  const Shape &a = input.raw_shape(), &b = target.raw_shape();
  if (a == b || b.rank() == 0) return;
  Shape result;
  if (!broadcast_shape(a, b, &result)) return;
  std::string text = std::string("input ") + to_text(a).text + " and target " + to_text(b).text +
                     " differ and are broadcast to " + to_text(result).text + ": ";
  if (numel(result) > numel(a) && numel(result) > numel(b)) {
    text += "each of " + std::to_string(numel(a)) + " inputs is compared with each of " +
            std::to_string(numel(b)) + " targets. ";
  } else {
    const bool stretched = numel(result) > numel(a);
    text += std::string(stretched ? "the input" : "the target") + " is repeated. ";
  }
  text += std::string(kBroadcastRule) + " ";
  if (numel(a) == numel(b)) {
    text += "Give both one shape: target.reshape(" + braces(a) + ")";
  } else {
    text += "If that is meant, say so: expand(" + braces(result) + ") the smaller one";
  }
  warn("silent-broadcast", loss, text, where);
}

}  // namespace wick
