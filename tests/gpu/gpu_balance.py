"""Section balance of tools/gpu-check: a rig whose load shifts, with `balance: off`, and with `balance: auto` and GAIN times
as many cameras.

Two workers. Cameras go to them in turns; those of the first one see nothing for a while, and then much, so that their
encoders need more cores than that worker has, while the other one's still see nothing. How many cameras a fixed placement
holds once they see much is found by trying; a rig of GAIN times as many begins with nothing to see, and must hold them all
after the shift."""

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
MOST = 40  # cameras of each worker
GAIN = 1.15
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
        size = (640, 360) if check.cpu else (1920, 1080)
        still = "select=eq(n\\,0),loop=-1:1,setpts=N/30/TB"
        noisy = f"{still},noise=alls=12:allf=t"  # without cuts: what follows one takes an encoder many times as long
        self.still = clip(check, "still.mp4", still, STILL, size)
        self.busy = clip(check, "busy.mp4", noisy, 10, size)
        self.shifts = str(check.folder / "shifts.mp4")
        parts = check.folder / "shifts.txt"
        parts.write_text("".join(f"file '{file}'\n" for file in [self.still, *[self.busy] * ((SHIFTED + SETTLED) // 10)]))
        check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "concat", "-safe", "0", "-i", parts,
                            "-c", "copy", self.shifts)
        self.cores = len(os.sched_getaffinity(0))

    def config(self, sources, balance):
        encode = {"codec": "h264", "encoder": "libx264", "preset": "fast", "bitrate": "4M", "gop": "2s", "threads": 4}
        filters = [] if self.check.cpu else [{"resize": {"width": 960, "height": 540}}]
        cameras = {f"c{n}": {"source": source} for n, source in enumerate(sources)}
        config = config_of(cameras, pace="realtime", loop=True, drop_policy="drop", filters=filters, encode=encode,
                           gpu="cpu" if self.check.cpu else "auto")
        del config["defaults"]["record"]
        config |= {"balance": balance}
        if self.check.cpu:
            config["workers"] = {"count": 2}
        return config

    def cores_of_one(self):
        """That the worker needs for one camera with much to see."""
        report = self.run_for([self.busy, self.still], "off", TRIAL)[0]
        frames = sum(camera["frames"]["encoded"] for camera in report["cameras"].values() if camera["worker"] == 0)
        return RATE * report["workers"][0]["cpu_s"] / frames

    def holds(self, count):
        """With a fixed placement, and much to see from the start."""
        _, lost, came = self.run_for([self.busy, self.still] * count, "off", TRIAL, TRIAL / 2)
        self.check.log("balance: fixed", f"{count} of each worker: {lost} of {came} frames lost")
        return lost <= FEW * came

    def most(self):
        """So many of each worker a fixed placement holds, and no more."""
        count = max(1, min(MOST, math.floor(0.9 * self.cores / 2 / self.cores_of_one())))
        if self.holds(count):
            while count < MOST and self.holds(count + 1):
                count += 1
            return count
        while count > 1 and not self.holds(count - 1):
            count -= 1
        return count - 1

    def run_for(self, sources, balance, seconds, settled=0):
        """The report; how many frames were lost, and came, in the last `settled` seconds."""
        check = self.check
        state = Path(tempfile.mkdtemp(prefix="state-", dir=check.folder))
        base = f"127.0.0.1:{free_port()}"
        config = self.config(sources, balance) | {"http_address": base, "rtsp_address": "off"}

        def frames():
            cameras = ask_as_owner(f"http://{base}", state, "status")["cameras"]
            found = [camera["frames"] for camera in cameras.values()]
            return sum(sum(one["dropped"].values()) for one in found), sum(one["decoded"] for one in found)

        with Rig(check.programs, check.folder, config, STATE_DIRECTORY=str(state)) as rig:
            time.sleep(seconds - settled)
            if not rig.running():
                raise Broken(f"the rig ended:\n{rig.log()[-2000:]}")
            before = frames() if settled else (0, 0)
            time.sleep(settled)
            after = frames() if settled else (0, 0)
            report = rig.end(60)
            check.log(f"balance: {balance}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        return report, after[0] - before[0], after[1] - before[1]


def balance(check):
    if len(check.gpus) < 2 and not check.cpu:
        return check.add("balance", "there is one GPU", "", "skipped")
    shift = Shift(check)
    few = shift.most()
    check.expect("off: cameras held", few > 0, f"{2 * few}; of {2 * few + 2} frames are lost all the time")
    number = max(math.ceil(GAIN * few), few + 1)
    report, lost, came = shift.run_for([shift.shifts, shift.still] * number, "auto", SHIFTED + SETTLED, SETTLED)
    all_lost = sum(dropped(camera) for camera in report["cameras"].values())
    moves = sum(camera["moves"] for camera in report["cameras"].values())
    problems = check_accounting(report)
    check.expect(f"auto: {2 * number} cameras", not problems,
                 problems or f"{all_lost:,} frames lost in all, {moves} moves after the shift", "accounted for")
    check.expect(f"auto: the last {SETTLED} s", lost <= FEW * came and came > 0.9 * 2 * number * RATE * SETTLED,
                 f"{lost:,} of {came:,} frames lost", f"<= {FEW:.1%}: all {number / max(few, 1):.2f} x as many held")
