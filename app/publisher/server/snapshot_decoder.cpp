#include "app/publisher/server/snapshot_decoder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <utility>

#include "app/control/child_environment.h"
#include "app/control/stream_json.h"
#include "core/big_endian.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

constexpr auto longest_wait = std::chrono::seconds(5);  // for one of the places
constexpr auto longest_decoding = std::chrono::seconds(10);
constexpr std::size_t largest_file = std::size_t{64} << 20U;
constexpr std::ptrdiff_t at_once = 2;
std::counting_semaphore<at_once> places(at_once);

struct Place {
  Place() {
    if (!places.try_acquire_for(longest_wait)) throw Error("too many snapshots are asked for at once");
  }
  ~Place() { places.release(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
};

UniqueFd message_of(const std::vector<LivePiece>& group) {
  nlohmann::json packets = nlohmann::json::array();
  for (const LivePiece& piece : group) packets.push_back(nlohmann::json::binary(*piece.bytes));
  const std::vector<std::uint8_t> message =
      nlohmann::json::to_cbor({{"stream", to_json(group.front().header->stream)}, {"packets", std::move(packets)}});
  UniqueFd fd(::memfd_create("snapshot", MFD_CLOEXEC));
  if (!fd) throw system_error("memfd_create", errno);
  for (std::size_t at = 0; at < message.size();) {
    const ssize_t count = ::write(fd.get(), message.data() + at, message.size() - at);
    if (count < 0) throw system_error("cannot hand packets to a decoder", errno);
    at += static_cast<std::size_t>(count);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Killed and waited for with the object.
class DecoderProcess {
 public:
  DecoderProcess(int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string name = "campipe";
    std::string role = snapshot_role;
    std::array<char*, 3> arguments{name.data(), role.data(), nullptr};
    std::vector<std::string> environment = loader_environment();
    std::vector<char*> variables;
    for (std::string& variable : environment) variables.push_back(variable.data());
    variables.push_back(nullptr);
    const int code = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw system_error("cannot start a decoder", code);
  }
  ~DecoderProcess() {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  DecoderProcess(const DecoderProcess&) = delete;
  DecoderProcess& operator=(const DecoderProcess&) = delete;

 private:
  pid_t pid_ = -1;
};

std::vector<std::uint8_t> read_answer(int fd, const DecodingStop& stop) {
  const Deadline deadline = Clock::now() + longest_decoding;
  std::vector<std::uint8_t> answer;
  std::array<std::uint8_t, 65536> piece{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    std::array<pollfd, 2> entries{{{stop.fd(), POLLIN, 0}, {fd, POLLIN, 0}}};
    if (left.count() <= 0) throw Error("the newest frames take too long to decode");
    if (::poll(entries.data(), entries.size(), static_cast<int>(left.count())) <= 0) continue;
    if (entries.front().revents != 0) throw Error("no snapshots are made any more");
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count == 0) return answer;
    if (count < 0 && errno != EINTR) throw system_error("cannot read a decoder's answer", errno);
    answer.insert(answer.end(), piece.begin(), piece.begin() + std::max<ssize_t>(count, 0));
    if (answer.size() > largest_file) throw Error("a snapshot is too large");
  }
}

}  // namespace

DecodingStop::DecodingStop() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw system_error("eventfd", errno);
}

void DecodingStop::close() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof one));  // it cannot fail, and is never read
}

DecodedSnapshot decode_apart(const std::vector<LivePiece>& group, const DecodingStop& stop) {
  const Place place;
  const UniqueFd message = message_of(group);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const DecoderProcess decoder(message.get(), write_end.get());
  write_end.reset();  // so that the answer ends with the child
  std::vector<std::uint8_t> answer = read_answer(read_end.get(), stop);
  if (answer.empty()) throw Error("the newest frames cannot be decoded: they bring the decoder down");
  if (answer.front() != snapshot_made) throw Error(std::string(answer.begin() + 1, answer.end()));
  const std::size_t frame = answer.size() < snapshot_head ? group.size() : get_big_endian(&answer[1], 4);
  if (frame >= group.size()) throw Error("a decoder's answer is damaged");
  answer.erase(answer.begin(), answer.begin() + snapshot_head);
  return {std::move(answer), frame};
}

}  // namespace campipe
