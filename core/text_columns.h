// Text in columns of a terminal: UTF-8, of which every character takes one column.
#pragma once

#include <cstddef>
#include <string>

namespace campipe {

std::size_t columns_of(const std::string& text);
// The first columns of it.
std::string cut(const std::string& text, std::size_t width);
// The first columns of it and the last `tail`, with "…" between, where it has more than `width`.
std::string shorten(const std::string& text, std::size_t width, std::size_t tail);
// Of a camera ("dock") or an output ("dock/small"), in the middle, since cameras and outputs often differ at the ends
// of their names. Of an output's name both parts are shortened, so that its "/" and what follows can be seen.
std::string shorten_name(const std::string& name, std::size_t width);
// The most columns that names take in a table: enough for all but long ones, and a third of a wide terminal.
std::size_t widest_name(std::size_t terminal_width);
// Cut or filled with spaces to `width` columns.
std::string fit(const std::string& text, std::size_t width, bool to_the_right = false);

}  // namespace campipe
