// `codec: copy`: which keys have no meaning beside it; and `codec: auto`: which keep a stream from being copied.
#include <algorithm>
#include <functional>
#include <set>

#include "app/config/key_table.h"
#include "stages/filters/filter.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

bool only_looks(const FilterConfig& filter) {
  const FilterInfo* info = find_filter(filter.name);
  return info != nullptr && info->only_looks;
}

std::string names_of_looking_filters() {
  std::string names;
  for (const FilterInfo& info : filter_registry()) {
    if (info.only_looks) names += (names.empty() ? "`" : ", `") + std::string(info.name) + "`";
  }
  return names;
}

// What a map further out sets for other cameras does not matter; what goes over `copy`, or stands beside it, does.
class CopyCheck {
 public:
  explicit CopyCheck(Report& report) : report_(report) {}

  void check(const NamedStream& stream) {
    codec_ = &stream["encode.codec"];
    for (const KeyInfo& key : keys_of<StreamConfig>()) {
      if (key.text.scope == KeyScope::transcoded) refuse(stream[key.path]);
    }
    const std::vector<FilterConfig>& filters = stream.value->filters;
    if (stream["filters"].good && filters.size() != looking_filters(*stream.value).size())
      refuse(stream["filters"], "codec `copy` goes with no filter but " + names_of_looking_filters() +
                                    "; remove the others, or move them to one of `outputs` with another codec");
    const GivenCamera& camera = *stream.camera;
    if (stream.given == &camera && skips_for_nobody(camera)) refuse(camera["on_corrupt"]);
    const std::string_view no_copy = source_kind_of(camera.value.source.url).no_copy;
    if (camera["source"].good && !no_copy.empty()) report(*codec_->node, std::string(no_copy));
  }

 private:
  // Damaged frames can be left out of what is decoded only.
  static bool skips_for_nobody(const GivenCamera& camera) {
    const auto copied = [](const GivenOutput& output) { return is_copy(output.value.encode); };
    return camera.value.on_corrupt == OnCorrupt::skip && std::ranges::all_of(camera.outputs, copied);
  }

  void refuse(const Origin& key,
              const std::string& why =
                  "does not go with codec `copy`, for which nothing is decoded or encoded; remove it, or move it to "
                  "one of `outputs` with another codec") {
    if (key.node == nullptr || key.inherited > codec_->inherited || !reported_.insert(key.node).second) return;
    report_.at_key(*key.node, why);
  }

  void report(const YamlNode& node, const std::string& message) {
    if (reported_.insert(&node).second) report_.at(node, message);
  }

  Report& report_;
  const Origin* codec_ = nullptr;
  std::set<const YamlNode*> reported_;
};

}  // namespace

std::vector<FilterConfig> looking_filters(const StreamConfig& stream) {
  std::vector<FilterConfig> filters = stream.filters;
  std::erase_if(filters, std::not_fn(only_looks));
  return filters;
}

bool is_plain(const GivenCamera& camera) {
  const bool for_encoder = std::ranges::any_of(keys_of<StreamConfig>(), [&](const KeyInfo& key) {
    return key.section() == "encode" && key.text.scope == KeyScope::transcoded && camera[key.path].node != nullptr;
  });
  const CameraConfig& value = camera.value;
  const bool changed =
      !value.filters.empty() || value.rate > 0 || value.on_corrupt == OnCorrupt::skip || value.placement;
  return !for_encoder && !changed && camera["snapshot.path"].node == nullptr && copied_by_default(value.source);
}

void check_copies(const std::vector<GivenCamera>& cameras, Report& report) {
  CopyCheck check(report);
  for (const NamedStream& stream : streams_of(cameras)) {
    if (is_copy(stream.value->encode)) check.check(stream);
  }
}

}  // namespace campipe
