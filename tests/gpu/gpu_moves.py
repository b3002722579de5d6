"""Section moves of tools/gpu-check: cameras are moved from GPU to GPU and back, a hundred times, while they are recorded
and read by RTSP; then a mosaic from GPU to GPU, and a camera from its GPU to the CPU; then stages, tiles and a join from GPU to
GPU. No frame is lost or comes twice, and all are a frame apart."""

import json
import random
import re
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.error
from pathlib import Path

from gpu_faults import AS_BEFORE, TOLERANCE
from gpu_rig import RATE, Rig, check_accounting, config_of, dropped, memory_returned, memory_used
from gpu_watching import ask_as_owner, free_port

MOVES = 100
OTHER_MOVES = 3  # rounds
PART_MOVES = 24
CAMERAS = "abcd"
LONGEST_GAP = 0.1  # s between two packets at a reader


class Arrivals:
    """A reader by RTSP: how long it waited for each packet."""

    def __init__(self, check, url):
        command = check.programs.command("ffprobe", "-v", "error", "-rtsp_transport", "tcp", "-fflags", "nobuffer",
                                         "-select_streams", "v:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0", url)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env=check.programs.environment())
        self.gaps = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        last = None
        for _ in self.process.stdout:
            now = time.monotonic()
            if last is not None:
                self.gaps.append((now, now - last))
            last = now

    def gap_between(self, begin, end):
        return max((gap for when, gap in self.gaps if begin <= when <= end), default=float("inf"))

    def end(self):
        self.process.kill()
        self.thread.join()
        self.process.wait()


def uneven(check, file):
    """The frames of a recording, and those that are not a frame after the one before: their numbers and by how many ms.
    Where a rig ends in the middle of a group with B-frames, what these would have shown is missing before its last frame."""
    text = check.programs.must("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time",
                               "-of", "csv=p=0", file)
    times = sorted(float(line.strip(",")) for line in text.split())
    return len(times), [(n + 1, round(1000 * (b - a))) for n, (a, b) in enumerate(zip(times[:-1], times[1:-1]))
                        if abs(b - a - 1 / RATE) > 0.002]


class MovedRig:
    """`more`: the GPUs of further cameras, by name; `placed`: placements of such ones, which denoise and sharpen; `mosaics`: as
    in a configuration."""

    def __init__(self, check, names=CAMERAS, more=None, mosaics=None, placed=None):
        self.state = Path(tempfile.mkdtemp(prefix="state-", dir=check.folder))
        self.base = f"http://127.0.0.1:{free_port()}"
        self.rtsp = f"127.0.0.1:{free_port()}"
        clips = check.clips()
        cameras = {name: {"source": clips[n % 2], "gpu": n % 2} for n, name in enumerate(names)}
        cameras |= {name: {"source": clips[0], "gpu": gpu} for name, gpu in (more or {}).items()}
        defaults = {}
        if check.cpu:
            defaults["filters"] = []
            for camera in cameras.values():
                camera |= {"source": f"test://pattern?width=320&height=240&rate={RATE}", "gpu": "cpu"}
        for name, placement in (placed or {}).items():
            cameras[name] = {"source": next(iter(cameras.values()))["source"] if check.cpu else clips[1], "placement": placement,
                             "filters": ["denoise", "sharpen"]}
        self.config = config_of(cameras, pace="realtime", loop=True, drop_policy="drop", **defaults)
        self.config |= {"http_address": self.base.removeprefix("http://"), "rtsp_address": self.rtsp}
        if check.cpu:
            self.config["workers"] = {"count": 2}
        if mosaics:
            self.config["mosaics"] = mosaics

    def move(self, camera, worker, part=None):
        """Why it was not moved; empty: it was. `part`: of several, the worker that it is in."""
        try:
            body = {"worker": worker} | ({} if part is None else {"from": part})
            answer = ask_as_owner(self.base, self.state, f"cameras/{camera}/move", body)
            return "" if answer == {"worker": worker} else "another answer"
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError as error:
            return str(error)


def other_moves(check):
    """Workers are in the GPUs' order, and those of the CPU come last."""
    size = (640, 360) if check.cpu else (1920, 1080)
    wall = {"cameras": ["a", "b"], "gpu": "cpu" if check.cpu else 0, "width": size[0], "height": size[1], "rate": RATE,
            "encode": {"codec": "h264", "encoder": "libx264", "preset": "superfast", "bitrate": "4M", "gop": "1s"},
            "record": {"path": "wall.mp4"}}
    moved = MovedRig(check, "ab", {} if check.cpu else {"c": "cpu"}, {"wall": wall})
    cameras = "ab" if check.cpu else "abc"
    with Rig(check.programs, check.folder, moved.config, STATE_DIRECTORY=str(moved.state)) as rig:
        rig.wait_for_groups([*cameras, "wall"], 4, 60)
        problems, number = [], 0
        for _ in range(OTHER_MOVES):
            for name, worker in (("wall", 1), ("a", 1 if check.cpu else 2), ("wall", 0), ("a", 0)):
                why = moved.move(name, worker)
                number += not why
                if why:
                    problems.append(f"{name} to {worker}: {why}")
        rig.wait_for_groups([*cameras, "wall"], 4, 30)
        report = rig.end()
        check.log("other moves", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        problems.append(check_accounting(report))
        for name in ["a", "wall"]:
            frames, odd = uneven(check, rig.file(f"{name}.mp4"))
            lost = report["cameras"][name]["frames"]["dropped"]
            if odd or sum(lost.values()) or len(list(rig.folder.glob(f"{name}*.mp4"))) != 1:
                problems.append(f"{name}: {frames} frames, {lost} lost, {odd} not a frame apart")
    problems = "; ".join(filter(None, problems))
    check.expect("a mosaic, and a camera to the CPU", not problems, problems[:150] or f"{number} moves, nothing lost",
                 f"{4 * OTHER_MOVES}, nothing lost")


def part_moves(check):
    """Of a camera by stage and one by tile, whichever part, to whichever worker on a GPU."""
    workers = 2 if check.cpu else len(check.gpus)
    at = [f"cpu:{n}" if check.cpu else n for n in range(2)]
    placed = {"stages": {"decode": "cpu" if check.cpu else 0, "filter": [at[0], at[1]], "encode": at[1]},
              "tiles": {"tiles": at, "encode": at[0]}}
    # One camera on each GPU, which must notice nothing; on the CPU, one.
    beside = {f"beside{n}": "cpu" if check.cpu else n for n in range(1 if check.cpu else workers)}
    moved = MovedRig(check, "", beside, placed=placed)
    if check.cpu:
        moved.config["workers"] = {"count": workers}
    places = {"stages": [0, 1], "tiles": [0, 1, 0]}
    names = [*beside, *placed]
    before = [] if check.cpu else memory_used()
    chance = random.Random(1)
    problems, number, took = [], 0, []
    with Rig(check.programs, check.folder, moved.config, STATE_DIRECTORY=str(moved.state)) as rig:
        rig.wait_for_groups(names, 4, 60)
        for name in ["stages", "tiles"] * (PART_MOVES // 2):
            part = chance.choice(places[name])
            worker = chance.choice([one for one in range(workers) if one != part])
            begin = time.monotonic()
            why = moved.move(name, worker, part)
            took.append(time.monotonic() - begin)
            if why:
                problems.append(f"{name}, {part} to {worker}: {why}")
                continue
            number += 1
            places[name][places[name].index(part)] = worker
        rig.wait_for_groups(names, 4, 30)
        report = rig.end()
        log = rig.log()
        check.log("moves of parts", f"{json.dumps(report, indent=1)}\n{log}")
        problems.append(check_accounting(report))
        for name in names:
            frames, odd = uneven(check, rig.file(f"{name}.mp4"))
            lost = report["cameras"][name]["frames"]["dropped"]
            if odd or sum(lost.values()) or len(list(rig.folder.glob(f"{name}*.mp4"))) != 1:
                problems.append(f"{name}: {frames} frames, {lost} lost, {odd} not a frame apart")
    problems = "; ".join(filter(None, problems))
    good = f"{number} moves, nothing lost, {statistics.median(took):.2f} s each (at most {max(took):.2f})"
    check.expect("stages, tiles, a join", not problems, problems[:150] or good, f"{PART_MOVES}, nothing lost")
    if not check.cpu:
        difference = memory_returned(before)
        check.expect("memory after these", abs(difference) <= TOLERANCE, f"{difference:+d} MiB", AS_BEFORE)


def moves(check):
    check.step("moves between GPUs", lambda: moves_between_gpus(check))
    if check.cpu or len(check.gpus) > 1:
        check.step("other moves", lambda: other_moves(check), needs=60)
        check.step("moves of parts", lambda: part_moves(check), needs=60)


def moves_between_gpus(check):
    if len(check.gpus) < 2 and not check.cpu:
        return check.add("moves between GPUs", "there is one GPU", "", "skipped")
    moved = MovedRig(check)
    before = [] if check.cpu else memory_used()
    with Rig(check.programs, check.folder, moved.config, STATE_DIRECTORY=str(moved.state)) as rig:
        rig.wait_for_groups(CAMERAS, 4, 60)
        readers = {name: Arrivals(check, f"rtsp://{moved.rtsp}/{name}") for name in CAMERAS}
        refused, took, gaps = [], [], []
        try:
            rig.wait_for_groups(CAMERAS, 6, 30)
            place = {name: n % 2 for n, name in enumerate(CAMERAS)}
            for number in range(MOVES):
                name = CAMERAS[number % len(CAMERAS)]
                begin = time.monotonic()
                why = moved.move(name, 1 - place[name])
                end = time.monotonic()
                if why:
                    refused.append(f"{name}: {why}")
                    continue
                place[name] = 1 - place[name]
                took.append(end - begin)
                gaps.append((name, begin, end))
            rig.wait_for_groups(CAMERAS, 4, 30)
        finally:
            for reader in readers.values():
                reader.end()
        report = rig.end()
        log = rig.log()
        check.log("moves", f"{json.dumps(report, indent=1)}\n{log}")
        recorded = {name: uneven(check, rig.file(f"{name}.mp4")) for name in CAMERAS}
        files = len(list(rig.folder.glob("*.mp4")))
    check.expect("moves between GPUs", not refused, f"{len(took)} of {MOVES}; {'; '.join(refused)[:120]}", f"{MOVES}")
    if took:
        check.add("a move takes", f"{statistics.median(took):.2f} s (at most {max(took):.2f} s)")
    longest = [readers[name].gap_between(begin, end + 1) for name, begin, end in gaps]
    late = sum(gap > LONGEST_GAP for gap in longest)
    if longest:
        check.expect("longest gap at an RTSP reader", late == 0,
                     f"median {1000 * statistics.median(longest):.0f} ms, at most {1000 * max(longest):.0f} ms, {late} over",
                     f"<= {1000 * LONGEST_GAP:.0f} ms")
    errors = [line for line in log.splitlines() if re.search(r" (warning|error|critical) ", line)]
    check.expect("warnings and errors", not errors, f"{len(errors)}: {errors[0]}"[:140] if errors else "none", "none")
    problems = check_accounting(report)
    lost = {name: camera["frames"]["dropped"] for name, camera in report["cameras"].items() if dropped(camera)}
    check.expect("frames lost by moves", not problems and not lost, problems[:120] or str(lost)[:120], "{}")
    good = all(frames == report["cameras"][name]["frames"]["decoded"] and not odd
               for name, (frames, odd) in recorded.items())
    check.expect("recordings", good and files == len(CAMERAS), f"{recorded}, {files} files"[:140],
                 "each frame once, a frame apart, one file each")
    if check.cpu:
        return
    difference = memory_returned(before)
    check.expect("memory afterwards", abs(difference) <= TOLERANCE, f"{difference:+d} MiB", AS_BEFORE)
