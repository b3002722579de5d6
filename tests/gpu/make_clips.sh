#!/bin/bash
# make_clips.sh OUT: the clips of cuda_decoder_test, for CAMPIPE_CLIPS: each 60 frames, small, one of each kind of
# stream that a GPU's decoder is tried on. Beside av1.mkv lie its frames' checksums, for machines whose FFmpeg cannot
# decode AV1 without a GPU. Needs an ffmpeg with libx264, libx265, libvpx-vp9, libsvtav1 and libdav1d.
set -euo pipefail
out=${1:?usage: make_clips.sh OUT}
mkdir -p "$out"

# Noise, so that every block is coded; several GOPs, so that decoding begins anew.
clip() {  # FILE SIZE PIXELS OPTION...
  local file=$1 size=$2 pixels=$3
  shift 3
  ffmpeg -nostdin -v error -y -f lavfi -i "testsrc2=size=640x360:rate=30,noise=alls=6:allf=t" -frames:v 60 \
    -vf "scale=${size/x/:}" -pix_fmt "$pixels" -g 24 "$@" "$out/$file"
}
x264=(-c:v libx264 -preset fast -b:v 800k)
clip h264.mp4 640x360 yuv420p "${x264[@]}" -bf 0
clip h264_bframes.mp4 640x360 yuv420p "${x264[@]}" -bf 3 -refs 5
clip h264_422.mp4 640x360 yuv422p "${x264[@]}"
clip hevc.mp4 640x360 yuv420p -c:v libx265 -b:v 800k -x265-params log-level=none -tag:v hvc1
clip hevc10.mp4 640x360 yuv420p10le -c:v libx265 -b:v 800k -x265-params log-level=none -tag:v hvc1
clip av1.mkv 640x360 yuv420p -c:v libsvtav1 -preset 10 -b:v 800k
clip vp9.webm 640x360 yuv420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 800k
clip mjpeg.avi 640x360 yuvj420p -c:v mjpeg -q:v 16
clip mpeg4.avi 640x360 yuv420p -c:v mpeg4 -b:v 800k
clip odd.mp4 321x241 yuv420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 200k
clip tiny.mp4 32x32 yuv420p "${x264[@]}"
ffmpeg -nostdin -v error -y -i "$out/av1.mkv" -fps_mode passthrough -pix_fmt nv12 -f framecrc "$out/av1.mkv.crc"
