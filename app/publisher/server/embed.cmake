# Turns files into a C++ file that holds them: cmake -DFILES="a;b" -DOUT=x.cpp -P embed.cmake
# Arrays of bytes, since literals of text may not be long.
set(types html text/html js text/javascript css text/css svg image/svg+xml json application/json)

set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  get_filename_component(extension "${file}" LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  list(FIND types "${extension}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${file}: embed.cmake does not know the content type of .${extension} files")
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  if(type MATCHES "^text/")
    string(APPEND type "; charset=utf-8")
  endif()
  file(READ "${file}" hex HEX)
  file(SHA256 "${file}" hash)
  string(SUBSTRING "${hash}" 0 20 hash)
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char file_${index}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", \"${type}\", \"\\\"${hash}\\\"\", view(file_${index}, ${size})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE "${OUT}" "// Made by embed.cmake.
#include \"app/publisher/server/page_files.h\"

namespace campipe {
namespace {

${arrays}
std::string_view view(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::span<const PageFile> page_files() {
  static const PageFile files[] = {
${rows}  };
  return files;
}

}  // namespace campipe
")
