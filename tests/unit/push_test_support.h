// A camera that pushes, and what it pushes to.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/libav_log.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/encoder_config.h"
#include "stages/sinks/pusher.h"
#include "tests/unit/moving_picture.h"
#include "tests/unit/peers.h"
#include "tests/unit/read_back.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

inline constexpr std::int64_t ms = 1'000'000;
inline constexpr auto long_enough = std::chrono::seconds(40);  // for what happens at once on an idle machine

struct Packet {
  std::vector<std::uint8_t> data;
  std::int64_t dts = 0;
  bool key = false;
  FrameTimes times;
  [[nodiscard]] PacketView view() const { return {data, dts, key, times}; }
};

struct Clip {
  StreamParameters stream;
  std::vector<Packet> packets;  // 25 a second
};

inline Clip make_clip(int count, Latency latency = Latency::low) {
  EncoderConfig config;
  config.preset = latency == Latency::low ? "superfast" : "medium";
  config.gop = 10;
  config.latency = latency;
  FrameFormat format;
  format.width = 160;
  format.height = 128;
  const auto encoder = open_encoder(config, format, 25);
  Clip clip{encoder->parameters(), {}};
  const auto take = [&](const PacketView& p) {
    clip.packets.push_back({{p.data.begin(), p.data.end()}, p.dts, p.key, p.times});
  };
  for (int i = 0; i < count; ++i) encoder->encode(moving_picture(format, i), {.pts = i * 40 * ms}, take);
  encoder->flush(take);
  return clip;
}

// What a pusher tells, and waiting for it.
class States {
 public:
  Pusher::StateHandler handler() {
    return [this](const PushReport& report) {
      const std::lock_guard lock(mutex_);
      told_.push_back(report);
      changed_.notify_all();
    };
  }
  [[nodiscard]] std::vector<PushReport> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  // At least so many times, ever.
  [[nodiscard]] bool wait(PushState state, std::ptrdiff_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, long_enough,
                             [&] { return std::ranges::count(told_, state, &PushReport::state) >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PushReport> told_;
};

// A camera: offers the clip again and again in its own time until it is told to stop, or once.
class Camera {
 public:
  Camera(Pusher& pusher, const Clip& clip, bool again = true) : pusher_(pusher), clip_(clip), again_(again) {
    thread_ = std::jthread([this] { run(); });
  }
  ~Camera() { stop(); }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;
  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void wait_for_end() { thread_.join(); }
  [[nodiscard]] std::uint64_t offered() const { return offered_; }

 private:
  void run() {
    auto next = Clock::now();
    std::int64_t begin = 0;
    do {
      for (const Packet& packet : clip_.packets) {
        if (stopped_) return;
        Packet later = packet;
        later.dts += begin;
        later.times.pts += begin;
        pusher_.offer(later.view(), clip_.stream);
        ++offered_;
        std::this_thread::sleep_until(next += std::chrono::milliseconds(40));
      }
      begin += static_cast<std::int64_t>(clip_.packets.size()) * 40 * ms;
    } while (again_);
  }

  Pusher& pusher_;
  const Clip& clip_;
  bool again_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> offered_{0};
  std::jthread thread_;
};

inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + long_enough;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// ffmpeg that takes one connection, writes what it gets into `file`, and ends with it.
inline std::vector<std::string> receiver(const std::vector<std::string>& input, const std::string& file) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner", "-loglevel", "error", "-y"};
  command.insert(command.end(), input.begin(), input.end());
  command.insert(command.end(), {"-c", "copy", file});
  return command;
}

inline std::vector<std::string> rtsp_receiver(int port, const std::string& file) {
  return receiver({"-rtsp_flags", "listen", "-i", "rtsp://127.0.0.1:" + std::to_string(port) + "/dock"}, file);
}

// Takes datagrams until they stop coming.
class DatagramReceiver {
 public:
  DatagramReceiver() : socket_(bind_any(SOCK_DGRAM)) {
    constexpr int room = 4 << 20;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    thread_ = std::jthread([this](const std::stop_token& over) { run(over); });
  }
  [[nodiscard]] int port() const { return port_of(socket_.get()); }
  // All of them, in one.
  std::string finish() {
    thread_.request_stop();
    thread_.join();
    return received_;
  }
  [[nodiscard]] std::size_t odd_sizes() const { return odd_sizes_; }

 private:
  void run(const std::stop_token& over) {
    char datagram[65536];
    pollfd entry{socket_.get(), POLLIN, 0};
    for (;;) {
      const bool is_over = over.stop_requested();  // asked first: what was sent before the end is here by then
      if (::poll(&entry, 1, 50) <= 0) {
        if (is_over) return;
        continue;
      }
      const ssize_t size = ::recv(socket_.get(), datagram, sizeof datagram, 0);
      if (size % 188 != 0) ++odd_sizes_;
      if (size > 0) received_.append(datagram, static_cast<std::size_t>(size));
    }
  }

  UniqueFd socket_;
  std::string received_;
  std::atomic<std::size_t> odd_sizes_{0};
  std::jthread thread_;
};

}  // namespace campipe::test
