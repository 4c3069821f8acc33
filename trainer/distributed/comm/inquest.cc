// What an engine does when something is wrong: every rank says where it is, and all of them make
// one report of that.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "trainer/distributed/comm/engine.h"
#include "wick/error.h"

namespace wick::distributed {
namespace {

std::string list_of(const std::vector<int>& ranks) {
  std::string s = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) s += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return s;
}

const char* gone_text(Transport::Peer peer) {
  return peer == Transport::Peer::kDead ? "its process is gone (killed, or it ended without a word)"
                                        : "its process is stopped (SIGSTOP, or a debugger)";
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The parts of a reason of difference: "3" and the place, what to call it, in what the calls
// differ, how a rank has found that out, and the ranks that make the call. Empty for another
// reason.
std::vector<std::string> parts_of_difference(const std::string& reason) {
  if (reason.empty() || reason[0] != '3') return {};
  std::vector<std::string> parts = split(reason.substr(1), '\t');
  if (parts.size() != 5) parts.clear();
  return parts;
}

}  // namespace

std::string Engine::pack(const Statement& s) {
  std::string reason = s.reason;  // its tabs are its own
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  std::string text = "F\n" + reason + "\n" + s.state;
  for (const Statement::Current& c : s.current) text += "\n" + c.place + "\t" + c.call;
  return text;
}

Engine::Statement Engine::unpack(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  Statement s;
  if (lines.size() > 1) s.reason = lines[1];
  if (lines.size() > 2) s.state = lines[2];
  for (size_t i = 3; i < lines.size(); ++i) {
    const std::vector<std::string> parts = split(lines[i], '\t');
    if (parts.size() == 2) s.current.push_back({parts[0], parts[1]});
  }
  return s;
}

// Where a collective stands in its group; of a message, among those from one rank to another.
std::string Engine::place_of(const Operation& op) {
  std::string text = op.group_->id() + " ";
  if (op.call_.between_two()) {
    const bool sends = op.call_.kind == Kind::kSend;
    const int from = sends ? op.group_->rank : op.call_.peer,
              to = sends ? op.call_.peer : op.group_->rank;
    text += std::to_string(from) + ">" + std::to_string(to) + " ";
  }
  return text + std::to_string(op.mine_.sequence);
}

std::string Engine::reason_of_difference(const Operation& op, const Operation::Header& header,
                                         const std::string& how) {
  const int rank = op.group_->ranks[static_cast<size_t>(header.peer)];
  std::string members = ",";  // ",0,2,": of a message the two between which it goes
  for (int peer = 0; peer < static_cast<int>(op.group_->ranks.size()); ++peer) {
    if (op.call_.between_two() && peer != op.call_.peer && peer != op.group_->rank) continue;
    members += std::to_string(op.group_->ranks[static_cast<size_t>(peer)]) + ",";
  }
  return "3" + place_of(op) + "\t#" + std::to_string(op.mine_.sequence) + " of group '" +
         one_line(op.group_->name) + "'\t" + how + "\trank " + std::to_string(rank) + " called " +
         outline(header.theirs) + " where this rank called " + one_line(op.call_.text()) + "\t" +
         members;
}

// The ranks whose messages of a collective are not here, or not with them.
std::vector<int> Engine::peers_under_way(const Operation& op) {
  std::set<int> ranks;
  for (const Operation::Message& m : op.requests_)
    ranks.insert(op.group_->ranks[static_cast<size_t>(m.peer)]);
  return {ranks.begin(), ranks.end()};
}

Engine::Statement Engine::own_statement(const std::string& reason) const {
  Statement s{reason, one_line(recorder_.state()), {}};
  if (said_goodbye_) s.state = "ended; " + s.state;
  for (const auto& [key, lane] : lanes_) {
    if (lane.empty()) continue;
    const Operation& op = *lane.front();
    const std::vector<int> late = op.met_ ? peers_under_way(op) : std::vector<int>();
    if (!late.empty()) s.state += ", waits for messages from or to " + list_of(late);
    s.current.push_back({place_of(op), one_line(op.call_.text())});
  }
  return s;
}

// Looks for ranks that are gone, stopped or have ended while this one waits for them, and for
// collectives that wait for too long.
void Engine::watch() {
  const double now = recorder_.now();
  const bool asked = transport_->asked_to_end();
  if (now < next_watch_ && !(asked && asked_ < 0)) return;
  next_watch_ = now + (asked ? 0.02 : 0.2);
  if (asked && asked_ < 0) asked_ = now;
  std::vector<int> dead, stopped;
  for (int rank = 0; rank < transport_->size(); ++rank) {
    const auto at = static_cast<size_t>(rank);
    if (rank == transport_->rank() || ended_[at] >= 0) continue;
    const Transport::Peer peer = transport_->look_at(rank);
    if (peer == Transport::Peer::kDead) {
      dead_[at] = gone_text(peer);
      dead.push_back(rank);
    }
    if (peer != Transport::Peer::kStopped) {
      stopped_since_[at] = -1;
      if (peer == Transport::Peer::kAlive) dead_[at].clear();  // it runs again
    } else if (stopped_since_[at] < 0) {
      stopped_since_[at] = now;
    } else if (now - stopped_since_[at] > options_.stopped_s) {
      dead_[at] = gone_text(peer);
      stopped.push_back(rank);
    }
  }
  if (!dead.empty()) {
    fault_ =
        "1the process of " + list_of(dead) + " is gone: it was killed, or ended without a word";
    return;
  }
  if (asked && now - asked_ > 0.5) {
    fault_ = "5rank " + std::to_string(transport_->rank()) + " was asked to end by a signal";
    return;
  }
  for (const auto& [key, lane] : lanes_) {
    if (lane.empty() || !lane.front()->started_) continue;
    watch_operation(*lane.front(), stopped);
    if (!fault_.empty()) return;
  }
}

void Engine::watch_operation(const Operation& op, const std::vector<int>& stopped) {
  const double now = recorder_.now();
  std::vector<int> missing, ended;
  for (const Operation::Header& h : op.headers_) {
    if (!h.request) continue;
    missing.push_back(op.group_->ranks[static_cast<size_t>(h.peer)]);
    const double when = ended_[static_cast<size_t>(missing.back())];
    // What a rank sent before its goodbye may still be on its way.
    if (when >= 0 && now - when > 0.3) ended.push_back(missing.back());
  }
  const std::string what = "#" + std::to_string(op.mine_.sequence) + " of group '" +
                           op.group_->name + "', " + op.call_.text();
  const double limit = op.call_.timeout_s > 0 ? op.call_.timeout_s : options_.timeout_s;
  char waited[32];
  snprintf(waited, sizeof waited, "%.1f s", now - op.started_at_);
  if (!stopped.empty()) {
    fault_ = "1the process of " + list_of(stopped) + " is stopped, and other ranks wait for it";
  } else if (!ended.empty()) {
    fault_ = "4" + list_of(ended) + " ended without calling " + what;
  } else if (now - op.started_at_ <= limit) {
    return;
  } else if (missing.empty()) {
    fault_ = "5the messages of " + what + " between rank " + std::to_string(transport_->rank()) +
             " and " + list_of(peers_under_way(op)) + " did not arrive within " + waited;
  } else {
    fault_ = "5" + list_of(missing) + " did not call " + what + " within " + waited + " of rank " +
             std::to_string(transport_->rank());
  }
}

// "ranks 0, 2: all_reduce ...; rank 1: broadcast ..." of the collective that a reason is about.
std::string Engine::differing_calls(const std::map<int, Statement>& statements) const {
  std::string place, label, how;
  for (const auto& [rank, s] : statements) {
    const std::vector<std::string> parts = parts_of_difference(s.reason);
    if (parts.empty()) continue;
    place = parts[0], label = parts[1], how = parts[2];
    break;
  }
  std::map<std::string, std::vector<int>> by_call;
  for (const auto& [rank, s] : statements) {
    for (const Statement::Current& c : s.current) {
      if (c.place == place) by_call[c.call].push_back(rank);
    }
  }
  std::vector<std::pair<std::string, std::vector<int>>> calls(by_call.begin(), by_call.end());
  std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return a.second.size() != b.second.size() ? a.second.size() > b.second.size()
                                              : a.second < b.second;
  });
  std::string text = "collective " + label + " is not the same on all ranks (other " + how + "): ";
  for (size_t i = 0; i < calls.size(); ++i) {
    text += (i == 0 ? "" : "; ") + list_of(calls[i].second) + ": " + calls[i].first;
  }
  return text;
}

std::string Engine::compose(const std::map<int, Statement>& statements) const {
  std::string headline;
  char weight = '9';
  for (const auto& [rank, s] : statements) {
    if (s.reason.empty() || s.reason[0] >= weight) continue;
    weight = s.reason[0];
    headline = weight == '3' ? differing_calls(statements) : s.reason.substr(1);
  }
  std::string text = "[distributed] " + headline;
  for (int rank = 0; rank < transport_->size(); ++rank) {
    text += "\n  rank " + std::to_string(rank) + ": ";
    const auto it = statements.find(rank);
    if (it != statements.end()) {
      text += it->second.state;
    } else if (!dead_[static_cast<size_t>(rank)].empty()) {
      text += dead_[static_cast<size_t>(rank)];
    } else {
      text += "no answer";
    }
  }
  return text;
}

// Where another rank found that calls differ, this one may be about to call: the report is to say
// what, so that it can tell who differs from the rest. A rank that has no part in that call does
// not come to it: it only ends, within a moment, what it and its peers are about to do.
void Engine::wait_for_own_call(const std::map<int, Statement>& answers) {
  constexpr double kMoment = 0.5;
  std::set<std::string> places;
  const std::string self = "," + std::to_string(transport_->rank()) + ",";
  bool differ = false;
  for (const auto& [rank, s] : answers) {
    const std::vector<std::string> parts = parts_of_difference(s.reason);
    if (parts.empty()) continue;
    differ = true;
    if (parts[4].find(self) != std::string::npos) places.insert(parts[0]);
  }
  // It may be a collective behind, whose messages have come and which it has to finish before.
  const double limit = options_.answer_s * 2 / 3;
  const double until = recorder_.now() + (places.empty() ? std::min(limit, kMoment) : limit);
  while (differ && recorder_.now() < until) {
    take_submitted();
    try {
      advance(nullptr);
    } catch (const std::exception&) {
      return;
    }
    for (const auto& [key, lane] : lanes_) {
      if (!lane.empty() && places.count(place_of(*lane.front())) != 0) return;
    }
    if (!fault_.empty()) return;  // this rank has a reason of its own, and the others wait
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Engine::inquest(std::map<int, Statement> answers) {
  if (fault_.empty()) wait_for_own_call(answers);  // which may find a reason, too
  const int self = transport_->rank(), ranks = transport_->size();
  const Statement mine = own_statement(fault_);
  const std::string packed = pack(mine);
  std::map<int, std::unique_ptr<Transport::Request>> sent;  // by rank
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == self) continue;
    try {
      sent[rank] = transport_->send(rank, kControlTag, packed.data(), packed.size());
    } catch (const std::exception&) {  // that rank is gone, which the report says
    }
  }
  const double deadline = recorder_.now() + options_.answer_s;
  while (recorder_.now() < deadline) {
    try {
      read_control(&answers);
      std::erase_if(sent, [](const auto& s) { return s.second->done(); });
    } catch (const std::exception&) {
    }
    int missing = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == self || answers.count(rank) != 0) continue;
      const Transport::Peer peer = transport_->look_at(rank);
      if (peer != Transport::Peer::kAlive) dead_[static_cast<size_t>(rank)] = gone_text(peer);
      missing += dead_[static_cast<size_t>(rank)].empty() ? 1 : 0;
    }
    // A message to a rank that is gone may stay under way for ever.
    const bool told = std::all_of(sent.begin(), sent.end(), [&](const auto& s) {
      return !dead_[static_cast<size_t>(s.first)].empty();
    });
    if (missing == 0 && told) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (auto& [rank, s] : answers) dead_[static_cast<size_t>(rank)].clear();
  answers[self] = mine;
  announce(compose(answers));
}

// Gives the report to whoever waits; if nobody does, prints it and ends the process.
void Engine::announce(const std::string& report) {
  std::string text = report;
  if (!options_.dump_folder.empty()) {
    try {
      const std::string path =
          write_flight_dump(options_.dump_folder, transport_->rank(),
                            recorder_.json(transport_->rank(), transport_->size(), report));
      text += "\n  flight recorder: " + path;
    } catch (const std::exception& e) {
      text += std::string("\n  flight recorder: ") + e.what();
    }
  }
  std::unique_lock lock(mutex_);
  report_ = text;
  changed_.notify_all();
  const auto grace = std::chrono::duration<double>(options_.grace_s);
  if (wake_.wait_for(lock, grace, [&] { return noticed_ || stopping_; })) return;
  lock.unlock();
  fprintf(stderr, "%s\n", text.c_str());
  fflush(stderr);
  transport_->end_process();
}

std::string Engine::fail(const std::string& reason) {
  std::unique_lock lock(mutex_);
  if (transport_->size() == 1) return "[distributed] " + reason;
  if (wanted_fault_.empty()) {
    wanted_fault_ = "2rank " + std::to_string(transport_->rank()) + ": " + one_line(reason);
  }
  wake_.notify_one();
  // An inquest may be under way, in wait_for_own_call().
  const auto limit = std::chrono::duration<double>(options_.answer_s * 5 / 3 + 1);
  changed_.wait_for(lock, limit, [&] { return !report_.empty(); });
  noticed_ = true;
  wake_.notify_one();
  return report_.empty() ? "[distributed] " + reason : report_;
}

}  // namespace wick::distributed
