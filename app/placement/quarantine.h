// Which cameras are decoded apart from all others, in masters of their own ("master q0"): those whose configuration
// says so, and those whose stream has brought down a master. Pure functions.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "ipc/process_ids.h"

namespace campipe {

struct CameraConfig;

// From its start on (`decode.isolation: always`).
bool begins_in_quarantine(const CameraConfig& camera);
// It may be put there once its stream has brought down a master.
bool may_be_quarantined(const CameraConfig& camera);
// The number of the master that a camera gets: the first of those that are not taken; where all are, the last one.
unsigned free_quarantine(const std::set<unsigned>& taken);
// By the names of those that begin there: the numbers that they get one after the other.
std::map<std::string, unsigned> first_quarantines(std::span<const CameraConfig> cameras);
std::string quarantine_name(unsigned number);

}  // namespace campipe
