// The one conversion for frames that a codec could not write into a slot itself.
#pragma once

#include "core/ffmpeg.h"
#include "core/frame.h"

namespace campipe {

// Used by one thread. Keeps its scaler as long as frames come in the same format.
class SlotConverter {
 public:
  // Converts (and scales, where sizes differ) `from` into `to`. Throws Error where libswscale cannot.
  void convert(const AVFrame& from, const MutableFrameView& to);

 private:
  struct Input {
    int width = 0;
    int height = 0;
    int format = -1;
    friend bool operator==(const Input&, const Input&) = default;
  };

  Scaler scaler_;
  Input input_;
  FrameFormat output_;
};

}  // namespace campipe
