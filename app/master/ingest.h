// One camera in the master: its source, its decoder and its frame ring, on a thread of their own.
//
// Frames are published in order, with times that strictly grow. A source that ends, fails or is told to stop closes
// the ring; the object stays, so that the ring can be looked after until the master leaves. A live source that cannot
// be read is opened again, for ever, with waits that grow: the ring stays, and time goes on by how long it was away.
// Where the frames' size changes, or the stream is another one after a reconnection, a ring of the next epoch begins.
//
// Packets that are passed on as they came (outputs with codec `copy`, audio) go through PacketCopies; where every
// output is a copy, nothing is decoded, but for motion (CopyMotion), and there is no frame ring. Where all others are
// encoded on demand, there are a decoder and a ring only while somebody watches one of them.
//
// A camera that was given a GPU to decode with keeps the packets that a decoder on the CPU would need to go on where
// the GPU's gives up, and goes on with that one and a ring of the next epoch: no frame is lost or comes twice.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/config/config.h"
#include "app/control/camera_placement.h"
#include "app/control/sent_stream.h"
#include "app/master/copy_motion.h"
#include "app/master/packet_copies.h"
#include "app/master/read_ahead.h"
#include "app/master/replay_window.h"
#include "app/master/source_clock.h"
#include "app/master/timeline.h"
#include "app/rings/demand.h"
#include "app/rings/retired_rings.h"
#include "core/clock.h"
#include "core/line_limit.h"
#include "core/profile.h"
#include "core/retry_wait.h"
#include "ipc/frame_ring.h"
#include "ipc/rig_page.h"
#include "stages/decoders/decoder.h"
#include "stages/sources/source.h"

namespace campipe {

class ThreadScope;

class Ingest {
 public:
  struct Start {
    unsigned camera = 0;  // its place in the rig page
    CameraConfig config;
    Placement placement;
    std::uint64_t epoch = 1;             // of the first ring
    std::uint64_t base = 0;              // frames published in earlier epochs
    std::optional<std::int64_t> resume;  // the pts of the newest frame of a master that died
    bool decode = true;                  // some output needs frames, whoever watches
    std::vector<unsigned> on_demand;     // else: outputs that need them only while somebody watches
    bool undecided = false;              // it is run like this only where it sends what fits()
    std::vector<CopyTarget> copies;      // outputs that take the packets as they are
    std::vector<CopyTarget> audio;       // recordings
    std::function<decltype(campipe::open_decoder)> open_decoder = campipe::open_decoder;
    std::function<decltype(campipe::open_source)> open_source = campipe::open_source;
  };
  // Called on the camera's thread.
  struct Events {
    // A ring to read from, after all before it. `decoder`: for people, "h264" or "h264 (nvdec)".
    std::function<void(const FrameRingMemory& ring, const SourceStream& stream, const std::string& decoder)> on_ring;
    // This process's context on the GPU is lost, with the rings of all cameras there: must end the process at once.
    std::function<void(const std::string& reason)> on_gpu_lost;
    // `failure`: empty where it ended as it should. `at_end`: the source itself had an end, and was there.
    std::function<void(const std::string& failure, bool at_end)> on_over;
    // A live source: delivers, or is away for this reason.
    std::function<void(bool delivers, const std::string& reason)> on_state = [](bool, const std::string&) {};
    // Of one that is undecided, what its source sends, each time that it was opened. Where that does not play
    // everywhere nothing comes of it until stop().
    std::function<void(const SentStream& sends)> on_stream = [](const SentStream&) {};
    std::function<void(unsigned camera, std::uint64_t epoch, const PacketRingMemory& ring, const StreamParameters&)>
        on_copy = [](unsigned, std::uint64_t, const PacketRingMemory&, const StreamParameters&) {};
    std::function<void(unsigned camera, std::uint64_t epoch, const PacketRingMemory& ring, const AudioParameters&)>
        on_audio = [](unsigned, std::uint64_t, const PacketRingMemory&, const AudioParameters&) {};
  };

  Ingest(const Start& start, const RigPage& page, const Events& events);
  ~Ingest();

  // Ends the source soon; frames that are decoded already are still handed over.
  void stop();
  // A ring of the next epoch begins with the next key frame: there is no place for a reader in this one.
  void renew() { renew_ = true; }
  // Looks after the ring of a source that is over. Any thread; does nothing before.
  void service();
  [[nodiscard]] bool over() const { return over_; }

 private:
  // ingest.cpp: the source
  void run();
  void produce();
  void keep_connected();
  bool connect();
  [[nodiscard]] bool fits();
  void deliver();
  void deliver_or_drain();
  void go_back_to_resume();
  bool read(AVPacket& packet);
  ReadResult read_source(AVPacket& packet);
  void close_source();
  [[nodiscard]] Deadline source_deadline() const;
  void pass_on_audio(const AVPacket& packet);
  void take(AVPacket& packet);
  bool wait_for_start();
  void pace(const AVPacket& packet);
  void sleep_until(Deadline due);
  [[nodiscard]] std::chrono::nanoseconds stagger() const;
  bool at_end();
  void finish_loop();
  void tell_state(bool delivers, const std::string& reason);
  [[nodiscard]] bool stopped() const { return stop_at_.load() != 0; }
  [[nodiscard]] bool given_up() const;
  void pin_to_cores() const;

  // ingest_clock.cpp: the source's clock
  const ReadAhead::Entry* look_ahead();
  void preview();
  void observe(const AVPacket& packet);
  PacketTimes note(const AVPacket& packet);
  [[nodiscard]] bool confirms_leap(std::int64_t to);
  [[nodiscard]] std::optional<std::int64_t> decode_time(const AVPacket& packet) const;
  void count(Correction kind);
  void report_clock(const std::optional<SourceClock::Corrected>& corrected);

  // ingest_decode.cpp: the decoder and its ring
  void prime(AVPacket& packet);
  void begin_decoding();
  void open_decoder();
  [[nodiscard]] std::unique_ptr<Decoder> make_decoder(const DecoderOptions& options) const;
  bool send(const AVPacket* packet, std::int64_t capture_utc);
  Decoder::Receive receive(DecodedPicture& picture);
  void leave_gpu(const std::string& reason);
  void open_ring();
  void make_ring();
  void retire_ring();
  void renew_ring();
  void empty_decoder();
  void await_reader();
  void decode_in_ring(const AVPacket& packet);
  bool decode(const AVPacket* packet);
  bool feed(const AVPacket* packet);
  bool hand_over(DecodedPicture& picture, Decoder::Receive received);
  bool go_on_without_gpu(const std::string& reason);
  bool publish(DecodedPicture& picture);
  [[nodiscard]] bool set_times(const DecodedPicture& picture, FrameTimes& times);
  void wait_out_burst();
  bool wait_for_worker();
  void count_corrupt(std::int64_t packet);
  void count_unpublished(DropCause cause);

  // ingest_motion.cpp: what moves in copies
  void begin_motion();
  void try_motion(const std::function<void()>& work);
  void look_for_motion(const AVPacket& packet);
  void look_for_motion(const DecodedPicture& picture);
  bool motion_is_behind(const AVPacket& packet);

  // ingest_demand.cpp: the decoder where only viewers need frames
  void decode_on_demand(const AVPacket& packet);
  void try_to_decode(const std::function<void()>& work);
  void end_decoding();
  bool begin_again();
  [[nodiscard]] bool may_begin(const AVPacket& packet);

  // What tells one stream from another for those who decode and filter it.
  struct StreamKind {
    AVCodecID codec = AV_CODEC_ID_NONE;
    int width = 0;
    int height = 0;
    int rotation = 0;
    double frame_rate = 0;
    [[nodiscard]] bool is_like(const StreamKind& other) const;
  };
  static StreamKind kind_of(const SourceStream& stream);

  // What is known of a packet, for the frame that comes out of it.
  struct PacketNote {
    std::int64_t packet = 0;
    std::int64_t offset = 0;  // of SourceClock
    std::int64_t capture_utc = 0;
    CaptureClock capture_clock = CaptureClock::arrival;
  };

  static constexpr std::chrono::seconds longest_burst{1};  // for which the worker is waited for

  Start start_;
  ProfileName packet_range_{start_.config.name, "ingest"};
  ProfileName publish_range_{start_.config.name, "publish"};
  const RigPage& page_;
  MasterBlock& block_;
  Events events_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Decoder> decoder_;
  bool on_hardware_ = false;                 // decoder_ is a GPU's
  ReplayWindow window_;                      // used only then
  std::multiset<std::int64_t> seen_before_;  // frames that will come again out of the decoder that took over
  std::int64_t packets_read_ = 0;
  std::set<std::int64_t> corrupt_;  // the newest packets that were counted as such
  bool primed_ = false;             // the decoder has the first packet already
  bool await_key_ = false;          // the decoder is empty, and begins with a key frame: see may_begin()
  std::shared_ptr<FrameRingWriter> ring_;
  RetiredRings retired_;
  ThreadScope* scope_ = nullptr;
  StreamKind kind_;  // of what ring_ holds
  std::uint64_t epoch_ = 0;
  std::uint64_t published_ = 0;  // in this master's life
  bool live_ = false;
  bool at_end_ = false;      // of a source that has one
  bool started_ = false;     // all processes are ready
  std::int64_t given_ = -1;  // by the rounds of a file so far: frames, or the time of copies
  int empty_rounds_ = 0;     // in a row
  ReadAhead ahead_;
  SourceClock clock_;
  Timeline timeline_;                     // of the decoded frames
  CopyMotion motion_;                     // in what is copied
  bool motion_behind_ = false;            // packets are left out by it
  std::optional<std::int64_t> fresh_at_;  // a packet was waited for, monotonic ns
  LineLimit motion_lines_{std::chrono::minutes(10)};
  PacketCopies copies_;
  Demand demand_;
  std::optional<Clock::time_point> decode_again_at_;  // what only viewers need has failed
  LineLimit decode_lines_{std::chrono::minutes(1)};
  RetryWait retry_;
  std::optional<bool> delivers_;  // as told last
  std::string told_reason_;
  std::optional<std::int64_t> skip_through_;  // frames up to here were published by a master before
  std::optional<std::pair<Clock::time_point, std::int64_t>> pace_anchor_;  // when which time was due
  std::int64_t last_paced_ = 0;
  std::chrono::nanoseconds burst_left_{0};    // for how long the worker may still be waited for; see wait_out_burst()
  std::deque<PacketNote> notes_;              // of packets whose frames have not come out
  std::set<std::string_view> told_of_clock_;  // of this connection
  LineLimit size_lines_{std::chrono::minutes(1)};
  LineLimit sound_lines_{std::chrono::minutes(10)};
  std::int64_t arrival_ = 0;
  std::int64_t arrival_utc_ = 0;
  std::int64_t decode_cost_ = 0;
  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  std::atomic<std::int64_t> stop_at_{0};  // monotonic ns at which stop() was called; 0: not
  std::atomic<bool> renew_{false};
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

}  // namespace campipe
