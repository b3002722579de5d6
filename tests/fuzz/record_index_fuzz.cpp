// The index that says what retention may delete: it names nothing outside its folder, whoever has edited it, and what
// was written is read again as the same.
#include "app/publisher/recording/record_index.h"
#include "core/utc_text.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/quiet.h"

namespace campipe::fuzz {
namespace {

namespace fs = std::filesystem;

struct Disk {
  Folder folder;
  Disk() {
    fs::create_directories("rec/day");
    for (const char* file : {"rec/a.mp4", "rec/day/b.mp4", "secret.mp4"}) Folder::write(file, "12345");
  }
};

std::vector<fs::path> paths_of(RecordIndex index) {
  std::vector<fs::path> paths;
  for (const RecordedFile& file : index.files()) paths.push_back(file.path);
  return paths;
}

void check(const std::string& input) {
  static const Disk disk;
  be_silent();
  const fs::path path = "rec/dock.index.jsonl";
  Folder::write(path, input);
  RecordIndex index(path);
  for (const RecordedFile& file : index.files()) {
    require(!contains(file.path.string() + "/", "/../") && file.path.string().starts_with("rec/"),
            "a file lies in the index's folder", file.path.string());
    static_cast<void>(utc_text(file.written));
  }
  const std::vector<fs::path> paths = paths_of(std::move(index));
  require(paths_of(RecordIndex(path)) == paths, "the same when read again", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
