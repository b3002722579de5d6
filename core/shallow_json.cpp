#include "core/shallow_json.h"

#include <set>
#include <utility>
#include <vector>

namespace campipe {
namespace {

using nlohmann::json;
using Kind = JsonProblem::Kind;

class Looking final : public nlohmann::json_sax<json> {
 public:
  Looking(int deepest, JsonKeys keys) : deepest_(deepest), unique_(keys == JsonKeys::unique) {}

  [[nodiscard]] JsonProblem take() { return std::move(problem_); }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(json::binary_t& /*value*/) override { return true; }
  bool start_array(std::size_t /*elements*/) override { return open(); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t /*elements*/) override {
    if (unique_) keys_.emplace_back();
    return open();
  }
  bool end_object() override {
    if (unique_) keys_.pop_back();
    return close();
  }
  bool key(std::string& name) override {
    if (!unique_ || keys_.back().insert(name).second) return true;
    problem_ = {Kind::duplicate_key, name};
    return false;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    problem_ = {Kind::no_json};
    return false;
  }

 private:
  bool open() {
    if (++depth_ <= deepest_) return true;
    problem_ = {Kind::too_deep};
    return false;
  }
  bool close() {
    --depth_;
    return true;
  }

  int deepest_;
  bool unique_;
  int depth_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the objects that it is in
  JsonProblem problem_;
};

}  // namespace

JsonProblem find_json_problem(std::string_view text, int deepest, JsonKeys keys) {
  Looking looking(deepest, keys);
  json::sax_parse(text, &looking);
  return looking.take();
}

json parse_shallow(std::string_view text, int deepest) {
  if (find_json_problem(text, deepest).kind != Kind::none) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

}  // namespace campipe
