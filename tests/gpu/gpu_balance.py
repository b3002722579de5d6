"""Section balance of tools/gpu-check: a rig whose load shifts, with `balance: off`, and with `balance: auto` and GAIN times
as many cameras.

Two workers, or four. Cameras go to them in turns; those of every other worker (the first, the third) see nothing for a while,
and then much, so that their encoders need more cores than that worker has, while the others' still see nothing. How many
cameras of each worker a fixed placement holds once they see much is found by trying; a rig of GAIN times as many begins with
nothing to see, and must hold them all after the shift."""

import json
import math
import os
import tempfile
import time
from pathlib import Path

from gpu_rig import Broken, RATE, Rig, check_accounting, config_of, dropped
from gpu_watching import ask_as_owner, free_port

STILL = 12  # s, before there is much to see
SETTLED = 25  # s at the end in which nobody may lose a frame
SHIFTED = 80  # s from the start until then: the shift, and the moves that follow
SHIFTED_OF_FOUR = 100  # likewise: twice as many moves, one at a time
MOST = 40  # cameras of each worker
MOST_WORKERS = 4  # the moves of more would be more than the rig makes in a minute
GAIN = 1.15
USED = 0.9  # of its cores: so many a worker can use without losing frames, the search begins with
TRIAL = 24  # s of a rig with a fixed placement, the second half of which counts
FEW = 0.001  # of the frames: so many may be missing where all are held


def clip(check, name, filters, seconds, size):
    """Of the car clip; `filters`: what becomes of its frames. By quality: at a bitrate the encoder would leave the noise
    away, but for key frames."""
    file = check.folder / name
    check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-y", "-stream_loop", "-1", "-i", check.clip("car-1080p.mp4"),
                        "-an", "-vf", f"{filters},scale={size[0]}:{size[1]},format=yuv420p", "-r", RATE, "-frames:v",
                        seconds * RATE, "-c:v", "libx264", "-preset", "veryfast", "-crf", 24, "-g", RATE, file,
                        seconds=120)
    return str(file)


class Shift:
    def __init__(self, check):
        self.check = check
        self.workers = 2 if check.cpu else min(len(check.gpus) // 2 * 2, MOST_WORKERS)
        self.shifted = SHIFTED if self.workers == 2 else SHIFTED_OF_FOUR
        size = (640, 360) if check.cpu else (1920, 1080)
        still = "select=eq(n\\,0),loop=-1:1,setpts=N/30/TB"
        noisy = f"{still},noise=alls=12:allf=t"  # without cuts: what follows one takes an encoder many times as long
        self.still = clip(check, "still.mp4", still, STILL, size)
        self.busy = clip(check, "busy.mp4", noisy, 10, size)
        self.shifts = str(check.folder / "shifts.mp4")
        parts = check.folder / "shifts.txt"
        parts.write_text("".join(f"file '{file}'\n" for file in [self.still, *[self.busy] * ((self.shifted + SETTLED) // 10)]))
        check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "concat", "-safe", "0", "-i", parts,
                            "-c", "copy", self.shifts)

    def config(self, sources, balance):
        encode = {"codec": "h264", "encoder": "libx264", "preset": "fast", "bitrate": "4M", "gop": "2s", "threads": 4}
        filters = [] if self.check.cpu else [{"resize": {"width": 960, "height": 540}}]
        cameras = {f"c{n}": {"source": source} for n, source in enumerate(sources)}
        config = config_of(cameras, pace="realtime", loop=True, drop_policy="drop", filters=filters, encode=encode,
                           gpu="cpu" if self.check.cpu else "auto")
        del config["defaults"]["record"]
        config |= {"balance": balance}
        if self.check.cpu:
            config["workers"] = {"count": self.workers}
        return config

    def sources(self, first, count):
        """So many cameras of each worker: `first` of every other one, the still clip of those between."""
        return [first, self.still] * (self.workers // 2 * count)

    def environment(self):
        """Cameras go round all GPUs that the rig sees."""
        gpus = self.check.gpus[:self.workers]
        return {} if self.check.cpu else {"CUDA_VISIBLE_DEVICES": ",".join(gpu[1] for gpu in gpus)}

    def tried(self, count):
        """With a fixed placement, and much to see from the start: whether so many of each worker are held; and how many, by
        what the first worker needed for a frame."""
        report, lost, came, cores = self.run_for(self.sources(self.busy, count), "off", TRIAL, TRIAL / 2)
        frames = sum(camera["frames"]["encoded"] for camera in report["cameras"].values() if camera["worker"] == 0)
        cores_of_one = RATE * report["workers"][0]["cpu_s"] / max(frames, 1)
        guess = math.floor(USED * cores / cores_of_one)
        self.check.log("balance: fixed", f"{count} of each worker: {lost} of {came} frames lost; {cores_of_one:.2f} of {cores} "
                       f"cores for each, so {guess}")
        return lost <= FEW * came, guess

    def most(self):
        """So many of each worker a fixed placement holds, and no more."""
        held, count = self.tried(1)
        low, high = (1, MOST + 1) if held else (0, 1)
        while high - low > 1 and self.check.left() > self.shifted + SETTLED + 2 * TRIAL:
            count = min(max(count, low + 1), high - 1)
            held, guess = self.tried(count)
            low, high = (count, high) if held else (low, count)
            count = guess
        if high - low > 1:
            raise Broken(f"no time left: {low} of each worker are held, {high} are not")
        return low

    def run_for(self, sources, balance, seconds, settled):
        """The report; how many frames were lost, and came, in the last `settled` seconds; how many cores the first worker
        has."""
        check = self.check
        state = Path(tempfile.mkdtemp(prefix="state-", dir=check.folder))
        base = f"127.0.0.1:{free_port()}"
        config = self.config(sources, balance) | {"http_address": base, "rtsp_address": "off"}

        def frames():
            cameras = ask_as_owner(f"http://{base}", state, "status")["cameras"]
            found = [camera["frames"] for camera in cameras.values()]
            return sum(sum(one["dropped"].values()) for one in found), sum(one["decoded"] for one in found)

        with Rig(check.programs, check.folder, config, STATE_DIRECTORY=str(state), **self.environment()) as rig:
            time.sleep(seconds - settled)
            if not rig.running():
                raise Broken(f"the rig ended:\n{rig.log()[-2000:]}")
            cores = len(os.sched_getaffinity(rig.pid_of("worker 0")))
            before = frames()
            time.sleep(settled)
            after = frames()
            report = rig.end(60)
            check.log(f"balance: {balance}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        return report, after[0] - before[0], after[1] - before[1], cores


def balance(check):
    if len(check.gpus) < 2 and not check.cpu:
        return check.add("balance", "there is one GPU", "", "skipped")
    shift = Shift(check)
    few = shift.most()
    workers = shift.workers
    check.expect(f"off: cameras held by {workers} workers", few > 0,
                 f"{workers * few}; of {workers * (few + 1)} frames are lost all the time")
    number = max(math.ceil(GAIN * few), few + 1)
    report, lost, came, _ = shift.run_for(shift.sources(shift.shifts, number), "auto", shift.shifted + SETTLED, SETTLED)
    all_lost = sum(dropped(camera) for camera in report["cameras"].values())
    moves = sum(camera["moves"] for camera in report["cameras"].values())
    problems = check_accounting(report)
    check.expect(f"auto: {workers * number} cameras", not problems,
                 problems or f"{all_lost:,} frames lost in all, {moves} moves after the shift", "accounted for")
    check.expect(f"auto: the last {SETTLED} s", lost <= FEW * came and came > 0.9 * workers * number * RATE * SETTLED,
                 f"{lost:,} of {came:,} frames lost", f"<= {FEW:.1%}: all {number / max(few, 1):.2f} x as many held")
