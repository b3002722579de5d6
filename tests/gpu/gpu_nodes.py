"""Section nodes of tools/gpu-check: two nodes of a cluster, each with a GPU of this machine.

A mosaic on one GPU shows 32 cameras that the other node decodes on the other GPU; a camera's filters, and a tile, are done
by the other node's GPU, and their frames are those of a camera whose filters run at home.
"""

import json
import socket
import subprocess
import time
import urllib.request

from gpu_checks import psnr
from gpu_measures import long_clips
from gpu_mosaic import still
from gpu_rig import GROUP, RATE, Broken, Rig, check_accounting, dropped, eventually

SIZE = (1920, 1080)
HELD = 20  # s
ENCODE = {"codec": "h264", "encoder": "libx264", "preset": "superfast", "bitrate": "6M", "gop": GROUP}
CHAIN = [{"blur": {"sigma": 2}}, {"sharpen": {"amount": 1.0}}]


def places(check):
    """Of node a, and of node b."""
    return ("cpu", "cpu") if check.cpu else (0, 1)


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class Nodes:
    """An etcd, and the nodes a and b; each runs what it is told to."""

    def __init__(self, check, cameras, mosaics, encrypt):
        self.check, self.folder = check, check.folder / f"nodes-{time.monotonic_ns()}"
        self.folder.mkdir()
        client, peer = free_port(), free_port()
        url, peers = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        with open(self.folder / "etcd.txt", "w") as log:
            self.etcd = subprocess.Popen(
                check.programs.command("etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", url,
                                       "--advertise-client-urls", url, "--listen-peer-urls", peers,
                                       "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"),
                stdout=log, stderr=log, env=check.programs.environment())
        self.http, self.rigs, self.configs = {}, {}, {}
        for node in ("a", "b"):
            self.http[node] = free_port()
            self.configs[node] = {
                "http_address": f"127.0.0.1:{self.http[node]}", "rtsp_address": "off", "admission": "warn", "balance": "off",
                "cameras": cameras, "mosaics": mosaics,
                "cluster": {"name": "hall", "etcd": [url], "node": node, "address": f"127.0.0.1:{free_port()}",
                            "links": {"encrypt": encrypt}}}
            if not mosaics:
                del self.configs[node]["mosaics"]

    def __enter__(self):
        try:
            for node, config in self.configs.items():
                self.rigs[node] = Rig(self.check.programs, self.folder, config, XDG_STATE_HOME=str(self.folder / node))
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        for node, rig in self.rigs.items():
            self.check.log(f"node {node}", rig.log())
            rig.__exit__()
        self.etcd.kill()
        self.etcd.wait()

    def cluster(self, node):
        """As that node's API shows it; nothing while it is not there."""
        tokens = list((self.folder / node).rglob(f"token-{self.http[node]}"))
        if not tokens:
            return {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.http[node]}/api/v1/cluster",
                                         headers={"Authorization": f"Bearer {tokens[0].read_text().strip()}"})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return {}

    def place(self, wanted, seconds=60):
        """Camera → node. Waits until they are there."""
        if not eventually(lambda: len(self.cluster("a").get("nodes", {})) == 2 and
                          set(wanted) <= set(self.cluster("a").get("cameras", {})), 30):
            raise Broken(f"there is no cluster:\n{self.rigs['a'].log()[-2000:]}")
        for camera, node in wanted.items():
            self.check.programs.run("campipe", "cluster", "move", camera, node, "--config", self.rigs["a"].file("rig.yaml"))

        def there():
            seen = self.cluster("a").get("cameras", {})
            return all(seen.get(camera, {}).get("node") == node for camera, node in wanted.items())
        if not eventually(there, seconds):
            raise Broken("the cameras do not come to their nodes")

    def links(self, node):
        return self.cluster(node).get("links", [])


def mosaic(check, encrypt):
    clips, (near, far) = long_clips(check), places(check)
    number = 4 if check.cpu else 32
    cameras = {f"cam{n:02}": {"source": clips[n % len(clips)], "gpu": near, "pace": "realtime", "drop_policy": "drop",
                              "encode": {"codec": "copy"}} for n in range(number)}
    wall = {"cameras": "all", "width": SIZE[0], "height": SIZE[1], "rate": RATE, "gpu": far, "encode": ENCODE,
            "across_nodes": True, "record": {"path": "{camera}.mp4"}}
    title = f"{number} cameras of another node at {SIZE[0]}x{SIZE[1]}, {'encrypted' if encrypt else 'not encrypted'}"
    with Nodes(check, cameras, {"wall": wall}, encrypt) as nodes:
        nodes.place(dict.fromkeys([*cameras, "wall"], "a"))
        time.sleep(3)  # all is on one node, and the mosaic is drawn; then it goes to the other
        nodes.place({"wall": "b"})

        def flow():
            links = nodes.links("b")
            return len(links) == number and all(link["connected"] and link["delivered"] > 0 for link in links)
        if not eventually(flow, 60):
            check.log("links of b", json.dumps(nodes.cluster("b").get("links"), indent=1))
            check.log("links of a", json.dumps(nodes.cluster("a").get("links"), indent=1))
            raise Broken(f"frames of {sum(link['delivered'] > 0 for link in nodes.links('b'))} cameras come")
        time.sleep(3)
        before, begin = nodes.links("b"), time.monotonic()
        time.sleep(HELD)
        after, took = nodes.links("b"), time.monotonic() - begin
        reports = {node: nodes.rigs[node].end(40) for node in ("b", "a")}
        cpu = {node: nodes.rigs[node].cpu_s() for node in reports}
    grown = {key: [last[key] - first[key] for last, first in zip(after, before)] for key in ("delivered", "lost", "dropped", "bytes")}
    rates = [frames / took for frames in grown["delivered"]]
    other = sum(grown["lost"] + grown["dropped"])
    bytes_a_second = sum(grown["bytes"]) / took
    check.at_least(f"{title}: frames a second of the slowest link", min(rates), 0.99 * RATE, digits=2)
    check.add("the same: lost or dropped between nodes, MB/s, CPU seconds of both nodes",
              f"{other}, {bytes_a_second / 1e6:.0f}, {cpu['a']:.0f} and {cpu['b']:.0f}")
    frames = reports["b"]["cameras"]["wall"]
    check.at_least("the same: ticks that became frames", frames["frames"]["encoded"] / max(frames["frames"]["decoded"], 1), 0.999,
                   digits=4)
    check.add("the same: p50 and p95 from tick to packet",
              f"{frames['latency_ms']['p50']:.1f} and {frames['latency_ms']['p95']:.1f} ms")
    problems = "; ".join(filter(None, (check_accounting(report) for report in reports.values())))
    check.expect("the same: accounting", not problems, problems[:150] or "balanced")


def longest_gaps(nodes, seconds):
    """The longest time without a frame that came back to a, of each part that is done elsewhere."""
    end, newest, gaps = time.monotonic() + seconds, {}, {}
    while time.monotonic() < end:
        for link in nodes.links("a"):
            if link["direction"] != "receives":
                continue
            now, part = time.monotonic(), link["part"]
            count, since = newest.setdefault(part, (link["delivered"], now))
            gaps[part] = max(gaps.get(part, 0), now - since)
            if link["delivered"] != count:
                newest[part] = (link["delivered"], now)
        time.sleep(0.02)
    return gaps


def stages(check):
    """The camera `home` has its filters where it is encoded, the others have them done by node b, on the other GPU."""
    near, far = places(check)
    common = {"source": still(check), "gpu": near, "pace": "realtime", "loop": True, "drop_policy": "drop", "filters": CHAIN,
              "encode": {"codec": "h264", "encoder": "libx264", "preset": "ultrafast", "crf": 4, "gop": 30, "threads": 1},
              "record": {"path": "{camera}.mp4"}}
    cameras = {"home": common, "stage": common | {"placement": {"filter": [f"b/{far}"], "encode": "cpu"}},
               "tiles": common | {"placement": {"tiles": [near, f"b/{far}"], "encode": "cpu"}}}
    with Nodes(check, cameras, {}, True) as nodes:
        nodes.place({camera: "a" for camera in cameras})
        if not eventually(lambda: len(nodes.links("a")) == 4 and all(link["delivered"] > 30 for link in nodes.links("a")), 60):
            raise Broken(f"no frames come back: {nodes.links('a')}")
        time.sleep(5)
        worker = next(role for role in nodes.rigs["b"].roles() if role.startswith("worker"))
        nodes.rigs["b"].kill(nodes.rigs["b"].pid_of(worker))
        gaps = longest_gaps(nodes, 10)
        report = nodes.rigs["a"].end(40)
        check.log("stages", json.dumps(report, indent=1))
        files = {}
        for camera in cameras:
            file = max(nodes.rigs["a"].folder.glob(f"{camera}*.mp4"), key=lambda found: found.stat().st_size)
            files[camera] = check.folder / f"nodes-{camera}.mkv"
            check.programs.must("ffmpeg", "-nostdin", "-v", "error", "-ss", 1, "-i", file, "-frames:v", 25, "-c:v", "libx264", "-qp",
                                0, "-y", files[camera])
    check.expect("the other node's worker killed: frames come back", len(gaps) == 2 and max(gaps.values()) < 5,
                 "longest time without one: " + ", ".join(f"{part} {gap:.1f} s" for part, gap in gaps.items()))
    for camera in ("stage", "tiles"):
        value = psnr(check, files[camera], files["home"])
        check.expect(f"filters on another node's GPU ({camera}): frames against those at home", value >= 50, f"{value:.1f} dB",
                     ">= 50 dB")
        seen = report["cameras"][camera]
        check.add(f"{camera}: frames, lost with the killed worker, p50 and p95",
                  f"{seen['frames']['encoded']}, {dropped(seen)}, {seen['latency_ms']['p50']:.1f} and {seen['latency_ms']['p95']:.1f} ms")
    seen = report["cameras"]["home"]
    check.expect("home: lost nothing meanwhile", dropped(seen) == 0, f"{dropped(seen)}; p50 {seen['latency_ms']['p50']:.1f} ms")
    problems = check_accounting(report)
    check.expect("stages: accounting", not problems, problems[:150] or "balanced")


def nodes(check):
    if check.programs.file("etcd") is None:
        return check.add("all", "there is no etcd", "", "skipped")
    if len(check.gpus) < 2 and not check.cpu:
        return check.add("all", "needs two GPUs", "", "skipped")
    check.step("stages and tiles", lambda: stages(check), needs=60)
    for encrypt in (True, False):
        check.step(f"a mosaic, encrypt: {encrypt}", lambda: mosaic(check, encrypt), needs=80)
