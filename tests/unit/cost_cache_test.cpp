// The file of measured costs: what was written is read again, and garbage of every kind is not believed.
#include "app/costs/cost_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <random>

#include "core/error.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

DeviceCosts costs_of(const std::string& device, const std::string& version = CAMPIPE_VERSION,
                     const std::string& driver = "580.1") {
  DeviceCosts costs{{device, "A model", driver, version}, "2026-11-25T10:00:00Z"};
  costs.at("blur").add(1.5, {0.9, 700.25});
  costs.at("blur").add(1.5, {2, 1500});
  costs.at("blur").add(6, {0.9, 1900});
  costs.at("color").merges = true;
  costs.at("color").add(0, {1, 3});
  return costs;
}

class CostsFile : public testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_.path() / "campipe" / "costs.json"; }
  void put(const std::string& text) const {
    fs::create_directories(file().parent_path());
    std::ofstream(file(), std::ios::binary) << text;
  }
  test::TemporaryFolder folder_;
};

TEST_F(CostsFile, KeepsWhatWasMeasured) {
  EXPECT_THAT(read_costs(file()).devices, IsEmpty());
  EXPECT_EQ(read_costs(file()).problem, "") << "there is none, which is no fault";
  const DeviceCosts cpu = costs_of("cpu");
  write_costs(file(), {cpu});
  const CostCache cache = read_costs(file());
  EXPECT_EQ(cache.problem, "");
  ASSERT_THAT(cache.devices, SizeIs(1));
  EXPECT_EQ(cache.devices[0], cpu);
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0077U, 0U) << "nobody else writes it";
  EXPECT_EQ(std::distance(fs::directory_iterator(file().parent_path()), {}), 1) << "nothing is left beside it";
}

TEST_F(CostsFile, KeepsOtherDevicesAndReplacesTheSame) {
  write_costs(file(), {costs_of("cpu"), costs_of("GPU-a")});
  DeviceCosts again = costs_of("cpu");
  again.at("sharpen").add(0, {1, 400});
  write_costs(file(), {again});
  const CostCache cache = read_costs(file());
  EXPECT_THAT(cache.devices, testing::UnorderedElementsAre(again, costs_of("GPU-a")));
}

TEST_F(CostsFile, DoesNotGrowForEver) {
  for (int i = 0; i < 60; ++i) write_costs(file(), {costs_of("GPU-" + std::to_string(i))});
  EXPECT_THAT(read_costs(file()).devices, SizeIs(17));
}

TEST_F(CostsFile, IsReplacedWhereItIsGarbage) {
  put("{ garbage");
  write_costs(file(), {costs_of("cpu")});
  EXPECT_THAT(read_costs(file()).devices, SizeIs(1));
}

TEST(FindCosts, SaysWhyThereAreNone) {
  const CostCache cache{{costs_of("cpu"), costs_of("GPU-a")}, ""};
  const auto why = [&](const CostKey& key) {
    const auto found = find_costs(cache, key);
    return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "found";
  };
  EXPECT_EQ(why(costs_of("cpu").key), "found");
  EXPECT_EQ(why(costs_of("cpu", "9.9.9").key), "the CPU was measured with campipe " CAMPIPE_VERSION ", this is 9.9.9");
  EXPECT_EQ(why(costs_of("GPU-a", CAMPIPE_VERSION, "590.7").key),
            "A model was measured with the driver 580.1, this is 590.7");
  EXPECT_EQ(why({"cpu", "Another model", "580.1", CAMPIPE_VERSION}),
            "the CPU was measured with another processor: A model, this is Another model");
  EXPECT_EQ(why(costs_of("GPU-b").key), "A model has not been measured");
  EXPECT_EQ(std::get<std::string>(find_costs({{}, "the file is garbage"}, costs_of("cpu").key)), "the file is garbage");
}

TEST_F(CostsFile, OfAnotherKindIsNotRead) {
  fs::create_directories(file());  // a folder
  EXPECT_THAT(read_costs(file()).problem, HasSubstr("not a regular file"));
  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);  // which nobody writes: it must not be waited for
  EXPECT_THAT(read_costs(file()).problem, HasSubstr("not a regular file"));
  fs::remove(file());
  put(costs_text({costs_of("cpu")}));
  fs::rename(file(), folder_.path() / "elsewhere");
  fs::create_symlink(folder_.path() / "elsewhere", file());
  EXPECT_THAT(read_costs(file()).problem, HasSubstr("cannot be opened"));
  fs::remove(file());
  fs::create_symlink(folder_.path() / "nowhere", file());
  EXPECT_THAT(read_costs(file()).problem, HasSubstr("cannot be opened"));
}

TEST_F(CostsFile, ThatIsHugeIsNotRead) {
  put("{}");
  fs::resize_file(file(), 5U << 20);
  EXPECT_THAT(read_costs(file()).problem, HasSubstr("larger than 4 MiB"));
}

TEST_F(CostsFile, ThatEverybodyMayWriteIsNotBelieved) {
  put(costs_text({costs_of("cpu")}));
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(read_costs(file()).problem, HasSubstr("every account may write to it"));
  EXPECT_TRUE(read_costs(file()).devices.empty());
}

TEST_F(CostsFile, ThatMayNotBeReadIsReported) {
  put(costs_text({costs_of("cpu")}));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(file().c_str(), 12345, 12345), 0);
    EXPECT_THAT(read_costs(file()).problem, HasSubstr("belongs to another account (user id 12345)"));
  } else {
    fs::permissions(file(), fs::perms::none);
    EXPECT_THAT(read_costs(file()).problem, HasSubstr("cannot be opened"));
  }
}

// Of a good text with `from` replaced once by `to`.
struct Garbage {
  const char* name;
  const char* from;
  const char* to;
  const char* problem;
  friend std::ostream& operator<<(std::ostream& out, const Garbage& of) { return out << of.name; }
};

class GarbageInCosts : public testing::TestWithParam<Garbage> {};

TEST_P(GarbageInCosts, IsNotBelieved) {
  std::string text = costs_text({costs_of("cpu"), costs_of("GPU-a")});
  std::erase_if(text, [](char c) { return c == '\n' || c == ' '; });
  const auto at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, std::string_view(GetParam().from).size(), GetParam().to);
  const CostCache cache = parse_costs(text, "costs.json");
  EXPECT_THAT(cache.devices, IsEmpty()) << "also of its good parts: who wrote it?";
  EXPECT_THAT(cache.problem, StartsWith("costs.json is not believed: "));
  EXPECT_THAT(cache.problem, HasSubstr(GetParam().problem));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GarbageInCosts,
    testing::Values(Garbage{"AnotherFormat", "\"format\":1", "\"format\":2", "another version"},
                    Garbage{"FormatText", "\"format\":1", "\"format\":\"1\"", "another version"},
                    Garbage{"NoFormat", "\"format\":1", "\"f\":1", "'format' is missing"},
                    Garbage{"Twice", "GPU-a", "cpu", "twice"},
                    Garbage{"NoDevice", "\"device\":\"cpu\"", "\"device\":\"\"", "'device' is empty"},
                    Garbage{"NumberForText", "\"device\":\"cpu\"", "\"device\":7", "'device' is not a string"},
                    Garbage{"ControlCharacters", "Amodel", "A\\u001b[2J", "no plain text"},
                    Garbage{"Negative", "700.25", "-700.25", "'us' cannot be -700.25"},
                    Garbage{"Zero", "700.25", "0", "'us' cannot be 0"},
                    Garbage{"Infinite", "700.25", "1e999", "no JSON"},
                    Garbage{"Huge", "700.25", "1e300", "'us' cannot be"},
                    Garbage{"Null", "700.25", "null", "'us' is not a number"},
                    Garbage{"Nan", "700.25", "NaN", "no JSON"},
                    Garbage{"Unsorted", "\"megapixels\":2.0", "\"megapixels\":0.5", "'megapixels' cannot be 0.5"},
                    Garbage{"SameSize", "\"megapixels\":2.0", "\"megapixels\":0.9", "'megapixels' cannot be 0.9"},
                    Garbage{"HugeFrames", "\"megapixels\":2.0", "\"megapixels\":2e9", "'megapixels' cannot be"},
                    Garbage{"UnsortedParameters", "\"parameter\":6.0", "\"parameter\":1.0", "'parameter' cannot be 1"},
                    Garbage{"NegativeParameter", "\"parameter\":1.5", "\"parameter\":-0.5", "'parameter' is negative"},
                    Garbage{"NoPoints", "[{\"megapixels\":0.9,\"us\":1900.0}]", "[]", "'points' is empty"},
                    Garbage{"PointsNoList", "[{\"megapixels\":0.9,\"us\":1900.0}]", "{}", "'points' is not a list"},
                    Garbage{"PointNoObject", "{\"megapixels\":0.9,\"us\":1900.0}", "3", "not an object"},
                    Garbage{"WorkTwice", "\"work\":\"color\"", "\"work\":\"blur\"", "blur is there twice"},
                    Garbage{"MergesText", "\"merges\":true", "\"merges\":\"yes\"", "'merges' is not a boolean"},
                    Garbage{"NotMeasured", "2026-11-25T10:00:00Z", "", "'measured' is empty"},
                    Garbage{"Missing", "\"driver\"", "\"diver\"", "'driver' is missing"},
                    Garbage{"NoUtf8", "Amodel", "A\xff\xfe", "no JSON"}),
    [](const auto& of) { return of.param.name; });

TEST(GarbageInCosts, OfOtherKindsIsNotBelieved) {
  const auto problem = [](const std::string& text) { return parse_costs(text, "x").problem; };
  for (const std::string text :
       {"", "\0", "null", "[]", "7", "\"costs\"", "{}", "{\"format\":1}", "{\"format\":1,\"devices\":7}"})
    EXPECT_NE(problem(text), "") << text;
  EXPECT_NE(problem(std::string(1 << 20, '[')), "");
  EXPECT_NE(problem("{\"format\":1,\"devices\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"), "");
  std::string many = "{\"format\":1,\"devices\":[";
  for (int i = 0; i < 100; ++i) many += i == 0 ? "{}" : ",{}";
  EXPECT_THAT(problem(many + "]}"), HasSubstr("more than 64"));
}

// What a file of which a part was damaged gives is either nothing or possible.
void expect_possible(const CostCache& cache, const std::string& text) {
  EXPECT_TRUE(cache.problem.empty() || cache.devices.empty()) << text;
  for (const DeviceCosts& costs : cache.devices) {
    for (const WorkCost& cost : costs.work) {
      for (const double megapixels : {0.01, 1.0, 3.0, 33.0}) {
        const double us = cost_us(costs, Work{cost.work, megapixels, 2}).value_or(-1);
        ASSERT_TRUE(std::isfinite(us) && us > 0) << us << " of " << cost.work << " in " << text;
      }
    }
  }
}

TEST(GarbageInCosts, CannotMakeATimeThatCannotBe) {
  const std::string good = costs_text({costs_of("cpu")});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string cut = good.substr(0, size);
    const CostCache cache = parse_costs(cut, "x");
    EXPECT_TRUE(size + 1 == good.size() || !cache.problem.empty()) << "all but the last line end: " << cut;
  }
  std::minstd_rand random(5);
  const std::string letters = "0123456789eE+-.{}[]\",:ntrue \x80";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      text[random() % text.size()] = letters[random() % letters.size()];
    expect_possible(parse_costs(text, "x"), text);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
