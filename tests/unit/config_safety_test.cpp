// What a configuration must not do: give secrets away, harm recordings, hold up or bring down its reader.
#include "app/config/config.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>
#include <set>

#include "app/config/paths.h"
#include "stages/sources/source.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Strings = std::vector<std::string>;

// --- names --------------------------------------------------------------------------------------------------------

// It is refused, and filling it in ends nevertheless.
TEST_F(ConfigTest, ACameraMayBeNamedAsAField) {
  for (const std::string name : {"{camera}", "{output}", "a{camera}{output}", "%n%%Y"}) {
    const auto told = errors("cameras:\n  \"" + name + "\": {source: '" + pattern +
                             "', record: {path: \"{camera}/{output}.mp4\"}, snapshot: {path: \"{camera}.jpg\"}}\n");
    EXPECT_THAT(told, Contains(HasSubstr("a camera's name has 1 to 64"))) << name;
  }
  EXPECT_EQ(expand_record_path("{camera}/{output}.mp4", "{camera}", "{output}", 0), "{camera}/{output}.mp4");
}

// --- the environment, and secrets --------------------------------------------------------------------------------

TEST_F(ConfigTest, VariablesAreFilledIn) {
  ::setenv("CAMPIPE_TEST_SIZE", "12", 1);
  ::setenv("CAMPIPE_TEST_EMPTY", "", 1);
  ::setenv("CAMPIPE_TEST_NESTED", "${CAMPIPE_TEST_SIZE}", 1);
  ::unsetenv("CAMPIPE_TEST_UNSET");
  const auto all =
      cameras(with_camera("    queue_size: ${CAMPIPE_TEST_SIZE}\n"
                          "    decode: {threads: \"${CAMPIPE_TEST_UNSET:3}\"}\n"
                          "    record: {path: \"a${CAMPIPE_TEST_EMPTY:b}$c${CAMPIPE_TEST_UNSET:}.mp4\"}\n"));
  EXPECT_EQ(all.at(0).queue_size, 12);
  EXPECT_EQ(all.at(0).decode_threads, 3);
  EXPECT_EQ(all.at(0).record->path, "a$c.mp4");
  EXPECT_THAT(errors(with_camera("    record: {path: \"${CAMPIPE_TEST_NESTED}.mp4\"}\n")),
              ElementsAre(HasSubstr("no fields but {camera}")));  // a value is not looked at for variables again
}

TEST_F(ConfigTest, BadVariablesAreToldByName) {
  ::unsetenv("CAMPIPE_TEST_UNSET");
  ::setenv("CAMPIPE_TEST_BINARY", "\xFF", 1);
  const std::map<std::string, std::string> messages{
      {"${CAMPIPE_TEST_UNSET}",
       "the environment variable CAMPIPE_TEST_UNSET is not set, and ${CAMPIPE_TEST_UNSET} has no default"},
      {"${CAMPIPE_TEST_BINARY}", "the environment variable CAMPIPE_TEST_BINARY is not valid UTF-8"},
      {"${CAMPIPE_TEST_UNSET", "'${' without '}'"},
      {"${1A}", "expected ${NAME} or ${NAME:default}, got '${1A}'"},
      {"${}", "expected ${NAME} or ${NAME:default}, got '${}'"}};
  for (const auto& [value, message] : messages) {
    EXPECT_EQ(errors(with_camera("    queue_size: \"" + value + "\"\n")),
              Strings{"rig.yaml:4:17: cameras.dock.queue_size: " + message});
  }
}

TEST_F(ConfigTest, WhatAVariableHoldsIsNeverPrinted) {
  ::setenv("CAMPIPE_TEST_SECRET", "hunter2", 1);
  const Strings places{"    queue_size: ${CAMPIPE_TEST_SECRET}\n",
                       "    pace: ${CAMPIPE_TEST_SECRET}\n",
                       "    gpu: ${CAMPIPE_TEST_SECRET}\n",
                       "    filters: [\"${CAMPIPE_TEST_SECRET}\"]\n",
                       "    encode: {encoder: \"${CAMPIPE_TEST_SECRET}\"}\n",
                       "    encode: {options: {no_such: \"${CAMPIPE_TEST_SECRET}\"}}\n",
                       "    record: {path: \"/proc/${CAMPIPE_TEST_SECRET}.mp4\"}\n",
                       "    record: {path: \"rig.yaml/${CAMPIPE_TEST_SECRET}/a.mp4\"}\n",
                       "    record: {path: \"{${CAMPIPE_TEST_SECRET}}.mp4\"}\n"};
  for (const std::string& keys : places) {
    write("rig.yaml", with_camera(keys));
    const LoadedConfig loaded = load_config("rig.yaml");
    Strings lines = formatted(loaded);
    for (const ConfigError& condition : loaded.conditions) lines.push_back(format(condition, "rig.yaml"));
    ASSERT_EQ(lines.size(), 1U) << keys;
    EXPECT_THAT(lines[0], Not(HasSubstr("hunter2"))) << keys;
  }
  ::setenv("CAMPIPE_TEST_FOLDER", "/proc/hunter2", 1);
  EXPECT_THAT(
      errors(with_camera("    record: {path: \"${CAMPIPE_TEST_FOLDER}/a.mp4\"}\n")),
      ElementsAre("rig.yaml:4:20: cameras.dock.record.path: the folder of '${CAMPIPE_TEST_FOLDER}/a.mp4' (from the "
                  "environment: CAMPIPE_TEST_FOLDER) is of a file system that takes no files"));
  EXPECT_THAT(conditions("cameras: {a: {source: '${CAMPIPE_TEST_SECRET}/b.mp4'}}\n"),
              ElementsAre(Not(HasSubstr("hunter2"))));
  EXPECT_THAT(errors(with_camera("    queue_size: ${CAMPIPE_TEST_SECRET}\n")),
              ElementsAre(HasSubstr("got '${CAMPIPE_TEST_SECRET}' (from the environment: CAMPIPE_TEST_SECRET)")));
}

TEST_F(ConfigTest, ASourceIsShownWithTheNamesOfItsVariables) {
  ::setenv("CAMPIPE_TEST_SECRET", "token-7351", 1);
  const auto shown = [](const std::string& source) {
    const LoadedConfig loaded = load("cameras: {a: {source: \"" + source + "\"}}\n");
    return loaded.errors.empty() ? shown_url(loaded.rig.cameras.at(0).source) : loaded.errors[0].message;
  };
  EXPECT_EQ(shown("http://ada:hunter2@host/${CAMPIPE_TEST_SECRET}/live.m3u8?a=b"),
            "http://host/${CAMPIPE_TEST_SECRET}/live.m3u8");
  EXPECT_EQ(shown("rtsp://host/${CAMPIPE_TEST_OTHER:front}"), "rtsp://host/front");
}

TEST_F(ConfigTest, APasswordIsNeverPrintedWhereverItStands) {
  const std::string yaml = "cameras:\n  a:\n    source: \"rtsp://user:hunter2@host/s\"\n    loop: true\n";
  ASSERT_FALSE(errors(yaml).empty());
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < yaml.size(); ++i) {
    std::string mutant = yaml;
    mutant.erase(i, 1);
    for (const std::string& line : errors(mutant)) {
      EXPECT_THAT(line, Not(HasSubstr("hunter2"))) << mutant;
      kinds.insert(line.substr(line.rfind(':')));
    }
  }
  EXPECT_GT(kinds.size(), 5U);  // the mutants do run into different messages
  EXPECT_THAT(errors(with_camera("    gpu: rtsp://user:hunter2@host\n")), ElementsAre(HasSubstr("'rtsp://host'")));
  EXPECT_THAT(errors("rtsp://user:hun@ter2@host: 1\n"), Contains(HasSubstr(" rtsp://host: unknown key")));
}

// --- recordings --------------------------------------------------------------------------------------------------

std::string two_recordings(const std::string& first, const std::string& second) {
  return "defaults: {source: '" + pattern + "'}\ncameras:\n  a: {record: {path: \"" + first + "\"}}\n" +
         "  b: {record: {path: \"" + second + "\"}}\n";
}

TEST_F(ConfigTest, TwoCamerasMustNotRecordToOneFile) {
  const std::string here = folder().string();
  const std::vector<std::pair<std::string, std::string>> same{
      {"x.mp4", "x.mp4"},         {"x.mp4", "./y/../x.mp4"}, {"o//x.mp4", "o/x.mp4"},   {"x.mp4", here + "/x.mp4"},
      {"%Y-%m.mp4", "%Y-%m.mp4"}, {"{camera}.mp4", "a.mp4"}, {"%F.mp4", "%Y-%m-%d.mp4"}};
  for (const auto& [first, second] : same) {
    EXPECT_EQ(errors(two_recordings(first, second)),
              Strings{"rig.yaml:4:22: cameras.b.record.path: camera 'b' records to the same file as camera 'a'"})
        << first << " " << second;
  }
  EXPECT_EQ(errors(two_recordings("{camera}/x.mp4", "{camera}/x.mp4")), Strings());
  EXPECT_EQ(errors(two_recordings("%m.mp4", "%d.mp4")), Strings());
  EXPECT_EQ(
      errors("defaults: {record: {path: a.mp4}, source: '" + pattern + "'}\ncameras: {a: {}, b: {}, c: {}}\n"),
      Strings{"rig.yaml:1:27: defaults.record.path: camera 'b' records to the same file as camera 'a', use {camera} "
              "in the path"});
}

// Its disk may not be there yet: that is no mistake.
TEST_F(ConfigTest, AFolderThatCannotBeWrittenNowIsACondition) {
  write("file", "");
  std::filesystem::create_symlink("nowhere", "link");
  const std::map<std::string, std::string> away{{"file/a.mp4", "/file' is not a folder"},
                                                {"file/b/c/a.mp4", "/file' is not a folder"},
                                                {"link/a.mp4", "/link' cannot be used: No such file or directory"}};
  for (const auto& [path, message] : away) {
    EXPECT_THAT(conditions(with_camera("    record: {path: \"" + path + "\"}\n")),
                ElementsAre(::testing::AllOf(HasSubstr("4:20: cameras.dock.record.path: "), HasSubstr(message))));
  }
  // Of many cameras once.
  EXPECT_EQ(conditions("defaults: {record: {path: \"link/{camera}.mp4\"}, source: '" + pattern +
                       "'}\ncameras: {a: {}, b: {}, c: {}}\n")
                .size(),
            1U);
}

TEST_F(ConfigTest, AFolderThatTakesNoFilesIsRefused) {
  const std::map<std::string, std::string> bad{{"/sys/a.mp4", "'/sys'"},
                                               {std::string(256, 'n') + ".mp4", "a file name may have 255 bytes"},
                                               {"{camera}/" + std::string(300, 'n') + "/a.mp4", "255 bytes"}};
  for (const auto& [path, message] : bad) {
    EXPECT_THAT(errors(with_camera("    record: {path: \"" + path + "\"}\n")),
                ElementsAre(::testing::AllOf(HasSubstr("4:20: cameras.dock.record.path: "), HasSubstr(message))));
  }
}

TEST_F(ConfigTest, AFolderOfOthersIsACondition) {
  std::filesystem::permissions(folder(), std::filesystem::perms(0755));
  ASSERT_EQ(::mkdir("closed", 0555), 0);
  write("rig.yaml", with_camera("    record: {path: closed/new/a.mp4}\n"));
  const uid_t self = ::geteuid();
  if (self == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may write everywhere
  }
  const LoadedConfig loaded = load_config("rig.yaml");  // in this thread: the change of user is for all, its end too
  ASSERT_EQ(::seteuid(self), 0);
  EXPECT_THAT(formatted(loaded), ElementsAre());
  ASSERT_EQ(loaded.conditions.size(), 1U);
  EXPECT_THAT(loaded.conditions[0].message, HasSubstr("/closed' cannot be written: Permission denied"));
}

TEST_F(ConfigTest, CheckingCreatesNothing) {
  EXPECT_EQ(errors(with_camera("    record: {path: new/folder/a.mp4}\n")), Strings());
  Strings names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) names.push_back(entry.path().filename());
  EXPECT_EQ(names, Strings{"rig.yaml"});
}

TEST(RecordPath, IsFilledIn) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(expand_record_path("{camera}-{output}/{output}.mp4", "dock", "small", 0), "dock-small/small.mp4");
  EXPECT_EQ(expand_record_path("{camera}/%Y-%m-%d_%H-%M-%S/{camera}%%.mp4", "dock", "main", 1'000'000'000),
            "dock/2001-09-09_01-46-40/dock%.mp4");
  EXPECT_EQ(expand_record_path("a.mp4", "dock", "main", 0), "a.mp4");
}

// --- hostile files -----------------------------------------------------------------------------------------------

std::string repeated(const std::string& text, std::size_t size) {
  std::string out;
  while (out.size() + text.size() <= size) out += text;
  return out;
}

TEST_F(ConfigTest, HostileTextIsRefusedSoon) {
  constexpr std::size_t most = 1 << 20;
  const Strings parts{"[",    "{", "- ",  "? ",    "{a: ", "[a, ", "a: ",  "&a ",   "*a ",   "'",  "\"", "|\n", "!",
                      "!!a ", "%", "a\n", "- a\n", "[],",  "[\n",  "a,\n", "[a,\n", "---\n", "\\", "\t", "x"};
  for (const std::string& part : parts) {
    EXPECT_FALSE(errors(repeated(part, most)).empty()) << part;
  }
  std::string keys;
  for (int i = 0; i < 20'000; ++i) keys += "k" + std::to_string(i) + ": ${\n";
  const Strings lines = errors(keys);
  EXPECT_EQ(lines.size(), 1001U);
  EXPECT_EQ(lines.back(), "rig.yaml: and 19001 more mistakes");
}

TEST_F(ConfigTest, DeepNestingAndAliasesAreRefusedInWords) {
  const std::string deep = repeated("[", 100) + repeated("]", 100);
  EXPECT_THAT(errors("a: " + deep + "\n"), ElementsAre("rig.yaml:1:19: nested more deeply than any rig needs"));
  const std::string bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
  EXPECT_THAT(errors(bomb), ElementsAre(::testing::AllOf(HasSubstr("rig.yaml:1:4: anchors"), HasSubstr("`defaults`"))));
  EXPECT_THAT(errors("a: 1\nb: *x\n"), ElementsAre(HasSubstr("rig.yaml:2:4: anchors")));
  EXPECT_THAT(errors("a: [" + repeated("1,", 200'000) + "]\n"), ElementsAre(HasSubstr("more keys and values")));
}

TEST_F(ConfigTest, BinaryIsRefusedWithItsPlace) {
  const std::map<std::string, std::string> files{
      {std::string("a: 1\nb:\0", 8), "rig.yaml:2:3: a NUL byte"}, {"\xFF\xFE", "rig.yaml:1:1: not valid UTF-8"},
      {"a: \xC0\x80", "rig.yaml:1:4: not valid UTF-8"},           {"a: \xED\xA0\x80", "rig.yaml:1:4: not valid UTF-8"},
      {"a: \xF4\x90\x80\x80", "rig.yaml:1:4: not valid UTF-8"},   {"\na: \xE2\x82", "rig.yaml:2:4: not valid UTF-8"}};
  for (const auto& [text, message] : files) EXPECT_THAT(errors(text), ElementsAre(HasSubstr(message)));
}

TEST_F(ConfigTest, OnlyARegularFileOfOneMebibyteIsRead) {
  const std::string good = with_camera("");
  EXPECT_EQ(errors(good + "#" + repeated("x", (1 << 20) - good.size() - 1)), Strings());
  EXPECT_THAT(errors(good + "#" + repeated("x", (1 << 20) - good.size())), ElementsAre(HasSubstr("larger than 1 MiB")));
  std::filesystem::resize_file("rig.yaml", 100 << 20);
  EXPECT_THAT(formatted(load_file("rig.yaml")), ElementsAre(HasSubstr("larger than 1 MiB")));
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  EXPECT_THAT(formatted(load_file("pipe")), ElementsAre("rig.yaml: is a pipe, expected a regular file"));
  EXPECT_THAT(formatted(load_file(".")), ElementsAre("rig.yaml: is a directory, expected a regular file"));
  EXPECT_THAT(formatted(load_file("/dev/zero")), ElementsAre("rig.yaml: is a device, expected a regular file"));
  EXPECT_THAT(formatted(load_file("nothing")), ElementsAre("rig.yaml: cannot be opened: No such file or directory"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
