"""Section gone of tools/gpu-check: a GPU is gone, by every means that does no harm to the machine, and comes back.

The promise: 5 s after the first error its cameras run on the rest, the cameras of other GPUs lose nothing, every frame is
accounted for, and they go back when the GPU does. Meanwhile their sources stay open, and copies of what these send lose
nothing. Without a GPU (--cpu) campipe_faults pretends to have two.
"""

import json
import re
import subprocess
import time
from contextlib import contextmanager

from gpu_rig import GROUP, RATE, Broken, Rig, check_accounting, config_of, dropped, eventually

PROMISED = 5.0  # s
BACK = 40.0  # s: three good checks, of which the first is due 10 s after it was gone, or 20 after a bad one; and a start
SETTLED = 2  # groups that each camera has recorded before anything is done


class Case:
    """A rig, of which the last GPU goes."""

    def __init__(self, check, gpus):
        self.check, self.count = check, gpus
        if check.cpu:
            self.uuids = [f"GPU-{('a pretended GPU' + chr(n)).encode().hex()}" for n in range(gpus)]
            self.uuids = [re.sub(r"GPU-(.{8})(.{4})(.{4})(.{4})(.{12})", r"GPU-\1-\2-\3-\4-\5", u) for u in self.uuids]
        else:
            self.uuids = [gpu[1] for gpu in check.gpus[:gpus]]
        self.lost = gpus - 1  # its index
        self.flag = check.folder / "gone"
        self.flag.unlink(missing_ok=True)
        self.named = ()  # the cameras that name it

    @property
    def uuid(self):
        return self.uuids[self.lost]

    @property
    def worker(self):
        """The worker of that GPU: workers are in the GPUs' order."""
        return f"worker {self.lost}"

    def cameras(self):
        """Two a GPU, which leave the choice to campipe: it goes round."""
        return "abcd"[:2 * self.count]

    def displaced(self):
        return self.cameras()[self.lost::self.count]

    def config(self):
        clips = [] if self.check.cpu else self.check.clips()
        cameras = {}
        for n, name in enumerate(self.cameras()):
            source = "test://pattern?width=320&height=240&rate=30" if self.check.cpu else clips[n % 2]
            cameras[name] = {"source": source, "priority": 50 + 10 * n}
            if name in self.named:
                cameras[name]["gpu"] = self.lost
            if not self.check.cpu:  # the test pattern cannot be copied
                copy = {"encode": {"codec": "copy"}, "record": {"path": f"copy-{name}.mp4"}}
                cameras[name]["outputs"] = {"copy": copy}
        more = {"filters": []} if self.check.cpu else {}
        return config_of(cameras, pace="realtime", loop=True, drop_policy="drop", **more)

    def environment(self, failpoints):
        environment = {"CAMPIPE_FAILPOINT": failpoints}
        if self.check.cpu:
            environment["CAMPIPE_PRETENDED_GPUS"] = str(self.count)
        else:  # the same as that of the rig's own processes: only these GPUs are there
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self.uuids)
        return environment

    def rest(self):
        return "GPU 0" if self.count > 1 else "the CPU"

    @contextmanager
    def rig(self, failpoints):
        with Rig(self.check.programs, self.check.folder, self.config(), program="campipe_faults",
                 **self.environment(failpoints)) as rig:
            rig.wait_for_groups(self.cameras(), SETTLED, 60)
            yield rig


def wait_for_log(rig, text, seconds, times=1):
    if not eventually(lambda: rig.log().count(text) >= times or not rig.running(), seconds) or not rig.running():
        raise Broken(f"the log has no '{text}' after {seconds:.0f} s; it ends:\n{rig.log()[-3000:]}")


def wait_for_growth(rig, cameras, place, seconds, times=1):
    """Each of the cameras runs there, and its file has grown since: when that was."""
    end = time.monotonic() + seconds
    sizes, done = {}, {}

    def all_grow():
        log = rig.log()
        for camera in cameras:
            if log.count(f"{camera}: runs on {place} now") < times:
                continue
            size = rig.size(camera)
            sizes.setdefault(camera, size)
            if size > sizes[camera]:
                done.setdefault(camera, time.monotonic())
        return len(done) == len(cameras) or not rig.running()

    if not eventually(all_grow, max(end - time.monotonic(), 0.1)) or len(done) < len(cameras):
        missing = ", ".join(camera for camera in cameras if camera not in done)
        raise Broken(f"{missing} not on {place} after {seconds:.0f} s; the log ends:\n{rig.log()[-3000:]}")
    return max(done.values())


def disturbances(rig, report):
    """What a GPU that goes must not do to any camera: open its source again, or touch what is copied."""
    problems = []
    if report["source_restarts"]:
        problems.append(f"the source was restarted {report['source_restarts']} times")
    for name, camera in report["cameras"].items():
        if camera["reconnects"]:
            problems.append(f"{name} was opened again {camera['reconnects']} times")
        if copy := camera.get("outputs", {}).get("copy"):
            frames = copy["frames"]
            if frames["dropped"] or frames["unrecorded"] or not frames["recorded"]:
                problems.append(f"the copy of {name}: {frames}")
            if any(rig.folder.glob(f"copy-{name}-*.mp4")):
                problems.append(f"the copy of {name} has more than one file")
    return problems


def go_and_come_back(case, measure, rig, begin, end):
    """begin() has the GPU go, end() has it come back."""
    check = case.check
    since = begin()
    if since is None:
        since = time.monotonic()
    on_rest = wait_for_growth(rig, case.displaced(), case.rest(), 30)
    check.expect(f"{measure}: its cameras run on {case.rest()}", on_rest - since <= PROMISED,
                 f"{on_rest - since:.2f} s after the first error", f"<= {PROMISED:g} s")
    rig.wait_for_groups(case.cameras(), 3, 20)
    end()
    since = time.monotonic()
    back = wait_for_growth(rig, case.displaced(), f"GPU {case.lost}", 2 * BACK)
    check.expect(f"{measure}: back on GPU {case.lost}", back - since <= BACK, f"{back - since:.1f} s", f"<= {BACK:g} s")
    rig.wait_for_groups(case.cameras(), 3, 20)
    report = rig.end()
    check.log(measure, f"{json.dumps(report, indent=1)}\n{rig.log()}")
    problems = [check_accounting(report), *disturbances(rig, report)]
    others = [name for name in case.cameras() if name not in case.displaced()]
    lost = {name: dropped(report["cameras"][name]) for name in case.cameras()}
    problems += [f"{name} lost {lost[name]}" for name in others if lost[name]]
    problems += [f"{name} ended on {report['cameras'][name]['gpu']}" for name in case.displaced()
                 if report["cameras"][name]["gpu"] != str(case.lost)]
    if rig.processes():
        problems.append(f"{len(rig.processes())} processes are left")
    problems = "; ".join(filter(None, problems))
    of_displaced = sum(lost[name] for name in case.displaced())
    check.expect(f"{measure}: afterwards", not problems,
                 problems[:150] or f"others lost 0, its cameras {of_displaced} frames", "accounting, others 0")


def illegal_address(check, gpus):
    """A worker's context is lost, and its successors' as well, though checks find nothing."""
    case = Case(check, gpus)
    measure = f"illegal addresses, {gpus} GPU{'s' if gpus > 1 else ''}"
    action = "gpu_lost" if check.cpu else "gpu_fault"
    with case.rig(f"worker.tick@{case.uuid}:1+={action}{case.flag}") as rig:
        def begin():
            case.flag.touch()
            wait_for_log(rig, "the GPU cannot be used any more", 10)
        go_and_come_back(case, measure, rig, begin, case.flag.unlink)


def without_new_processes(check, gpus, title, how):
    """Its worker dies, no successor can begin on it, and this is what a check of it does."""
    case = Case(check, gpus)
    measure = f"{title}, {gpus} GPU{'s' if gpus > 1 else ''}"
    with case.rig(f"worker.beginning@{case.uuid}:1+=throw{case.flag},"
                  f"probe.checking@{case.uuid}:1+={how}{case.flag}") as rig:
        def begin():
            case.flag.touch()
            since = time.monotonic()
            rig.kill(rig.pid_of(case.worker))
            return since
        go_and_come_back(case, measure, rig, begin, case.flag.unlink)


def missed_by_checks(check, gpus):
    """No new process can use it."""
    without_new_processes(check, gpus, "not there for new processes", "throw")


def hanging_check(check, gpus):
    """Its driver does not answer: the check's time passes."""
    without_new_processes(check, gpus, "checks hang", "hang")


def full(check, gpus):
    """All of its memory is taken, and then its worker dies."""
    case = Case(check, gpus)
    measure = f"full, {gpus} GPU{'s' if gpus > 1 else ''}"
    with case.rig("") as rig:
        command = check.programs.command("gpu_pipeline_bench", "hog", 0, "--gpus", 1)
        hog = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=check.programs.environment(CUDA_VISIBLE_DEVICES=case.uuid))

        def begin():
            if not hog.stdout.readline():
                raise Broken("gpu_pipeline_bench hog took nothing")
            for _ in range(5):  # a successor may be quicker than the hog, and have what was freed
                since = time.monotonic()
                rig.kill(rig.pid_of(case.worker))
                if eventually(lambda: f"GPU {case.lost} is gone" in rig.log(), 4):
                    return since
            raise Broken("each successor found enough memory")

        def end():
            hog.stdin.close()
            hog.wait(timeout=60)

        try:
            go_and_come_back(case, measure, rig, begin, end)
        finally:
            if hog.poll() is None:
                hog.kill()
            hog.wait()


def missing_at_the_start(check, gpus):
    """Its cameras name it, and it comes while the rig runs."""
    case = Case(check, gpus)
    measure = f"missing at the start, {gpus} GPU{'s' if gpus > 1 else ''}"
    case.named = case.displaced()
    case.flag.touch()
    with case.rig(f"probe.finding@{case.uuid}:1+=throw{case.flag}") as rig:
        wait_for_log(rig, f"GPU {case.lost} is gone", 10)
        case.flag.unlink()
        since = time.monotonic()
        there = wait_for_growth(rig, case.displaced(), f"GPU {case.lost}", 2 * BACK)
        check.expect(f"{measure}: on GPU {case.lost}", there - since <= BACK, f"{there - since:.1f} s", f"<= {BACK:g} s")
        rig.wait_for_groups(case.cameras(), 3, 20)
        report = rig.end()
        check.log(measure, f"{json.dumps(report, indent=1)}\n{rig.log()}")
        problems = [check_accounting(report), *disturbances(rig, report)]
        problems += [f"{name} ended on {report['cameras'][name]['gpu']}" for name in case.displaced()
                     if report["cameras"][name]["gpu"] != str(case.lost)]
        problems = "; ".join(filter(None, problems))
        check.expect(f"{measure}: afterwards", not problems, problems[:150] or "no camera was disturbed", "accounting")


def gone(check):
    several = [2, 1] if check.cpu or len(check.gpus) > 1 else [1]
    ways = {"illegal addresses": illegal_address, "not there for new processes": missed_by_checks,
            "checks hang": hanging_check, "missing at the start": missing_at_the_start}
    if not check.cpu:
        ways["full"] = full
    for gpus in several:
        for name, way in ways.items():
            check.step(f"{name}, {gpus} GPU{'s' if gpus > 1 else ''}", lambda w=way, g=gpus: w(check, g), needs=40)
