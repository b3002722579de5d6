// Fragments of access units, as a camera may send them: a byte for the codec, and for each fragment one of flags, one
// by which its time differs from the last one's, one of its length, and its data. Whatever they are, nothing comes out
// that was not put in, in its order, and each unit of a codec that shows it holds a picture.
#include "stages/sources/access_units.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "stages/sources/coded_fragment.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Begins a NAL unit, or goes on with one.
std::string data_of(Bytes bytes, bool begins) {
  const std::string start = begins ? std::string("\0\0\0\1", 4) : "";
  return start + std::string(bytes.begin(), bytes.end());
}

class Run {
 public:
  explicit Run(AVCodecID codec) : codec_(codec), units_(codec, {1, 90'000}) {}

  // `head`: flags and step.
  void add(Bytes head, Bytes bytes) {
    const unsigned flags = head[0];
    time_ += static_cast<std::uint32_t>(static_cast<std::int8_t>(head[1])) * 900U;
    const std::string data = data_of(bytes, (flags & 1U) != 0);
    if (data.empty()) return;
    AvPacket fragment = make_av_packet();
    require(av_new_packet(fragment.get(), static_cast<int>(data.size())) == 0, "there is memory");
    std::memcpy(fragment->data, data.data(), data.size());
    fragment->pts = (flags & 2U) != 0 ? AV_NOPTS_VALUE : time_;
    std::optional<RtpMark> mark;
    if ((flags & 4U) != 0)
      mark = RtpMark{.flow = (flags & 16U) != 0 ? 2 : 1, .timestamp = time_, .marker = (flags & 8U) != 0};
    sent_ += data;
    units_.add(std::move(fragment), mark, time_);
    take();
  }

  void end() {
    units_.end();
    take();
  }

 private:
  void take() {
    while (const auto unit = units_.take()) {
      const Bytes data(unit->packet->data, static_cast<std::size_t>(unit->packet->size));
      require(!data.empty() && holds_picture(codec_, data), "a unit holds a picture");
      for (const std::uint8_t byte : data) {
        at_ = sent_.find(static_cast<char>(byte), at_);
        require(at_++ != std::string::npos, "what comes out was put in before");
      }
    }
  }

  AVCodecID codec_;
  AccessUnits units_;
  std::uint32_t time_ = 0;
  std::string sent_;
  std::size_t at_ = 0;  // in sent_, behind what has come out; some is dropped
};

void check(Bytes input) {
  constexpr std::array codecs{AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG4, AV_CODEC_ID_MPEG2VIDEO};
  if (input.empty()) return;
  Run run(codecs.at(input[0] % codecs.size()));
  input = input.subspan(1);
  while (input.size() > 3) {
    const Bytes head = input.first(3);
    const Bytes data = input.subspan(3, std::min<std::size_t>(head[2], input.size() - 3));
    run.add(head, data);
    input = input.subspan(3 + data.size());
  }
  run.end();
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check({data, size});
  return 0;
}
