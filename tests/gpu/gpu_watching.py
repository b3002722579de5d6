"""Section watching of tools/gpu-check: streams of cameras on a GPU are watched by HTTP, also those that are encoded only
while somebody watches; the worker is killed meanwhile."""

import json
import socket
import time
import urllib.error
import urllib.request

from gpu_rig import Broken, Rig, check_accounting, config_of, eventually, memory_returned, memory_used

SECONDS = 3  # of each stream that is watched
RATE = 30


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def ask_as_owner(base, state, path, body=None):
    """The answer of the API at `base` to the account that runs the rig, whose state is in that folder. POST with a body."""
    token = (state / f"token-{base.rpartition(':')[2]}").read_text().strip()
    request = urllib.request.Request(f"{base}/api/v1/{path}", data=None if body is None else json.dumps(body).encode(),
                                     headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


class Watched:
    def __init__(self, check):
        self.check = check
        self.base = f"http://127.0.0.1:{free_port()}"
        clips = check.clips()
        cameras = {"plain": {"source": clips[0], "outputs": {"small": {"filters": [{"resize": {"width": 640,
                                                                                                "height": 360}}]}}},
                   "jpeg": {"source": clips[1], "encode": {"codec": "mjpeg"}}}
        hevc = check.options.clips / "hevc.mp4"  # of make_clips.sh
        if hevc.is_file():
            cameras["kept"] = {"source": str(hevc), "encode": {"codec": "copy"}}
        self.copies = "kept" in cameras
        gpu = "cpu" if check.cpu else 0
        self.config = config_of(cameras, pace="realtime", loop=True, drop_policy="drop", gpu=gpu)
        self.config["defaults"]["encode"] = {"gop": "1s"}
        self.config |= {"http_address": self.base.removeprefix("http://"), "rtsp_address": "off"}

    def status(self):
        try:
            return json.load(urllib.request.urlopen(f"{self.base}/api/v1/status", timeout=10))
        except (OSError, urllib.error.URLError):
            return None  # nobody answers just now

    def camera(self, name):
        return ((self.status() or {}).get("cameras") or {}).get(name) or {}

    def browser_frames(self, camera="jpeg"):
        return self.camera(camera).get("outputs", {}).get("browser", {}).get("frames", {})

    def watch(self, measure, stream, codec):
        """Reads it for some seconds; what came is played."""
        file = self.check.folder / "watched"
        end = time.monotonic() + SECONDS
        with urllib.request.urlopen(f"{self.base}/cameras/{stream}", timeout=20) as answer, open(file, "wb") as out:
            while time.monotonic() < end and (data := answer.read1(1 << 16)):
                out.write(data)
        # Quiet: it ends in the middle of a frame.
        output = self.check.programs.must("ffprobe", "-v", "quiet", "-select_streams", "v:0", "-count_packets", "-of",
                                        "csv=p=0", "-show_entries", "stream=codec_name,nb_read_packets", file)
        found, frames = output.split()[0].split(",")[:2] if output.strip() else ("nothing", 0)
        good = found == codec and int(frames) > SECONDS * RATE / 2
        self.check.expect(measure, good, f"{frames} frames, {found}", f"more than {SECONDS * RATE // 2}, {codec}")


def watching(check):
    watched = Watched(check)
    before = [] if check.cpu else memory_used()
    with Rig(check.programs, check.folder, watched.config) as rig:
        cameras = ("plain", "jpeg")
        if not eventually(lambda: all(watched.camera(name).get("fps", 0) > 0 for name in cameras), 60):
            raise Broken(f"the cameras do not run; the log ends:\n{rig.log()[-2000:]}")
        status = watched.status()
        gpus = status.get("gpus", [])
        check.log("status", json.dumps(status, indent=1))
        places = {status["cameras"][name]["gpu"] for name in cameras}
        check.expect("cameras run on", check.cpu or "cpu" not in places, ", ".join(sorted(places)), "a GPU")
        good = check.cpu or (len(gpus) >= 1 and gpus[0]["memory_used_mib"] > 0)
        check.expect("GPUs in the status", good, str(gpus)[:100], "their memory is in use")
        resting = eventually(lambda: watched.browser_frames().get("dropped", {}).get("unwatched", 0) > 0, 20)
        encoded = watched.browser_frames().get("encoded")
        check.expect("on demand: rests", resting and encoded == 0, f"{encoded} encoded", "none")
        if watched.copies:
            frames = watched.browser_frames("kept")
            check.expect("a copy is not decoded", frames.get("decoded") == 0, str(frames)[:100], "0 decoded")
        for again in ("", ", after the worker's death"):
            watched.watch(f"MPEG-TS{again}", "plain/stream.ts", "h264")
            watched.watch(f"another output{again}", "plain/stream.mp4?output=small", "h264")
            watched.watch(f"on demand{again}", "jpeg/stream.mp4?output=browser", "h264")
            if watched.copies:
                watched.watch(f"on demand, of a copy{again}", "kept/stream.mp4?output=browser", "h264")
            if again:
                break
            worker = rig.pid_of("worker 0")
            rig.kill(worker)
            rig.pid_of("worker 0", before=worker)
            if not eventually(lambda: all(watched.camera(name).get("fps", 0) > 5 for name in cameras), 30):
                raise Broken(f"the cameras do not run again; the log ends:\n{rig.log()[-2000:]}")
        frames = watched.browser_frames()
        rests = eventually(lambda: watched.browser_frames()["dropped"]["unwatched"] > frames["dropped"]["unwatched"] + 20,
                           30)
        check.expect("on demand: rests again", rests, f"{watched.browser_frames()}"[:100], "frames are left out")
        report = rig.end()
        check.log("report", f"{json.dumps(report, indent=1)}\n{rig.log()}")
        check.expect("accounting", not check_accounting(report), check_accounting(report)[:150] or "every frame is accounted for")
    if not check.cpu:
        difference = memory_returned(before)
        check.expect("memory of the GPU", abs(difference) <= 8, f"{difference:+d} MiB", "as before, +- 8 MiB")
