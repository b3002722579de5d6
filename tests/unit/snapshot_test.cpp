#include "stages/sinks/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/ffmpeg.h"

// A format here names only what it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto always = std::chrono::nanoseconds(0);
constexpr int patch = 32;  // side of a patch of one colour, in samples

using Rgb = std::array<int, 3>;

// A frame made of squares of these colours, side by side, in rows with some bytes behind them.
class Patches {
 public:
  Patches(const FrameFormat& format, const std::vector<Rgb>& colours) {
    view_.format = format;
    for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
      const PlaneSize size = plane_size(format, plane);
      const auto at = static_cast<std::size_t>(plane);
      planes_[at].resize(static_cast<std::size_t>((size.width + 5) * size.height));
      view_.data[at] = planes_[at].data();
      view_.stride[at] = size.width + 5;
    }
    for (int y = 0; y < format.height; ++y) {
      for (int x = 0; x < format.width; ++x) {
        const auto number = static_cast<std::size_t>(x / patch + y / patch) % colours.size();
        set(x, y, yuv(colours[number]));
      }
    }
  }

  [[nodiscard]] const FrameView& view() const { return view_; }

 private:
  // By the definition of the colour space, with the coefficients of red and blue.
  [[nodiscard]] std::array<int, 3> yuv(const Rgb& rgb) const {
    const bool hd = view_.format.color_space == AVCOL_SPC_BT709;
    const double kr = hd ? 0.2126 : 0.299;
    const double kb = hd ? 0.0722 : 0.114;
    const double y = kr * rgb[0] + (1 - kr - kb) * rgb[1] + kb * rgb[2];
    const double u = (rgb[2] - y) / (2 * (1 - kb));
    const double v = (rgb[0] - y) / (2 * (1 - kr));
    const auto round = [](double value) { return static_cast<int>(std::lround(value)); };
    if (view_.format.color_range == AVCOL_RANGE_JPEG) return {round(y), round(128 + u), round(128 + v)};
    return {round(16 + y * 219 / 255), round(128 + u * 224 / 255), round(128 + v * 224 / 255)};
  }

  void set(int x, int y, const std::array<int, 3>& value) {
    const auto put = [&](std::size_t plane, int column, int row, int v) {
      planes_[plane][static_cast<std::size_t>(row * view_.stride[plane] + column)] = static_cast<std::uint8_t>(v);
    };
    put(0, x, y, value[0]);
    const bool nv12 = view_.format.pixels == PixelFormat::nv12;
    put(1, nv12 ? x / 2 * 2 : x / 2, y / 2, value[1]);
    put(nv12 ? 1 : 2, nv12 ? x / 2 * 2 + 1 : x / 2, y / 2, value[2]);
  }

  std::array<std::vector<std::uint8_t>, 3> planes_;
  FrameView view_;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

// As a viewer shows it: three bytes a pixel.
std::string rgb_of(const fs::path& jpeg) {
  const std::string raw = jpeg.string() + ".rgb";
  EXPECT_TRUE(run("ffmpeg -v error -xerror -y -i '" + jpeg.string() +
                  "' -sws_flags accurate_rnd+full_chroma_int -f rawvideo -pix_fmt rgb24 '" + raw + "'"));
  return read_file(raw);
}

int level(const std::string& rgb, std::size_t at) { return static_cast<unsigned char>(rgb[at]); }

double psnr(const std::string& a, const std::string& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(level(a, i) - level(b, i), 2);
  return sum == 0 ? std::numeric_limits<double>::infinity()
                  : 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / sum);
}

// A folder of its own for each test, gone afterwards.
class Snapshots : public testing::Test {
 protected:
  Snapshots() {
    std::string name = (fs::temp_directory_path() / "snapshot_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_error("mkdtemp", errno);
    folder_ = name;
  }
  ~Snapshots() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string file() const { return folder_ / "a.jpg"; }
  SnapshotWriter::FailureHandler remember() {
    return [this](const std::string& reason) { failures_.push_back(reason); };
  }
  // Every frame by a writer of its own, whose end waits for the file.
  void write(const FrameView& picture) { SnapshotWriter(file(), always, remember()).offer(picture); }

  fs::path folder_;
  std::vector<std::string> failures_;
};

constexpr FrameFormat small{.width = 64, .height = 64};

struct Look {
  PixelFormat pixels;
  int range;
  int space;
  int width;
  int height;
  friend std::ostream& operator<<(std::ostream& out, const Look& of) {
    return out << (of.pixels == PixelFormat::nv12 ? "nv12" : "i420") << "_range" << of.range << "_space" << of.space
               << "_" << of.width << "x" << of.height;
  }
};

class SnapshotColours : public Snapshots, public testing::WithParamInterface<Look> {};

TEST_P(SnapshotColours, AreThoseOfThePicture) {
  const std::vector<Rgb> colours{{255, 255, 255}, {0, 0, 0},     {128, 128, 128}, {200, 30, 30},
                                 {30, 200, 30},   {30, 30, 200}, {20, 180, 180},  {200, 160, 40}};
  const Look& look = GetParam();
  const Patches picture({.pixels = look.pixels,
                         .width = look.width,
                         .height = look.height,
                         .color_range = static_cast<std::uint8_t>(look.range),
                         .color_space = static_cast<std::uint8_t>(look.space)},
                        colours);
  write(picture.view());
  ASSERT_THAT(failures_, IsEmpty());
  const std::string rgb = rgb_of(file());
  ASSERT_EQ(rgb.size(), static_cast<std::size_t>(look.width * look.height * 3));
  for (int y = patch / 2; y < look.height; y += patch) {
    for (int x = patch / 2; x < look.width; x += patch) {
      const Rgb& expected = colours[static_cast<std::size_t>(x / patch + y / patch) % colours.size()];
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(level(rgb, static_cast<std::size_t>(y * look.width + x) * 3 + c), expected[c], 5)
            << "colour " << c << " at " << x << ", " << y;
      }
    }
  }
}

// FFmpeg's own JPEG of the same frame, of the same quality.
TEST_P(SnapshotColours, AreLikeFfmpegs) {
  const Look& look = GetParam();
  const Patches picture({.pixels = look.pixels,
                         .width = look.width,
                         .height = look.height,
                         .color_range = static_cast<std::uint8_t>(look.range),
                         .color_space = static_cast<std::uint8_t>(look.space)},
                        {{250, 240, 10}, {10, 60, 120}, {130, 120, 140}, {220, 20, 90}});
  write(picture.view());
  const std::string raw = folder_ / "raw";
  std::ofstream out(raw, std::ios::binary);
  for (int plane = 0; plane < plane_count(look.pixels); ++plane) {
    const PlaneSize size = plane_size(picture.view().format, plane);
    const auto at = static_cast<std::size_t>(plane);
    for (int y = 0; y < size.height; ++y) {
      out.write(reinterpret_cast<const char*>(picture.view().data[at] + y * picture.view().stride[at]), size.width);
    }
  }
  out.close();
  const std::string matrix = look.space == AVCOL_SPC_BT709 ? "bt709" : "bt601";
  const std::string range = look.range == AVCOL_RANGE_JPEG ? "full" : "limited";
  ASSERT_TRUE(run("ffmpeg -v error -y -f rawvideo -pix_fmt " +
                  std::string(look.pixels == PixelFormat::nv12 ? "nv12" : "yuv420p") + " -s " +
                  std::to_string(look.width) + "x" + std::to_string(look.height) + " -i '" + raw +
                  "' -vf scale=in_color_matrix=" + matrix + ":in_range=" + range +
                  ":out_color_matrix=bt601:out_range=full:flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp,"
                  "format=yuvj420p -q:v 3 '" +
                  folder_.string() + "/theirs.jpg'"));
  EXPECT_GT(psnr(rgb_of(file()), rgb_of(folder_ / "theirs.jpg")), 35);
}

INSTANTIATE_TEST_SUITE_P(All, SnapshotColours,
                         testing::Values(Look{PixelFormat::i420, AVCOL_RANGE_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, 256,
                                              128},
                                         Look{PixelFormat::i420, AVCOL_RANGE_MPEG, AVCOL_SPC_BT709, 256, 128},
                                         Look{PixelFormat::i420, AVCOL_RANGE_JPEG, AVCOL_SPC_SMPTE170M, 256, 128},
                                         Look{PixelFormat::i420, AVCOL_RANGE_JPEG, AVCOL_SPC_BT709, 255, 127},
                                         Look{PixelFormat::nv12, AVCOL_RANGE_MPEG, AVCOL_SPC_BT709, 256, 128},
                                         Look{PixelFormat::nv12, AVCOL_RANGE_MPEG, AVCOL_SPC_BT470BG, 253, 131},
                                         Look{PixelFormat::nv12, AVCOL_RANGE_JPEG, AVCOL_SPC_UNSPECIFIED, 250, 90}),
                         testing::PrintToStringParamName());

// The frame of a file that has one colour only.
int grey_of(const fs::path& jpeg) {
  const std::string rgb = rgb_of(jpeg);
  return rgb.empty() ? -1 : level(rgb, rgb.size() / 2);
}

FrameView grey(std::vector<Patches>& keep, int value) {
  keep.emplace_back(small, std::vector<Rgb>{{value, value, value}});
  return keep.back().view();
}

TEST_F(Snapshots, FolderIsMadeAndSizeMayChange) {
  const std::string path = folder_ / "new" / "er" / "a.jpg";
  const Patches first(small, {{9, 99, 199}});
  const Patches second({.width = 33, .height = 47}, {{200, 200, 200}});
  {
    SnapshotWriter writer(path, always, remember());
    writer.offer(first.view());
  }
  EXPECT_EQ(rgb_of(path).size(), 64U * 64 * 3);
  {
    SnapshotWriter writer(path, always, remember());
    writer.offer(first.view());
    writer.offer(second.view());
  }
  EXPECT_EQ(rgb_of(path).size(), 33U * 47 * 3);
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(Snapshots, ComeAtTheirTime) {
  std::vector<Patches> keep;
  keep.reserve(2);
  {
    SnapshotWriter writer(file(), std::chrono::hours(1), remember());
    EXPECT_TRUE(writer.is_due());
    writer.offer(grey(keep, 50));
    EXPECT_FALSE(writer.is_due());
    writer.offer(grey(keep, 200));
  }
  EXPECT_NEAR(grey_of(file()), 50, 3);
}

// Whoever opens the file at any moment sees a whole frame.
TEST_F(Snapshots, AreAlwaysWhole) {
  const Patches picture({.width = 640, .height = 480}, {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}});
  write(picture.view());
  SnapshotWriter writer(file(), always, remember());
  for (int i = 0; i < 300; ++i) {
    writer.offer(picture.view());
    const std::string jpeg = read_file(file());
    ASSERT_GT(jpeg.size(), 1000U);
    ASSERT_EQ(jpeg.substr(0, 2), "\xff\xd8");
    ASSERT_EQ(jpeg.substr(jpeg.size() - 2), "\xff\xd9");
  }
}

TEST_F(Snapshots, AFailureIsToldOnceUntilOneSucceeds) {
  std::vector<Patches> keep;
  keep.reserve(1);
  const FrameView picture = grey(keep, 100);
  const std::string in_the_way = folder_ / ".a.jpg.part";
  std::atomic<std::size_t> failures{0};
  SnapshotWriter writer(file(), always, [&](const std::string& reason) {
    EXPECT_THAT(reason, HasSubstr(folder_.string()));
    ++failures;
  });
  const auto offer_until = [&](const std::function<bool()>& done) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(20);
    bool is_done = done();
    while (!is_done && Clock::now() < deadline) {
      writer.offer(picture);
      std::this_thread::yield();
      is_done = done();
    }
    return is_done;
  };
  for (const std::size_t round : {1U, 2U}) {
    ASSERT_TRUE(offer_until([&] { return ::mkdir(in_the_way.c_str(), 0700) == 0; }));
    EXPECT_TRUE(offer_until([&] { return failures == round; }));
    for (int i = 0; i < 20; ++i) writer.offer(picture);
    fs::remove(file());
    fs::remove(in_the_way);
    EXPECT_TRUE(offer_until([&] { return fs::exists(file()); }));
    EXPECT_EQ(failures, round);
  }
}

TEST_F(Snapshots, AFullDiskLeavesTheOldPicture) {
  std::vector<Patches> keep;
  keep.reserve(2);
  write(grey(keep, 60));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tiny{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  write(grey(keep, 180));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("cannot write")));
  EXPECT_NEAR(grey_of(file()), 60, 3);
  EXPECT_FALSE(fs::exists(folder_ / ".a.jpg.part"));
}

// What another account may have put where the new frame is written.
TEST_F(Snapshots, WhatIsInTheWayIsRemovedAndNeitherFollowedNorWaitedFor) {
  const std::string unfinished = folder_ / ".a.jpg.part";
  std::ofstream(folder_ / "precious") << "12345";
  std::vector<Patches> keep;
  keep.reserve(3);
  ASSERT_EQ(::mkfifo(unfinished.c_str(), 0600), 0);
  write(grey(keep, 60));
  EXPECT_NEAR(grey_of(file()), 60, 3);
  fs::create_symlink("precious", unfinished);
  write(grey(keep, 120));
  EXPECT_NEAR(grey_of(file()), 120, 3);
  fs::remove(file());
  fs::create_symlink("precious", file());
  write(grey(keep, 180));
  EXPECT_NEAR(grey_of(file()), 180, 3);
  EXPECT_FALSE(fs::is_symlink(file()));
  EXPECT_EQ(read_file(folder_ / "precious"), "12345");
  EXPECT_THAT(failures_, IsEmpty());
}

// The writer's thread is held up by whoever is told that the first frame cannot be written; the camera is not.
TEST_F(Snapshots, HoldNothingUpAndTheNewestWins) {
  const std::string in_the_way = folder_ / ".a.jpg.part";
  ASSERT_EQ(::mkdir(in_the_way.c_str(), 0700), 0);
  std::vector<Patches> keep;
  keep.reserve(7);
  std::promise<void> failed;
  std::promise<void> go_on;
  {
    SnapshotWriter writer(file(), always, [&](const std::string&) {
      failed.set_value();
      go_on.get_future().wait();
    });
    writer.offer(grey(keep, 255));
    failed.get_future().wait();
    for (int i = 0; i < 6; ++i) writer.offer(grey(keep, 40 * i));
    EXPECT_FALSE(fs::exists(file()));
    fs::remove(in_the_way);
    go_on.set_value();
  }
  EXPECT_NEAR(grey_of(file()), 200, 3);
}

// As on a disk that does not answer. A camera that is changed would have its worker killed.
TEST_F(Snapshots, TheEndDoesNotWaitForADiskThatHangs) {
  ASSERT_EQ(::mkdir((folder_ / ".a.jpg.part").c_str(), 0700), 0);
  const auto failed = std::make_shared<std::promise<void>>();
  const auto go_on = std::make_shared<std::promise<void>>();
  std::vector<Patches> keep;
  keep.reserve(1);
  auto writer = std::make_unique<SnapshotWriter>(file(), always, [failed, go_on](const std::string&) {
    failed->set_value();
    go_on->get_future().wait();
  });
  writer->offer(grey(keep, 255));
  failed->get_future().wait();
  std::promise<void> ended;
  std::jthread ending([&] {
    writer.reset();
    ended.set_value();
  });
  EXPECT_EQ(ended.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  go_on->set_value();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
