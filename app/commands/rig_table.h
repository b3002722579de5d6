// The tables of `campipe top` and `campipe status`: cameras and processes as lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/rig_sample.h"
#include "app/commands/styled_line.h"

namespace campipe {

// The columns in their order.
enum class Column : std::uint8_t { name, state, fps, p50, p95, drops, dropped, bitrate, worker, viewers, recording };
inline constexpr std::size_t column_count = 11;

// Sorted as that column is usually wanted: texts from A, numbers from the largest; then by name.
void sort_streams(std::vector<StreamSample>& streams, Column by, bool reversed);

// The first line is the head, with `sorted` marked in it; then one for each stream. Columns that the width has no room
// for are left out, those first that are missed least; the rest of the line is what is wrong, where that has 12
// columns. Names have up to a third of the width; longer ones are shortened in the middle, so that an output's name
// stays.
std::vector<StyledLine> stream_table(const std::vector<StreamSample>& streams, std::size_t width,
                                     std::optional<Column> sorted = {});
std::vector<StyledLine> process_table(const std::vector<ProcessSample>& processes);
StyledLine gpu_line(const GpuSample& gpu);
// Who it is and how long it runs; and all cameras and processes in one line.
StyledLine rig_line(const RigSample& rig);
StyledLine summary_line(const RigSample& rig);
StyledLine cluster_line(const ClusterSample& cluster);
StyledLine link_line(const LinkSample& link);
// All that is known of one stream, in a few lines.
std::vector<StyledLine> stream_details(const StreamSample& stream);

}  // namespace campipe
