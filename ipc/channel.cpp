#include "ipc/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/shallow_json.h"
#include "ipc/shared_memory.h"

namespace campipe {
namespace {

struct WireHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t fds;
  std::uint32_t type_length;
  std::uint32_t body_length;
  std::uint64_t memory_length;  // not 0: the body is so many bytes of the last descriptor, a sealed memfd
};
constexpr std::uint32_t wire_magic = 0x63616d70;
constexpr std::uint16_t wire_version = 2;

union ControlBuffer {
  cmsghdr align;
  std::array<char, CMSG_SPACE((Channel::max_fds + 1) * sizeof(int))> bytes;
};

void attach_fds(msghdr& message, ControlBuffer& buffer, const std::vector<int>& fds) {
  message.msg_control = buffer.bytes.data();
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(control), fds.data(), fds.size() * sizeof(int));
}

std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

nlohmann::json parse_json(std::string_view text) {
  const JsonProblem problem = find_json_problem(text, Channel::max_depth);
  if (problem.kind == JsonProblem::Kind::too_deep) throw Error("a control message that is nested too deeply");
  if (problem.kind != JsonProblem::Kind::none) throw Error("a control message that is not JSON");
  return nlohmann::json::parse(text);
}

// Copied before it is parsed: the sender could still write to it.
std::string read_body(int fd, std::uint64_t size) {
  checked_size(fd, size);
  const Mapping memory(fd, Mapping::Access::read);
  return {reinterpret_cast<const char*>(memory.bytes().data()), size};
}

// `truncated`: the kernel could not install all of the message's descriptors.
Message parse(std::string_view bytes, std::vector<UniqueFd> fds, bool truncated, std::string_view large) {
  WireHeader header{};
  if (bytes.size() < sizeof header) throw Error("a control message is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != wire_magic || header.version != wire_version) throw Error("a control message of another version");
  const std::size_t expected = sizeof header + std::size_t{header.type_length} + header.body_length;
  const bool in_memory = header.memory_length > 0;
  const std::size_t most_fds = Channel::max_fds + (in_memory ? 1 : 0);
  const bool good_fds = header.fds <= most_fds && (truncated || header.fds == fds.size());
  const bool good_memory = !in_memory || (header.fds > 0 && header.memory_length <= Channel::max_body);
  if (bytes.size() != expected || !good_fds || !good_memory) throw Error("a control message of the wrong length");
  Message message;
  message.type = bytes.substr(sizeof header, header.type_length);
  message.incomplete = truncated;
  if (in_memory && !large.empty() && message.type != large) throw Error("a control message with too large a body");
  message.size = in_memory ? header.memory_length : header.body_length;
  const std::string_view body = bytes.substr(sizeof header + header.type_length);
  if (!in_memory) message.body = parse_json(body);
  if (truncated) return message;
  if (in_memory) {
    message.body = parse_json(read_body(fds.back().get(), header.memory_length));
    fds.pop_back();
  }
  message.fds = std::move(fds);
  return message;
}

UniqueFd in_memory(const std::string& text) {
  UniqueFd fd = create_shared_memory("message", text.size());
  const Mapping memory(fd.get(), Mapping::Access::read_write);
  std::ranges::copy(text, memory.bytes().begin());
  return fd;
}

}  // namespace

OutgoingMessage::OutgoingMessage(const std::string& type, const nlohmann::json& body,
                                 const std::vector<int>& descriptors)
    : fds(descriptors) {
  // What strangers write in their error messages need not be UTF-8, and is no reason to die.
  std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > Channel::max_body || fds.size() > Channel::max_fds) {
    throw MessageTooLarge("control message '" + type + "' is too large");
  }
  std::uint64_t memory_length = 0;
  if (text.size() > Channel::max_inline_body) {
    memory_length = text.size();
    fds.push_back(owned.emplace_back(in_memory(text)).get());
    text.clear();
  }
  const WireHeader header{wire_magic,
                          wire_version,
                          static_cast<std::uint16_t>(fds.size()),
                          static_cast<std::uint32_t>(type.size()),
                          static_cast<std::uint32_t>(text.size()),
                          memory_length};
  bytes.resize(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes += type + text;
}

void OutgoingMessage::own_descriptors() {
  const std::size_t borrowed = fds.size() - owned.size();  // these come first
  for (std::size_t i = 0; i < borrowed; ++i) fds[i] = owned.emplace_back(duplicate(fds[i])).get();
}

Channel::Sent Channel::try_send(const OutgoingMessage& outgoing) {
  iovec part{const_cast<char*>(outgoing.bytes.data()), outgoing.bytes.size()};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!outgoing.fds.empty()) attach_fds(message, control, outgoing.fds);
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Sent::yes;
  if (errno == EPIPE || errno == ECONNRESET) return Sent::closed;
  if (errno == EAGAIN) return Sent::no_room;
  // Too many descriptors are on their way between processes, or the machine is short of memory.
  if (errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM) return Sent::no_resources;
  throw system_error("cannot send a control message", errno);
}

bool Channel::send(const std::string& type, const nlohmann::json& body, const std::vector<int>& fds) {
  const OutgoingMessage message(type, body, fds);
  const Deadline deadline = Clock::now() + std::chrono::seconds(1);
  for (;;) {
    const Sent sent = try_send(message);
    if (sent == Sent::yes || sent == Sent::closed) return sent == Sent::yes;
    if (Clock::now() >= deadline) throw Error("control message '" + type + "' was not taken within a second");
    pollfd writable{socket_.get(), POLLOUT, 0};
    ::poll(&writable, sent == Sent::no_room ? 1 : 0, 100);
  }
}

std::optional<Message> Channel::receive(std::string_view large) {
  static thread_local std::vector<char> buffer(sizeof(WireHeader) + 256 + max_inline_body);
  ControlBuffer control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t size = -1;
  do {
    size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return std::nullopt;
  // Even an empty packet may bring some.
  auto fds = size < 0 ? std::vector<UniqueFd>() : take_fds(message);
  if (size == 0 || (size < 0 && errno == ECONNRESET)) {
    closed_ = true;
    return std::nullopt;
  }
  if (size < 0) throw system_error("cannot receive a control message", errno);
  if ((message.msg_flags & MSG_TRUNC) != 0) throw Error("a control message is too long");
  const bool truncated = (message.msg_flags & MSG_CTRUNC) != 0;
  return parse({buffer.data(), static_cast<std::size_t>(size)}, std::move(fds), truncated, large);
}

std::pair<UniqueFd, UniqueFd> make_channel_pair() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw system_error("cannot make a control channel", errno);
  }
  return {UniqueFd(sockets[0]), UniqueFd(sockets[1])};
}

}  // namespace campipe
