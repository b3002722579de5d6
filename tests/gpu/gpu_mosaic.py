"""Section mosaic of tools/gpu-check: many cameras decoded by a GPU and shown as one stream.

What it shows is what the CPU shows of the same cameras; a mosaic of 64 cameras (99 with four GPUs) holds its rate; and who
dies costs it no more than the time of its restart.
"""

import json
import time

from gpu_checks import psnr
from gpu_faults import AS_BEFORE, GROUPS, TOLERANCE, expect_end, kill
from gpu_measures import long_clips
from gpu_rig import GROUP, RATE, Rig, check_accounting, config_of, dropped, memory_returned, memory_used

ENCODE = {"codec": "h264", "encoder": "libx264", "preset": "superfast", "bitrate": "8M", "gop": GROUP}
HELD = 20  # s


def cameras_shown(check):
    """With four GPUs as many as a mosaic can show."""
    return 99 if len(check.gpus) >= 4 else 64


def mosaic_rig(check, cameras, size, rate, encode=ENCODE, gpu=0, **defaults):
    """Cameras that are only shown: their own streams are passed on as they come."""
    clips = long_clips(check)
    shown = {f"cam{n:02}": {"source": clips[n % len(clips)]} for n in range(cameras)}
    config = config_of(shown, gpu=gpu, filters=[], pace="realtime", loop=False, drop_policy="drop",
                       encode={"codec": "copy"}, **defaults)
    del config["defaults"]["record"]
    mosaic = {"cameras": "all", "width": size[0], "height": size[1], "rate": rate, "gpu": gpu, "encode": encode,
              "record": {"path": "{camera}.mp4"}}
    return {**config, "mosaics": {"wall": mosaic}}


def still(check):
    """A clip whose frames are all the same, so that it matters to nobody which of them is shown."""
    file = check.folder / "still.mp4"
    if not file.exists():
        check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-i", check.clips()[0], "-an", "-frames:v", 250, "-vf",
                            "loop=loop=250:size=1:start=0", "-c:v", "libx264", "-preset", "ultrafast", "-crf", 18, "-y", file)
    return str(file)


def as_on_cpu(check):
    encode = {"encoder": "libx264", "preset": "ultrafast", "crf": 4, "gop": 30, "threads": 1}
    files = []
    for gpu in ("cpu", 0):
        config = mosaic_rig(check, 4, (1280, 720), 25, encode, gpu)
        for camera in config["cameras"].values():
            camera["source"] = still(check)
        with Rig(check.programs, check.folder, config) as rig:
            report = rig.wait(min(90, max(check.left(), 10)))
            check.log(f"mosaic of a still clip on {gpu}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
            whole, kept = rig.file("wall.mp4"), check.folder / f"wall-{len(files)}.mp4"
            # The middle: all cells are there.
            check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-ss", 4, "-i", whole, "-frames:v", 25, "-c:v", "libx264", "-qp", 0,
                                "-y", kept.with_suffix(".mkv"))
            files.append(kept.with_suffix(".mkv"))
            problems = check_accounting(report)
            check.expect(f"a mosaic on {gpu}: accounting", not problems, problems[:150] or "balanced")
    value = psnr(check, *files)
    check.expect("a mosaic's frames against the CPU's", value >= 42, f"{value:.1f} dB", ">= 42 dB")


def many(check):
    """Cameras from all GPUs in turn, shown by the first."""
    number = cameras_shown(check)
    config = mosaic_rig(check, number, (3840, 2160), RATE)
    gpus = len(check.gpus)
    for n, camera in enumerate(config["cameras"].values()):
        camera["gpu"] = n % gpus
    title = f"{number} cameras 1080p{RATE} from {gpus} GPU{'s' if gpus > 1 else ''} at 3840x2160"
    before = memory_used()
    with Rig(check.programs, check.folder, config) as rig:
        rig.wait_for_groups(["wall"], 2, 60)
        begin = time.monotonic()
        time.sleep(HELD)
        cpu = rig.cpu_s
        report = rig.end(30)
        check.log(f"{number} cameras", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        ran = time.monotonic() - begin
        used = cpu()
    wall = report["cameras"]["wall"]
    frames = wall["frames"]
    share = frames["encoded"] / max(frames["decoded"], 1)
    check.at_least(f"{title}: ticks that became frames", share, 0.999, digits=4)
    lost = sum(dropped(camera) for name, camera in report["cameras"].items() if name != "wall")
    check.add("the same: frames, seconds, p95, CPU",
              f"{frames['encoded']}, {ran:.0f} s, {wall['latency_ms']['p95']:.1f} ms, {used:.0f} s; cameras lost {lost}")
    problems = check_accounting(report)
    check.expect("the same: accounting", not problems, problems[:150] or "balanced")
    difference = memory_returned(before)
    check.expect("the same: memory afterwards", abs(difference) <= TOLERANCE, f"{difference:+d} MiB", AS_BEFORE)


def killed(check, title, role, cameras):
    """`cameras`: of the four, what differs from the GPU that all are on."""
    config = mosaic_rig(check, 4, (1280, 720), 25)
    for name, keys in cameras.items():
        config["cameras"][name].update(keys)
    before = memory_used()
    with Rig(check.programs, check.folder, config) as rig:
        rig.wait_for_groups(["wall"], GROUPS, 60)
        kill(check, title, rig, [role], cameras=["wall"], rate=25)
        expect_end(check, title, rig, before)


def mosaic(check):
    check.step("a mosaic on the GPU and on the CPU", lambda: as_on_cpu(check), needs=40)
    check.step(f"{cameras_shown(check)} cameras", lambda: many(check), needs=60)
    on_cpu = {"cam03": {"gpu": "cpu"}}
    gpus = len(check.gpus)
    check.step("the mosaic's worker killed", lambda: killed(check, "the mosaic's worker killed", "worker 0", on_cpu), needs=30)
    check.step("another worker killed", lambda: killed(check, "another worker killed", "worker 1", on_cpu), needs=30)
    check.step("the master killed", lambda: killed(check, "the master killed", "master 0", {}), needs=30)
    if gpus > 1:
        elsewhere = {"cam02": {"gpu": 1}, "cam03": {"gpu": 1}}
        check.step("another GPU's worker killed",
                   lambda: killed(check, "another GPU's worker killed", "worker 1", elsewhere), needs=30)
