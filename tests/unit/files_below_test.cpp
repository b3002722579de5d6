// What lies below a folder that others may write into, and the lines of a file that they may have written.
#include "core/files_below.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "core/line_reader.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using Next = LineReader::Next;

class FilesBelow : public testing::Test {
 protected:
  FilesBelow() {
    fs::create_directories(folder() / "day");
    fs::create_directories(outer_.path() / "elsewhere");
    for (const fs::path& file : {folder() / "a", folder() / "day" / "b", outer_.path() / "elsewhere" / "c"})
      std::ofstream(file) << "12345";
    fs::create_symlink("../elsewhere", folder() / "link");
    fs::create_symlink("day/b", folder() / "day.link");
    fs::create_symlink("rec", outer_.path() / "mine");
  }
  [[nodiscard]] fs::path folder() const { return outer_.path() / "rec"; }
  // 0: it can be opened.
  [[nodiscard]] int code_of(const fs::path& name, int flags = O_RDONLY) const {
    errno = 0;
    return open_below({folder(), name}, flags, 0600) ? 0 : errno;
  }

  test::TemporaryFolder outer_;
};

TEST_F(FilesBelow, FilesAreOpened) {
  EXPECT_EQ(code_of("a"), 0);
  EXPECT_EQ(code_of("day/b"), 0);
  EXPECT_EQ(code_of("./day//b"), 0);
  EXPECT_EQ(code_of("day/new", O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(code_of("day/none"), ENOENT);
  EXPECT_EQ(code_of("a/b"), ENOTDIR);
  EXPECT_TRUE(open_below({outer_.path() / "mine", "day/b"}, O_RDONLY)) << "the user's own link";
}

TEST_F(FilesBelow, NoLinkIsFollowed) {
  for (const char* name : {"link/c", "day.link", "../elsewhere/c", "day/../a", "/etc/passwd"}) {
    EXPECT_EQ(code_of(name), ELOOP) << name;
    EXPECT_EQ(code_of(name, O_RDWR | O_CREAT), ELOOP) << name;
  }
  EXPECT_EQ(code_of(std::string("a\0b", 3)), ELOOP);
  EXPECT_FALSE(remove_below({folder(), "link/c"}));
  EXPECT_FALSE(make_folders_of({folder(), "link/new/x"}));
  EXPECT_FALSE(is_gone({folder(), "link/none"})) << "that is not known";
  EXPECT_TRUE(is_gone({folder(), "day/none"}));
  EXPECT_TRUE(remove_below({folder(), "day.link"})) << "the link itself";
  EXPECT_TRUE(fs::exists(folder() / "day" / "b"));
  EXPECT_FALSE(fs::exists(outer_.path() / "elsewhere" / "new"));
}

TEST_F(FilesBelow, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_APPEND | O_CREAT})
    EXPECT_EQ(code_of("pipe", flags), ENXIO) << flags;
  EXPECT_EQ(code_of("day"), ENXIO);
}

TEST_F(FilesBelow, FoldersAreMade) {
  EXPECT_TRUE(make_folders_of({folder() / "x", "y/z/file"}));
  EXPECT_TRUE(fs::is_directory(folder() / "x/y/z"));
  EXPECT_TRUE(make_folders_of({folder() / "x", "file"}));
}

TEST_F(FilesBelow, AFileTakesAnothersPlaceOrNothingIsLeft) {
  const PathBelow path{folder(), "day/b"};
  {
    ReplacingFile file(path, ".b.part");
    file.write(std::string_view("new"));
    EXPECT_EQ(fs::file_size(path.whole()), 5U);
    file.replace();
  }
  EXPECT_EQ(fs::file_size(path.whole()), 3U);
  { const ReplacingFile given_up(path, ".b.part"); }
  EXPECT_FALSE(fs::exists(folder() / "day" / ".b.part"));
  EXPECT_EQ(fs::file_size(path.whole()), 3U);
}

class Lines : public testing::Test {
 protected:
  LineReader read(const std::string& text, std::uint64_t from = 0, std::uint64_t to = UINT64_MAX) {
    std::ofstream(folder_.path() / "lines") << text;
    return LineReader(open_below({folder_.path(), "lines"}, O_RDONLY), from, to);
  }
  static std::vector<std::pair<Next, std::string>> all(LineReader reader) {
    std::vector<std::pair<Next, std::string>> lines;
    for (std::string line; lines.empty() || lines.back().first != Next::end;) {
      line.clear();
      const Next next = reader.next(line);
      lines.emplace_back(next, line);
    }
    return lines;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Lines, AreReadOneByOne) {
  EXPECT_THAT(all(read("a\n\nbc\nd")),
              ElementsAre(std::pair(Next::line, "a"), std::pair(Next::line, ""), std::pair(Next::line, "bc"),
                          std::pair(Next::unended, "d"), std::pair(Next::end, "")));
  EXPECT_THAT(all(read("a\nb\nc\n", 2, 4)), ElementsAre(std::pair(Next::line, "b"), std::pair(Next::end, "")));
  EXPECT_THAT(all(read("")), ElementsAre(std::pair(Next::end, "")));
  EXPECT_THAT(all(LineReader()), ElementsAre(std::pair(Next::end, "")));
  EXPECT_TRUE(LineReader(UniqueFd()).failed());
}

TEST_F(Lines, ThatAreTooLongAreLeftOut) {
  for (const std::size_t length : {LineReader::longest_line, LineReader::longest_line * 3 / 2, std::size_t{1} << 20U}) {
    const std::string text = "a\n" + std::string(length, 'x') + "\nb\n";
    auto lines = all(read(text));
    std::erase_if(lines, [](const auto& line) { return line.first == Next::skipped; });
    EXPECT_THAT(lines, ElementsAre(std::pair(Next::line, "a"), std::pair(Next::too_long, ""),
                                   std::pair(Next::line, "b"), std::pair(Next::end, "")))
        << length;
  }
  const std::string longest(LineReader::longest_line - 1, 'x');
  EXPECT_EQ(all(read(longest + "\n"))[0], std::pair(Next::line, longest));
}

// Whoever reads a file that grows.
TEST_F(Lines, ThePositionIsBehindWhatWasRead) {
  LineReader reader = read("ab\ncd\nef");
  std::string line;
  EXPECT_EQ(reader.next(line), Next::line);
  EXPECT_EQ(reader.position(), 3U);
  EXPECT_EQ(reader.next(line), Next::line);
  EXPECT_EQ(reader.next(line), Next::unended);
  EXPECT_EQ(reader.position(), 6U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
