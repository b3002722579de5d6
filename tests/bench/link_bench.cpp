// What a link costs between two processes of this machine, over loopback: frames of 1080p (3.1 MB) a second at most,
// how long one takes at 30 a second from the ring here to the reader there, and CPU time: by ZeroMQ, by ZeroMQ with
// encryption (`curve`), and by UCX. In turns with the same transport without campipe's code: ZeroMQ bare, and UCX's own
// `ucx_perftest` (Debian: ucx-utils).
//
//   link_bench [--quick]     prints one JSON object
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "app/control/link_keys.h"
#include "app/link/receiving_end.h"
#include "app/link/sending_end.h"
#include "app/link/zeromq_wire.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/ring_slots.h"
#include "stages/decoders/slot_layout.h"
#include "tests/bench/figures.h"
#ifdef CAMPIPE_WITH_UCX
#include "app/link/ucx_wire.h"
#endif

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr int width = 1920;
constexpr int height = 1080;
constexpr std::size_t frame_bytes = std::size_t{width} * height * 3 / 2;
constexpr unsigned queue_size = 4;
const std::string link_name = "bench";

bool never() { return false; }

// `keys`: with `curve`.
std::unique_ptr<LinkWire> wire(const std::string& carrier, const std::string& address, bool listens,
                               const LinkKeys& keys) {
#ifdef CAMPIPE_WITH_UCX
  if (carrier == "ucx") return make_ucx_wire({.address = address, .listens = listens});
#endif
  if (carrier == "curve") return make_zeromq_wire({.address = address, .listens = listens, .keys = keys});
  if (carrier != "zeromq") throw Error("no transport " + carrier);
  return make_zeromq_wire({.address = address, .listens = listens, .keys = {}});
}

// Of the process there: its command line has them, and they are good for one run.
std::string words_of(const LinkKeys& keys) {
  return text_of(keys.public_key) + " " + text_of(keys.secret_key) + " " + text_of(keys.peer);
}

LinkKeys::Key key_of(const std::string& word) {
  const auto key = link_key_from(word);
  if (!key) throw Error("'" + word + "' is no key");
  return *key;
}

// This program again, or another one: what it prints.
class Program {
 public:
  explicit Program(const std::string& command) : output_(::popen(command.c_str(), "r"), &::pclose) {
    if (!output_) throw Error("cannot start " + command);
  }
  static std::string self() {
    std::array<char, 4096> path{};
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    return "'" + std::string(path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))) + "'";
  }
  std::string read() {
    std::string text;
    std::array<char, 4096> part{};
    for (std::size_t size = 0; (size = std::fread(part.data(), 1, part.size(), output_.get())) > 0;)
      text.append(part.data(), size);
    return text;
  }
  // Until it has ended.
  void wait() { output_.reset(); }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> output_;
};

// From the first thing that came to the last one.
struct Span {
  std::uint64_t count = 0;
  Clock::time_point begin;
  Clock::time_point end;
  double cpu_begin = 0;
  double cpu_end = 0;

  void note() {
    end = Clock::now();
    cpu_end = process_cpu_s();
    if (++count > 1) return;
    begin = end;
    cpu_begin = cpu_end;
  }
  [[nodiscard]] double per_second() const {
    return static_cast<double>(count - 1) / std::chrono::duration<double>(end - begin).count();
  }
  [[nodiscard]] double cpu_ms() const { return 1000 * (cpu_end - cpu_begin) / static_cast<double>(count - 1); }
};

// The process there: the end that receives, and a reader of its ring.
int receive(const std::string& carrier, const std::string& address, const LinkKeys& keys) {
  Span span;
  std::vector<std::int64_t> took;
  std::jthread reading;
  ReceivingEnd::Events events;
  events.on_ring = [&](const FrameRingMemory& ring, std::uint64_t, double, std::int32_t) {
    auto memory =
        FrameRingMemory::open(duplicate(ring.control_fd()), duplicate(ring.pixel_fd()), FrameRingMemory::Role::reader);
    FrameRingObserver(memory).reserve();
    auto reader = std::make_unique<FrameRingReader>(memory, 0);
    reader->attach(true, queue_size);
    reading = std::jthread([&, reader = std::move(reader)] {
      for (;;) {
        FrameRingReader::Lease lease;
        const auto next = reader->next(lease, Clock::now() + 1s);
        if (next == FrameRingReader::Next::timeout) continue;
        if (next != FrameRingReader::Next::frame) return;
        took.push_back(now_ns() - lease.times.capture_utc);
        span.note();
      }
    });
  };
  ReceivingEnd end(wire(carrier, address, false, keys),
                   {.name = link_name, .policy = DropPolicy::block, .queue = queue_size}, std::move(events));
  end.run();
  reading.join();
  if (span.count < 2) throw Error("no frames came");
  std::cout << nlohmann::json{{"fps", span.per_second()},
                              {"cpu_ms", span.cpu_ms()},
                              {"p50_ms", quantile(took, 0.5) / 1e6},
                              {"p99_ms", quantile(took, 0.99) / 1e6}}
            << std::endl;
  return 0;
}

struct Run {
  int frames = 0;
  Clock::duration interval{};  // 0: as fast as it goes
};

nlohmann::json carry(const std::string& carrier, const Run& run) {
  const SlotLayout layout = slot_layout(PixelFormat::i420, width, height);
  const auto memory = FrameRingMemory::create(
      {.slots = ring_slots(1, queue_size, 1), .slot_bytes = layout.bytes, .memory = MemoryKind::host});
  FrameRingObserver(memory).reserve();
  FrameRingWriter writer(memory);
  LinkKeys ours = make_link_keys();
  LinkKeys theirs = make_link_keys();
  ours.peer = theirs.public_key;
  theirs.peer = ours.public_key;
  auto listening = wire(carrier, "127.0.0.1:0", true, ours);
  Program there(Program::self() + " --receive " + carrier + " " + listening->address() + " " + words_of(theirs));
  SendingEnd end(std::move(listening),
                 {.name = link_name, .policy = DropPolicy::block, .queue = queue_size, .first_connection = 10s});
  end.add({FrameRingMemory::open(duplicate(memory->control_fd()), duplicate(memory->pixel_fd()),
                                 FrameRingMemory::Role::reader),
           0, 30, 0});
  std::jthread sending([&end] { end.run(); });
  if (!writer.wait_for_reader(Clock::now() + 20s, never)) throw Error("there is no connection");
  FrameRecord record;
  record.format = {.pixels = PixelFormat::i420, .width = width, .height = height};
  record.offset = layout.offset;
  record.stride = layout.stride;
  Span span;
  for (auto due = Clock::now(); span.count < static_cast<std::uint64_t>(run.frames); due += run.interval) {
    std::this_thread::sleep_until(due);
    if (!writer.wait_for_room(Clock::now() + 10s, never)) throw Error("the link takes nothing");
    const auto slot = writer.claim_by(Clock::now() + 10s, never);
    if (!slot) throw Error("no slot is free");
    ++record.source_number;
    record.times.capture_utc = now_ns();  // which a link leaves alone
    record.times.published = now_ns();
    writer.publish(slot->index, record);
    writer.unpin(slot->index);
    span.note();
  }
  writer.close();
  end.finish();
  sending.join();
  if (end.counts().lost != 0) throw Error("frames were lost");
  auto result = nlohmann::json::parse(there.read());
  result["cpu_ms_sending"] = span.cpu_ms();
  return result;
}

// Messages as large, each copied to a place of its own, as ZeroMQ has no way to read into one: the least that a link
// by it has to do.
int receive_bare(const std::string& address) {
  void* const context = zmq_ctx_new();
  void* const socket = zmq_socket(context, ZMQ_PULL);
  const int length = 4;
  zmq_setsockopt(socket, ZMQ_RCVHWM, &length, sizeof length);
  if (zmq_connect(socket, address.c_str()) != 0) throw Error("cannot connect");
  Span span;
  std::vector<std::uint8_t> places(frame_bytes * ring_slots(1, queue_size, 1));
  std::size_t place = 0;
  for (std::size_t size = 1; size > 0;) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket, 0) < 0) throw Error("nothing came");
    size = zmq_msg_size(&message);
    if (size > frame_bytes) throw Error("a message that was not sent");
    std::memcpy(&places[place], zmq_msg_data(&message), size);
    place = (place + frame_bytes) % places.size();
    zmq_msg_close(&message);
    if (size > 0) span.note();
  }
  zmq_close(socket);
  zmq_ctx_term(context);
  std::cout << nlohmann::json{{"fps", span.per_second()}, {"cpu_ms", span.cpu_ms()}} << std::endl;
  return 0;
}

nlohmann::json send_bare(const Run& run) {
  void* const context = zmq_ctx_new();
  void* const socket = zmq_socket(context, ZMQ_PUSH);
  const int length = 4;
  zmq_setsockopt(socket, ZMQ_SNDHWM, &length, sizeof length);
  std::array<char, 256> address{};
  std::size_t size = address.size();
  if (zmq_bind(socket, "tcp://127.0.0.1:*") != 0 ||
      zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address.data(), &size) != 0)
    throw Error("cannot listen");
  Program there(Program::self() + " --receive-bare " + address.data());
  std::vector<std::uint8_t> frame(frame_bytes, 128);
  Span span;
  auto due = Clock::now();
  for (int i = 0; i < run.frames; ++i, due += run.interval) {
    std::this_thread::sleep_until(due);
    zmq_msg_t message;
    zmq_msg_init_data(
        &message, frame.data(), frame.size(), [](void*, void*) {}, nullptr);
    if (zmq_msg_send(&message, socket, 0) < 0) throw Error("nothing is sent");
    span.note();
  }
  zmq_send(socket, nullptr, 0, 0);
  auto result = nlohmann::json::parse(there.read());
  result["cpu_ms_sending"] = span.cpu_ms();
  zmq_close(socket);
  zmq_ctx_term(context);
  return result;
}

struct Perftest {
  double fps = 0;     // of the last line that it prints; 0: it is not installed
  double cpu_ms = 0;  // of both ends together, for each message
};

double ended_children_cpu_s() {
  rusage usage{};
  if (::getrusage(RUSAGE_CHILDREN, &usage) != 0) throw Error("the CPU time of other programs is not known");
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Perftest ucx_perftest(int frames) {
  constexpr int warm_up = 20;
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  const std::string test = "UCX_TLS=tcp ucx_perftest -t ucp_am_bw -E sleep -w " + std::to_string(warm_up) + " -s " +
                           std::to_string(frame_bytes) + " -n " + std::to_string(frames) + " -p " + port;
  if (std::system("command -v ucx_perftest > /dev/null") != 0) return {};
  const double cpu_before = ended_children_cpu_s();
  Program there(test + " 2> /dev/null");
  // Until it listens.
  for (int attempt = 0; attempt < 50; ++attempt) {
    Program here(test + " 127.0.0.1 2> /dev/null");
    std::istringstream text(here.read());
    for (std::string line; std::getline(text, line);) {
      if (line.rfind("Final:", 0) != 0 && line.find("Final:") == std::string::npos) continue;
      const double fps = std::stod(line.substr(line.find_last_of(' ', line.find_last_not_of(' ')) + 1));
      here.wait();
      there.wait();
      return {fps, 1000 * (ended_children_cpu_s() - cpu_before) / (frames + warm_up)};
    }
    std::this_thread::sleep_for(100ms);
  }
  throw Error("ucx_perftest prints no result");
}

int measure(bool quick) {
  const int rounds = quick ? 3 : 5;
  const Run fast{quick ? 600 : 2000, {}};
  const Run steady{quick ? 90 : 300, std::chrono::nanoseconds(1'000'000'000 / 30)};
  std::vector<std::string> carriers{"zeromq", "curve"};
#ifdef CAMPIPE_WITH_UCX
  if (why_no_ucx().empty()) carriers.emplace_back("ucx");
#endif
  std::map<std::string, std::vector<double>> found;
  for (int round = 0; round < rounds; ++round) {
    // Of both ends, for each frame a second, at this pace.
    const auto note = [&](const std::string& carrier, const nlohmann::json& one) {
      found[carrier + " fps"].push_back(one.at("fps"));
      found[carrier + " cpu % both, at most"].push_back(
          (one.at("cpu_ms_sending").get<double>() + one.at("cpu_ms").get<double>()) / 10);
    };
    const Perftest perftest = ucx_perftest(fast.frames);
    found["ucx_perftest fps"].push_back(perftest.fps);
    found["ucx_perftest cpu % both, at most"].push_back(perftest.cpu_ms / 10);
    note("zeromq bare", send_bare(fast));
    for (const std::string& carrier : carriers) note(carrier, carry(carrier, fast));
  }
  for (int round = 0; round < rounds; ++round) {
    // Of a core, for each frame a second.
    const auto note_cpu = [&](const std::string& carrier, const nlohmann::json& one) {
      found[carrier + " cpu % sending"].push_back(one.at("cpu_ms_sending").get<double>() / 10);
      found[carrier + " cpu % receiving"].push_back(one.at("cpu_ms").get<double>() / 10);
    };
    note_cpu("zeromq bare", send_bare(steady));
    for (const std::string& carrier : carriers) {
      const auto one = carry(carrier, steady);
      found[carrier + " p50 ms"].push_back(one.at("p50_ms"));
      found[carrier + " p99 ms"].push_back(one.at("p99_ms"));
      note_cpu(carrier, one);
    }
  }
  nlohmann::json result;
  for (const auto& [name, values] : found) result[name] = median(values);
  for (const std::string& carrier : carriers) {
    const double fps = result.at(carrier + " fps");
    result[carrier + " / ucx_perftest"] = fps / result.at("ucx_perftest fps").get<double>();
    result[carrier + " / zeromq bare"] = fps / result.at("zeromq bare fps").get<double>();
  }
  std::cout << result.dump(2) << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  ::setenv("UCX_TLS", "tcp", 0);  // as between machines without RDMA; else it would be shared memory
  spdlog::set_level(spdlog::level::warn);
  try {
    if (arguments.size() == 6 && arguments[0] == "--receive") {
      return campipe::receive(
          arguments[1], arguments[2],
          {campipe::key_of(arguments[3]), campipe::key_of(arguments[4]), campipe::key_of(arguments[5])});
    }
    if (arguments.size() == 2 && arguments[0] == "--receive-bare") return campipe::receive_bare(arguments[1]);
    if (arguments.empty() || arguments == std::vector<std::string>{"--quick"})
      return campipe::measure(!arguments.empty());
    std::cerr << "usage: link_bench [--quick]\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "link_bench: " << error.what() << '\n';
    return 1;
  }
}
