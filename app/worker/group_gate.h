// Where the frames of a member of a synchronised group pass on their way to its encoder. The member arrives at each
// frame's set in the group's page (ipc/group_page.h), waits for the decision, and encodes, repeats or drops like all
// others, one set after another: where it has no frame of a set that is encoded, it encodes its last one again, also
// while no frame comes at all.
//
// Times of what is encoded follow from the numbers of sets: all members' streams have the same frames at the same
// distances. When a set was taken is the same for all of them, too (GroupPhase). A frame whose set was decided without
// it is still the best that there is for it, and is encoded as long as the set has not been made up for. A successor of
// a worker that died makes up for what was decided since, with its first frame.
//
// Where the work of a node goes over to another one (ipc/hand_over.h), the member is one of them: the first one until
// it leaves its frames to the other one, which goes on behind the packets of the first like a successor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/config/group_config.h"
#include "app/control/messages/node_parts.h"
#include "app/worker/group_phase.h"
#include "app/worker/output_events.h"
#include "core/frame.h"
#include "core/line_limit.h"
#include "ipc/group_page.h"

namespace campipe {

namespace messages {
struct EncodedOutput;
}  // namespace messages
enum class DropCause : std::uint8_t;
struct EncodeBlock;

// Used by the node's thread. What it is given outlives it.
class GroupGate {
 public:
  // What is behind the gate.
  class Stream {
   public:
    // It is open for such frames.
    [[nodiscard]] virtual bool takes(const FrameRef& frame) const = 0;
    virtual void encode(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) = 0;
    virtual void drop(DropCause cause) = 0;

   protected:
    ~Stream() = default;
  };

  // `output`: a camera's own stream, with a group and a seat in it.
  GroupGate(const messages::EncodedOutput& output, std::shared_ptr<GroupPage> page, EncodeBlock& block,
            const OutputEvents& events, Stream& stream);

  // The frame is none of a set, so that nothing need be made of it.
  [[nodiscard]] static std::optional<DropCause> leaves_out(const FrameTimes& times);
  // A frame that has a set. Waits for the decision about it. Throws what the encoder throws.
  void take(const FrameRef& frame, const FrameTimes& times, std::uint64_t number);
  // The same in steps: it arrives at the frame's set; waits; and does as is decided.
  void arrive(const FrameRef& frame, const FrameTimes& times, std::uint64_t number);
  bool is_decided(Deadline until);
  void act_on_frame();
  // Of one that takes over: the other one has ended, behind that packet; nothing: there is none.
  void go_on(const std::optional<messages::NewestSet>& after);
  // Of one whose frames have gone over: the member is the other one from now on.
  void hand_over();
  // No frame has come for a while: does what the others have decided.
  void follow();
  // No frame will come: does what others still decide at this moment, and leaves.
  void finish();
  // The same in steps, of which none waits.
  void begin_to_finish();
  bool has_finished();
  // Nothing will be encoded any more.
  void leave();

 private:
  struct Frame {
    FrameRef frame;
    FrameTimes times;
    std::uint64_t number = 0;
  };

  void continue_after(const messages::NewestSet& newest);
  [[nodiscard]] SetOutcome arrive_at_set(const FrameTimes& times);
  void begin(const FrameTimes& first);
  bool act_through(std::uint64_t set, const Frame* own, SetOutcome outcome);
  void act(std::uint64_t set, const Frame* own, SetOutcome outcome, bool in_time);
  void note_lateness(bool in_time);
  void encode(std::uint64_t set, const Frame& frame, bool repeated);
  void record_decisions();
  void go_alone();
  [[nodiscard]] std::int64_t time_of(std::int64_t set) const;
  std::int64_t capture_utc_of(std::uint64_t set, std::int64_t own);

  std::string name_;  // for people
  GroupConfig group_;
  messages::GroupSeat seat_;
  std::shared_ptr<GroupPage> page_;
  GroupMember member_;
  GroupPhase phase_;
  EncodeBlock& block_;
  const OutputEvents& events_;
  Stream& stream_;
  std::optional<std::uint64_t> next_;      // set that it acts on next; none: no frame has come
  std::int64_t origin_ = 0;                // the set at the stream's 0
  std::optional<Frame> own_;               // frame that it acts on next,
  SetOutcome outcome_ = SetOutcome::open;  // and what is decided about its set
  std::optional<Frame> last_;              // frame that came
  Deadline finishes_at_{};                 // at the latest
  bool left_ = false;
  bool is_member_;  // none other takes its place just now
  int late_in_a_row_ = 0;
  LineLimit late_lines_{std::chrono::minutes(1)};
  LineLimit skew_lines_{std::chrono::minutes(1)};
};

}  // namespace campipe
