// `push`: where a stream is sent.
#include <map>
#include <set>

#include "app/config/given.h"
#include "app/config/reader.h"
#include "app/config/values.h"
#include "stages/sinks/push_target.h"
#include "stages/sinks/pusher.h"

namespace campipe {
namespace {

constexpr std::size_t max_pushes = 8;

// Never with the URL itself: what is secret in it need not look like it.
std::optional<PushUrl> read_push_url(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "a URL of rtsp, rtsps, srt, udp, rtmp or rtmps";
  const std::string* text = scalar_text(node);
  if (text == nullptr) {
    refuse(node, expected, report);
  } else if (text->find("://") == std::string::npos) {
    report.at(node, "expected " + std::string(expected) + ", such as rtsp://10.0.0.9:8554/dock");
  } else {
    PushUrl url{*text, written_with_variables(node)};
    const auto problem = check_push(url);
    if (!problem) return url;
    report.at(node, scrub(*problem, node));
  }
  return std::nullopt;
}

// A target in `defaults` is every camera's, and wrong only once.
class PushChecks {
 public:
  explicit PushChecks(Report& report) : report_(report) {}

  void check(const PushUrl& url, const std::string& codec, const std::string& camera, const YamlNode& node) {
    const PushTarget target = read_push_target(url);
    if (codec != "copy" && !can_carry(target, codec)) {
      report(node, target.scheme + ":// does not carry " + codec + "; choose another codec");
    }
    const auto [other, is_new] = targets_.try_emplace(url.url, camera);
    if (!is_new) report(node, "camera '" + camera + "' pushes to the same target as camera '" + other->second + "'");
  }

 private:
  void report(const YamlNode& node, const std::string& message) {
    if (reported_.insert(&node).second) report_.at(node, message);
  }

  Report& report_;
  std::map<std::string, std::string> targets_;  // and who pushes there
  std::set<const YamlNode*> reported_;
};

}  // namespace

std::optional<std::vector<PushUrl>> read_push(const YamlNode& node, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  std::vector<PushUrl> urls;
  for (const YamlNode& child : node.children) {
    if (auto url = read_push_url(child, report)) urls.push_back(std::move(*url));
  }
  if (node.children.size() > max_pushes) report.at(node.children[max_pushes], "more than 8 targets");
  if (urls.size() != node.children.size() || urls.size() > max_pushes) return std::nullopt;
  return urls;
}

void check_pushes(const std::vector<GivenCamera>& cameras, Report& report) {
  PushChecks checks(report);
  for (const NamedStream& stream : streams_of(cameras)) {
    const std::vector<PushUrl>& push = stream.value->push;
    const std::string codec = encoded_codec(*stream.given, stream.value->encode);
    for (std::size_t i = 0; i < push.size(); ++i) {
      checks.check(push[i], codec, stream.camera->node->key, stream["push"].node->children[i]);
    }
  }
}

}  // namespace campipe
