#include "trainer/board/summary_writer.h"

#include <algorithm>
#include <chrono>

#include "trainer/board/event_file.h"
#include "trainer/board/event_state.h"
#include "trainer/board/summary.h"

namespace wick::board {
namespace {

// The file's own errors, with the caller's line.
template <class F>
void at_line(const Where& where, F f) {
  try {
    f();
  } catch (const Error& e) {
    throw Error(std::string(e.what()) + " (" + to_text(where) + ")", e.code());
  }
}

std::string slashes_out(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

SummaryWriter::State::State(const std::string& folder, const SummaryOptions& o)
    : log_dir(folder), options(o), file(folder, o.suffix) {
  add(0, Message().bytes(3, "brain.Event:2"));  // file_version, which comes first
  if (o.purge_step) {
    constexpr int kStart = 1;
    add(*o.purge_step, Message().message(7, Message().integer(1, kStart)));  // session_log
  }
  file.flush();
  flushed = Clock::now();
}

void SummaryWriter::State::add(int64_t step, const Message& what) {
  Message event;
  event.real(1, seconds_now()).integer(2, step);
  file.append(event.text() + what.text());
  if (Clock::now() - flushed < std::chrono::duration<double>(options.flush_seconds)) return;
  file.flush();
  flushed = Clock::now();
}

void SummaryWriter::State::add_value(int64_t step, const Message& value, const Where& where) {
  at_line(where, [&] { add(step, Message().message(5, Message().message(1, value))); });
}

SummaryWriter::SummaryWriter(const std::string& log_dir, const SummaryOptions& options,
                             Where where) {
  at_line(where, [&] { state_ = std::make_unique<State>(log_dir, options); });
}
SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t step, Where where) {
  check_text("add_scalar", "the tag", tag, where);
  state_->add_value(step, scalar_value(tag, value), where);
}

void SummaryWriter::add_scalars(const std::string& tag, const std::map<std::string, double>& values,
                                int64_t step, Where where) {
  check_text("add_scalars", "the tag", tag, where);
  for (const auto& [name, value] : values) {
    check_text("add_scalars", "a name", name, where);
    const std::string folder = state_->log_dir + "/" + slashes_out(tag + "_" + name);
    auto at = state_->parts.find(folder);
    if (at == state_->parts.end()) {
      SummaryWriter part(folder, state_->options, where);
      at = state_->parts.emplace(folder, std::move(part)).first;
    }
    at->second.add_scalar(tag, value, step, where);
  }
}

void SummaryWriter::add_histogram(const std::string& tag, const Arg& values, int64_t step) {
  check_text("add_histogram", "the tag", tag, values.where);
  state_->add_value(step, histogram_value(tag, values), values.where);
}

void SummaryWriter::add_image(const std::string& tag, const Arg& image, int64_t step) {
  check_text("add_image", "the tag", tag, image.where);
  state_->add_value(step, image_value(tag, image), image.where);
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, int64_t step,
                             Where where) {
  check_text("add_text", "the tag", tag, where);
  if (!text.empty()) check_text("add_text", "the text", text, where);
  state_->add_value(step, text_value(tag, text), where);
}

void SummaryWriter::flush(Where where) {
  at_line(where, [&] { state_->file.flush(); });
  state_->flushed = State::Clock::now();
  for (auto& [folder, part] : state_->parts) part.flush(where);
}

void SummaryWriter::close(Where where) {
  at_line(where, [&] { state_->file.close(); });
  for (auto& [folder, part] : state_->parts) part.close(where);
}

const std::string& SummaryWriter::log_dir() const { return state_->log_dir; }
const std::string& SummaryWriter::path() const { return state_->file.path(); }

}  // namespace wick::board
