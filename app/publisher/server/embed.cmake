# Turns files into a C++ file that holds them: cmake -DFILES="a;b" -DOUT=x.cpp -P embed.cmake
# The page's modules become two scripts, app.js with the wall and more.js with the other pages, and its styles app.css: a
# browser asks seldom. theme.js stays apart, as it runs before anything is drawn. Arrays of bytes, since literals of text
# may not be long.
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)
set(modules ${FILES})
list(FILTER modules INCLUDE REGEX "\\.js$")
list(FILTER modules EXCLUDE REGEX "/theme\\.js$")
set(styles ${FILES})
list(FILTER styles INCLUDE REGEX "\\.css$")
list(REMOVE_ITEM FILES ${modules} ${styles})
bundle(${modules})
bundle_script(app main wall login)
bundle_script(more camera recordings system)
foreach(name app more)
  bundle_text(text ${name})
  file(WRITE "${OUT}.parts/${name}.js" "${text}")
endforeach()
set(style "")
foreach(name base wall pages)  # what comes later counts more
  foreach(file IN LISTS styles)
    if(file MATCHES "/${name}\\.css$")
      file(READ "${file}" text)
      string(REGEX REPLACE "\n +" "\n" text "${text}")
      string(APPEND style "${text}")
      list(REMOVE_ITEM styles "${file}")
    endif()
  endforeach()
endforeach()
if(styles)
  message(FATAL_ERROR "embed.cmake does not know where these styles come: ${styles}")
endif()
file(WRITE "${OUT}.parts/app.css" "${style}")
list(APPEND FILES "${OUT}.parts/app.js" "${OUT}.parts/more.js" "${OUT}.parts/app.css")

set(types html text/html js text/javascript css text/css svg image/svg+xml json application/json)

set(arrays "")
set(rows "")
set(index 0)
set(hashes "")
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
  string(APPEND hashes "${hash}")
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char file_${index}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", \"${type}\", view(file_${index}, ${size})},\n")
  math(EXPR index "${index} + 1")
endforeach()

string(SHA256 version "${hashes}")
string(SUBSTRING "${version}" 0 16 version)

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

std::string_view page_version() { return \"${version}\"; }

}  // namespace campipe
")
