// What a source of srt:// says to the one that it calls (draft-sharabayko-srt-01, 3.2.1).
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "core/big_endian.h"
#include "core/srt_address.h"
#include "tests/unit/live_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;

constexpr std::size_t header = 16;
constexpr std::size_t handshake = 48;

// Listens, and goes as far in the handshake as to hear which stream is wanted.
class SrtListener {
 public:
  SrtListener() : socket_(bind_any(SOCK_DGRAM)), thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  [[nodiscard]] std::string url(const std::string& query) const {
    return "srt://127.0.0.1:" + std::to_string(port_of(socket_.get())) + query;
  }
  [[nodiscard]] std::optional<std::string> stream_id() const {
    const std::lock_guard lock(mutex_);
    return stream_id_;
  }

 private:
  void serve(const std::stop_token& stop) {
    std::array<std::uint8_t, 2048> data{};
    while (!stop.stop_requested()) {
      pollfd entry{socket_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 50) <= 0) continue;
      sockaddr_in from{};
      socklen_t size = sizeof from;
      auto* const any = static_cast<sockaddr*>(static_cast<void*>(&from));
      const ssize_t count = ::recvfrom(socket_.get(), data.data(), data.size(), 0, any, &size);
      if (count < static_cast<ssize_t>(header + handshake)) continue;
      const std::uint64_t kind = get_big_endian(&data[header + 20], 4);
      if (kind == 1) {
        std::copy_n(&data[header + 24], 4, &data[12]);      // to whom
        put_big_endian(5, 4, &data[header]);                // version
        put_big_endian(0x4a17, 4, &data[header + 4]);       // "SRT"
        put_big_endian(0x12345678, 4, &data[header + 28]);  // cookie
        ::sendto(socket_.get(), data.data(), header + handshake, 0, any, size);
      } else {
        read_extensions(
            std::span(data).subspan(header + handshake, static_cast<std::size_t>(count) - header - handshake));
      }
    }
  }
  void read_extensions(std::span<const std::uint8_t> rest) {
    constexpr std::uint64_t id = 5;
    while (rest.size() >= 4) {
      const std::uint64_t type = get_big_endian(rest.data(), 2);
      const std::size_t size = 4 * get_big_endian(&rest[2], 2);
      rest = rest.subspan(4);
      if (size > rest.size()) return;
      if (type == id) {
        std::string text;  // the bytes of each word are the other way round
        for (std::size_t at = 0; at < size; at += 4)
          for (std::size_t i = 4; i-- > 0;) text += static_cast<char>(rest[at + i]);
        while (text.ends_with('\0')) text.pop_back();
        const std::lock_guard lock(mutex_);
        stream_id_ = text;
      }
      rest = rest.subspan(size);
    }
  }

  mutable std::mutex mutex_;
  std::optional<std::string> stream_id_;
  UniqueFd socket_;
  std::jthread thread_;  // the last: it uses the others
};

TEST(SrtSource, AsksForTheStreamThatItsUrlNames) {
  const std::vector<std::pair<std::string, std::string>> ids{
      {"?streamid=yard", "yard"},
      {"?streamid=#!::r=live/yard,m=request&latency=200000", "#!::r=live/yard,m=request"},
      {"?mode=caller&streamid=#!::r=a&b,u=c%26d%25%2Be+f", "#!::r=a&b,u=c&d%+e f"},
      {"?streamid=token=x&sig=y&latency=200000", "token=x&sig=y"},
      {"?streamid=" + std::string(512, 'x'), std::string(512, 'x')},
  };
  for (const auto& [query, id] : ids) {
    SCOPED_TRACE(query);
    const SrtListener listener;
    SourceConfig config = source_of(listener.url(query));
    config.read_timeout = patience;
    EXPECT_THROW(open_source(config, [&] { return listener.stream_id().has_value(); }), Error);
    EXPECT_EQ(listener.stream_id(), id);
  }
}

TEST(SrtAddress, IsReadAsItIsMeant) {
  const SrtAddress address = read_srt_address("srt://h:1?mode=caller&streamid=a&b=1&passphrase=0123456789&latency=2");
  EXPECT_EQ(address.url, "srt://h:1?mode=caller&latency=2");
  EXPECT_EQ(address.stream_id, "a&b=1");
  EXPECT_EQ(address.written_stream_ids, std::vector<std::string>{"a&b=1"});
  EXPECT_EQ(address.passphrase, "0123456789");
  EXPECT_EQ(read_srt_address("srt://h:1?streamid=a&").stream_id, "a");
  EXPECT_EQ(read_srt_address("srt://h:1?streamid=").stream_id, "");
  EXPECT_EQ(read_srt_address("srt://h:1").stream_id, std::nullopt);
  EXPECT_EQ(srt_problem("srt://h:1?streamid=" + std::string(513, 'x')),
            "the streamid of this srt:// address has 513 characters; SRT takes 512");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
