// Kinds of sources: what the program has to know of a source before it is open. A kind is one file in this folder; the
// last thing in it registers the kind, and nothing else has to be edited: configuration, `--check`, supervisor and
// master ask the registry, by the source's address.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "stages/sources/source.h"

namespace campipe {

struct SourceScheme {
  std::string_view name;     // in lower case
  std::string_view example;  // of an address
  int port = -1;             // where none is given; -1: there is none
  bool needs_host = false;
  bool needs_port = false;
};

// Keys of the configuration that mean something for some sources only (KeyScope in app/config/key.h).
enum class SourceKeys : std::uint8_t {
  playback,   // loop, pace: it has a beginning, and waits for its reader
  rtsp,       // rtsp_transport
  tls,        // tls
  redirects,  // allow_redirects
  device,     // capture
  rate        // capture.rate
};
struct SourceKeysOf {
  SourceKeys keys;
  std::string_view whom;                           // that they are for, in messages: "files", "rtsps://"
  bool (*fits)(const std::string& url) = nullptr;  // null: all sources of the kind
};

struct SourceKind {
  std::string_view name;
  int place = 0;                  // among the others, in what people read
  std::string_view written = {};  // how its address is written, there; empty: the names of its schemes
  // Its addresses are URLs of these schemes.
  std::span<const SourceScheme> schemes = {};
  // Or the paths that this takes. It must not ask the disk, which may not answer. The kind that has neither takes what
  // no other does.
  bool (*takes)(const std::string& path) = nullptr;
  std::span<const SourceKeysOf> keys = {};

  // What is wrong with an address as it is written, or nothing. A live source need not be there.
  std::optional<std::string> (*check)(const std::string& url) = nullptr;
  // Why a good address cannot be opened on this machine now, such as a file that is not there, or nothing. That passes,
  // and the camera waits for it. Null: it is known only when it is opened.
  std::optional<std::string> (*not_now)(const std::string& url) = nullptr;
  // See open_source().
  std::unique_ptr<Source> (*open)(const SourceConfig& config, const Source::Interrupt& interrupt) = nullptr;

  // It has no end of its own and no place to go back to: a camera. One that cannot be read is opened again and again.
  bool live = false;
  // Whether it may come to an end of its own. Null: it ends only by failing, or when it is stopped.
  bool (*can_end)(const SourceConfig& config) = nullptr;
  // See longest_pause(). Null: it does not wait by itself.
  std::chrono::nanoseconds (*longest_pause)(const SourceConfig& config) = nullptr;
  bool tried_at_check = false;  // `campipe --check` opens it
  bool hides_query = false;     // people do not see the query of its URLs, which may hold secrets
  bool painted = false;         // there is nothing to decode: its frames are made here
  // Width and height of its frames, where its address says them. Null: none does.
  std::pair<int, int> (*size)(const std::string& url) = nullptr;
  // Why its packets are no stream that could be copied, after "codec `copy`"; empty: they are.
  std::string_view no_copy = {};
  // Whether codec `auto` tries to copy it. Null: where it can be copied.
  bool (*copied_by_default)(const SourceConfig& config) = nullptr;
};

// In the order of their places. Filled before main() by SourceKindRegistration objects; read-only afterwards.
std::span<const SourceKind> source_kinds();
// Every address has one, if need be that of files.
const SourceKind& source_kind_of(const std::string& url);
// Null for an unknown name.
const SourceScheme* find_source_scheme(std::string_view name);
std::string unknown_scheme_text(const std::string& name);

bool has_keys(const std::string& url, SourceKeys keys);
// For messages: "files and test patterns", "sources of rtsps:// and https://".
std::string sources_with(SourceKeys keys);
bool copied_by_default(const SourceConfig& config);

struct SourceKindRegistration {
  explicit SourceKindRegistration(const SourceKind& kind);
};

// Its frames come at times of their own, not as fast as they are taken.
bool keeps_time(const SourceConfig& config);

}  // namespace campipe
