"""Sections faults and kills of tools/gpu-check: processes of a running rig are killed, a GPU faults, a GPU is full.

The promise: within 5 s frames flow again, the cameras of other GPUs lose nothing, every frame is accounted for, and in
the end the GPU's memory is as it was and no process is left.
"""

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from gpu_rig import (GROUP, RATE, Broken, Rig, check_accounting, config_of, dropped, eventually, memory_returned,
                     memory_used)

PROMISED = 5.0  # s
# A process that died may have left one whole group and one begun; so growth beyond those is of its successor.
GROUPS = 4
TOLERANCE = 8  # MiB
AS_BEFORE = f"as before, +- {TOLERANCE} MiB"
ROUND = 10.5  # s that a worker lives before it is killed: one that dies sooner, again and again, waits to be restarted
HOG_SECONDS = 4


# --- rigs to break ---

def fault_rig(check, *, pace="fast", **defaults):
    """Four cameras without end. With two GPUs a and c are on the first, b and d on the second."""
    clips = check.clips()
    cameras = {name: {"source": clips[n % 2]} for n, name in enumerate("abcd")}
    for n, camera in enumerate(cameras.values()):
        if check.cpu:
            camera["source"] = "test://pattern?width=320&height=240&rate=30"
        camera["gpu"] = "cpu" if check.cpu else n % 2 if len(check.gpus) > 1 else 0
    if check.cpu:
        defaults["filters"] = []
    # Files at full speed are lossless (`block`); at real time they lose what nobody takes, as live cameras do.
    policy = "block" if pace == "fast" else "drop"
    return config_of(cameras, pace=pace, loop=True, drop_policy=policy, **defaults)


def of_other_workers(report, log):
    """The cameras that worker 0 had nothing to do with: no one that went elsewhere, since its GPU was gone."""
    return [name for name, camera in report["cameras"].items()
            if camera["worker"] != 0 and f"{name}: runs on " not in log]


def expect_end(check, measure, rig, before, untouched=lambda report, log: []):
    """Ends the rig: accounting, cameras that may have lost nothing, memory and processes."""
    report = rig.end()
    check.log(measure, f"{json.dumps(report, indent=1)}\n{rig.log()}")
    problems = [check_accounting(report)]
    problems += [f"{name} lost {dropped(report['cameras'][name])}" for name in untouched(report, rig.log())
                 if dropped(report["cameras"][name])]
    left = rig.processes()
    if left:
        problems.append(f"{len(left)} processes are left")
    difference = memory_returned(before)
    if abs(difference) > TOLERANCE:
        problems.append(f"memory of a GPU {difference:+d} MiB")
    problems = "; ".join(filter(None, problems))
    lost = sum(dropped(camera) for camera in report["cameras"].values())
    good = f"{lost} frames lost, memory {difference:+d} MiB"
    check.expect(f"{measure}: afterwards", not problems, problems[:150] or good, "accounting, memory, others")
    return report


def recovery(check, measure, rig, since, cameras="abcd", rate=RATE):
    """Frames of all `cameras` flow again: the seconds since then, without the time that the counted groups take.
    `rate`: None at full speed."""
    rig.wait_for_groups(cameras, GROUPS, 30)
    played = (GROUPS - 1) * GROUP / rate if rate else 0
    took = max(time.monotonic() - since - played, 0)
    check.expect(f"{measure}: frames flow again", took <= PROMISED, f"{took:.2f} s", f"<= {PROMISED:g} s")


def kill(check, measure, rig, roles, **flow):
    """Kills these processes at once; `flow`: what has to flow again, as recovery() has it."""
    pids = {role: rig.pid_of(role) for role in roles}
    since = time.monotonic()
    for pid in pids.values():
        rig.kill(pid)
    for role, pid in pids.items():
        rig.pid_of(role, before=pid)
    recovery(check, measure, rig, since, **flow)


def strike(check, measure, roles, pace, **defaults):
    before = memory_used()
    with Rig(check.programs, check.folder, fault_rig(check, pace=pace, **defaults)) as rig:
        rig.wait_for_groups("abcd", GROUPS, 40)
        running = memory_used()
        kill(check, measure, rig, roles, rate=RATE if pace == "realtime" else None)
        grown = memory_returned(running, seconds=5)
        check.expect(f"{measure}: memory once it runs again", abs(grown) <= TOLERANCE, f"{grown:+d} MiB", AS_BEFORE)
        expect_end(check, measure, rig, before, of_other_workers if roles == ["worker 0"] else lambda report, log: [])


# --- a GPU that faults ---

def gpu_fault(check):
    """An illegal address: the process's context is lost, so the worker must end and be started anew."""
    measure, count = "illegal address in worker 0", 150
    before = memory_used()
    with Rig(check.programs, check.folder, fault_rig(check, pace="realtime"), program="campipe_faults",
             CAMPIPE_FAILPOINT=f"stage.frame@a:{count}=gpu_fault") as rig:
        rig.wait_for_groups("abcd", 2, 40)
        worker = rig.pid_of("worker 0")
        if not eventually(lambda: rig.find("worker 0") != worker, count / RATE + 20):
            raise Broken(f"worker 0 did not end:\n{rig.log()[-2000:]}")
        since = time.monotonic()
        rig.pid_of("worker 0", before=worker)
        recovery(check, measure, rig, since)
        report = expect_end(check, measure, rig, before, of_other_workers)
        restarts = report["workers"][0]["restarts"]
        check.expect(f"{measure}: restarts", 1 <= restarts <= 2, restarts, "1")


# --- a GPU that is full ---

@contextmanager
def full_gpu(check, free_mib):
    """All memory of all GPUs is taken but so much, until release() is called."""
    command = check.programs.command("gpu_pipeline_bench", "hog", free_mib, "--gpus", len(check.gpus))
    hog = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           env=check.programs.environment())

    def release():
        if not hog.stdin.closed:
            hog.stdin.close()
            hog.wait(timeout=60)

    try:
        if not hog.stdout.readline():
            raise Broken("gpu_pipeline_bench hog took nothing")
        yield release
    finally:
        if hog.poll() is None:
            hog.kill()
        hog.wait()


def told_of_frames(rig, seconds):
    try:
        return f"frames after {rig.wait_for_groups('abcd', 1, seconds):.1f} s"
    except Broken:
        return "no frames" if rig.running() else "the rig ended"


def full_before_start(check, free_mib):
    measure = f"{free_mib} MiB free at the start"
    before = memory_used()
    with full_gpu(check, free_mib) as release:
        with Rig(check.programs, check.folder, fault_rig(check, pace="realtime")) as rig:
            check.add(f"{measure}: meanwhile", told_of_frames(rig, HOG_SECONDS))
            release()
            recovery(check, measure, rig, time.monotonic())
            expect_end(check, measure, rig, before)


def full_while_running(check):
    measure = "GPU full when worker 0 is killed"
    before = memory_used()
    with Rig(check.programs, check.folder, fault_rig(check, pace="realtime")) as rig:
        rig.wait_for_groups("abcd", GROUPS, 40)
        with full_gpu(check, 0) as release:
            check.add("GPU full while it runs", told_of_frames(rig, HOG_SECONDS))
            rig.kill(rig.pid_of("worker 0"))
            check.add(f"{measure}: meanwhile", told_of_frames(rig, HOG_SECONDS))
            release()
            recovery(check, measure, rig, time.monotonic())
        expect_end(check, measure, rig, before, of_other_workers)


def faults(check):
    master = "master" if check.cpu else "master 0"
    blows = {"worker 0 killed": ["worker 0"], "master killed": [master], "both killed": [master, "worker 0"]}
    for pace, suffix in (("fast", " at full speed"), ("realtime", "")):
        for blow, roles in blows.items():
            check.step(blow + suffix, lambda m=blow + suffix, r=roles, p=pace: strike(check, m, r, p))
    if check.cpu:
        return
    for blow, roles in blows.items():
        check.step(f"{blow}, timeline", lambda m=f"{blow}, timeline", r=roles: strike(check, m, r, "realtime",
                                                                                     ready_signal="timeline"))
    check.step("illegal address in worker 0", lambda: gpu_fault(check))
    for free_mib in (0, 1500):
        check.step(f"{free_mib} MiB free at the start", lambda f=free_mib: full_before_start(check, f))
    check.step("GPU full while it runs", lambda: full_while_running(check))


# --- many kills in a row ---

def kill_and_wait(rig):
    """Kills worker 0; the time until frames of all cameras flow again."""
    worker = rig.pid_of("worker 0")
    since = time.monotonic()
    rig.kill(worker)
    rig.pid_of("worker 0", before=worker)
    rig.wait_for_groups("abcd", GROUPS, 30)
    return max(time.monotonic() - since - (GROUPS - 1) * GROUP / RATE, 0)


def kill_in_a_row(check, rigs, wanted):
    rounds = -(-wanted // len(rigs))
    took, running = [], memory_used()
    with ThreadPoolExecutor(len(rigs)) as threads:
        for _ in range(rounds):
            time.sleep(ROUND)  # that long the newest workers live
            if check.left() < 40:
                break
            took += threads.map(kill_and_wait, rigs)
    done = len(took)
    check.expect("workers killed in a row", done >= wanted, f"{done}, {len(rigs)} at a time", f">= {wanted}")
    check.expect("frames flow again, longest", max(took) <= PROMISED, f"{max(took):.2f} s", f"<= {PROMISED:g} s")
    grown = memory_returned(running)
    check.expect("memory once all run again", abs(grown) <= TOLERANCE, f"{grown:+d} MiB", AS_BEFORE)


def kills(check):
    before = memory_used()
    with ExitStack() as stack:
        config = fault_rig(check, pace="realtime")
        rigs = [stack.enter_context(Rig(check.programs, check.folder, config)) for _ in range(check.options.kill_rigs)]
        for rig in rigs:
            rig.wait_for_groups("abcd", GROUPS, 60)
        check.step("killing", lambda: kill_in_a_row(check, rigs, check.options.kills))
        for number, rig in enumerate(rigs):
            report = rig.end()
            check.log(f"rig {number}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
            problems = check_accounting(report)
            check.expect(f"accounting of rig {number}", not problems, problems[:150] or "balanced")
        left = sum(len(rig.processes()) for rig in rigs)
        check.expect("processes left", left == 0, left, "0")
    difference = memory_returned(before)
    check.expect("memory afterwards", abs(difference) <= TOLERANCE, f"{difference:+d} MiB", AS_BEFORE)
