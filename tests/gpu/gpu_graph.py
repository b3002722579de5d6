"""Section graph of tools/gpu-check: one camera's stages, or the tiles of its frames, on devices of their own.

Every way through the devices makes the same frames as one device, and loses none; a stage that is killed costs no more
than what it had in hands, and what the others have of a GPU's memory is as before.
"""

import json
import statistics
import time

from gpu_checks import frame_hashes
from gpu_faults import AS_BEFORE, GROUPS, TOLERANCE, expect_end, kill
from gpu_measures import CAMERAS, pipeline, repeated
from gpu_rig import FILTERS, Rig, check_accounting, config_of, dropped, memory_returned, memory_used

ENCODE = {"encoder": "libx264", "preset": "ultrafast", "crf": 4, "gop": 30, "threads": 1}
ROUNDS = 3
# By the number of GPUs that it takes: what decodes, the place of each of FILTERS, what encodes.
WAYS = [
    (1, (0, [0, 0, 0], "cpu")),
    (1, (0, ["cpu", "cpu", "cpu"], "cpu")),
    (1, ("cpu", [0, 0, 0], "cpu")),
    (1, (0, [0, "cpu", 0], "cpu")),
    (1, (0, ["cpu", 0, "cpu:1"], "cpu:0")),
    (2, (0, [1, 1, 1], 1)),
    (2, (0, [1, 1, 1], "cpu")),
    (2, (0, [0, 1, 0], 1)),
    (2, (1, [0, "cpu", 1], 0)),
    (3, (0, [0, 1, 2], "cpu")),
    (4, (3, [2, 1, 0], 3)),
]


def place(way):
    decode, filters, encode = way
    return {"decode": decode, "filter": filters, "encode": encode}


def name_of(way):
    decode, filters, encode = way
    return f"decode {decode}, filter {'/'.join(str(f) for f in filters)}, encode {encode}"


# By the number of GPUs that they take: the places of the tiles, and what encodes.
TILINGS = [
    (1, ([0, 0], "cpu")),
    (1, ([0, 0, 0], 0)),
    (1, (["cpu", "cpu"], "cpu")),
    (1, ([0, 0], "cpu:0")),
    (2, ([0, 1], "cpu")),
    (2, ([1, 0], 0)),
    (2, ([0, 1, 1, 0], 1)),
    (4, ([0, 1, 2, 3], 0)),
    (4, ([3, 2, 1, 0], "cpu")),
    (8, ([0, 1, 2, 3, 4, 5, 6, 7], 0)),
]


def as_on_one_gpu(check, title, filters, placements):
    """The same clip in every placement (what to call it → placement, and whether GPUs alone filter), and on GPU 0 alone:
    every frame, and where GPUs filter, the same bits."""
    source = {"source": check.clip("bottle-1080p.mp4"), "filters": filters, "encode": ENCODE, "drop_policy": "block"}
    cameras = {"one": {**source, "gpu": 0}}
    for number, (placement, _) in enumerate(placements.values()):
        cameras[f"placed{number}"] = {**source, "placement": placement}
    before = memory_used()
    with Rig(check.programs, check.folder, {**config_of(cameras), "workers": {"count": 2}}) as rig:
        report = rig.wait(min(240, max(check.left(), 10)))
        check.log(title, f"{json.dumps(report, indent=1)}\n{rig.log()}")
        hashes = {name: frame_hashes(check, rig.file(f"{name}.mp4")) for name in cameras}
    problems = check_accounting(report)
    check.expect(f"{title}: accounting", not problems, problems[:150] or "balanced")
    for number, (measure, (_, on_gpus)) in enumerate(placements.items()):
        camera = report["cameras"][f"placed{number}"]
        frames = camera["frames"]
        whole = frames["encoded"] == report["cameras"]["one"]["frames"]["encoded"] and not dropped(camera)
        check.expect(f"{measure}: frames", whole, f"{frames['encoded']}, {dropped(camera)} dropped", "all")
        if on_gpus:
            same = hashes[f"placed{number}"] == hashes["one"]
            check.expect(f"{measure}: against one GPU", same, "the same" if same else "others", "the same bits")
    difference = memory_returned(before)
    check.expect(f"{title}: memory afterwards", abs(difference) <= TOLERANCE, f"{difference:+d} MiB", AS_BEFORE)


def all_gpus(places):
    return all(isinstance(place, int) for place in places)


def by_stage(check):
    ways = [way for gpus, way in WAYS if gpus <= len(check.gpus)]
    as_on_one_gpu(check, "by stage", FILTERS, {name_of(way): (place(way), all_gpus(way[1])) for way in ways})


def by_tile(check):
    tilings = [tiling for gpus, tiling in TILINGS if gpus <= len(check.gpus)]
    placements = {f"tiles {tiles}, encode {encode}": ({"tiles": tiles, "encode": encode}, all_gpus(tiles))
                  for tiles, encode in tilings}
    as_on_one_gpu(check, "by tile", ["denoise", "sharpen", "motion"], placements)


def whole_pipeline(check):
    """The same filters on one decoded and encoded stream, which one NVDEC engine and x264 bound."""
    source = {"source": repeated(check, check.clip("yard-4320p.mp4"), 4), "filters": [{"undistort": {"k1": -0.2}}, "denoise", "sharpen"],
              "encode": {**ENCODE, "crf": 23, "threads": "auto"}}
    ways = {"1 GPU": {"gpu": 0}, "2 tiles": {"placement": {"tiles": [0, min(1, len(check.gpus) - 1)]}}}
    for way, where in ways.items():
        with Rig(check.programs, check.folder, {**config_of({"yard": {**source, **where}}), "workers": {"count": 1}}) as rig:
            report = rig.wait(min(120, max(check.left(), 10)))
            check.log(f"whole pipeline, {way}", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        camera = report["cameras"]["yard"]
        stages = ", ".join(f"{name} {camera['stages_ms'][name]['p50']:.1f}" for name in ("decode", "filter", "encode"))
        check.add(f"7680x4320, decoded, filtered, encoded: {way}",
                  f"{camera['frames']['encoded'] / report['duration_s']:.1f} fps with start and end; ms a frame: {stages}")


def decode_here_filter_there(check):
    """Decoding on GPU 0 with the filters on GPU 1, and decoding alone, which is the slower of the two."""
    if len(check.gpus) < 2:
        return check.add("decode on GPU 0, filter on GPU 1 / decode alone", "there is one GPU", "", "skipped")
    runs = [(pipeline(check, "decode-rings")["fps"], pipeline(check, "decode-filter", 1, CAMERAS, "--cross")["fps"])
            for _ in range(ROUNDS)]
    check.add("decode on GPU 0, filter on GPU 1", f"{statistics.median(both for _, both in runs):.0f} fps")
    ratio = statistics.median(both / alone for alone, both in runs)
    check.at_least("decode on GPU 0, filter on GPU 1 / decode alone", ratio, 0.95, digits=3)


def stage_rig(check):
    """Camera a has a stage in each of three workers; b has the GPU for itself."""
    last = len(check.gpus) - 1
    clip = check.clips()[0]
    cameras = {"a": {"source": clip, "placement": {"decode": 0, "filter": ["cpu:0", last, last], "encode": "cpu:1"}},
               "b": {"source": clip, "gpu": 0}}
    return {**config_of(cameras, pace="realtime", loop=True, drop_policy="drop"), "workers": {"count": 2}}


def tile_rig(check):
    """Camera a in tiles on the first and the last GPU, joined on the first, where b is too."""
    clip = check.clips()[0]
    cameras = {"a": {"source": clip, "placement": {"tiles": [0, len(check.gpus) - 1]}}, "b": {"source": clip, "gpu": 0}}
    return config_of(cameras, filters=["denoise", "sharpen"], pace="realtime", loop=True, drop_policy="drop")


def killed(check, way, make_rig, roles, untouched):
    measure = f"{way}, {' and '.join(roles)} killed"
    before = memory_used()
    with Rig(check.programs, check.folder, make_rig(check)) as rig:
        rig.wait_for_groups("ab", GROUPS, 60)
        kill(check, measure, rig, roles, cameras="ab")
        expect_end(check, measure, rig, before, lambda report, log: untouched)


def graph(check):
    check.step("by stage", lambda: by_stage(check), needs=60)
    check.step("by tile", lambda: by_tile(check), needs=60)
    check.step("whole pipeline", lambda: whole_pipeline(check), needs=40)
    check.step("decode here, filter there", lambda: decode_here_filter_there(check), needs=60)
    gpus = min(len(check.gpus), 2)  # the first and the last: no other one has a worker in these rigs
    workers = [f"worker {number}" for number in range(gpus + 2)]
    on_cpu = workers[gpus:]
    for role in on_cpu:
        check.step(f"{role} killed", lambda r=role: killed(check, "by stage", stage_rig, [r], ["b"]), needs=40)
    last = workers[gpus - 1]
    other = ["b"] if gpus > 1 else []  # is on GPU 0
    check.step("a GPU's worker killed", lambda: killed(check, "by stage", stage_rig, [last], other), needs=40)
    check.step("two killed", lambda: killed(check, "by stage", stage_rig, on_cpu, ["b"]), needs=40)
    check.step("a tile's worker killed", lambda: killed(check, "by tile", tile_rig, [last], other), needs=40)
    if gpus > 1:
        check.step("the join's worker killed", lambda: killed(check, "by tile", tile_rig, [workers[0]], []), needs=40)
