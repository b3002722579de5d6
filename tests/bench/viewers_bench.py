#!/usr/bin/env python3
"""What many viewers cost: CPU time of the publisher, and frames that cameras lose.

  tests/bench/viewers_bench.py                                     100 viewers of one camera by WebSocket
  tests/bench/viewers_bench.py --viewers 200 --cameras 4 --slow 20 and 20 of them read nothing after the first second
  tests/bench/viewers_bench.py --form ts                           as MPEG-TS by HTTP
  tests/bench/viewers_bench.py --form rtsp                         by RTSP over TCP

It starts a rig of test patterns in a temporary folder. All viewers are read by this one process.
Exit status: 1 where a viewer that reads got nothing.
"""

import argparse
import base64
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 60  # s, for what must come


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if (found := condition()) is not None:
            return found
        time.sleep(0.1)
    sys.exit(f"viewers_bench: not within {PATIENCE} s: {what}")


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Rig:
    def __init__(self, options, folder):
        self.http, self.rtsp = free_port(), free_port()
        source = f"test://pattern?width={options.width}&height={options.width * 9 // 16}&rate={options.rate}"
        cameras = "".join(f'  cam{i}: {{source: "{source}"}}\n' for i in range(options.cameras))
        (folder / "rig.yaml").write_text(
            f'http_address: "127.0.0.1:{self.http}"\nrtsp_address: "127.0.0.1:{self.rtsp}"\n'
            "trusted_proxies: [127.0.0.1]\n"  # all viewers come from one address
            f"defaults: {{encode: {{bitrate: {options.bitrate}, gop: 2s, options: {{nal-hrd: cbr, maxrate: {options.bitrate},"
            f" bufsize: {options.bitrate}}}}}}}\ncameras:\n{cameras}"
        )
        state = folder / "state"
        environment = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"} | {"STATE_DIRECTORY": str(state)}
        self.token = state / f"token-{self.http}"
        self.process = subprocess.Popen(
            [options.program, "--config", "rig.yaml"], cwd=folder, stderr=subprocess.DEVNULL, env=environment
        )

    # As the rig's owner: others are told neither of processes' ids nor of viewers.
    def get(self, call):
        headers = {"Authorization": f"Bearer {self.token.read_text()}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/api/v1/{call}", headers=headers)
        return json.load(urllib.request.urlopen(request, timeout=10))

    def status(self):
        if self.process.poll() is not None:
            sys.exit("viewers_bench: campipe has ended")
        try:
            return self.get("status")
        except OSError:
            return None  # it does not answer yet

    def running(self):
        status = self.status()
        cameras = status["cameras"].values() if status and "cameras" in status else []
        return status if cameras and all(c["state"] == "running" and c["fps"] > 0 for c in cameras) else None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)


class Viewer:
    count = 0

    def __init__(self, rig, camera, form):
        # From many addresses, as the connections of one are limited.
        Viewer.count += 1
        address = (f"127.0.0.{Viewer.count % 250 + 1}", 0)
        self.socket = socket.create_connection(
            ("127.0.0.1", rig.rtsp if form == "rtsp" else rig.http), PATIENCE, address)
        self.bytes = 0
        if form == "rtsp":
            self.play(f"rtsp://127.0.0.1:{rig.rtsp}/{camera}")
        else:
            path, more = f"/cameras/{camera}/stream.ts", ""
            if form == "ws":
                key = base64.b64encode(os.urandom(16)).decode()
                path = f"/cameras/{camera}/live"
                more = (
                    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    f"Sec-WebSocket-Key: {key}\r\nOrigin: http://127.0.0.1:{rig.http}\r\n"
                )
            self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{rig.http}\r\n{more}\r\n".encode())
        self.socket.setblocking(False)

    def play(self, url):
        headers = ""
        for number, (method, target, more) in enumerate(
            [
                ("SETUP", "/stream=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"),
                ("PLAY", "", "Range: npt=0-\r\n"),
            ],
            1,
        ):
            request = f"{method} {url}{target} RTSP/1.0\r\nCSeq: {number}\r\n{headers}{more}\r\n"
            self.socket.sendall(request.encode())
            answer = self.socket.recv(4096).decode(errors="replace")
            if " 200 " not in answer.split("\r\n")[0]:
                sys.exit(f"viewers_bench: {method}: {answer.splitlines()[0]}")
            session = [line for line in answer.split("\r\n") if line.lower().startswith("session:")]
            headers = session[0].split(";")[0] + "\r\n" if session else headers


def read_for(seconds, viewers, reading):
    with selectors.DefaultSelector() as selector:
        for viewer in reading:
            selector.register(viewer.socket, selectors.EVENT_READ, viewer)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, _ in selector.select(0.1):
                data = key.fileobj.recv(1 << 18)
                key.data.bytes += len(data)
                if not data:
                    selector.unregister(key.fileobj)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/release/app/campipe", type=Path)
    parser.add_argument("--viewers", default=100, type=int)
    parser.add_argument("--slow", default=0, type=int)
    parser.add_argument("--cameras", default=1, type=int)
    parser.add_argument("--form", default="ws", choices=["ws", "ts", "rtsp"])
    parser.add_argument("--width", default=640, type=int)
    parser.add_argument("--rate", default=25, type=int)
    parser.add_argument("--bitrate", default="2M")
    parser.add_argument("--seconds", default=20, type=int)
    options = parser.parse_args()
    options.program = options.program.resolve()

    with tempfile.TemporaryDirectory(prefix="viewers-") as folder:
        rig = Rig(options, Path(folder))
        try:
            before = wait_for("all cameras run", rig.running)
            publisher = next(p["pid"] for p in before["processes"] if p["role"] == "publisher")
            alone = cpu_seconds(publisher)
            time.sleep(5)
            alone = (cpu_seconds(publisher) - alone) / 5
            viewers = [Viewer(rig, f"cam{i % options.cameras}", options.form) for i in range(options.viewers)]
            read_for(1, viewers, viewers)
            for viewer in viewers:
                viewer.bytes = 0
            reading = viewers[options.slow :]
            cpu, begin = cpu_seconds(publisher), time.monotonic()
            read_for(options.seconds, viewers, reading)
            took = time.monotonic() - begin
            share = (cpu_seconds(publisher) - cpu) / took
            after = wait_for("the rig answers", rig.running)
            lost = rig.get("viewers")
        finally:
            rig.stop()

    rate = sum(v.bytes for v in reading) * 8 / took / 1e6
    print(f"{len(viewers)} viewers ({options.form}), {options.slow} of them read nothing, {options.cameras} cameras")
    print(f"publisher: {share:.1%} of one core, {alone:.1%} without viewers; {rate:.0f} Mb/s, "
          f"{rate / max(len(reading), 1):.2f} Mb/s for each")
    for name, camera in after["cameras"].items():
        print(f"{name}: {camera['frames']['encoded']} encoded, dropped: {camera['frames']['dropped'] or 'none'}")
    listed = lost["viewers"] if isinstance(lost, dict) else lost
    print(f"frames that viewers lost by being slow: {sum(v['dropped'] for v in listed)}")
    return 1 if any(v.bytes == 0 for v in reading) else 0


if __name__ == "__main__":
    sys.exit(main())
