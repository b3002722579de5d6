// Synchronised groups: reading them, and what their cameras get of them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "app/config/key_table.h"
#include "app/config/reader.h"
#include "app/config/values.h"
#include "core/printable.h"
#include "stages/sources/source.h"
#include "stages/sources/source_address.h"

namespace campipe {
namespace {

constexpr std::size_t fewest_members = 2;
constexpr double lowest_rate = 0.1;  // of sets, a second
constexpr double highest_rate = 240;
constexpr int longest_queue = 32;  // frames, as `queue_size`
constexpr int spare_frames = 4;    // in the queue, besides those that come while a set waits

// Of all groups of a rig, one after the other.
class Groups {
 public:
  Groups(std::vector<GivenCamera>& cameras, std::span<const std::string> removed, Report& report)
      : cameras_(cameras), removed_(removed), report_(report) {}

  void enter(const Given<GroupKeys>& given) {
    if (!given["cameras"].good) return;
    GroupConfig group = given.value;
    group.name = given.node->key;
    const std::vector<GivenCamera*> members = members_of(given);
    bool good = check_key_frames(given, members);
    good = check_members(given, members, group) && good;
    if (given["rate"].node == nullptr ? !find_rate(given, members, group) : !given["rate"].good) return;
    if (given["max_wait"].node == nullptr) group.max_wait = usual_wait(group);
    good = check_wait(given, group) && good;
    if (!good) return;
    for (GivenCamera* member : members) {
      CameraConfig& config = member->value;
      if (config.encode.codec == "auto") config.encode.codec = EncoderConfig().codec;
      config.queue_size = std::max(config.queue_size, std::min(frames_within(group) + spare_frames, longest_queue));
      config.group = group;
    }
  }

 private:
  // Those that can be.
  std::vector<GivenCamera*> members_of(const Given<GroupKeys>& given) {
    std::vector<GivenCamera*> members;
    const YamlNode& list = *given["cameras"].node;
    for (std::size_t i = 0; i < given.value.cameras.size(); ++i) {
      const std::string& name = given.value.cameras[i];
      const YamlNode& node = list.children[i];
      const auto camera =
          std::ranges::find_if(cameras_, [&](const GivenCamera& each) { return each.node->key == name; });
      if (camera == cameras_.end()) {
        refuse_unknown_camera(node, known(), removed_, report_);
      } else if (const auto [other, fresh] = group_of_.try_emplace(name, given.node->key); !fresh) {
        report_.contradiction(node.mark, node,
                              "camera " + shown(node) + " is in group '" + printable(other->second) +
                                  "' already; take it out of one of them");
      } else if (is_copy(camera->value.encode)) {
        report_.at(node, "camera " + shown(node) +
                             " has codec `copy`: its frames are the camera's own, and cannot be "
                             "repeated; give it another codec");
      } else {
        members.push_back(&*camera);
      }
    }
    return members;
  }

  [[nodiscard]] std::vector<std::string_view> known() const {
    std::vector<std::string_view> names;
    for (const GivenCamera& camera : cameras_) names.push_back(camera.node->key);
    return names;
  }

  // By its cameras.
  bool find_rate(const Given<GroupKeys>& given, const std::vector<GivenCamera*>& members, GroupConfig& group) {
    for (const GivenCamera* member : members) {
      const double capture = member->value.source.capture.rate;
      const double rate = member->value.rate > 0 ? member->value.rate : capture;
      if (rate <= 0 || rate == group.rate) continue;
      if (group.rate != 0) {
        report_.at_key(*given.node, "its cameras have different rates; give the group a `rate`");
        return false;
      }
      group.rate = rate;
    }
    if (group.rate >= lowest_rate && group.rate <= highest_rate) return true;
    report_.at_key(*given.node,
                   group.rate == 0 ? "missing key 'rate': none of its cameras has one"
                                   : fmt::format("its cameras have a rate of {:.4g}, and a group has 0.1 to 240 sets a "
                                                 "second; give the group a `rate` of its own",
                                                 group.rate));
    return false;
  }

  // The group's, where the key is not given.
  static const YamlNode& at(const Given<GroupKeys>& given, const char* key) {
    const YamlNode* const node = given[key].node;
    return node != nullptr ? *node : *given.node;
  }

  // Cameras without a common trigger give frames of one set up to a set apart, and they jitter.
  static std::chrono::nanoseconds usual_wait(const GroupConfig& group) {
    const std::chrono::duration<double> sets(1.5 / group.rate);
    return std::max(group.max_wait, std::chrono::duration_cast<std::chrono::nanoseconds>(sets));
  }

  bool check_wait(const Given<GroupKeys>& given, const GroupConfig& group) {
    if (frames_within(group) + spare_frames <= longest_queue) return true;
    report_.at(at(given, "max_wait"), "`max_wait` is longer than 28 sets at that rate: so many frames cannot wait");
    return false;
  }

  // They lie at the same places for all.
  bool check_key_frames(const Given<GroupKeys>& given, const std::vector<GivenCamera*>& members) {
    const GivenCamera* first = nullptr;
    bool good = true;
    for (const GivenCamera* member : members) {
      const EncoderConfig& encode = member->value.encode;
      if (encode.codec == "mjpeg") continue;  // all of its frames are
      if (first == nullptr) first = member;
      if (encode.gop == first->value.encode.gop) continue;
      const Origin& own = (*member)["encode.gop"];
      const YamlNode& place = own.node != nullptr && own.inherited == 0 ? *own.node : node_of(given, *member);
      report_.at(place, "camera '" + printable(member->node->key) + "' of group '" + printable(given.node->key) +
                            "' has key frames elsewhere than camera '" + printable(first->node->key) +
                            "'; give all cameras of the group the same `gop`");
      good = false;
    }
    return good;
  }

  // Where the group names it.
  static const YamlNode& node_of(const Given<GroupKeys>& given, const GivenCamera& member) {
    const YamlNode& list = *given["cameras"].node;
    return *std::ranges::find(list.children, member.node->key, &YamlNode::text);
  }

  bool check_members(const Given<GroupKeys>& given, const std::vector<GivenCamera*>& members,
                     const GroupConfig& group) {
    std::size_t live = 0;
    bool good = true;
    for (const GivenCamera* member : members) {
      const CameraConfig& config = member->value;
      const std::string name = "camera '" + printable(member->node->key) + "'";
      const bool is_live_one = is_live(config.source.url);
      live += is_live_one ? 1 : 0;
      const Origin& policy = (*member)["drop_policy"];
      const bool automatic = !policy.good || policy.node->text == "auto";
      const bool blocks = automatic ? !is_live_one : config.drop_policy == DropPolicy::block;
      if (group.on_missing == OnMissing::wait && !blocks) {
        report_.at(at(given, "on_missing"), "`wait` makes the others wait, and " + name +
                                                " drops frames meanwhile; give it `drop_policy: block`");
        good = false;
      }
      if (group.on_missing != OnMissing::wait && !is_live_one && config.source.pace == Pace::fast) {
        report_.at(at(given, "on_missing"),
                   name + " has `pace: fast`, so that no frame of the others is late; use `wait`");
        good = false;
      }
    }
    if (live == 0 || live == members.size()) return good;
    report_.at(at(given, "cameras"),
               "live cameras and files cannot be in one group: a file's frames have the file's own times");
    return false;
  }

  std::vector<GivenCamera>& cameras_;
  std::span<const std::string> removed_;
  Report& report_;
  std::map<std::string, std::string, std::less<>> group_of_;  // a camera's
};

}  // namespace

std::optional<std::vector<std::string>> read_group_cameras(const YamlNode& node, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  const std::size_t count = node.children.size();
  if (count < fewest_members || count > GroupPage::max_members) {
    report.at(node, "expected 2 to 16 cameras, got " + std::to_string(count));
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const YamlNode& child : node.children) {
    const auto name = read_text(child, "a camera's name", report);
    if (!name) continue;
    if (std::ranges::find(names, *name) != names.end()) {
      report.at(child, "camera " + shown(child) + " is in the list already; remove one");
    } else {
      names.push_back(*name);
    }
  }
  return names.size() == count ? std::optional(names) : std::nullopt;
}

bool read_groups(const YamlNode& node, Given<RigConfig>& file, Report& report) {
  if (!is_map(node, report)) return false;
  for (const YamlNode& child : node.children) {
    check_name(child, "a group's", report);
    Given<GroupKeys>& group = file.groups.emplace_back();
    group.node = &child;
    const bool reported = child.kind != YamlNode::Kind::map || !child.problem.empty() ||
                          mistyped(child, "cameras", key_names<GroupKeys>());
    read_keys(child, group, report);
    if (!reported && group["cameras"].node == nullptr) report.at_key(child, "missing key 'cameras'");
  }
  return true;
}

void enter_groups(const std::vector<Given<GroupKeys>>& groups, std::span<const std::string> removed,
                  std::vector<GivenCamera>& cameras, Report& report) {
  Groups all(cameras, removed, report);
  for (const Given<GroupKeys>& group : groups) all.enter(group);
}

}  // namespace campipe
