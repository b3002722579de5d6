"""Sections tiles and pipeline of tools/gpu-check: filters of 7680x4320 by campipe's workers, from a filled ring to the join,
or to the end of the last stage. Nothing is decoded or encoded.

Tiles: each frame in so many parts, one for each GPU; beside the speed there is what bounds it. Pipeline: a filter a GPU,
over three of them; its bound is the slowest of the three alone."""

import json
import statistics

FILTERS = ("undistort", "denoise", "sharpen")
TARGETS = {2: 1.8, 4: 3.4, 8: 6.4}  # tiles, and GPUs → times as fast as one
ROUNDS = 3
MOST_SECONDS = 4  # of a measurement: it repeats within one in a hundred, and starting costs more


def size(check, parts=1):
    width, height = (640, 352) if check.cpu else (7680, 4320)
    return f"{width}x{height // parts}"


def measured(check, program, *arguments, parts=1):
    seconds = min(check.options.seconds, MOST_SECONDS)
    text = check.programs.must(program, *arguments, "--size", size(check, parts), "--seconds", seconds, seconds=seconds + 60)
    check.log(f"{program} {' '.join(map(str, arguments))}, {size(check, parts)}", text)
    return json.loads(text.strip().splitlines()[-1])


def in_turns(check, ways):
    """`ways`: name → program and arguments. Each round measures all of them: the frames a second of each, by round."""
    fps = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, command in ways.items():
            fps[way].append(measured(check, *command)["fps"])
    for way, found in fps.items():
        check.add(f"{size(check)}, {way}", f"{statistics.median(found):.0f} fps ({min(found):.0f} to {max(found):.0f})")
    return fps


# --- tiles ---

def places(check, count):
    return ["cpu"] * count if check.cpu else list(range(count))


def speed_of_tiles(check, counts):
    ways = {f"{'/'.join(FILTERS)}: whole frames": ("gpu_tiles_bench", *places(check, 1))}
    ways |= {f"{count} tiles": ("gpu_tiles_bench", *places(check, count)) for count in counts}
    whole, *tiled = in_turns(check, ways).values()
    for count, found in zip(counts, tiled):
        ratio = statistics.median(one / base for one, base in zip(found, whole))
        check.at_least(f"{count} tiles / whole frames", ratio, TARGETS[count])
    return statistics.median(whole)


def bounds_of_tiles(check, count, whole):
    """What would bound it if all else took no time."""
    part = measured(check, "gpu_tiles_bench", *places(check, 1), parts=count)["fps"]
    check.add(f"bound of {count} tiles: the filters on 1/{count} of the rows alone, on one device",
              f"{part:.0f} fps, {part / whole:.2f} times whole frames")
    moved = measured(check, "gpu_tiles_bench", *places(check, count), "--filters", "color")["fps"]
    check.add(f"bound of {count} tiles: rings, hand-overs, join (a filter that takes as long as a copy)",
              f"{moved:.0f} fps, {moved / whole:.2f} times whole frames")
    if check.cpu:
        return
    copies = measured(check, "gpu_tiles_bench", *places(check, count), "--copies")
    check.add(f"bound of {count} tiles: the links, by the driver's own copies of the parts there and back",
              f"{copies['us']:.0f} us for {copies['bytes'] / 1e6:.1f} MB each way ({copies['bytes'] / copies['us'] / 1e3:.0f} GB/s), "
              f"{copies['fps'] / whole:.2f} times whole frames")


def tiles(check):
    counts = [count for count in TARGETS if count <= (2 if check.cpu else len(check.gpus))]
    if not counts:
        return check.add("tiles on several GPUs", "there is one GPU", "", "skipped")
    whole = []
    check.step("speed", lambda: whole.append(speed_of_tiles(check, counts)), needs=60)
    for count in counts if whole else ():
        check.step(f"bounds of {count} tiles", lambda n=count: bounds_of_tiles(check, n, whole[0]), needs=40)


# --- pipeline ---

def pipeline(check):
    if not check.cpu and len(check.gpus) < len(FILTERS):
        return check.add(f"a filter on each of {len(FILTERS)} GPUs", f"there are {len(check.gpus)}", "", "skipped")
    stages = [f"{name}:{'cpu' if check.cpu else n}" for n, name in enumerate(FILTERS)]
    ways = {f"{stage} alone": ("gpu_stages_bench", stage) for stage in stages}
    fps = in_turns(check, ways | {"one after another": ("gpu_stages_bench", *stages)})
    *alone, whole = fps.values()
    ratio = statistics.median(run / min(each) for run, *each in zip(whole, *alone))
    check.at_least("one after another / the slowest alone", ratio, 0.95, digits=3)
    slowest = min(range(len(stages)), key=lambda n: statistics.median(alone[n]))
    if slowest and not check.cpu:
        found = measured(check, "gpu_stages_bench", stages[slowest], "--ring", slowest - 1)["fps"]
        check.add(f"bound: {stages[slowest]} alone, of frames on the GPU before it", f"{found:.0f} fps, "
                  f"{found / statistics.median(alone[slowest]):.3f} of its own frames")
