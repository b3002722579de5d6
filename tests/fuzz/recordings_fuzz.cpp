// The id of a recording in the first line, then the index beside the files, which other programs may have edited:
// nothing outside the index's folder can be listed or had.
#include "app/publisher/server/recordings.h"

#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

namespace fs = std::filesystem;

// rec/dock.index.jsonl is the index; a.mp4 and day/b.mp4 lie beside it, secret.mp4 outside, and links lead there.
struct Disk {
  Folder folder;
  ResolvedOutput output;
  Disk() {
    fs::create_directories("rec/day");
    for (const char* file : {"rec/a.mp4", "rec/day/b.mp4", "secret.mp4"}) Folder::write(file, "12345");
    fs::create_symlink("../secret.mp4", "rec/link.mp4");
    fs::create_symlink("..", "rec/out");
    output.name = output.camera = "dock";
    output.record = RecordConfig{"rec/%Y.mp4"};
  }
};

void check_file(const PathBelow& path, const fs::path& root, const std::string& id) {
  const fs::path file = fs::canonical(path.whole());
  const auto inside = file.lexically_relative(root);
  require(!inside.empty() && *inside.begin() != "..", "a recording lies in its folder", id);
  require(fs::is_regular_file(fs::symlink_status(path.whole())), "a recording is a file", id);
}

void check(std::string input) {
  static const Disk disk;
  const fs::path root = fs::canonical("rec");
  const std::string id = take_line(input);
  Folder::write("rec/dock.index.jsonl", input);
  Recordings recordings;
  recordings.add(disk.output);
  if (const PathBelow file = recordings.file(id); !file.name.empty()) check_file(file, root, id);
  const auto all = recordings.list({[](const std::string&) { return true; }, "", "", 1000});
  for (const ListedRecording& recording : all) {
    const PathBelow file = recordings.file(recording.id);
    require(!file.name.empty(), "what is listed can be had", recording.id);
    check_file(file, root, recording.id);
    require(utc_of(recording.start) == recording.start, "a start is a time", recording.start);
    require(recording.end.empty() || utc_of(recording.end) == recording.end, "an end is a time", recording.end);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
