"""Section start of tools/gpu-check: a hundred cameras come at once. Each delivers, and no process is taken for dead while it
opens what they share."""

import json
import time

from gpu_faults import AS_BEFORE, TOLERANCE
from gpu_rig import Broken, Rig, check_accounting, config_of, eventually, memory_returned, memory_used

CAMERAS = 100
LONGEST = 30  # s until each has something in its file
SMALL = [{"resize": {"width": 320, "height": 180}}, {"sharpen": {"amount": 1.0}}]  # the GPU's part is to be the larger one


def start(check):
    clips = check.clips()
    gpus = max(len(check.gpus), 1)
    cameras = {f"c{n}": {"source": clips[n // gpus % 2], "gpu": n % gpus} for n in range(CAMERAS)}
    config = config_of(cameras, filters=SMALL, pace="realtime", loop=True, drop_policy="drop",
                       encode={"codec": "h264", "encoder": "libx264", "preset": "ultrafast", "bitrate": "500k", "gop": 10,
                               "threads": 1})
    before = memory_used()
    with Rig(check.programs, check.folder, config) as rig:
        begin = time.monotonic()
        eventually(lambda: not rig.running() or all(rig.size(name) > 5000 for name in cameras), LONGEST)
        took = time.monotonic() - begin
        if not rig.running():
            raise Broken(f"the rig ended:\n{rig.log()[-2000:]}")
        late = [name for name in cameras if rig.size(name) <= 5000]
        rig.wait_for_groups([name for name in cameras if name not in late], 2, 20)
        report = rig.end(30)
        check.log("start", f"{json.dumps(report, indent=1)}\n{rig.log()}")
    check.expect(f"{CAMERAS} cameras at once: all record", not late, f"after {took:.1f} s; {len(late)} do not",
                 f"all within {LONGEST} s")
    restarts = [worker["restarts"] for worker in report["workers"]]
    check.expect("workers that were started again", not any(restarts) and not report["master_restarts"],
                 f"{restarts}, master {report['master_restarts']}", "none")
    check.expect("accounting", not check_accounting(report), check_accounting(report)[:140] or "balanced")
    difference = memory_returned(before)
    check.expect("memory afterwards", abs(difference) <= TOLERANCE, f"{difference:+d} MiB", AS_BEFORE)
