// A URL at which there is a single picture, as cameras have it that have nothing else.
#pragma once

#include <chrono>
#include <memory>

#include "stages/sources/source.h"

namespace campipe {

struct SourceConfig;

// Thrown by what opens a stream: there is one.
struct SinglePicture {};

// How often one is fetched: by `capture.rate`, and once a second without it.
std::chrono::nanoseconds picture_interval(const SourceConfig& config);

// Fetches the picture at the URL of `config`, again and again. Its frames have the times of their arrival. A picture
// that cannot be fetched, or is none, ends it with SourceError. See open_source().
std::unique_ptr<Source> open_single_pictures(const SourceConfig& config, const Source::Interrupt& interrupt);

}  // namespace campipe
