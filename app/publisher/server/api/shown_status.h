// The newest status of the rig as each user is shown it: without passwords, and, for those who do not administer the
// rig, without paths, addresses and processes (api/request.h). Made once for each status, when somebody asks for it.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/api/rig_view.h"

namespace campipe {

// What a user may see of `status`: cameras for which `needed` is given, and nothing that names others. Every answer
// that is made of a status is made of this.
nlohmann::json seen_by(const Identity& identity, nlohmann::json status, Permission needed);

class ShownStatus {
 public:
  // What `newest` returns is shown: the rig's status, or that of a whole cluster; `newest` may wait a second for that.
  // `rig` must outlive it.
  using Newest = std::function<std::shared_ptr<const nlohmann::json>()>;
  ShownStatus(const RigView& rig, Newest newest) : rig_(rig), newest_of_(std::move(newest)) {}

  // With all cameras, for any user; "cameras" is always an object. Throws ApiError 503 until the first status of the
  // rig has come, which is within seconds of the publisher's start.
  [[nodiscard]] std::shared_ptr<const nlohmann::json> of(const Identity& identity);
  // The same as text, with those of its cameras alone that may be viewed, and their graphs without hidden mosaics.
  [[nodiscard]] std::shared_ptr<const std::string> text_of(const Identity& identity);
  // The same as the pages show it (api/settled_status.h).
  [[nodiscard]] std::shared_ptr<const nlohmann::json> settled_of(const Identity& identity);
  // Those of its cameras that may be viewed, by name. Their graphs lead to no mosaic that may not. Throws likewise.
  [[nodiscard]] nlohmann::json cameras_of(const Identity& identity);
  // One that may be viewed; nothing: there is none of that name. Throws likewise.
  [[nodiscard]] std::optional<nlohmann::json> camera_of(const Identity& identity, const std::string& name);
  // The cluster, with those of its cameras that may be viewed, on whatever node; nothing: the rig is no node. Throws
  // likewise.
  [[nodiscard]] std::optional<nlohmann::json> cluster_of(const Identity& identity);

 private:
  // For some users; null: nobody has asked yet.
  struct Shown {
    std::shared_ptr<const nlohmann::json> status;
    // These two have all cameras.
    std::shared_ptr<const std::string> text;
    std::shared_ptr<const nlohmann::json> settled;
  };
  static bool shows_all(const nlohmann::json& status, const Identity& identity);
  [[nodiscard]] std::shared_ptr<const nlohmann::json> newest() const;
  Shown& shown_to(const Identity& identity, std::shared_ptr<const nlohmann::json> newest);

  const RigView& rig_;
  const Newest newest_of_;
  std::mutex mutex_;
  std::shared_ptr<const nlohmann::json> newest_;  // the rig's
  Shown for_administrators_;                      // without passwords
  Shown for_viewers_;                             // for those who do not administer the rig
};

}  // namespace campipe
