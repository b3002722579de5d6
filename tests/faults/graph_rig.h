// A camera whose nodes are in several workers, beside one that has a worker for itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/ffmpeg.h"
#include "tests/faults/fault_rig.h"

namespace campipe::test {

// Of its video, in their order.
inline std::vector<std::vector<std::uint8_t>> packets_of(const std::filesystem::path& file) {
  AVFormatContext* opened = nullptr;
  av_check(avformat_open_input(&opened, file.c_str(), nullptr, nullptr), file.string());
  const AvInput input(opened);
  std::vector<std::vector<std::uint8_t>> packets;
  for (AvPacket packet = make_av_packet(); av_read_frame(input.get(), packet.get()) == 0; av_packet_unref(packet.get()))
    packets.emplace_back(packet->data, packet->data + packet->size);
  return packets;
}

// Camera a is placed like that, over the workers 0 to 2; b is in worker 3 alone. `frames`: of each, 0: without end.
inline std::string graph_rig(const std::string& policy, int queue_size, int frames, const std::string& placement) {
  return "http_address: off\nrtsp_address: off\nworkers: {count: 4}\ndefaults:\n  drop_policy: " + policy +
         "\n  queue_size: " + std::to_string(queue_size) +
         "\n  encode: {gop: 10, bitrate: 1M}\n"
         "  source: \"test://pattern?width=320&height=240&rate=25&frames=" +
         std::to_string(frames) +
         "\"\n  record: {path: \"{camera}.mp4\"}\n  filters: [{sharpen: {amount: 0.2}}, {color: {contrast: 1.05}}]\n"
         "cameras:\n"
         "  a: {placement: " +
         placement +
         "}\n"
         "  b: {placement: {encode: cpu:3}}\n";
}

inline bool wait_for_flow(RigRun& rig, int fragments) {
  for (; fragments > 0; --fragments) {
    for (const char* file : {"a.mp4", "b.mp4"}) {
      if (!rig.wait_for_growth(file, rig.size(file))) return false;
    }
  }
  return true;
}

}  // namespace campipe::test
