#include "ipc/drop_note.h"

#include <atomic>

#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"

namespace campipe {

void count_drop(EdgeWriterBlock& edge, DropCause cause, std::uint64_t packet, std::uint64_t published) {
  std::atomic<std::uint64_t>& count = counter(edge.unpublished, cause);
  const std::uint64_t next = count.load() + 1;
  edge.newest_drop = DropNote{packet, static_cast<std::uint64_t>(cause), next, published}.pack();
  count = next;
}

std::optional<DropNote> settle_drop(EdgeWriterBlock& edge, std::uint64_t published) {
  const std::uint64_t word = edge.newest_drop;
  const DropNote note = DropNote::unpack(word);
  if (word == 0 || note.cause >= drop_causes) return std::nullopt;
  std::atomic<std::uint64_t>& count = counter(edge.unpublished, static_cast<DropCause>(note.cause));
  const std::uint64_t next = count.load() + 1;
  if (note.count == DropNote::low(next, DropNote::count_bits)) count = next;
  const bool is_newest = note.published == DropNote::low(published, DropNote::count_bits);
  return is_newest ? std::optional(note) : std::nullopt;
}

}  // namespace campipe
