// How much time the machine's cores have left, whoever uses them, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <map>
#include <string_view>

namespace campipe {

// Seconds since the machine was started in which each core had nothing to do; by its number.
using CoreTimes = std::map<unsigned, double>;

// `stat`: /proc/stat. `nice_gives_way`: what programs of a lower priority (nice) used can be had.
CoreTimes parse_idle_times(std::string_view stat, double ticks_per_second, bool nice_gives_way);
// Never waits. Empty: it cannot be read.
CoreTimes read_idle_times();

// Processor time of a running process, s. It may be just ending: then none.
double cpu_seconds_of(pid_t pid);

}  // namespace campipe
