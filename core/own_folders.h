// Where a program of this account keeps what is its own.
#pragma once

#include <filesystem>
#include <optional>

namespace campipe {

// For what lasts: systemd's $STATE_DIRECTORY, else campipe in $XDG_STATE_HOME, which is ~/.local/state where it is not
// set. Nothing: there is no home. It need not exist yet.
std::optional<std::filesystem::path> state_folder();
// For what lasts as long as the program runs: campipe in $XDG_RUNTIME_DIR, else state_folder().
std::optional<std::filesystem::path> runtime_folder();
// For what can be made anew: systemd's $CACHE_DIRECTORY, else campipe in $XDG_CACHE_HOME, which is ~/.cache where it is
// not set.
std::optional<std::filesystem::path> cache_folder();
// Makes the folder, so that only this account can enter it, where it is not there yet. Throws Error, also where it is
// another account's, or a symbolic link that is not the administrator's.
void make_own_folder(const std::filesystem::path& folder);

}  // namespace campipe
