#include "core/merge_patch.h"

#include <gtest/gtest.h>

#include <random>

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;

TEST(MergePatch, HasWhatDiffersAndNothingElse) {
  const json from{{"a", 1}, {"b", {{"c", 2}, {"d", 3}}}, {"gone", "x"}, {"list", {1, 2}}};
  const json to{{"a", 1}, {"b", {{"c", 2}, {"d", 4}}}, {"list", {1, 3}}, {"new", {{"e", json::object()}}}};
  EXPECT_EQ(merge_patch_between(from, to),
            (json{{"b", {{"d", 4}}}, {"gone", nullptr}, {"list", {1, 3}}, {"new", {{"e", json::object()}}}}));
  EXPECT_EQ(merge_patch_between(from, from), json::object());
}

// Few keys and values, so that they meet often: as numbers, as objects and as lists, which may have nulls.
json random_value(std::mt19937& random, int depth) {
  const auto below = [&random](unsigned limit) { return random() % limit; };
  if (depth == 0 || below(3) == 0) {
    switch (below(4)) {
      case 0:
        return below(3);
      case 1:
        return below(2) == 1;
      case 2:
        return json::array({below(2), nullptr, json{{"null", nullptr}}});
      default:
        return std::string(below(3), 'x');
    }
  }
  json object = json::object();
  for (unsigned i = below(5); i > 0; --i)
    object[std::string(1, static_cast<char>('a' + below(5)))] = random_value(random, depth - 1);
  return object;
}

json random_object(std::mt19937& random) {
  for (;;) {
    json value = random_value(random, 4);
    if (value.is_object()) return value;
  }
}

TEST(MergePatch, OfRandomDocumentsGivesTheSameOnes) {
  std::mt19937 random(7);
  json seen = random_object(random);
  for (int i = 0; i < 20'000; ++i) {
    const json next = random_object(random);
    seen.merge_patch(merge_patch_between(seen, next));
    ASSERT_EQ(seen, next) << i;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
