"""Section balance of tools/gpu-check: a rig whose load shifts, with `balance: off`, and with `balance: auto` and GAIN times
as many cameras.

Two workers. Cameras go to them in turns; those of the first one see nothing for a while, and then much, so that their
encoders need more cores than that worker has, while the other one's still see nothing. How many cameras that takes is
measured first: on a machine that is as busy as it will be, since threads that share a core are slower."""

import json
import math
import os
import tempfile
import time
from pathlib import Path

from gpu_rig import Broken, RATE, Rig, check_accounting, config_of
from gpu_watching import ask_as_owner, free_port

STILL = 12  # s, before there is much to see
SETTLED = 25  # s at the end in which nobody may lose a frame
SHIFTED = 80  # s from the start until then: the shift, and the moves that follow
MOST = 40  # cameras of each worker
GAIN = 1.15
FULL = 0.77  # of the cores, on the average: what encoders need comes in bursts, and with more than that some come late


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
        filters = [] if self.check.cpu else [{"resize": {"width": 1280, "height": 720}}]
        cameras = {f"c{n}": {"source": source} for n, source in enumerate(sources)}
        config = config_of(cameras, pace="realtime", loop=True, drop_policy="drop", filters=filters, encode=encode,
                           gpu="cpu" if self.check.cpu else "auto")
        del config["defaults"]["record"]
        config |= {"balance": balance}
        if self.check.cpu:
            config["workers"] = {"count": 2}
        return config

    def needs(self, count):
        """Cores that one camera with much to see and one with nothing need together; measured with so many of each."""
        report = self.run_for([self.busy, self.still] * count, "off", 12)[0]
        frames = [sum(camera["frames"]["encoded"] for camera in report["cameras"].values() if camera["worker"] == worker)
                  for worker in (0, 1)]
        used = [worker["cpu_s"] for worker in report["workers"]]
        elsewhere = (report["cpu_s"] - sum(used)) / sum(camera["frames"]["decoded"] for camera in report["cameras"].values())
        return RATE * (used[0] / frames[0] + used[1] / frames[1] + 2 * elsewhere)

    def run_for(self, sources, balance, seconds, settled=0):
        """The report; the frames that were lost, and the rates, in the last `settled` seconds."""
        check = self.check
        state = Path(tempfile.mkdtemp(prefix="state-", dir=check.folder))
        base = f"127.0.0.1:{free_port()}"
        config = self.config(sources, balance) | {"http_address": base, "rtsp_address": "off"}

        def frames():
            cameras = ask_as_owner(f"http://{base}", state, "status")["cameras"]
            return {name: (camera["frames"]["encoded"], camera["frames"]["dropped"].get("queue_full", 0))
                    for name, camera in cameras.items()}

        with Rig(check.programs, check.folder, config, STATE_DIRECTORY=str(state)) as rig:
            time.sleep(seconds - settled)
            if not rig.running():
                raise Broken(f"the rig ended:\n{rig.log()[-2000:]}")
            before, begin = frames() if settled else {}, time.monotonic()
            time.sleep(settled)
            after, took = frames() if settled else {}, time.monotonic() - begin
            report = rig.end(60)
            check.log(f"balance: {balance}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        lost = sum(after[name][1] - before[name][1] for name in before)
        rates = sorted((after[name][0] - before[name][0]) / took for name in before)
        return report, lost, rates


def balance(check):
    if len(check.gpus) < 2 and not check.cpu:
        return check.add("balance", "there is one GPU", "", "skipped")
    shift = Shift(check)
    number = 1
    for _ in range(2):
        needed = shift.needs(number)
        number = max(1, min(MOST, math.floor(FULL * shift.cores / needed)))
    few = math.floor(number / GAIN)
    check.add("cameras", f"{number} of each worker; one of each kind need {needed:.2f} of the {shift.cores} cores")
    for how, count in (("off", few), ("auto", number)):
        report, lost, rates = shift.run_for([shift.shifts, shift.still] * count, how, SHIFTED + SETTLED, SETTLED)
        all_lost = sum(camera["frames"]["dropped"].get("queue_full", 0) for camera in report["cameras"].values())
        came = sum(camera["frames"]["decoded"] for camera in report["cameras"].values())
        moves = sum(camera["moves"] for camera in report["cameras"].values())
        problems = check_accounting(report)
        check.expect(f"{how}, {2 * count} cameras", not problems, f"{all_lost:,} of {came:,} frames lost; {moves} moves",
                     "accounted for")
        of_end = f"{lost:,} lost, {rates[0]:.1f} to {rates[-1]:.1f} frames a second, half of them {rates[len(rates) // 2]:.1f}"
        if how == "off":
            check.expect(f"off: the last {SETTLED} s", lost > 0, of_end, "some lost: too many for it")
        else:
            check.expect(f"auto: the last {SETTLED} s", rates[0] >= 0.99 * RATE, of_end, f"{RATE} of each")
