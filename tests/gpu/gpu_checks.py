"""Sections tests, devices and rig of tools/gpu-check: is what campipe does on GPUs right?"""

import json
import re

from gpu_rig import (FILTERS, Broken, Rig, check_accounting, config_of, count_frames, dropped, memory_returned, memory_used)

CLIP_FRAMES = 300
MEMORIES = ("cuda_vmm", "cuda_legacy", "host")
SIGNALS = ("ipc_event", "timeline")
# Test → what of it. The CPU's side of large frames takes too long under the sanitizer; an allocation that fails is an
# error for it.
SANITIZED_TESTS = {"filters_gpu_test": "-*1918x*:*3840x*", "gpu_chain_test": "-*OutOfMemory*"}
SANITIZER_SECONDS = 150
TEST_SECONDS = 300


# --- the test programs ---

def run_tests(check, name):
    results = check.folder / "tests.json"
    results.unlink(missing_ok=True)
    status, output = check.programs.run(name, "--gtest_brief=1", f"--gtest_output=json:{results}",
                                        seconds=max(min(TEST_SECONDS, check.left()), 10),
                                        CAMPIPE_CLIPS=str(check.options.clips))
    check.log(name, output)
    if not results.is_file():
        raise Broken(f"{name} ended with {status} and no results:\n{output[-1000:]}")
    found = [test for suite in json.loads(results.read_text())["testsuites"] for test in suite["testsuite"]]
    failed = [f"{test['classname']}.{test['name']}" for test in found if test.get("failures")]
    skipped = sum(test["result"] == "SKIPPED" for test in found)
    value = f"{len(found) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped"
    check.expect(name, status == 0 and not failed, " ".join([value, *failed])[:150])


def sanitize(check, tool, name):
    wanted = check.options.sanitize or SANITIZED_TESTS[name]
    status, output = check.programs.run(name, "--gtest_brief=1", f"--gtest_filter={wanted}",
                                        prefix=("compute-sanitizer", "--tool", tool, "--error-exitcode", "9"),
                                        seconds=min(SANITIZER_SECONDS, check.left()))
    check.log(f"{tool} {name}", output)
    if "Device not supported" in output:
        return check.add(f"{tool} {name}", "the device is not supported here", "", "skipped")
    summary = re.findall(r"=+ ((?:ERROR|RACECHECK) SUMMARY: .*)", output)
    check.expect(f"{tool} {name}", status == 0 and bool(summary), summary[-1] if summary else f"exit status {status}")


def tests(check):
    names = check.programs.gpu_tests()
    if not names:
        raise Broken("there are no test programs")
    for name in names:
        check.step(name, lambda name=name: run_tests(check, name))


def sanitizer(check):
    for name in SANITIZED_TESTS:
        for tool in ("memcheck", "racecheck"):
            check.step(f"{tool} {name}", lambda name=name, tool=tool: sanitize(check, tool, name), needs=30)


# --- the devices ---

def devices_as_text(check):
    text = check.programs.must("campipe", "--devices")
    check.log("campipe --devices", text)
    missing = [gpu[1] for gpu in check.gpus if gpu[1] not in text]
    check.expect("campipe --devices", not missing, f"{len(text.splitlines())} lines", "names every GPU")


def devices_as_json(check):
    devices = json.loads(check.programs.must("campipe", "--devices", "--json"))
    check.log("campipe --devices --json", json.dumps(devices, indent=1))
    gpus = devices.get("gpus", [])
    check.expect("GPUs found", len(gpus) >= len(check.gpus), len(gpus), f"as nvidia-smi: {len(check.gpus)}")
    for gpu in gpus:
        decoders = [one["codec"] for one in gpu["decoders"] if one["works"]]
        encoders = [one["name"] for one in gpu["encoders"] if one["works"]]
        check.expect(f"GPU {gpu['index']}", "h264" in decoders,
                     f"decodes {', '.join(decoders)}; encodes {', '.join(encoders) or 'nothing'}"[:100], "decodes h264")
    check.expect("pairs of GPUs", len(devices["pairs"]) >= len(gpus), len(devices["pairs"]))
    for pair in devices["pairs"]:
        works = [kind for kind, result in pair["sharing"].items() if result["works"]]
        check.expect(f"memory shared over {pair['link']}", "host" in works, ", ".join(works), "at least host")


def devices(check):
    check.step("campipe --devices", lambda: devices_as_text(check))
    check.step("campipe --devices --json", lambda: devices_as_json(check))


# --- rigs ---

def cameras_of(check, number):
    clips = check.clips()
    return {f"cam{n}": {"source": clips[n % len(clips)]} for n in range(number)}


def expect_good(check, measure, rig, report, frames=CLIP_FRAMES):
    """Every frame of every file was decoded, encoded and recorded."""
    problems = [check_accounting(report)] if check_accounting(report) else []
    for name, camera in report["cameras"].items():
        found = camera["frames"]
        recorded = count_frames(check.programs, rig.file(f"{name}.mp4"))
        if camera["state"] != "ended" or dropped(camera) or found["encoded"] != frames or recorded != frames:
            problems.append(f"{name}: {camera['state']} {camera.get('reason', '')} {found}, {recorded} in the file")
    check.log(measure, f"{json.dumps(report, indent=1)}\n{rig.log()}")
    total = sum(camera["frames"]["encoded"] for camera in report["cameras"].values())
    check.expect(measure, not problems, "; ".join(problems)[:150] or f"{total} frames in {report['duration_s']} s",
                 "no frame lost")


def where(report):
    """With what the cameras ran, as the report has it."""
    keys = ("gpu", "decoder", "encoder", "ipc_memory", "ready_signal")
    found = {" ".join(str(camera.get(key, "")) for key in keys).strip() for camera in report["cameras"].values()}
    return "; ".join(sorted(found))


def run_rig(check, measure, cameras, **defaults):
    """Runs it to its end; returns its report."""
    if check.cpu:
        defaults["gpu"] = "cpu"
    with Rig(check.programs, check.folder, config_of(cameras, **defaults)) as rig:
        report = rig.wait(min(120, max(check.left(), 10)))
        expect_good(check, measure, rig, report)
    return report


def on_gpu(report):
    return all(camera["gpu"] != "cpu" for camera in report["cameras"].values())


def plain_rig(check):
    before = memory_used()
    report = run_rig(check, "4 files", cameras_of(check, 2 if check.cpu else 4))
    check.expect("4 files ran on", check.cpu or on_gpu(report), where(report), "a GPU")
    if not check.cpu:
        difference = memory_returned(before)
        check.expect("4 files, memory of the GPU", abs(difference) <= 8, f"{difference:+d} MiB", "as before, +- 8 MiB")


def forced_rig(check, memory, signal):
    report = run_rig(check, f"{memory}, {signal}", cameras_of(check, 2), ipc_memory=memory, ready_signal=signal)
    kinds = {camera["ipc_memory"] for camera in report["cameras"].values()}
    check.expect(f"{memory}, {signal}: memory", kinds == {memory}, ", ".join(sorted(kinds)), memory)


def decoded_on_cpu(check):
    cameras = cameras_of(check, 2)
    report = run_rig(check, "decode.gpu: cpu, worker on a GPU", cameras, decode={"gpu": "cpu"})
    check.add("decode.gpu: cpu ran on", where(report))


def beside_422(check):
    """One file that no hardware decodes, beside one that it does."""
    odd = check.folder / "h264-422.mp4"
    check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-y", "-i", check.clip("car-1080p.mp4"), "-an",
                        "-pix_fmt", "yuv422p", "-c:v", "libx264", "-preset", "ultrafast", odd)
    cameras = {"cam0": {"source": check.clip("bottle-1080p.mp4")}, "odd": {"source": str(odd)}}
    report = run_rig(check, "H.264 4:2:2 beside 4:2:0", cameras)
    found = {name: camera["decoder"] for name, camera in report["cameras"].items()}
    check.expect("H.264 4:2:2 beside 4:2:0: decoders", check.cpu or found["cam0"] != found["odd"], str(found), "two kinds")


def two_gpus(check):
    if len(check.gpus) < 2:
        return check.add("decode on GPU 0, filter on GPU 1", "there is one GPU", "", "skipped")
    for memory in MEMORIES:
        report = run_rig(check, f"decode on GPU 0, filter on GPU 1, {memory}", cameras_of(check, 2), gpu=1,
                         decode={"gpu": 0}, ipc_memory=memory)
        check.add(f"across two GPUs, {memory}, ran on", where(report))


def frame_hashes(check, file):
    return check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-i", file, "-an", "-f", "framemd5", "-")


def psnr(check, one, other):
    """Of all frames together, in dB; infinite where they are the same."""
    text = check.programs.must("ffmpeg", "-nostdin", "-i", one, "-i", other, "-lavfi", "psnr", "-f", "null", "-")
    found = re.search(r"average:(\S+)", text)
    if not found:
        raise Broken(f"FFmpeg reported no PSNR:\n{text[-1000:]}")
    return float(found.group(1))


def frames_as_on_cpu(check, filters):
    """The same file on the GPU and on the CPU: unfiltered the same bits, filtered the same frames. The encoder is one
    thread, so that it makes the same of the same."""
    encode = {"encoder": "libx264", "preset": "ultrafast", "crf": 4, "gop": 30, "threads": 1}
    cameras = {"cam0": {"source": check.clip("bottle-1080p.mp4")}}
    files = []
    for gpu in ("cpu", "cpu" if check.cpu else 0):
        config = config_of(cameras, gpu=gpu, filters=filters, encode=encode)
        with Rig(check.programs, check.folder, config) as rig:
            rig.wait(min(120, max(check.left(), 10)))
            kept = check.folder / f"frames-{len(files)}.mp4"
            rig.file("cam0.mp4").rename(kept)
            files.append(kept)
    one, other = files
    if filters:
        value = psnr(check, one, other)
        check.expect("filtered frames against the CPU's", value >= 42, f"{value:.1f} dB", ">= 42 dB")
    else:
        same = frame_hashes(check, one) == frame_hashes(check, other)
        check.expect("unfiltered frames against the CPU's", same, "the same" if same else "others", "the same bits")
    for file in files:
        file.unlink()


def rig(check):
    check.step("4 files", lambda: plain_rig(check))
    check.step("unfiltered frames", lambda: frames_as_on_cpu(check, []))
    check.step("filtered frames", lambda: frames_as_on_cpu(check, FILTERS))
    check.step("H.264 4:2:2", lambda: beside_422(check))
    if check.cpu:
        return
    check.step("decode.gpu: cpu", lambda: decoded_on_cpu(check))
    for memory in MEMORIES:
        for signal in SIGNALS:
            check.step(f"{memory}, {signal}", lambda m=memory, s=signal: forced_rig(check, m, s))
    check.step("two GPUs", lambda: two_gpus(check))
