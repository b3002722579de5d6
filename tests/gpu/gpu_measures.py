"""Sections decode, scaling, latency, kernels, costs and streams of tools/gpu-check: the figures that campipe must reach on H200."""

import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

from gpu_rig import RATE, Broken, Rig, config_of, dropped, eventually, text_of

CAMERAS = 32
CAMERAS_OF_SEVERAL = 12  # for each GPU, where several are compared: decoders take seconds to start
ENDLESS = 60  # times a clip of 300 frames: at 500 frames a second it lasts for 36 s
ROUNDS = 2
SETTLE = 5  # s
FFMPEG_SECONDS = 20
FFMPEG_PROCESSES = (16, 32)
FFMPEG_FILTERS = "scale=1280:720,gblur=sigma=1.5,unsharp=5:5:1.0"
STREAM_GROUP = 60
TRIAL_SECONDS = 12
STEP = 3  # streams less, when a number was not held


# --- decoding, rings, filters ---

def pipeline(check, mode, gpus=1, cameras=CAMERAS, *more, ends=False):
    """Files that do not end meanwhile, or (`ends`) the clips themselves, again and again."""
    files = check.clips() if ends else [repeated(check, clip, ENDLESS) for clip in check.clips()]
    text = check.programs.must("gpu_pipeline_bench", mode, cameras, *files, "--gpus", gpus, "--seconds",
                               check.options.seconds, *more, seconds=check.options.seconds + 150)
    check.log(f"{mode}, {gpus} GPUs", text)
    found = json.loads(text.strip().splitlines()[-1])
    if found["lost"]:
        check.expect(f"{mode}, {gpus} GPUs: frames that found no slot", False, found["lost"], "0")
    return found


def decode(check):
    modes = ("decode-bare", "decode-rings", "decode-filter")
    runs = [{mode: pipeline(check, mode) for mode in modes} for _ in range(ROUNDS)]
    for mode in modes:
        fps = [run[mode]["fps"] for run in runs]
        cpu = statistics.median(1e6 * run[mode]["cpu_s"] / run[mode]["frames"] for run in runs)
        check.add(f"{mode}, {CAMERAS} x 1080p", f"{statistics.median(fps):.0f} fps ({min(fps):.0f} to {max(fps):.0f}), "
                  f"{cpu:.0f} us of CPU a frame")

    def ratio(mode, base):
        return statistics.median(run[mode]["fps"] / run[base]["fps"] for run in runs)

    check.at_least("decode into rings / bare decode loop", ratio("decode-rings", "decode-bare"), 0.90, digits=3)
    check.at_least("decode + filter / decode into rings", ratio("decode-filter", "decode-rings"), 0.93, digits=3)
    looped = statistics.median(pipeline(check, "decode-rings", ends=True)["fps"] / run["decode-rings"]["fps"] for run in runs)
    check.at_least("decode of 10 s clips, looped / of files that do not end", looped, 0.9, digits=3)


def scaling(check):
    targets = {2: 1.95, 4: 3.9, 8: 7.8}
    wanted = [gpus for gpus in targets if gpus <= len(check.gpus)]
    if not wanted:
        return check.add("decode + filter on several GPUs", "there is one GPU", "", "skipped")
    for mode, measure in (("decode-bare", "bare decode"), ("decode-filter", "decode + filter")):
        fps = {gpus: [] for gpus in (1, *wanted)}
        for _ in range(ROUNDS):
            for gpus, runs in fps.items():
                runs.append(pipeline(check, mode, gpus, CAMERAS_OF_SEVERAL)["fps"])
        for gpus in wanted:
            ratio = statistics.median(several / one for several, one in zip(fps[gpus], fps[1]))
            check.add(f"{measure} on {gpus} GPUs", f"{statistics.median(fps[gpus]):.0f} fps")
            if mode == "decode-bare":  # what the machine itself reaches, without campipe
                check.add(f"{measure} on {gpus} GPUs / on 1", f"{ratio:.2f}")
            else:
                check.at_least(f"{measure} on {gpus} GPUs / on 1", ratio, targets[gpus])


# --- programs that print their own figures ---

def barrier(check):
    """A synchronised group's page as a barrier, and what its gate adds to a set of two members."""
    for processes, limit in ((2, 1), (8, 10)):
        figures = json.loads(check.programs.must("group_bench", "--quick", processes, seconds=60))
        check.at_most(f"a group's page as a barrier of {processes} processes, p50", figures["barrier_p50_us"], limit, " us")
    check.at_most("a set of two members: beyond its last frame, p95", figures["set_p95_us"] / 1000, 1, " ms")


def latency(check):
    check.step("barrier", lambda: barrier(check), needs=20)
    check.step("hand-over", lambda: handover(check), needs=20)


def handover(check):
    """gpu_ring_test --latency: lines that begin with "one GPU" or "two GPUs" and have "p50 N us"."""
    text = check.programs.must("gpu_ring_test", "--latency", seconds=max(check.left(), 10))
    check.log("gpu_ring_test --latency", text)
    found = 0
    for line in text.splitlines():
        p50 = re.search(r"p50\D{0,4}([\d.]+)", line)
        if p50 is None:
            continue
        found += 1
        limit = 30 if line.startswith("two GPUs") else 350
        what = " ".join(line.partition("p50")[0].split())
        check.at_most(f"hand-over to the first kernel, {what}, p50", float(p50.group(1)), limit, " us", 1)
    if not found:
        raise Broken(f"gpu_ring_test reported no latencies:\n{text[-1000:]}")


def kernels(check):
    """gpu_kernels_bench: under each size a line a filter: us, GB/s, a copy's us and GB/s, their ratio, its name."""
    text = check.programs.must("gpu_kernels_bench", seconds=max(check.left(), 10))
    check.log("gpu_kernels_bench", text)
    size, found = "", 0
    for line in text.splitlines():
        if re.fullmatch(r"\d+x\d+", line):
            size = line
        row = re.fullmatch(r"\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S.*)", line)
        if row is None:
            continue
        ratio, name = float(row.group(5)), row.group(6)
        if size == "3840x2160":
            found += 1
            kind = name.split()[0]
            # Random frames are the first one's worst; the second computes for long; the third copies nothing.
            if kind in ("deinterlace", "denoise", "motion"):
                check.add(f"{size} {name}, speed / a copy's", f"{ratio:.2f}, {row.group(1)} us")
                continue
            walks = kind in ("blur", "sharpen", "undistort", "rotate")
            check.at_least(f"{size} {name}, speed / a copy's", ratio, 0.50 if walks else 0.70)
        else:
            check.add(f"{size} {name}, speed / a copy's", f"{ratio:.2f}, {row.group(1)} us")
    if not found:
        raise Broken(f"gpu_kernels_bench reported no figures:\n{text[-1000:]}")


# --- what is predicted, and what is measured in the same run ---

COST_TARGETS = {"filter": 1.15, "decode": 1.15, "encode": 1.5}


def costs(check):
    """campipe calibrate-costs --check: for each device predictions of sizes and chains that were not measured."""
    text = check.programs.must("campipe", "calibrate-costs", "--check", "--json", seconds=max(check.left(), 10))
    check.log("campipe calibrate-costs --check --json", text)
    found = json.loads(text)
    names = {device["device"]: device["name"] for device in found["devices"]}
    for device, compared in found["compared"].items():
        for kind, target in COST_TARGETS.items():
            factors = sorted(max(one["predicted_us"], one["measured_us"]) / min(one["predicted_us"], one["measured_us"])
                             for one in compared if one["what"].startswith(kind))
            if not factors:
                continue
            ninth = factors[len(factors) * 9 // 10]
            check.at_most(f"{names[device]}, {kind}: predicted / measured, nine tenths within a factor of", ninth, target)
            check.add(f"{names[device]}, {kind}: the worst", f"{factors[-1]:.2f}")
    if len(found["compared"]) <= len(check.gpus):
        raise Broken("not every device was measured")


# --- streams of 1080p30, side by side with FFmpeg ---

def repeated(check, clip, rounds):
    """A clip so many times end to end: no decoder begins again meanwhile, as that of a looped file does."""
    whole = check.folder / f"long-{rounds}-{Path(clip).name}"
    if not whole.exists():
        check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-stream_loop", rounds - 1, "-i", clip, "-an", "-c", "copy",
                            "-y", whole)
    return str(whole)


def long_clips(check):
    return [repeated(check, clip, int(check.options.hold / 10) + 6) for clip in check.clips()]


def stream_rig(check, number):
    clips = long_clips(check)
    gpu = "cpu" if check.cpu else 0
    cameras = {f"cam{n:03}": {"source": clips[n % len(clips)], "gpu": gpu} for n in range(number)}
    encode = {"codec": "h264", "encoder": "libx264", "preset": "superfast", "bitrate": "4M", "gop": STREAM_GROUP,
              "latency": "low"}
    return config_of(cameras, pace="realtime", loop=False, drop_policy="drop", encode=encode)


def started(rig, cameras):
    """When each camera's file first grew: then its first group was encoded."""
    first = {}

    def all_began():
        for camera in cameras:
            if camera not in first and rig.size(camera) > 2000:
                first[camera] = time.monotonic()
        return len(first) == len(cameras) or not rig.running()

    if not eventually(all_began, 60) or len(first) < len(cameras):
        raise Broken(f"{len(cameras) - len(first)} cameras did not begin:\n{rig.log()[-2000:]}")
    return first


class Held:
    """What became of N streams that ran for some seconds."""

    def __init__(self, check, number, seconds):
        config = stream_rig(check, number)
        cameras = list(config["cameras"])
        with Rig(check.programs, check.folder, config) as rig:
            first = started(rig, cameras)
            time.sleep(seconds)
            end = time.monotonic()
            report = rig.end()
            self.cpu_s = rig.cpu_s()
            check.log(f"{number} streams", f"{json.dumps(report)}\n{rig.log()[-3000:]}")
        found = report["cameras"]
        self.number = number
        self.frames = sum(camera["frames"]["encoded"] for camera in found.values())
        decoded = sum(camera["frames"]["decoded"] for camera in found.values())
        self.dropped = sum(dropped(camera) for camera in found.values()) / max(decoded, 1)
        # A camera that keeps its pace has its first group plus what came due since that was written.
        due = {name: STREAM_GROUP + RATE * (end - first[name]) for name in cameras}
        self.rate = min(RATE * found[name]["frames"]["encoded"] / due[name] for name in cameras)
        self.p95_ms = max(camera["latency_ms"]["p95"] for camera in found.values())
        # The first group was seen up to a few hundredths of a second late, and the last frames are under way.
        slack = 10 / (STREAM_GROUP + RATE * seconds)
        self.good = self.dropped < 0.001 and self.rate >= RATE * (1 - max(0.001, slack))

    def __str__(self):
        return (f"{self.number} streams: {self.rate:.2f} fps, {100 * self.dropped:.3f} % dropped, "
                f"p95 {self.p95_ms:.1f} ms")


def hold(check, number, seconds):
    held = Held(check, number, seconds)
    check.add(f"campipe for {seconds:g} s", str(held), "", "held" if held.good else "not held")
    return held


def most_streams(check):
    """The largest number that is held for the whole time: short trials first, from both sides."""
    low, high = 0, None
    number = check.options.streams
    while high is None or high - low > STEP:
        if check.left() < check.options.hold + 120:
            break
        if hold(check, number, TRIAL_SECONDS).good:
            low, number = number, number + 8 if high is None else (number + high) // 2
        else:
            high, number = number, max((low + number) // 2 if low else number - 8, 1)
        if number in (low, high):
            break
    number = low or number
    while number > 0 and check.left() > check.options.hold + 20:
        held = hold(check, number, check.options.hold)
        if held.good:
            return held
        number -= STEP
    raise Broken("no number of streams was held in the time there was")


def frames_told(progress):
    found = re.findall(r"^frame=\s*(\d+)", text_of(progress), re.MULTILINE)
    return int(found[-1]) if found else 0


class Ffmpeg:
    """N processes of FFmpeg at full speed: frames a second in the steady part, and CPU time a frame of the whole."""

    def __init__(self, check, number):
        clips = check.clips()
        hardware = [] if check.cpu else ["-hwaccel", "cuda"]
        progress = [check.folder / f"ffmpeg-{n}.txt" for n in range(number)]
        outputs = [check.folder / f"ffmpeg-{n}.mp4" for n in range(number)]
        logs = open(check.folder / "ffmpeg.log", "w")
        running = []
        try:
            for n in range(number):
                command = check.programs.command(
                    "ffmpeg", "-nostdin", "-v", "error", "-progress", progress[n], "-stats_period", "0.2",
                    "-stream_loop", "-1", *hardware, "-i", clips[n % len(clips)], "-an", "-vf", FFMPEG_FILTERS,
                    "-c:v", "libx264", "-preset", "superfast", "-tune", "zerolatency", "-b:v", "4M",
                    "-g", STREAM_GROUP, "-f", "mp4", "-y", outputs[n])
                running.append(subprocess.Popen(command, stdout=logs, stderr=logs, env=check.programs.environment()))
            if not eventually(lambda: all(frames_told(file) > RATE for file in progress), 60):
                raise Broken(f"FFmpeg delivers nothing:\n{text_of(check.folder / 'ffmpeg.log')[-2000:]}")
            time.sleep(SETTLE)
            begin, before = time.monotonic(), sum(map(frames_told, progress))
            time.sleep(FFMPEG_SECONDS)
            self.fps = (sum(map(frames_told, progress)) - before) / (time.monotonic() - begin)
        finally:
            self.cpu_s = self.end(running)
            logs.close()
        self.frames = sum(map(frames_told, progress))
        for file in (*progress, *outputs):
            file.unlink(missing_ok=True)

    @staticmethod
    def end(running):
        cpu = 0.0
        for process in running:
            process.terminate()  # FFmpeg writes its files to the end
        for process in running:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu += usage.ru_utime + usage.ru_stime
        return cpu


def ffmpeg_streams(check):
    best = None
    for number in FFMPEG_PROCESSES:
        run = Ffmpeg(check, number)
        check.add(f"FFmpeg, {number} processes at full speed", f"{run.fps:.0f} fps, "
                  f"{1000 * run.cpu_s / run.frames:.2f} ms of CPU a frame")
        if best is None or run.fps > best.fps:
            best = run
    return best


def half_load(check, number):
    held = Held(check, max(number // 2, 1), 20)
    check.add("campipe at half load", str(held))
    check.at_most("arrival to encoded at half load, p95 of the worst camera", held.p95_ms, 25, " ms", 1)


def streams(check):
    figures = {}
    check.step("FFmpeg", lambda: figures.update(ffmpeg=ffmpeg_streams(check)), needs=100)
    check.step("campipe", lambda: figures.update(campipe=most_streams(check)), needs=check.options.hold + 40)
    if "campipe" in figures:
        check.step("half load", lambda: half_load(check, figures["campipe"].number), needs=30)
    if len(figures) < 2:
        return
    ours, theirs = figures["campipe"], figures["ffmpeg"]
    check.add("streams held, campipe / FFmpeg", f"{ours.number} / {theirs.fps / RATE:.1f} (its full speed / {RATE})")
    check.at_least("streams held, ratio", ours.number / (theirs.fps / RATE), 2.5)
    ours_ms, theirs_ms = (1000 * one.cpu_s / one.frames for one in (ours, theirs))
    check.add("CPU a frame, campipe and FFmpeg", f"{ours_ms:.2f} ms and {theirs_ms:.2f} ms")
    check.at_most("CPU a frame, ratio", ours_ms / theirs_ms, 0.45)
