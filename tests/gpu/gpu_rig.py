"""What the checks of tools/gpu-check share: running programs and rigs, looking at processes and memory."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RATE = 30
GROUP = 10  # frames in a GOP of the rigs that faults hit: a file grows by one at a time
FILTERS = [{"resize": {"width": 1280, "height": 720}}, {"blur": {"sigma": 1.5}}, {"sharpen": {"amount": 1.0}}]
MARKER = "TMPDIR"  # its folder, in the environment of every process of a rig, whoever its parent is by now


class Broken(Exception):
    """No figure came of it."""


def eventually(condition, seconds):
    """What `condition` gives once it is true, or its last value when the time is over."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return value


class Programs:
    """Programs of a bundle (bin/, lib/, run), of a build folder, or of the system."""

    def __init__(self, bundle, build):
        self.bundle, self.build = bundle, build

    def file(self, name):
        if self.bundle:
            places = [self.bundle / "bin" / name]
        else:
            places = [self.build / folder / name for folder in ("app", "tests", "tests/bench")]
            places += [Path(found) for found in [shutil.which(name)] if found]
        return next((place for place in places if place.is_file()), None)

    def command(self, name, *arguments):
        file = self.file(name)
        if file is None:
            raise Broken(f"there is no program {name}")
        return [str(file), *map(str, arguments)]

    def environment(self, **more):
        environment = {key: value for key, value in os.environ.items() if key != "CAMPIPE_FAILPOINT"} | more
        if self.bundle:
            paths = [str(self.bundle / "lib"), environment.get("LD_LIBRARY_PATH", "")]
            environment["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))
        return environment

    def gpu_tests(self):
        if self.bundle:
            found = sorted(p.name for p in (self.bundle / "bin").glob("*_test"))
        else:
            found = sorted(p.stem for p in (ROOT / "tests/gpu").glob("*_test.cpp"))
        return [name for name in found if self.file(name)]

    def run(self, name, *arguments, seconds=60, prefix=(), **more):
        """Its exit status and all that it printed. One that takes longer is ended, and is Broken."""
        command = [*prefix, *self.command(name, *arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True, errors="replace", env=self.environment(**more),
                              start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                raise Broken(f"{name} was not ready after {seconds:.0f} s:\n{output[-2000:]}")
        return process.returncode, output

    def must(self, name, *arguments, **options):
        status, output = self.run(name, *arguments, **options)
        if status != 0:
            raise Broken(f"{name} failed with {status}:\n{output[-2000:]}")
        return output


# --- GPUs ---

def nvidia_smi(fields):
    """A list of values for each GPU; nothing where there is none."""
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    return [[value.strip() for value in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


def memory_used():
    """MiB in use on each GPU."""
    return [int(row[0]) for row in nvidia_smi("memory.used")]


def memory_returned(before, seconds=15, tolerance=8):
    """Waits until as much is in use as before: the difference of the GPU that differs most, in MiB."""
    difference = 0

    def back():
        nonlocal difference
        difference = max((now - then for now, then in zip(memory_used(), before)), key=abs, default=0)
        return abs(difference) <= tolerance

    eventually(back, seconds)
    return difference


# --- processes ---

def text_of(path):
    try:
        return Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""


def is_zombie(pid):
    return text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] in ([], ["Z"], ["X"])


class Rig:
    """The real program on a configuration, in a folder of its own. Its end ends every process of it."""

    def __init__(self, programs, folder, config, *, program="campipe", report=True, arguments=(), **environment):
        self.folder = Path(tempfile.mkdtemp(prefix="rig-", dir=folder))
        self.file("rig.yaml").write_text(json.dumps(config, indent=1))  # JSON is YAML too
        command = programs.command(program, "--config", "rig.yaml", "--log-level", "info", *arguments)
        if report:
            command += ["--report", "report.json"]
        self.usage = None
        self.status = None
        self.begin = time.monotonic()
        with open(self.file("log.txt"), "w") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=programs.environment(**environment, **{MARKER: str(self.folder)}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        def gone():
            for pid in self.processes():
                self.kill(pid)
            return not self.running() and not self.processes()
        eventually(gone, 20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, name):
        return self.folder / name

    def running(self):
        if self.status is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid == self.process.pid:
                self.status, self.usage = os.waitstatus_to_exitcode(status), usage
                self.process.returncode = self.status
        return self.status is None

    def processes(self):
        marker = f"{MARKER}={self.folder}"
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()
                and marker in text_of(f"/proc/{entry}/environ").split("\0") and not is_zombie(entry)]

    def roles(self):
        """"master", "master 0", "publisher", "worker 0" → the process."""
        found = {}
        for pid in self.processes():
            words = text_of(f"/proc/{pid}/cmdline").replace("\0", " ").split()
            if words[:1] == ["campipe"]:
                found.setdefault(" ".join(words[1:]), pid)
        return found

    def find(self, role):
        """The process id of such a role; none while there is none."""
        return self.roles().get(role)

    def pid_of(self, role, before=None, seconds=60):
        def found():
            pid = self.find(role)
            return pid if pid != before else None
        pid = eventually(found, seconds)
        if not pid:
            raise Broken(f"there is no process 'campipe {role}'; the log ends:\n{self.log()[-2000:]}")
        return pid

    @staticmethod
    def kill(pid, number=signal.SIGKILL):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def size(self, camera):
        """Of all its files: one that comes anew while the rig runs begins another."""
        sizes = 0
        for file in [self.file(f"{camera}.mp4"), *self.folder.glob(f"{camera}-*.mp4")]:
            try:
                sizes += file.stat().st_size
            except OSError:
                pass
        return sizes

    def wait_for_groups(self, cameras, groups, seconds):
        """Waits until each camera's file has grown `groups` times: the seconds that took; Broken if it did not."""
        begin = time.monotonic()
        sizes = {camera: self.size(camera) for camera in cameras}
        left = {camera: groups for camera in cameras}

        def grown():
            for camera in [c for c in left if left[c] > 0]:
                size = self.size(camera)
                if size > sizes[camera]:
                    sizes[camera] = size
                    left[camera] -= 1
            return all(count <= 0 for count in left.values()) or not self.running()

        if not eventually(grown, seconds) or any(count > 0 for count in left.values()):
            still = ", ".join(camera for camera in left if left[camera] > 0)
            raise Broken(f"no frames of {still} for {seconds:.0f} s; the log ends:\n{self.log()[-2000:]}")
        return time.monotonic() - begin

    def end(self, seconds=20):
        """Asks it to end, and waits."""
        self.kill(self.process.pid, signal.SIGINT)
        return self.wait(seconds)

    def wait(self, seconds):
        """Its report, once it has ended by itself."""
        if not eventually(lambda: not self.running(), seconds):
            raise Broken(f"the rig did not end in {seconds:.0f} s; the log ends:\n{self.log()[-2000:]}")
        if self.status not in (0, 3) or not self.file("report.json").is_file():
            raise Broken(f"campipe ended with {self.status}:\n{self.log()[-2000:]}")
        return json.loads(self.file("report.json").read_text())

    def log(self):
        return text_of(self.file("log.txt"))

    def cpu_s(self):
        return self.usage.ru_utime + self.usage.ru_stime


def config_of(cameras, **defaults):
    """`cameras`: name → its own keys. What is not said is that of a file at full speed, without loss, filtered."""
    encode = {"codec": "h264", "encoder": "libx264", "preset": "superfast", "bitrate": "4M", "gop": GROUP}
    common = {"pace": "fast", "loop": False, "drop_policy": "block", "filters": FILTERS, "encode": encode,
              "record": {"path": "{camera}.mp4"}}
    return {"defaults": common | defaults, "cameras": cameras}


def check_accounting(report):
    """What is wrong with the report's counts, or nothing."""
    problems = []
    for name, camera in report["cameras"].items():
        frames = camera["frames"]
        if frames["decoded"] != frames["encoded"] + sum(frames["dropped"].values()):
            problems.append(f"{name}: {frames}")
        elif frames["recorded"] > frames["encoded"]:
            problems.append(f"{name}: {frames}")
    return "; ".join(problems)


def dropped(camera):
    return sum(camera["frames"]["dropped"].values())


def count_frames(programs, file):
    text = programs.must("ffprobe", "-v", "error", "-select_streams", "v:0", "-count_packets", "-show_entries",
                         "stream=nb_read_packets", "-of", "csv=p=0", file)
    found = re.search(r"\d+", text)
    return int(found.group()) if found else 0


def room_for_recordings():
    """A folder in memory where there is enough of it, so that no disk bounds what is measured."""
    memory = Path("/dev/shm")
    enough = memory.is_dir() and shutil.disk_usage(memory).free > 8 << 30
    return Path(tempfile.mkdtemp(prefix="gpu-check-", dir=memory if enough else None))
