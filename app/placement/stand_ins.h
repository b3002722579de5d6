// What a camera runs on where a GPU that its configuration names is gone (Gpu::gone), or lacks what it asks for. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "app/placement/devices.h"

namespace campipe {

struct CameraConfig;
struct RigConfig;

// The GPUs of this machine that the camera's configuration names, as they are written there.
std::vector<std::string> named_gpus(const CameraConfig& camera);
// The camera's configuration names that GPU: for all of it, for decoding, for a stage or for a tile.
bool names(const CameraConfig& camera, const Device& gpu, const Devices& devices);

// `camera` without GPUs that are gone. Where it named one for all of it, or for decoding, plan() chooses as for `auto`.
// Stages and tiles that were there go to `instead` ("1", "cpu"); empty: the first GPU that is here, or the CPU. Tiles
// are for GPUs: where none is here, it is not tiled. What was said of the ring or the encoder of that GPU alone is left
// to plan() as well, and so is an encoder of GPUs that works on none that it could run on.
CameraConfig with_stand_ins(const CameraConfig& camera, const Devices& devices, const std::string& instead = "");
RigConfig with_stand_ins(RigConfig rig, const Devices& devices);

// For people who say no place of their own (`gpu: auto`): the camera is to run on `place`; empty: where plan() says.
void prefer_place(CameraConfig& camera, const std::string& place);

bool is_gone(const Devices& devices, const Device& device);
// It works, and is here.
bool can_be_used(const Gpu& gpu);

}  // namespace campipe
