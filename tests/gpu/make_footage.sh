#!/bin/bash
# make_footage.sh CLIPS OUT: 10 s of 1080p30 H.264 from car-detection.mp4 and bottle-detection.mp4 in the folder CLIPS,
# for tools/gpu-check: car-1080p.mp4 without B-frames, bottle-1080p.mp4 with them. Closed groups of 2 s, about 4 Mb/s.
# And 3 s of 7680x4320 in HEVC, yard-4320p.mp4.
set -euo pipefail
clips=${1:?usage: make_footage.sh CLIPS OUT}
out=${2:?usage: make_footage.sh CLIPS OUT}
mkdir -p "$out"

# Each frame of the clip is shown once, at 30 a second, and each repetition of the clip ends at the same frame.
make() {  # CLIP OUTPUT BFRAMES
  ffmpeg -nostdin -v error -y -stream_loop -1 -i "$clips/$1" -an \
    -vf "setpts=N/30/TB,scale=1920:1080:flags=bicubic,setsar=1,format=yuv420p" -r 30 -frames:v 300 \
    -c:v libx264 -preset medium -b:v 4M -maxrate 6M -bufsize 8M -bf "$3" \
    -g 60 -keyint_min 60 -sc_threshold 0 -flags +cgop -movflags +faststart "$out/$2"
}
make car-detection.mp4 car-1080p.mp4 0
make bottle-detection.mp4 bottle-1080p.mp4 2

# 90 frames of 7680x4320, which GPUs decode as HEVC only.
ffmpeg -nostdin -v error -y -i "$out/car-1080p.mp4" -an -vf "scale=7680:4320:flags=bicubic" -frames:v 90 \
  -c:v libx265 -preset ultrafast -x265-params log-level=error:keyint=30 -crf 34 -tag:v hvc1 -movflags +faststart \
  "$out/yard-4320p.mp4"
du -sh "$out"/car-1080p.mp4 "$out"/bottle-1080p.mp4 "$out"/yard-4320p.mp4
