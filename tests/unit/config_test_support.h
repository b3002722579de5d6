// What the tests of the configuration share: a folder of their own to be in, and files to load from it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {

// A certificate of its own for "rig", and its key.
inline void make_certificate(const std::string& certificate, const std::string& key) {
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-subj /CN=rig -keyout " +
      key + " -out " + certificate + " 2> /dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
}

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string name = (std::filesystem::temp_directory_path() / "campipe-config-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    std::filesystem::current_path(folder_);
    ::setenv("STATE_DIRECTORY", state().c_str(), 1);
  }
  ~ConfigTest() override {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(folder_);
    std::filesystem::remove_all(state());
  }
  [[nodiscard]] std::filesystem::path state() const { return folder_.string() + "-state"; }

  static void write(const std::string& name, const std::string& text) { test::replace_file(name, text); }

  // Everything here must end soon; when it does not, this says so rather than the whole run's time-out.
  static LoadedConfig load_file(const std::string& name) {
    auto loading = std::async(std::launch::async, [&] { return load_config(name); });
    if (loading.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
      std::fprintf(stderr, "loading %s takes more than 30 s\n", name.c_str());
      std::abort();
    }
    return loading.get();
  }

  static LoadedConfig load(const std::string& yaml) {
    write("rig.yaml", yaml);
    return load_file("rig.yaml");
  }

  static std::vector<std::string> formatted(const LoadedConfig& loaded) {
    std::vector<std::string> lines;
    for (const ConfigError& error : loaded.errors) lines.push_back(format(error, "rig.yaml"));
    return lines;
  }

  static std::vector<std::string> errors(const std::string& yaml) { return formatted(load(yaml)); }

  // Of a file that has no mistakes.
  static std::vector<std::string> conditions(const std::string& yaml) {
    const LoadedConfig loaded = load(yaml);
    EXPECT_EQ(formatted(loaded), std::vector<std::string>());
    std::vector<std::string> lines;
    for (const ConfigError& condition : loaded.conditions) lines.push_back(format(condition, "rig.yaml"));
    return lines;
  }

  // The cameras of a file that has no mistakes.
  static std::vector<CameraConfig> cameras(const std::string& yaml) {
    const LoadedConfig loaded = load(yaml);
    EXPECT_EQ(formatted(loaded), std::vector<std::string>());
    return loaded.rig.cameras;
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

inline const std::string pattern = "test://pattern?width=320&height=240&rate=25";

struct Mistake {
  std::string keys;  // of the camera, from line 4
  std::string error;
};

class OneMistake : public ConfigTest, public ::testing::WithParamInterface<Mistake> {};

// A file with one camera; `keys` begin on line 4 and are indented by four.
inline std::string with_camera(const std::string& keys) {
  return "cameras:\n  dock:\n    source: " + pattern + "\n" + keys;
}

// With another source.
inline std::string with_source(const std::string& source, const std::string& keys) {
  return "cameras:\n  dock:\n    source: '" + source + "'\n" + keys;
}

}  // namespace campipe
