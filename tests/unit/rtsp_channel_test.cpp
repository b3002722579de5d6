// Connections that break while GStreamer writes to them.
#include "app/publisher/server/rtsp/channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/unique_handle.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

class RtspBrokenConnection : public testing::Test {
 protected:
  // A connection over TCP, for only such ones are reset.
  void SetUp() override {
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = static_cast<sockaddr*>(static_cast<void*>(&address));
    ASSERT_EQ(::bind(listener.get(), any, size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), any, &size), 0);
    peer_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(peer_.get(), any, size), 0);
    socket_.reset(g_socket_new_from_fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), nullptr));
    ASSERT_TRUE(socket_);
    g_socket_set_blocking(socket_.get(), FALSE);
    put_channel(socket_.get(), nullptr, [](std::string_view) { return nullptr; });
    connection_.reset(g_socket_connection_factory_create_connection(socket_.get()));
  }

  // What it had not read makes the kernel reset the connection.
  void break_connection() {
    const linger at_once{1, 0};
    ::setsockopt(peer_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    peer_ = {};
  }

  [[nodiscard]] GPollableInputStream* input() const {
    return G_POLLABLE_INPUT_STREAM(g_io_stream_get_input_stream(G_IO_STREAM(connection_.get())));
  }
  [[nodiscard]] GPollableOutputStream* output() const {
    return G_POLLABLE_OUTPUT_STREAM(g_io_stream_get_output_stream(G_IO_STREAM(connection_.get())));
  }

  UniqueFd peer_;
  GObjectPtr<GSocket> socket_;
  GObjectPtr<GSocketConnection> connection_;
};

TEST_F(RtspBrokenConnection, WritesGoNowhereAndReadingShowsIt) {
  const std::vector<char> bytes(10'000, 'x');
  const std::array<GOutputVector, 2> parts{{{bytes.data(), bytes.size()}, {bytes.data(), 1}}};
  gsize written = 0;
  ASSERT_EQ(
      g_pollable_output_stream_writev_nonblocking(output(), parts.data(), parts.size(), &written, nullptr, nullptr),
      G_POLLABLE_RETURN_OK);
  EXPECT_EQ(written, 10'001U);
  std::array<char, 16> room{};
  GError* waits = nullptr;
  EXPECT_EQ(g_pollable_input_stream_read_nonblocking(input(), room.data(), room.size(), nullptr, &waits), -1);
  EXPECT_TRUE(g_error_matches(waits, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK));
  g_clear_error(&waits);
  break_connection();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(
        g_pollable_output_stream_writev_nonblocking(output(), parts.data(), parts.size(), &written, nullptr, nullptr),
        G_POLLABLE_RETURN_OK);
    EXPECT_EQ(written, 10'001U);
    EXPECT_EQ(g_pollable_output_stream_write_nonblocking(output(), bytes.data(), 100, nullptr, nullptr), 100);
  }
  EXPECT_TRUE(g_pollable_input_stream_is_readable(input()));
  GError* error = nullptr;
  const gssize end = g_pollable_input_stream_read_nonblocking(input(), room.data(), room.size(), nullptr, &error);
  EXPECT_TRUE(end == 0 || !g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK));
  g_clear_error(&error);
}

// As bytes that are taken, not all of them, by a client that reads nothing.
TEST_F(RtspBrokenConnection, AWriteThatWouldBlockIsNone) {
  const std::vector<char> bytes(100'000, 'x');
  const GOutputVector part{bytes.data(), bytes.size()};
  gsize written = 0;
  gsize all = 0;
  GPollableReturn result = G_POLLABLE_RETURN_OK;
  while (result == G_POLLABLE_RETURN_OK && all < (100U << 20U)) {
    result = g_pollable_output_stream_writev_nonblocking(output(), &part, 1, &written, nullptr, nullptr);
    all += written;
  }
  EXPECT_EQ(result, G_POLLABLE_RETURN_WOULD_BLOCK);
  EXPECT_EQ(written, 0U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
