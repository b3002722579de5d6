// `campipe --schema` takes what the loader takes, and refuses what it refuses by type, range, choice or name. What the
// loader finds out by looking at several keys, files or encoders no schema can say. Values are looked at as editors
// read them, by YAML 1.2's core schema.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "app/config/key_table.h"
#include "app/config/yaml.h"
#include "tests/paths.h"
#include "tests/unit/command_output.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
namespace fs = std::filesystem;
const fs::path source_folder = test::source_folder;

json scalar_as_editors_read_it(const std::string& text) {
  static const std::regex number(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  if (text == "true" || text == "false") return text == "true";
  if (!std::regex_match(text, number)) return text;
  const double value = std::stod(text);
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

json as_editors_read_it(const YamlNode& node) {
  json value;
  if (node.kind == YamlNode::Kind::scalar) value = scalar_as_editors_read_it(node.text);
  if (node.kind == YamlNode::Kind::list) value = json::array();
  if (node.kind == YamlNode::Kind::map) value = json::object();
  for (const YamlNode& child : node.children) {
    if (value.is_array()) value.push_back(as_editors_read_it(child));
    if (value.is_object()) value[child.key] = as_editors_read_it(child);
  }
  return value;
}

class ConfigSchemaTest : public ConfigTest {
 protected:
  void add(const std::string& name, const std::string& yaml, bool good) {
    YamlResult result = parse_yaml(yaml);
    ASSERT_TRUE(std::holds_alternative<YamlNode>(result)) << yaml;
    // As the loader does before anything is read, but variables stay as they are written.
    cases_.push_back(
        {{"name", name}, {"value", as_editors_read_it(written(std::get<YamlNode>(result)))}, {"good", good}});
  }

  // What the schema judges otherwise.
  std::string misjudged() {
    write("schema.json", config_schema());
    write("cases.json", cases_.dump());
    return test::output_of((source_folder / "tests/unit/check_schema.py").string() +
                           " schema.json cases.json 2>&1; echo $?");
  }

 private:
  static YamlNode written(YamlNode node) {
    node.text = node.written;
    for (YamlNode& child : node.children) child = written(child);
    return node;
  }

  json cases_ = json::array();
};

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST_F(ConfigSchemaTest, TakesEveryExample) {
  for (const char* rig : {"demo.yaml", "rtsp.yaml"}) add(rig, text_of(source_folder / "configs" / rig), true);
  int examples = 0;
  const std::string page = text_of(source_folder / "docs/configuration.md");
  for (auto at = page.find("```yaml\n"); at != std::string::npos; at = page.find("```yaml\n", at + 1)) {
    std::string yaml = page.substr(at + 8, page.find("```", at + 8) - at - 8);
    if (yaml.find("enabled:\n") != std::string::npos) continue;  // an overlay
    if (yaml.find("cameras:\n") == std::string::npos) yaml += "cameras: {gate: {source: a.mp4}}\n";
    add("example " + std::to_string(++examples), yaml, true);
  }
  EXPECT_GE(examples, 3);
  EXPECT_EQ(misjudged(), "0\n");
}

TEST_F(ConfigSchemaTest, RefusesWhatTheLoaderRefuses) {
  for (const char* keys : {"stream: -1",
                           "stream: 64",
                           "stream: 1.5",
                           "stream: first",
                           "audio: on",
                           "on_corrupt: hide",
                           "read_timeout: 10",
                           "read_timeout: 99ms",
                           "read_timeout: 601s",
                           "read_timeout: 2 weeks",
                           "loop: 1",
                           "loop: maybe",
                           "capture: {width: 15}",
                           "capture: {format: 'a b'}",
                           "capture: {rate: 0}",
                           "tls: {verfy: true}",
                           "gpu: GPU",
                           "gpu: 1000",
                           "gpu: -1",
                           "ipc_memory: cuda",
                           "drop_policy: sometimes",
                           "queue_size: 33",
                           "decode: {threads: 0}",
                           "filters: blur",
                           "filters: [blur]",
                           "filters: [blurr: {sigma: 2}]",
                           "filters: [{blur: {sigma: 0}}]",
                           "filters: [{blur: {sigma: 1, size: 3}}]",
                           "filters: [{rotate: {angle: 100}}]",
                           "filters: [nothing]",
                           "filters: [{sharpen: {}, blur: {sigma: 1}}]",
                           "rate: 1001",
                           "encode: {codec: h265}",
                           "encode: {crf: 52}",
                           "encode: {bitrate: 9k}",
                           "encode: {bitrate: 1.1G}",
                           "encode: {bitrate: 4m}",
                           "encode: {gop: 0}",
                           "encode: {gop: 11m}",
                           "encode: {bitrate: 4M, crf: 23}",
                           "encode: {threads: 65}",
                           "encode: {threads: many}",
                           "encode: {options: [a]}",
                           "record: {path: a.avi}",
                           "record: {path: a.mp4, segment_duration: 1}",
                           "record: {path: a.mp4, segment_duration: 25h}",
                           "record: {path: a.mp4, max_size: 999k}",
                           "record: {path: a.mp4, delete_after: 3651d}",
                           "record: {path: a.mp4, when: often}",
                           "push: rtsp://a/b",
                           "push: [http://a/b]",
                           "push: [udp://a:1, udp://a:2, udp://a:3, udp://a:4, udp://a:5, udp://a:6, udp://a:7, "
                           "udp://a:8, udp://a:9]",
                           "snapshot: {path: a.png}",
                           "snapshot: {path: '%Y.jpg'}",
                           "snapshot: {every: 1s}",
                           "outputs: {main: {rate: 1}}",
                           "outputs: {a: {gpu: 0}}",
                           "outputs: {a: {encode: {codec: auto}}}",
                           "outputs: {a: {record: {overwrite: true}}}",
                           "outputs: {a: {}, b: {}, c: {}, d: {}, e: {}}",
                           "colour: red"}) {
    const std::string yaml = with_camera("    " + std::string(keys) + "\n");
    EXPECT_NE(errors(yaml), std::vector<std::string>()) << keys;
    // A path may come from `defaults`.
    if (keys != std::string_view("snapshot: {every: 1s}")) add(keys, yaml, false);
  }
  const std::string camera = "cameras: {gate: {source: a.mp4}}\n";
  add("nothing but what is required", camera + "users: {a: {password: '$argon2id$v=19'}}\n", true);
  for (const char* keys :
       {"workers: {count: 16}", "workers: {count: some}", "mps: on", "admission: off", "balance: on",
        "http_address: here", "insecure: 1", "umask: 0777", "umask: 0018", "users: {}", "users: {a: {}}",
        "users: {a: {password: secret}}", "users: {-a: {}}", "tls: {certificate: a.pem}", "trusted_proxies: [proxy]",
        "events: []", "defaults: {queue_size: 0}", "camera: 1"})
    add(keys, camera + keys + "\n", false);
  add("no cameras", "workers: {count: 1}\n", false);
  add("an empty list of cameras", "cameras: {}\n", false);
  add("a camera's name", "cameras: {_a: {source: a.mp4}}\n", false);
  EXPECT_EQ(misjudged(), "0\n");
}

// These keys but for one, with a comma behind each.
std::string but(const std::map<std::string, std::string>& required, const std::string& key) {
  std::string text;
  for (const auto& [name, value] : required) text += name == key ? "" : name + ": " + value + ", ";
  return text;
}

// The smallest file in which that key stands; what else is required is there.
std::string file_with(const std::string& section, const std::string& key, const std::string& value) {
  const std::string cameras = key == "cameras" && section.empty() ? "" : "cameras: {a: {source: b}}\n";
  const std::string pair = key + ": " + value;
  if (section.empty()) return cameras + pair + "\n";
  if (section == "sessions") return cameras + "sessions: {" + pair + "}\n";
  if (section == "workers") return cameras + "workers: {" + pair + "}\n";
  if (section == "mosaics") return cameras + "mosaics: {a: {" + pair + "}}\n";
  if (section == "sync_groups") {
    return cameras + "sync_groups: {a: {" + (key == "cameras" ? "" : "cameras: [a, b], ") + pair + "}}\n";
  }
  if (section == "users") {
    return cameras + "users: {a: {" + (key == "password" ? "" : "password: $argon2id$v=19, ") + pair + "}}\n";
  }
  if (section == "cluster") {
    return cameras + "cluster: {" + but({{"name", "a"}, {"etcd", "['http://[::1]:1']"}, {"address", "'a:1'"}}, key) +
           pair + "}\n";
  }
  if (section == "tls of the cluster") {
    return cameras + "cluster: {name: a, etcd: ['http://[::1]:1'], address: 'a:1', tls: {" +
           but({{"ca", "a"}, {"certificate", "a"}, {"key", "a"}}, key) + pair + "}}\n";
  }
  if (section == "links of the cluster") {
    return cameras + "cluster: {name: a, etcd: ['http://[::1]:1'], address: 'a:1', links: {" + pair + "}}\n";
  }
  if (section == "tls of the servers") {
    return cameras + "tls: {" + (key == "key" ? "certificate" : "key") + ": a, " + pair + "}\n";
  }
  if (section == "camera") return "cameras: {a: {" + pair + "}}\n";
  if (section == "outputs") return "cameras: {a: {outputs: {small: {" + pair + "}}}}\n";
  return "cameras: {a: {" + section + ": {" + pair + "}}}\n";
}

// A list in a list is nowhere a value.
TEST_F(ConfigSchemaTest, RefusesAnotherTypeForEachKey) {
  for (const ConfigSection& section : config_sections()) {
    for (const KeyInfo& key : section.keys) {
      const std::string name(key.name());
      add(section.name + " " + name, file_with(section.name, name, "[[x]]"), false);
      // But for lists and maps each key may be a variable: so it was the value that was refused.
      if (key.kind == KeyInfo::Kind::value && key.type != "list" && key.type != "map")
        add(section.name + " " + name, file_with(section.name, name, "\"${X}\""), true);
    }
  }
  EXPECT_EQ(misjudged(), "0\n");
}

// Of values with units the schema takes exactly what the loader takes.
TEST_F(ConfigSchemaTest, KnowsTheRangesOfValuesWithUnits) {
  constexpr std::array values{
      "0",     "1",   "0s",   "0ms",  "1ms",   "0.5ms", "99ms",  "100ms", "99.9ms", "100.5ms", "0.1s",   "0.09s",
      "00.1s", ".1s", ".s",   "1.s",  "1s",    "0.99s", "10m",   "10.1m", "9.9m",   "600s",    "601s",   "1h",
      "1.01h", "60m", "61m",  "24h",  "24.1h", "1d",    "2d",    "3650d", "3651d",  "87600h",  "1 s",    "1S",
      "-1s",   "s",   "1",    "10k",  "9k",    "9.99k", "10000", "9999",  "1G",     "1.0G",    "1.01G",  "1000M",
      "1001M", "1M",  "0.9M", "999k", "1000T", "1001T", "1T",    "1K",    "1.5M",   "20G",     "100001", "1.5"};
  for (const char* key :
       {"read_timeout: ", "retry_interval: ", "record: {path: '%s.mp4', segment_duration: ",
        "record: {path: a.mp4, delete_after: ", "record: {path: a.mp4, max_size: ", "snapshot: {path: a.jpg, every: ",
        "encode: {codec: mjpeg, bitrate: ", "encode: {codec: mjpeg, gop: "}) {
    for (const char* value : values) {
      const std::string keys = key + std::string(value) + (std::string_view(key).find('{') < 20 ? "}" : "");
      const std::string yaml = with_camera("    " + keys + "\n");
      add(keys, yaml, errors(yaml).empty());
    }
  }
  EXPECT_EQ(misjudged(), "0\n");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
