// What is known of a frame besides its pixels and times: small typed data that the decoder and the filters enter, and
// that travel with the frame and then with its packet, through shared memory too (types: core/metadata_types.h).
//
// A value: it is copied with its frame. At most one entry of a kind; a kind that a program does not know is
// carried along as it came. What comes from another process is copied, then checked (is_possible(), from_bytes());
// get() also checks the data itself.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace campipe {

enum class MetadataKind : std::uint16_t;

template <typename T>
concept MetadataType = std::is_trivially_copyable_v<T> && requires(const T& data) {
  { T::kind } -> std::convertible_to<MetadataKind>;
  { data.is_possible() } -> std::same_as<bool>;   // every number is one that a filter can have entered
  { T::combine(data, data) } -> std::same_as<T>;  // of two filters, in the order of the chain
};

template <MetadataType T>
void combine_into(std::optional<T>& all, const T& more) {
  all = all ? T::combine(*all, more) : more;
}

class FrameMetadata {
 public:
  static constexpr std::size_t capacity = 252;  // bytes, of entries with 4 more each

  // Nothing: there is none of this type, or it is not possible.
  template <MetadataType T>
  [[nodiscard]] std::optional<T> get() const {
    const auto entry = find(T::kind);
    if (!entry || entry->size != sizeof(T)) return std::nullopt;
    T data;
    std::memcpy(&data, bytes_.data() + entry->data, sizeof data);
    return data.is_possible() ? std::optional(data) : std::nullopt;
  }

  // In place of what there is of this type. False: there is no room; then there is none of this type.
  template <MetadataType T>
  bool set(const T& data) {
    static_assert(sizeof(Head) + sizeof(T) <= capacity);
    if (const auto old = find(T::kind)) erase(*old);
    const Head head{static_cast<std::uint16_t>(T::kind), sizeof(T)};
    if (used_ + sizeof head + sizeof data > capacity) return false;
    std::memcpy(bytes_.data() + used_, &head, sizeof head);
    std::memcpy(bytes_.data() + used_ + sizeof head, &data, sizeof data);
    used_ += static_cast<std::uint32_t>(sizeof head + sizeof data);
    return true;
  }

  // Combined with what there is of this type. False: as set().
  template <MetadataType T>
  bool add(const T& data) {
    auto all = get<T>();
    combine_into(all, data);
    return set(*all);
  }

  // Of the entries, as from_bytes() takes them; valid as long as this object.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {bytes_.data(), used_}; }
  // Copies first, so that the bytes may be another process's. Nothing: they are no entries.
  static std::optional<FrameMetadata> from_bytes(std::span<const std::uint8_t> bytes) {
    if (bytes.size() > capacity) return std::nullopt;
    FrameMetadata metadata;
    std::ranges::copy(bytes, metadata.bytes_.begin());
    metadata.used_ = static_cast<std::uint32_t>(bytes.size());
    return metadata.is_possible() ? std::optional(metadata) : std::nullopt;
  }

  // It consists of whole entries. Ask it of a copy out of shared memory before any other use.
  [[nodiscard]] bool is_possible() const {
    if (used_ > capacity) return false;
    std::size_t at = 0;
    while (const auto entry = entry_at(at)) at = entry->end();
    return at == used_;
  }

 private:
  struct Head {
    std::uint16_t kind;
    std::uint16_t size;  // of the data, which follows
  };
  struct Entry {
    MetadataKind kind;
    std::size_t data;  // where it begins
    std::size_t size;
    [[nodiscard]] std::size_t end() const { return data + size; }
  };

  // Nothing: no entry is there that ends within the bytes in use.
  [[nodiscard]] std::optional<Entry> entry_at(std::size_t at) const {
    Head head;
    if (at + sizeof head > used_) return std::nullopt;
    std::memcpy(&head, bytes_.data() + at, sizeof head);
    const Entry entry{MetadataKind{head.kind}, at + sizeof head, head.size};
    return entry.end() <= used_ ? std::optional(entry) : std::nullopt;
  }

  [[nodiscard]] std::optional<Entry> find(MetadataKind kind) const {
    auto entry = entry_at(0);
    while (entry && entry->kind != kind) entry = entry_at(entry->end());
    return entry;
  }

  void erase(const Entry& entry) {
    std::uint8_t* const begin = bytes_.data() + entry.data - sizeof(Head);
    std::copy(bytes_.data() + entry.end(), bytes_.data() + used_, begin);
    used_ -= static_cast<std::uint32_t>(sizeof(Head) + entry.size);
  }

  std::uint32_t used_ = 0;  // bytes
  std::array<std::uint8_t, capacity> bytes_{};
};
static_assert(std::is_trivially_copyable_v<FrameMetadata> && sizeof(FrameMetadata) == 256);

}  // namespace campipe
