#include "app/publisher/server/rtsp/channel.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

namespace campipe {
namespace {

constexpr std::size_t record = 16U << 10U;             // the largest that TLS has
constexpr std::size_t most_read_at_once = 64U << 10U;  // that is read before others have their turn
constexpr std::size_t most_parts = 128;                // that are written at once

}  // namespace

RtspChannel::RtspChannel(GSocket* socket, SSL_CTX* tls, CheckLogin check_login)
    : socket_(socket), check_login_(std::move(check_login)) {
  if (tls == nullptr) return;
  tls_.reset(::SSL_new(tls));
  if (!tls_ || ::SSL_set_fd(tls_.get(), g_socket_get_fd(socket)) != 1) throw std::bad_alloc();
  // What is sent again after it would have blocked lies elsewhere in memory, and there may be more of it.
  ::SSL_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_set_accept_state(tls_.get());
  greeted_ = false;
}

gssize RtspChannel::read(std::span<char> room) {
  if (ended_) return 0;
  if (holds()) return hung_up() ? failed : would_block;
  more_ = false;
  std::array<char, record> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by receive()
  for (std::size_t got = 0; !framing_.whole();) {
    if (!framing_.refusal().empty()) return failed;
    if (got >= most_read_at_once) {
      more_ = true;
      return would_block;
    }
    const gssize count = receive(chunk);
    if (count <= 0) return count;
    got += static_cast<std::size_t>(count);
    framing_.add(std::span(chunk).first(static_cast<std::size_t>(count)));
  }
  if (!passes()) return would_block;
  if (!framing_.begun()) newest_ = framing_.message();
  const std::size_t count = framing_.take(room);
  if (!framing_.begun()) asked_ = passed_ = false;
  return static_cast<gssize>(count);
}

bool RtspChannel::passes() {
  if (passed_) return true;
  if (!std::exchange(asked_, true)) {
    login_.reset();
    login_ = check_login_(framing_.message());
  }
  passed_ = !login_ || login_->done;
  return passed_;
}

bool RtspChannel::hung_up() const {
  return g_socket_condition_check(socket_, static_cast<GIOCondition>(G_IO_HUP | G_IO_ERR)) != 0;
}

bool RtspChannel::is_late(std::chrono::nanoseconds allowed) const {
  const auto begin = greeted_ ? framing_.began() : opened_;
  return begin && Clock::now() - *begin > allowed;
}

gssize RtspChannel::receive(std::span<char> room) {
  if (tls_) return receive_decrypted(room);
  const ssize_t count = ::recv(g_socket_get_fd(socket_), room.data(), room.size(), MSG_DONTWAIT);
  if (count >= 0) return count;
  return errno == EAGAIN || errno == EINTR ? would_block : failed;
}

gssize RtspChannel::receive_decrypted(std::span<char> room) {
  const std::lock_guard lock(mutex_);
  if (closed_) return failed;
  ::ERR_clear_error();
  const int count = ::SSL_read(tls_.get(), room.data(), static_cast<int>(room.size()));
  greeted_ = ::SSL_is_init_finished(tls_.get()) == 1;
  return result_of(count);
}

gssize RtspChannel::result_of(int result) const {
  if (result > 0) return result;
  switch (::SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return would_block;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    default:
      ::ERR_clear_error();
      return failed;
  }
}

gssize RtspChannel::write(std::span<const GOutputVector> parts) {
  const std::lock_guard lock(mutex_);
  const gssize count = closed_ || taken_ ? failed : tls_ ? send_encrypted(parts) : send(parts);
  if (count != failed) return count;
  return std::accumulate(parts.begin(), parts.end(), gssize{0},
                         [](gssize sum, const GOutputVector& part) { return sum + static_cast<gssize>(part.size); });
}

gssize RtspChannel::send(std::span<const GOutputVector> parts) {
  std::array<iovec, most_parts> pieces{};
  const std::size_t used = std::min(parts.size(), pieces.size());
  std::transform(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(used), pieces.begin(),
                 [](const GOutputVector& part) {
                   return iovec{const_cast<void*>(part.buffer), part.size};
                 });
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = used;
  const ssize_t count = ::sendmsg(g_socket_get_fd(socket_), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) return count;
  return errno == EAGAIN || errno == EINTR ? would_block : failed;
}

gssize RtspChannel::send_encrypted(std::span<const GOutputVector> parts) {
  // One record for them all, rather than one for each frame's header of four bytes.
  std::vector<char> all;
  for (const GOutputVector& part : parts) {
    const auto* data = static_cast<const char*>(part.buffer);
    all.insert(all.end(), data, data + std::min<std::size_t>(part.size, record - all.size()));
    if (all.size() == record) break;
  }
  if (all.empty()) return 0;
  ::ERR_clear_error();
  const gssize count = result_of(::SSL_write(tls_.get(), all.data(), static_cast<int>(all.size())));
  return count == 0 ? failed : count;
}

std::optional<RtspChannel::Taken> RtspChannel::take_over() {
  const std::lock_guard lock(mutex_);
  UniqueFd fd(::fcntl(g_socket_get_fd(socket_), F_DUPFD_CLOEXEC, 0));
  if (!fd || closed_ || taken_) return std::nullopt;
  taken_ = ended_ = true;
  return Taken{std::move(fd), std::move(tls_), newest_, framing_.take_rest()};
}

void RtspChannel::end() {
  ended_ = true;
  if (taken_) return;                               // it is not ours any more
  g_socket_shutdown(socket_, TRUE, TRUE, nullptr);  // it may be broken already
}

void RtspChannel::close() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closed_, true)) return;
  login_.reset();
  if (tls_ && greeted_ && !ended_) ::SSL_shutdown(tls_.get());  // the client need not answer
  ::ERR_clear_error();
  g_socket_close(socket_, nullptr);
}

}  // namespace campipe
