// The list of all live graph nodes, used to count graphs that nobody ran backward on
// (trainer/explain/live.h). It costs a node two pointers, and an uncontended lock when it is
// created and destroyed.
#pragma once

#include <atomic>
#include <cstdint>

namespace wick {

class LiveNode {
 public:
  LiveNode(const LiveNode&) = delete;
  LiveNode& operator=(const LiveNode&) = delete;

 protected:
  LiveNode() {
    Lock lock;
    next_ = head_;
    if (head_ != nullptr) head_->prev_ = this;
    head_ = this;
    ++count_;
    owner_ = &thread_tag_;
  }
  // A node's destructor calls this first, so that no walk meets a node that is half destroyed.
  void unlink() {
    Lock lock;
    (prev_ != nullptr ? prev_->next_ : head_) = next_;
    if (next_ != nullptr) next_->prev_ = prev_;
    --count_;
  }
  ~LiveNode() = default;

 public:
  // Calls f(LiveNode*) for the nodes that this thread made, then after(). No node can be destroyed
  // before that is done; f and after may neither create nor free nodes.
  template <class F, class G>
  static void for_each(const F& f, const G& after) {
    Lock lock;
    for (LiveNode* n = head_; n != nullptr; n = n->next_) {
      if (n->owner_ == &thread_tag_) f(n);
    }
    after();
  }
  template <class F>
  static void for_each(const F& f) {
    for_each(f, [] {});
  }
  // Returns the number of live nodes of all threads.
  static size_t count() {
    Lock lock;
    return count_;
  }

 private:
  struct Lock {
    Lock() {
      while (busy_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Lock() { busy_.clear(std::memory_order_release); }
  };

  static inline constinit std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  static inline constinit LiveNode* head_ = nullptr;
  static inline constinit size_t count_ = 0;
  static inline constinit thread_local char thread_tag_ = 0;

  LiveNode* prev_ = nullptr;
  LiveNode* next_ = nullptr;
  const char* owner_ = nullptr;  // identifies the thread that made it; never dereferenced
};

}  // namespace wick
