// What a node makes of each of its frames: filters, and then what the frame is for, packets (Rendition) or a frame ring
// that further nodes read (RingOutput). A node's outputs are made one after another from the same frame, by the node's
// thread.
//
// After an error the frames are still taken and counted, so that nothing waits for this output and no other notices.
// Where the GPU has no room, they are counted too, and it is tried again every second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/worker/output_events.h"
#include "app/worker/output_filters.h"
#include "app/worker/rate_limit.h"
#include "core/clock.h"
#include "core/profile.h"
#include "ipc/drop_counters.h"
#include "ipc/frame_ring.h"
#include "ipc/hand_over.h"

namespace campipe {

// Made on any thread; used and destroyed by the node's. What it is given outlives it.
class NodeOutput {
 public:
  // What is known of a frame ring's frames besides their format.
  struct Source {
    double frame_rate = 0;  // 0: unknown
    int rotation = 0;       // degrees clockwise by which they are turned before the filters
    // So many of the filters of the camera's own stream are done: the frames were made of bands.
    std::size_t filtered = 0;
    friend bool operator==(const Source&, const Source&) = default;
  };

  NodeOutput(const NodeOutput&) = delete;  // its parts refer to it
  NodeOutput& operator=(const NodeOutput&) = delete;
  virtual ~NodeOutput() = default;

  // All that it takes for frames as they are expected, before the first one comes.
  void get_ready(const FrameFormat& expected, const Source& source);
  // `ring`: that the lease is of; null: the frame is the node's own, and complete for work on its stream.
  void process(RingInUse* ring, FrameRingReader::Lease lease, const Source& source);
  // Of a join: source frames up to this number that have not come do not come any more. What is neither processed nor
  // named here is found missing with the next frame that is: every one is accounted for, over the lives of all
  // workers.
  void give_up(std::uint64_t source_number, DropCause cause);
  // What it encodes has half the width and height from now on, or all of it.
  virtual void shrink(bool /*half*/) {}

  // Of a node that takes over from another one (app/worker/takes_over.h): the filters see a frame that is the other
  // one's, and nothing comes of it or is counted.
  void rehearse(RingInUse* ring, FrameRingReader::Lease lease, const Source& source);
  // The next frame has not to wait for filters and encoder.
  [[nodiscard]] bool is_ready() { return about_.failed || ready_ || !is_wanted(); }
  // From now on frames are its own: it goes on with what was due.
  virtual void go_live(const HandOver::Due& due);
  // Then, of a join: `made` frames came of those that are accounted for. `died`: what else the node before had in hands
  // is lost.
  void account_from(std::uint64_t made, bool died);
  [[nodiscard]] virtual HandOver::Due due() const { return {rate_.due(), {}}; }

  // To be called at least every 100 ms while no frame comes.
  virtual void rest() = 0;
  // No further frame will come.
  virtual void finish() = 0;

 protected:
  struct About {
    std::string name;  // for people
    std::vector<FilterConfig> filters;
    double rate = 0;  // at most so many frames a second; 0: all
    DropCounters& dropped;
    DropCause after_failure;  // of frames that come then
    bool failed = false;      // in the life of an earlier worker
    std::uint64_t made = 0;   // of frames, likewise
    bool is_joined = false;   // its input is a join
    bool rehearses = false;   // until it goes live
  };
  struct Ready {
    FrameFormat input;
    Source source;
    friend bool operator==(const Ready&, const Ready&) = default;
  };

  NodeOutput(About about, const OutputEvents& events, NodePlace& place);

  // False: nobody needs what it makes just now, so that frames are left out.
  virtual bool is_wanted() { return true; }
  // Why the frame is left out; nothing: it is made.
  virtual std::optional<DropCause> leaves_out(const FrameTimes& times);
  // Configures the filters for `wanted`, and makes ready what comes behind them.
  virtual void make_ready(const Ready& wanted) = 0;
  // Nothing: the frame has been counted as dropped.
  virtual std::optional<FrameRef> run_filters(RingInUse* ring, FrameRingReader::Lease& lease);
  // `times`: all but what comes behind the filters. `number`: the frame's source number.
  virtual void deliver(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) = 0;
  // It has failed: gives up what comes behind the filters, and reports it.
  virtual void on_failure(const std::string& reason) = 0;
  // All that there will be of the frame of that number has been delivered.
  virtual void on_resolved(std::uint64_t /*number*/) {}

  // Filters and what comes behind them are given up, until the next frame.
  void drop_filters();
  void fail(const std::exception& error);
  void count(DropCause cause, std::uint64_t frames = 1) {
    if (!about_.rehearses) counter(about_.dropped, cause).fetch_add(frames);
  }
  // What else is made of a frame that was rehearsed.
  virtual void on_rehearsed(const FrameRef& /*frame*/, const FrameTimes& /*times*/) {}
  void set_failed() { about_.failed = true; }
  // Those that are to run on frames of the source, with the turn before them.
  [[nodiscard]] std::vector<FilterConfig> filters_for(const Source& source) const;

  [[nodiscard]] const std::string& name() const { return about_.name; }
  [[nodiscard]] const OutputEvents& events() const { return events_; }
  [[nodiscard]] OutputFilters& filters() { return filters_; }

 private:
  void process_counted(RingInUse* ring, FrameRingReader::Lease& lease, const Source& source);
  void prepare(const FrameFormat& format, const Source& source);
  std::optional<FrameRef> filter(RingInUse* ring, FrameRingReader::Lease& lease, const Source& source);
  void wait_for_room(const std::string& reason);

  About about_;
  const OutputEvents& events_;
  ProfileName filter_range_;
  RateLimit rate_;
  OutputFilters filters_;
  std::optional<Ready> ready_;
  std::optional<Clock::time_point> try_again_;  // the GPU had no room
  // Of a join: all source frames up to here are accounted for, or in the encoder. At first those that earlier workers
  // have accounted for, which were as many.
  std::uint64_t resolved_;
  bool resumes_;  // an earlier worker had some, and what it had in hands is not known yet
};

}  // namespace campipe
