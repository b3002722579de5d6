#include "stages/sources/receive_limit.h"

#include <sys/types.h>

#include <cerrno>
#include <span>

#include "stages/sources/next_function.h"
#include "stages/sources/rtsp_dialogue.h"

namespace campipe {
namespace {

thread_local ReceiveLimit* this_threads_limit = nullptr;

}  // namespace

ReceiveLimit::Use::Use(ReceiveLimit& limit) { this_threads_limit = &limit; }
ReceiveLimit::Use::~Use() { this_threads_limit = nullptr; }

ReceiveLimit* ReceiveLimit::of_this_thread() { return this_threads_limit; }

bool ReceiveLimit::refuses(std::size_t size) {
  exceeded_ = exceeded_ || left_ == 0 || size > each_;
  return exceeded_;
}

namespace {

// `show`: to an observer, what came.
template <typename Receive, typename Show>
ssize_t receive_limited(std::size_t size, const Receive& receive, const Show& show) {
  ReceiveLimit* limit = ReceiveLimit::of_this_thread();
  if (limit == nullptr) return receive();
  if (limit->refuses(size)) {
    errno = EMSGSIZE;
    return -1;
  }
  const ssize_t count = receive();
  if (count <= 0) return count;
  limit->take(static_cast<std::size_t>(count));
  if (ReceiveObserver* observer = limit->observer()) show(*observer, static_cast<std::size_t>(count));
  return count;
}

std::span<std::uint8_t> bytes(void* data, std::size_t count) { return {static_cast<std::uint8_t*>(data), count}; }

}  // namespace
}  // namespace campipe

// <sys/socket.h> is not included: with _FORTIFY_SOURCE it has these functions' bodies.
struct sockaddr;
extern "C" {

[[gnu::visibility("default")]] ssize_t recv(int fd, void* data, size_t size, int flags) {
  using Recv = ssize_t (*)(int, void*, size_t, int);
  static const auto next = campipe::next_function<Recv>("recv");
  return campipe::receive_limited(
      size, [&] { return campipe::RtspDialogue::receive_on_thread(fd, data, size, flags, next); },
      [&](auto& observer, std::size_t count) { observer.on_bytes(fd, size, campipe::bytes(data, count)); });
}

[[gnu::visibility("default")]] ssize_t recvfrom(int fd, void* data, size_t size, int flags, sockaddr* from,
                                                unsigned* from_size) {
  using Recvfrom = ssize_t (*)(int, void*, size_t, int, sockaddr*, unsigned*);
  static const auto next = campipe::next_function<Recvfrom>("recvfrom");
  // A packet is not larger for a larger buffer.
  return campipe::receive_limited(
      0, [&] { return next(fd, data, size, flags, from, from_size); },
      [&](auto& observer, std::size_t count) { observer.on_datagram(fd, campipe::bytes(data, count)); });
}
}
