// A recorded file that somebody may have damaged before it gets its index.
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/unique_handle.h"
#include "stages/sinks/file_index.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(Container container, int file, std::size_t size) {
  const auto index = FileIndex::of(container);
  FileReader reader(file, index->piece());
  const bool had_one = index->is_there(reader);
  if (!index->follow(reader, size) || had_one) return;
  require(index->taken() <= size, "what is taken lies in the file");
  if (!index->is_all(reader, size)) return;
  try {
    const auto made = index->make(1'234'567'890);
    const FilePatch patch = index->patch();
    require(!made.empty() && patch.offset + patch.bytes.size() <= index->taken(),
            "the patch lies before what is appended");
  } catch (const Error&) {  // no header of ours
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const campipe::UniqueFd file(::memfd_create("recording", MFD_CLOEXEC));
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  campipe::fuzz::check(campipe::Container::mp4, file.get(), size);
  campipe::fuzz::check(campipe::Container::mkv, file.get(), size);
  return 0;
}
