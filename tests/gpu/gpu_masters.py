"""Section masters of tools/gpu-check: whoever decodes is killed, again and again, under cameras that wait for nobody.

The promise: no frame is lost, no camera is connected to anew, and what is passed on as it came notices nothing."""

import json
import socket
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from gpu_faults import GROUPS, ROUND
from gpu_rig import GROUP, RATE, Broken, Rig, check_accounting, config_of, dropped, eventually
from gpu_watching import free_port

KILLS = 100
CAMERAS = ("file0", "file1", "live0", "live1")


def sender(check, port):
    """Two cameras by RTSP that wait for nobody: another campipe, which passes clips on."""
    cameras = {f"clip{n}": {"source": clip, "loop": True, "encode": {"codec": "copy"}}
               for n, clip in enumerate(check.clips())}
    return {"http_address": "off", "rtsp_address": f"127.0.0.1:{port}", "cameras": cameras}


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


@contextmanager
def senders(check, port):
    """These cameras send."""
    with Rig(check.programs, check.folder, sender(check, port), report=False) as rig:
        if not eventually(lambda: answers(port), 20):
            raise Broken(f"the cameras did not begin:\n{rig.log()[-2000:]}")
        yield


def rig_of(check, port, gpus):
    """A file and a live camera for each of the GPUs; what comes from the live ones is kept as it came, too."""
    files = check.clips()
    cameras = {}
    for n, gpu in enumerate(gpus):
        cameras[f"file{n}"] = {"source": files[n % 2], "gpu": gpu}
        cameras[f"live{n}"] = {"source": f"rtsp://127.0.0.1:{port}/clip{n % 2}", "gpu": gpu,
                               "outputs": {"copy": {"encode": {"codec": "copy"}, "filters": [],
                                                    "record": {"path": "{camera}-copy.mp4"}}}}
    filters = [{"resize": {"width": 320, "height": 180}}]
    return config_of(cameras, pace="realtime", loop=True, drop_policy="drop", filters=filters) | {
        "http_address": "off", "rtsp_address": "off"}


def kill_masters(rig):
    """All at once: how many those were, and the time until frames of all cameras flow again."""
    before = {role: pid for role, pid in rig.roles().items() if role.split()[0] == "master"}
    since = time.monotonic()
    for pid in before.values():
        rig.kill(pid)
    for role, pid in before.items():
        rig.pid_of(role, before=pid)
    rig.wait_for_groups(CAMERAS, GROUPS, 30)
    return len(before), max(time.monotonic() - since - (GROUPS - 1) * GROUP / RATE, 0)


def losses(report):
    """In words; nothing where nothing was lost, or connected to anew."""
    problems = [check_accounting(report)]
    for name, camera in report["cameras"].items():
        streams = {name: camera} | {f"{name}/{output}": its for output, its in camera.get("outputs", {}).items()}
        problems += [f"{stream} lost {its['frames']['dropped']}" for stream, its in streams.items() if dropped(its)]
        if camera["reconnects"]:
            problems.append(f"{name} was connected to {camera['reconnects']} times anew")
    return "; ".join(filter(None, problems))


def masters(check):
    port = free_port()
    number, wanted = (1, 5) if check.cpu else (check.options.kill_rigs, KILLS)
    with ExitStack() as stack:
        stack.enter_context(senders(check, port))
        rigs = []
        gpus = ["cpu", "cpu"] if check.cpu else [0, 1 if len(check.gpus) > 1 else 0]
        for _ in range(number):  # one after the other: each looks at the GPUs first, which takes its time
            rigs.append(stack.enter_context(Rig(check.programs, check.folder, rig_of(check, port, gpus))))
            rigs[-1].wait_for_groups(CAMERAS, GROUPS, 60)
        kills, took = 0, []
        with ThreadPoolExecutor(number) as threads:
            while kills < wanted and check.left() > 40:
                time.sleep(ROUND)  # one that dies sooner, again and again, waits to be restarted
                done = list(threads.map(kill_masters, rigs))
                kills += sum(killed for killed, _ in done)
                took += [seconds for _, seconds in done]
        check.expect("masters killed", kills >= wanted, f"{kills}, in {number} rigs at a time", f">= {wanted}")
        check.expect("frames flow again", max(took) <= 5, f"{max(took):.2f} s at most, median {statistics.median(took):.2f} s",
                     "<= 5 s")
        for n, rig in enumerate(rigs):
            report = rig.end()
            check.log(f"rig {n}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
            problems = losses(report)
            came = sum(camera["frames"]["decoded"] for camera in report["cameras"].values())
            check.expect(f"lost by rig {n}", not problems, problems[:300] or f"0 of {came:,} frames", "nothing")
