// How much libavformat may receive for a source before it makes a frame of it. Where a container or a camera's
// answers have no end, libavformat keeps all of it, and has no limit of its own.
//
// It is counted where it comes from: the program's own recv() and recvfrom() go before the C library's, as far as a
// thread has such a limit. What comes may be looked at there, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace campipe {

// Sees what is received, on the thread that receives it, before libavformat does, and may change it.
class ReceiveObserver {
 public:
  // `asked` bytes were asked for of the connection `fd`, and `data` came.
  virtual void on_bytes(int fd, std::size_t asked, std::span<std::uint8_t> data) = 0;
  // Its beginning, where it is larger than what it was received into.
  virtual void on_datagram(int fd, std::span<std::uint8_t> data) = 0;

 protected:
  ~ReceiveObserver() = default;
};

class ReceiveLimit {
 public:
  // It must outlive this limit's use. Null: nobody.
  void show_to(ReceiveObserver* observer) { observer_ = observer; }
  // So many bytes from now on; `each`: that may be asked for at once, of a connection.
  void allow(std::size_t bytes, std::size_t each) {
    left_ = bytes;
    each_ = each;
    exceeded_ = false;
  }
  // More was sent, or asked for, than may be: nothing is received any more.
  [[nodiscard]] bool exceeded() const { return exceeded_; }

  // As long as it lives, the limit holds for this thread. One at a time.
  class Use {
   public:
    explicit Use(ReceiveLimit& limit);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // For recv().
  static ReceiveLimit* of_this_thread();
  [[nodiscard]] bool refuses(std::size_t size);  // to ask for so much
  void take(std::size_t size) { left_ -= size < left_ ? size : left_; }
  [[nodiscard]] ReceiveObserver* observer() const { return observer_; }

 private:
  ReceiveObserver* observer_ = nullptr;
  std::size_t left_ = std::numeric_limits<std::size_t>::max();
  std::size_t each_ = std::numeric_limits<std::size_t>::max();
  bool exceeded_ = false;
};

}  // namespace campipe
