"""Section each of tools/gpu-check: in one rig with two cameras on every GPU, its worker, its master, and both are killed, on
one GPU after the other.

The promise: within 5 s frames of that GPU's cameras flow again, the cameras of the others lose nothing, and where the master
alone dies, neither do its own; no camera is connected to anew, and copies notice nothing."""

import json
import tempfile
import time
import urllib.error
from pathlib import Path

from gpu_faults import AS_BEFORE, GROUPS, ROUND, TOLERANCE, expect_end, kill
from gpu_masters import rig_of, senders
from gpu_rig import Broken, Rig, dropped, eventually, memory_returned, memory_used
from gpu_watching import ask_as_owner, free_port


class EveryGpu:
    def __init__(self, check, port):
        self.check = check
        self.gpus = ["cpu", "cpu"] if check.cpu else list(range(len(check.gpus)))
        self.state = Path(tempfile.mkdtemp(prefix="state-", dir=check.folder))
        self.base = f"http://127.0.0.1:{free_port()}"
        self.config = rig_of(check, port, self.gpus) | {"http_address": self.base.removeprefix("http://")}
        self.config["balance"] = "off"  # a camera stays on its GPU
        if check.cpu:
            self.config["workers"] = {"count": len(self.gpus)}
        self.killed = {}  # role → when

    def cameras(self):
        """Of the status: name → camera."""
        found = {}

        def answered():
            try:
                found.update(ask_as_owner(self.base, self.state, "status")["cameras"])
            except (OSError, urllib.error.URLError, KeyError):
                return False  # nobody answers just now
            return True

        if not eventually(answered, 10):
            raise Broken("the rig does not answer")
        return found

    def roles(self, place, blow):
        """Workers are in the GPUs' order."""
        master = "master" if self.check.cpu else f"master {self.gpus[place]}"
        return {"worker": [f"worker {place}"], "master": [master], "both": [master, f"worker {place}"]}[blow]

    def strike(self, rig, place, blow):
        """On the GPU of that place."""
        where = f"worker {place} of the CPU" if self.check.cpu else f"GPU {self.gpus[place]}"
        measure = f"{where}, {'worker and master' if blow == 'both' else blow} killed"
        roles = self.roles(place, blow)
        # One that dies sooner, again and again, waits to be restarted.
        time.sleep(max([self.killed.get(role, 0) + ROUND - time.monotonic() for role in roles] + [0]))
        before = self.cameras()
        own = [name for name, camera in before.items() if camera["worker"] == place]
        kill(self.check, measure, rig, roles, cameras=own)
        self.killed |= dict.fromkeys(roles, time.monotonic())
        lost = {name: dropped(camera) - dropped(before[name]) for name, camera in self.cameras().items()}
        wrong = {name: number for name, number in lost.items() if number and (name not in own or blow == "master")}
        self.check.expect(f"{measure}: lost", len(own) == 2 and not wrong,
                          f"{wrong}"[:150] if wrong else f"{sum(lost.values())} by its {len(own)} cameras",
                          "nothing" if blow == "master" else "nothing by the others")


def disturbances(report):
    problems = []
    for name, camera in report["cameras"].items():
        if camera["reconnects"]:
            problems.append(f"{name} was connected to {camera['reconnects']} times anew")
        copy = camera.get("outputs", {}).get("copy")
        if copy and dropped(copy):
            problems.append(f"the copy of {name} lost {copy['frames']['dropped']}")
    return problems


def each(check):
    port = free_port()
    with senders(check, port):
        every = EveryGpu(check, port)
        before = memory_used()
        with Rig(check.programs, check.folder, every.config, STATE_DIRECTORY=str(every.state)) as rig:
            rig.wait_for_groups(every.config["cameras"], GROUPS, 60)
            running = memory_used()
            for blow in ("worker", "master", "both"):
                for place in range(len(every.gpus)):
                    check.step(f"{blow} {place}", lambda b=blow, p=place: every.strike(rig, p, b), needs=20)
                grown = memory_returned(running, seconds=5)
                check.expect(f"memory after that on all GPUs ({blow})", abs(grown) <= TOLERANCE, f"{grown:+d} MiB", AS_BEFORE)
            report = expect_end(check, "each GPU", rig, before)
            problems = disturbances(report)
            check.expect("each GPU: connections and copies", not problems, "; ".join(problems)[:150] or "none anew, nothing lost")
            check.log("restarts", json.dumps([worker["restarts"] for worker in report["workers"]]))
