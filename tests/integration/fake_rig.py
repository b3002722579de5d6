#!/usr/bin/env python3
"""Answers as a rig's API would: three cameras, one of them away, whose counters go on by 25 frames with every status.

Prints its port, and writes each request into the file of --seen, one line of JSON each. For tests only.
"""

import argparse
import base64
import http.server
import json
import ssl
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("--user")
options.add_argument("--tls", nargs=2)
options.add_argument("--refuse-reload", choices=["errors", "error"])
options.add_argument("--starting", type=int, default=0, help="as many times there is no status yet")
options.add_argument("--silent", action="store_true", help="take requests, and never answer")
options.add_argument("--port", type=int, default=0)
options.add_argument("--seen")
options.add_argument("--text", help="answer with this, whatever was asked")
options.add_argument("--cameras", type=int, default=3)
options = options.parse_args()

lock = threading.Lock()
asked = 0
starting = options.starting


def camera(name, state, asked, **more):
    running = state == "running"
    frames = 25 * asked if running else 0
    dropped = {"queue_full": 2 * asked, "rate": 900} if name == "dock" else {}
    return {
        "state": state, "reason": "", "since_utc": "2026-11-21T08:00:00Z", "enabled": True,
        "source": f"rtsp://10.0.0.11/{name}", "worker": 0, "gpu": "cpu", "decoder": "h264", "encoder": "libx264",
        "codec": "h264", "width": 1280, "height": 720,
        "frames": {"decoded": frames, "encoded": frames, "dropped": dropped, "converted": 0, "recorded": frames},
        "bytes": 250_000 * asked if running else 0, "latency_ms": {"p50": 12.5, "p95": 31.25, "p99": 40.0},
        "stages_ms": {"decode": {"p50": 4.0, "p95": 5.0, "p99": 6.0}}, "recording": f"recordings/{name}.mp4",
        "recording_on": running, "reconnects": 2, "worker_restarts": 0, **more,
    }


def status():
    global asked
    asked += 1
    cameras = {
        "dock": camera("dock", "running", asked, outputs={"small": camera("small", "running", asked)}),
        "belt": camera("belt", "running", 2 * asked),
        # A camera may send what a terminal would obey.
        "gate": camera("gate", "waiting", asked, reason="no route to host \x1b[2J\u009b31m"),
    }
    for number in range(3, options.cameras):
        cameras[f"cam{number:03}"] = camera(f"cam{number:03}", "running", asked)
    return {
        "time_utc": "2026-11-21T08:00:00Z", "uptime_s": float(asked), "version": "0.1.0", "state": "running",
        "config": "rig.yaml", "cameras": cameras,
        "processes": [
            {"role": "supervisor", "pid": 100, "restarts": 0, "cpu_s": 0.01 * asked, "memory_mib": 20.5, "gpu": "cpu"},
            {"role": "worker 0", "pid": 101, "restarts": 1, "cpu_s": 0.5 * asked, "memory_mib": 80.25, "gpu": "cpu"},
        ],
        "gpus": [{"uuid": "GPU-1", "name": "H200", "utilization": 40, "decoder": 70, "memory_used_mib": 1000,
                  "memory_mib": 140000}],
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, code, body):
        data = (options.text if options.text is not None else json.dumps(body)).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if code == 503:
            self.send_header("Retry-After", "1")
        if code == 401:
            self.send_header("WWW-Authenticate", "Basic realm=campipe")
        self.end_headers()
        self.wfile.write(data)

    def handle_request(self):
        global starting
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size).decode()
        with lock:
            if options.seen:
                with open(options.seen, "a", encoding="utf-8") as file:
                    print(json.dumps([self.command, self.path, self.headers.get("Content-Type", ""), body]), file=file)
            if options.silent:
                time.sleep(3600)
            if options.user:
                right = "Basic " + base64.b64encode(options.user.encode()).decode()
                if self.headers.get("Authorization") != right:
                    return self.answer(401, {"error": "who are you?"})
            if self.path == "/api/v1/status" and starting > 0:
                starting -= 1
                return self.answer(503, {"error": "there is no status of the rig yet; try again in a second"})
            if self.path == "/api/v1/status":
                return self.answer(200, status())
            if self.path == "/api/v1/viewers":
                viewers = [{"camera": "dock", "form": "fmp4"}, {"camera": "dock", "form": "rtsp"}]
                return self.answer(200, {"viewers": viewers})
            if self.path == "/api/v1/reload" and self.command == "POST":
                if options.refuse_reload == "error":
                    return self.answer(409, {"error": "'tls' cannot be changed while the rig runs; restart it"})
                if options.refuse_reload:
                    return self.answer(400, {"errors": ["rig.yaml:4:7: cameras.dock.sourc: unknown key, "
                                                        "did you mean 'source'?", "rig.yaml:9:3: \x1b[31mred"]})
                return self.answer(200, {"added": ["yard"], "changed": ["dock"], "removed": []})
            return self.answer(404, {"error": "there is no such thing"})

    do_GET = do_POST = handle_request

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # clients that are killed, or that do not like the certificate, are what is tested


server = Server(("127.0.0.1", options.port), Handler)
server.daemon_threads = True
if options.tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*options.tls)
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
