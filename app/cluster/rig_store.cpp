#include "app/cluster/rig_store.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <charconv>
#include <utility>

#include "app/cluster/json_take.h"

namespace campipe {
namespace {

constexpr std::size_t piece_size = 90'000;
constexpr std::size_t pieces_at_once = 10;  // of a transaction

std::string digest_of(const std::string& text) {
  std::array<unsigned char, 32> bytes{};
  ::crypto_generichash(bytes.data(), bytes.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                       nullptr, 0);
  std::array<char, 65> hex{};
  ::sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  return hex.data();
}

std::string piece_key(const ClusterKeys& keys, std::uint64_t generation, std::size_t number) {
  return keys.rig_generation(generation) + fmt::format("{:03}", number);
}

RigWriteResult failed(const EtcdError& error) {
  const bool unknown = error.failure == EtcdFailure::unknown;
  const bool full = error.failure == EtcdFailure::no_space;
  return {
      unknown ? RigWritten::unknown : RigWritten::failed,
      full ? "etcd is full (NOSPACE), so the rig cannot be changed: compact and defragment it, and disarm the alarm (" +
                 error.message + ")"
           : error.message};
}

// That nobody else writes under: who is not first with the pointer has written for nothing.
std::uint64_t new_generation() {
  std::uint64_t number = 0;
  while (number == 0) ::randombytes_buf(&number, sizeof number);
  return number;
}

RigWriteResult outdated(EtcdClient& client, const ClusterKeys& keys, std::uint64_t written) {
  // Where that fails, whoever writes next clears it away.
  static_cast<void>(client.txn({{}, {EtcdOperation::erase_prefix(keys.rig_generation(written))}}));
  return {RigWritten::outdated, "somebody else has changed the rig meanwhile"};
}

}  // namespace

StoredRig read_rig(const EtcdMirror& mirror, const ClusterKeys& keys) {
  StoredRig rig;
  mirror.each_below(keys.rig() + "/", [&](std::string_view below, const EtcdKeyValue&) {
    std::uint64_t number = 0;
    const auto end = std::from_chars(below.data(), below.data() + below.size(), number).ptr;
    const bool is_piece = end != below.data() && end != below.data() + below.size() && *end == '/';
    if (is_piece && (rig.generations.empty() || rig.generations.back() != number)) rig.generations.push_back(number);
  });
  const EtcdKeyValue* pointer = mirror.find(keys.rig());
  if (pointer == nullptr) return rig;
  rig.revision = pointer->mod_revision;
  nlohmann::json json = parse_shallow(pointer->value);
  std::size_t pieces = 0;
  std::string digest;
  if (!take_schema(json) || !take(json, "generation", rig.generation) || !take(json, "pieces", pieces) ||
      !take(json, "digest", digest)) {
    rig.problem =
        "the rig in etcd was written by a newer campipe, or is damaged: upgrade this node, or apply the rig again";
    return rig;
  }
  rig.other = std::move(json);
  for (std::size_t number = 0; number < pieces && rig.text.size() <= largest_rig; ++number) {
    const EtcdKeyValue* piece = mirror.find(piece_key(keys, rig.generation, number));
    if (piece == nullptr) break;
    rig.text += piece->value;
  }
  if (digest_of(rig.text) == digest) return rig;
  rig.text.clear();
  rig.problem = "the rig in etcd is not whole: apply it again";
  return rig;
}

EtcdResult<StoredRig> read_rig(EtcdClient& client, const ClusterKeys& keys) {
  EtcdResult<EtcdRange> all = client.read_prefix(keys.rig());  // the pointer, and what lies below it
  if (!all) return all.error();
  EtcdNews news{true, {}, all->header.revision};
  for (EtcdKeyValue& value : all->values) news.events.push_back({false, std::move(value)});
  EtcdMirror mirror;
  mirror.apply(news);
  return read_rig(mirror, keys);
}

RigWriteResult write_rig(EtcdClient& client, const ClusterKeys& keys, const StoredRig& stored,
                         const std::string& text) {
  if (text.size() > largest_rig) return {RigWritten::failed, "the rig is larger than 1 MiB"};
  const std::uint64_t generation = new_generation();
  const EtcdCompare is_as_read = EtcdCompare::modified_at(keys.rig(), stored.revision);
  std::size_t pieces = 0;
  for (std::size_t at = 0; at < text.size();) {
    EtcdTxn txn{{is_as_read}, {}};
    for (; at < text.size() && txn.then.size() < pieces_at_once; at += piece_size) {
      txn.then.push_back(EtcdOperation::put(piece_key(keys, generation, pieces++), text.substr(at, piece_size)));
    }
    const auto written = client.txn(txn);
    if (!written) return failed(written.error());
    if (!written->succeeded) return outdated(client, keys, generation);
  }
  nlohmann::json pointer = stored.other;
  pointer["schema"] = 1;
  pointer["generation"] = generation;
  pointer["pieces"] = pieces;
  pointer["digest"] = digest_of(text);
  EtcdTxn valid{{is_as_read}, {EtcdOperation::put(keys.rig(), pointer.dump())}};
  for (const std::uint64_t number : stored.generations) {
    if (valid.then.size() == most_etcd_operations) break;
    valid.then.push_back(EtcdOperation::erase_prefix(keys.rig_generation(number)));
  }
  const auto written = client.txn(valid);
  if (!written) return failed(written.error());
  return written->succeeded ? RigWriteResult() : outdated(client, keys, generation);
}

}  // namespace campipe
