// How many frames a second GPUs decode, and what rings and a second process that filters cost beside that.
//
//   gpu_pipeline_bench MODE CAMERAS FILE... [--gpus K] [--cross] [--seconds S] [--memory KIND] [--ready SIGNAL]
//     decode-bare    CAMERAS threads for each GPU decode with FFmpeg alone; the frames are dropped
//     decode-rings   they decode into frame rings; a second process gives each frame back at once
//     decode-filter  the same, but the second process resizes to 720p, blurs and sharpens each frame on its GPU;
//                    with --cross that is the GPU after the one that decodes
//   gpu_pipeline_bench hog FREE_MIB [--gpus K]
//     takes all memory of the first K GPUs but FREE_MIB, and what others give back, until its input ends
//
// Decoding is done in this process, for all GPUs; the second processes are this program started again, one for each
// GPU. The files are read again and again, one for each camera in turn, as fast as it goes, and no frame is dropped.
// Prints one line of JSON: `frames` were published (decode-bare: decoded) in `seconds`, `lost` found no slot.
#include <cuda_runtime_api.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "core/cuda.h"
#include "stages/decoders/clean_start.h"
#include "stages/decoders/decoder.h"
#include "stages/sources/source.h"
#include "stages/sources/source_config.h"
#include "tests/bench/gpu_bare_decoder.h"
#include "tests/bench/gpu_hog.h"
#include "tests/bench/gpu_ring_reader.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned spare_slots = 4;
constexpr std::uint64_t warm = 30;  // frames of each camera before the clock starts
constexpr auto start_deadline = seconds(120);

struct Options {
  std::string mode;
  unsigned cameras = 1;
  std::vector<std::string> files;
  unsigned gpus = 1;
  double seconds = 10;
  bool cross = false;
  std::uint64_t free_mib = 0;
  MemoryKind memory = MemoryKind::cuda_vmm;
  ReadySignal ready = ReadySignal::ipc_event;
};

std::vector<Device> visible_gpus() {
  int count = 0;
  cuda_check(cudaGetDeviceCount(&count), "counting GPUs");
  std::vector<Device> gpus;
  for (int index = 0; index < count; ++index) gpus.push_back(gpu_at(index));
  return gpus;
}

std::vector<Device> gpus_in_use(const Options& options) {
  std::vector<Device> gpus = visible_gpus();
  if (gpus.size() < options.gpus) throw Error("there are only " + std::to_string(gpus.size()) + " GPUs");
  gpus.resize(options.gpus);
  return gpus;
}

// What a camera's packets go into.
class PacketUser {
 public:
  virtual ~PacketUser() = default;
  virtual void decode(const AVPacket* packet) = 0;  // null: hand out all that is inside
  virtual void flush() = 0;
};

struct Counts {
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> lost{0};
};

class BareCamera final : public PacketUser {
 public:
  BareCamera(const SourceStream& stream, AVBufferRef* device, Counts& counts)
      : decoder_(stream, device), counts_(counts) {}
  void decode(const AVPacket* packet) override { counts_.frames += decoder_.decode(packet); }
  void flush() override { decoder_.flush(); }

 private:
  GpuBareDecoder decoder_;
  Counts& counts_;
};

class RingCamera final : public PacketUser {
 public:
  // `reads`: the second process's GPU.
  RingCamera(const SourceStream& stream, const Device& gpu, const Device& reads, const Options& options,
             RingReaderProcess& reader, const std::atomic<bool>& stopped, Counts& counts)
      : decoder_(open_decoder(stream, {.gpu = gpu})), stopped_(stopped), counts_(counts) {
    const SlotNeeds needs = decoder_->needs();
    FrameRingSpec spec;
    spec.slots = std::min(needs.kept + queue_size + most_in_flight + spare_slots, max_ring_slots);
    spec.slot_bytes = needs.bytes;
    spec.memory = options.memory;
    spec.device = gpu;
    spec.ready = options.ready;
    const auto memory = FrameRingMemory::create(spec);
    FrameRingObserver(memory).reserve();
    ring_ = std::make_shared<FrameRingWriter>(memory);
    decoder_->write_to(ring_);
    reader.give(ring_->memory(), reads, options.mode == "decode-filter");
    const bool came = ring_->wait_for_reader(Clock::now() + start_deadline, [this] { return stopped_.load(); });
    if (!came && !stopped_) throw Error("the second process did not come");
  }
  // What readers map and wait for is this process's, so it stays until they have given everything back.
  ~RingCamera() override {
    ring_->close();
    ring_->sleep_until(Clock::now() + stall_deadline, [this] { return ring_->drained(); });
    decoder_.reset();
  }

  void decode(const AVPacket* packet) override {
    decoder_->send(packet, 0);
    for (;;) {
      DecodedFrame picture;
      const auto received = decoder_->receive(picture);
      if (received == Decoder::Receive::none) return;
      if (received == Decoder::Receive::frame) {
        publish(picture);
      } else {
        ++counts_.lost;
      }
    }
  }
  void flush() override { decoder_->flush(); }

 private:
  void publish(DecodedFrame& picture) {
    const bool room = ring_->wait_for_room(Clock::now() + stall_deadline, [this] { return stopped_.load(); });
    if (stopped_) return;
    if (!room) throw Error("the second process takes nothing");
    picture.record.times.decoded = now_ns();
    if (ring_->publish(picture.slot, picture.record) == FrameRingWriter::Published::no_reader) {
      throw Error("the second process has no reader any more");
    }
    ++counts_.frames;
  }

  std::unique_ptr<Decoder> decoder_;
  std::shared_ptr<FrameRingWriter> ring_;
  const std::atomic<bool>& stopped_;
  Counts& counts_;
};

class Decoding {
 public:
  explicit Decoding(const Options& options)
      : options_(options),
        readers_(options.mode == "decode-bare" ? 0 : options.gpus),  // started before CUDA is
        counts_(options.cameras * options.gpus) {
    const std::vector<Device> gpus = gpus_in_use(options);
    for (unsigned camera = 0; camera < counts_.size(); ++camera) {
      const unsigned gpu = camera % options.gpus;
      threads_.emplace_back([this, camera, gpu, device = gpus[gpu]] { run(camera, gpu, device); });
    }
  }
  ~Decoding() { stopped_ = true; }

  nlohmann::json measure() {
    wait_until_warm();
    const auto begin = Clock::now();
    const std::uint64_t frames = total(&Counts::frames);
    const std::uint64_t lost = total(&Counts::lost);
    const double cpu = cpu_s();
    while (Clock::now() - begin < std::chrono::duration<double>(options_.seconds)) {
      check();
      std::this_thread::sleep_for(milliseconds(20));
    }
    const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
    nlohmann::json result{{"mode", options_.mode},
                          {"cameras", counts_.size()},
                          {"gpus", options_.gpus},
                          {"seconds", wall},
                          {"frames", total(&Counts::frames) - frames},
                          {"lost", total(&Counts::lost) - lost},
                          {"cpu_s", cpu_s() - cpu}};
    result["fps"] = result["frames"].get<double>() / wall;
    finish();
    return result;
  }

 private:
  void run(unsigned camera, unsigned gpu, const Device& device) {
    try {
      const SourceConfig config{
          .url = options_.files[camera % options_.files.size()], .loop = true, .pace = Pace::fast};
      const auto source = open_source(config, [this] { return stopped_.load(); });
      const auto user = open_user(source->stream(), camera, gpu, device);
      AvPacket packet = make_av_packet();
      std::optional<bool> clean;  // the file's start: else its decoder is emptied at the end, as campipe does it
      while (!stopped_) {
        const ReadResult result = source->read(*packet);
        if (result == ReadResult::interrupted) break;
        if (result == ReadResult::end) {
          if (!clean.value_or(false)) {
            user->decode(nullptr);
            user->flush();
          }
          source->rewind();
          continue;
        }
        if (!clean) clean = is_clean_start(*source->stream().codec, *packet);
        user->decode(packet.get());
        av_packet_unref(packet.get());
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = "camera " + std::to_string(camera) + ": " + error.what();
    }
  }

  std::unique_ptr<PacketUser> open_user(const SourceStream& stream, unsigned camera, unsigned gpu,
                                        const Device& device) {
    Counts& counts = counts_[camera];
    if (readers_.empty()) return std::make_unique<BareCamera>(stream, hardware_of(device), counts);
    return std::make_unique<RingCamera>(stream, device, reader_of(gpu), options_, readers_[gpu], stopped_, counts);
  }

  [[nodiscard]] Device reader_of(unsigned gpu) const {
    const std::vector<Device> all = visible_gpus();
    return all[(gpu + (options_.cross ? 1 : 0)) % all.size()];
  }

  AVBufferRef* hardware_of(const Device& device) {
    const std::lock_guard lock(mutex_);
    AvBuffer& hardware = hardware_[gpu_index(device)];
    if (!hardware) hardware = open_hardware(gpu_index(device));
    return hardware.get();
  }

  void check() {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw Error(failure_);
  }

  void wait_until_warm() {
    const Deadline deadline = Clock::now() + start_deadline;
    while (std::ranges::any_of(counts_, [](const Counts& one) { return one.frames < warm; })) {
      check();
      if (Clock::now() > deadline) throw Error("not every camera delivers frames");
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  std::uint64_t total(std::atomic<std::uint64_t> Counts::*count) const {
    std::uint64_t sum = 0;
    for (const Counts& one : counts_) sum += one.*count;
    return sum;
  }

  // Of all processes.
  [[nodiscard]] double cpu_s() const {
    timespec own{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    double sum = static_cast<double>(own.tv_sec) + static_cast<double>(own.tv_nsec) / 1e9;
    for (const RingReaderProcess& reader : readers_) sum += reader.cpu_s();
    return sum;
  }

  // Every frame that was published must have been taken.
  void finish() {
    stopped_ = true;
    threads_.clear();
    check();
    std::uint64_t taken = 0;
    for (RingReaderProcess& reader : readers_) taken += reader.finish();
    if (!readers_.empty() && taken != total(&Counts::frames)) throw Error("frames were lost between the processes");
  }

  Options options_;
  std::vector<RingReaderProcess> readers_;  // one for each GPU
  std::vector<Counts> counts_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::string failure_;
  std::map<int, AvBuffer> hardware_;
  std::vector<std::jthread> threads_;
};

void hog(const Options& options) {
  std::vector<GpuHog> hogs;
  for (const Device& gpu : gpus_in_use(options)) hogs.emplace_back(gpu, options.free_mib);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  bool told = false;
  do {
    std::uint64_t held = 0;
    for (GpuHog& one : hogs) {
      one.eat();
      held += one.held_mib();
    }
    if (!std::exchange(told, true)) std::cout << nlohmann::json{{"mode", "hog"}, {"held_mib", held}} << std::endl;
  } while (::poll(&input, 1, 20) == 0);
}

const std::map<std::string, MemoryKind> memory_words{{"host", MemoryKind::host},
                                                     {"cuda_vmm", MemoryKind::cuda_vmm},
                                                     {"cuda_legacy", MemoryKind::cuda_legacy},
                                                     {"cuda_fabric", MemoryKind::cuda_fabric}};
const std::map<std::string, ReadySignal> ready_words{{"ipc_event", ReadySignal::ipc_event},
                                                     {"timeline", ReadySignal::timeline}};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("measures decoding on GPUs", "gpu_pipeline_bench");
  app.require_subcommand(1);
  for (const char* mode : {"decode-bare", "decode-rings", "decode-filter"}) {
    CLI::App* command = app.add_subcommand(mode);
    command->add_option("cameras", options.cameras, "for each GPU")->required()->check(CLI::Range(1, 256));
    command->add_option("files", options.files)->required()->check(CLI::ExistingFile);
    command->add_option("--seconds", options.seconds)->check(CLI::PositiveNumber);
    if (std::string(mode) == "decode-filter") command->add_flag("--cross", options.cross);
    command->add_option("--memory", options.memory)->transform(CLI::CheckedTransformer(memory_words));
    command->add_option("--ready", options.ready)->transform(CLI::CheckedTransformer(ready_words));
  }
  app.add_subcommand("hog")->add_option("free_mib", options.free_mib, "left free")->required();
  for (CLI::App* command : app.get_subcommands({})) {
    command->add_option("--gpus", options.gpus)->check(CLI::Range(1, 16));
  }
  CLI11_PARSE(app, argc, argv);
  options.mode = app.get_subcommands().front()->get_name();
  if (options.mode == "hog") {
    hog(options);
  } else {
    std::cout << Decoding(options).measure() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  try {
    const bool reader = argc == 2 && std::string(argv[1]) == "reader";
    return reader ? campipe::run_ring_reader() : campipe::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "gpu_pipeline_bench: " << error.what() << '\n';
    return 1;
  }
}
