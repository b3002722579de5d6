// Saying what is wrong, so that it helps and gives nothing away: places and quoted values.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "app/config/step.h"
#include "app/config/yaml.h"
#include "core/clock.h"
#include "core/nearest_name.h"

namespace campipe {

// Collects mistakes. Beyond a thousand they are only counted: a hostile file has many.
class Report {
 public:
  // After what does not.
  static constexpr auto does_not_answer = "is on a disk that does not answer";

  explicit Report(OnLoadStep on_step = {}) : on_step_(std::move(on_step)) {}
  void at(const YamlNode& value, std::string message) { add(value.mark, value.path, std::move(message)); }
  void at_key(const YamlNode& value, std::string message) { add(value.key_mark, value.path, std::move(message)); }
  void add(Mark mark, std::string path, std::string message, bool contradicts = false);
  // Of what would be good, if something else were not as it is.
  void contradiction(Mark mark, const YamlNode& value, std::string message) {
    add(mark, value.path, std::move(message), true);
  }
  // It is good, and cannot be used on this machine now. That passes; what needs it waits meanwhile.
  void not_now(const YamlNode& value, std::string message);
  // See LoadStep. `key`: the one that it is about; null: the file as a whole.
  void step(const YamlNode* key, std::string doing, std::string remedy) const;

  // Runs `look`, which asks a disk, on a thread of its own, and returns its result; nothing: the disk did not answer
  // in time. That thread is left behind, and may run until the process ends: `look` must own all that it uses. All
  // calls together wait for 4 s at most.
  template <typename Look>
  auto ask_disk(Look look) -> std::optional<decltype(look())> {
    const auto task = std::make_shared<std::packaged_task<decltype(look())()>>(std::move(look));
    auto answer = task->get_future();
    std::thread([task] { (*task)(); }).detach();
    const auto begin = Clock::now();
    const bool answers = answer.wait_for(std::max(patience_, least_patience)) == std::future_status::ready;
    patience_ -= Clock::now() - begin;
    if (!answers) return std::nullopt;
    return std::optional<decltype(look())>(std::in_place, answer.get());  // which may be an optional itself
  }

  // In the order of the file.
  [[nodiscard]] std::vector<ConfigError> take();
  [[nodiscard]] std::vector<ConfigError> take_conditions();

 private:
  static constexpr Clock::duration least_patience = std::chrono::milliseconds(10);  // for disks that do answer

  OnLoadStep on_step_;
  Clock::duration patience_ = std::chrono::seconds(4);  // with disks
  std::vector<ConfigError> errors_;
  std::size_t more_ = 0;
  std::vector<ConfigError> conditions_;
};

// A path's next step: `cameras` + `dock` → `cameras.dock`. Names are shown as in_quotes() shows them, without quotes.
std::string join_path(const std::string& parent, std::string_view key);

// "'text'", on one line, cut when long, without passwords (core/passwords.h).
std::string in_quotes(std::string_view text);

// What a value is, for "expected …, got …". What comes from the environment is named by its variable.
std::string shown(const YamlNode& value);

// user:password@ → user:***@, also where a typing mistake makes it no URL.
std::string mask_password(std::string_view text);

// A text that others wrote about these values, made fit to be printed: no password, no variable's value.
std::string scrub(std::string text, const YamlNode& value);

// "a, b or c"
std::string alternatives(std::span<const std::string_view> names);

}  // namespace campipe
