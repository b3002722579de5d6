// A real rig in a folder of its own, on free ports, and the cameras that it watches. Ends with stop().
import {spawn} from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

export const longTime = 60000; // for any machine
export const suiteTime = 600000; // for all tests of a suite, on any machine

// Asks until the answer is true; throws what was waited for after `limit` ms.
export async function eventually(what, condition, limit = longTime) {
  const end = Date.now() + limit;
  let last;
  do {
    last = await condition();
    if (last) return last;
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (Date.now() < end);
  throw new Error(`not within ${limit / 1000} s: ${what}`);
}

// Whether `socket` can have the port now.
const binds = (socket, bind) =>
  new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    bind(() => resolve(true));
  });

// Below the ports that the kernel gives to connections, so that none of these takes it before it is used. Other tests
// leave it alone as long as this process lives: it holds the UDP port of the same number.
export async function freePort() {
  const end = Number(fs.readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
  for (;;) {
    const port = 10000 + Math.floor(Math.random() * (end - 10000));
    const mark = dgram.createSocket('udp4').unref();
    const server = net.createServer();
    const isOurs = await binds(mark, (done) => mark.bind({address: '127.0.0.1', port, exclusive: true}, done));
    const isFree = isOurs && (await binds(server, (done) => server.listen(port, '127.0.0.1', done)));
    if (isFree) await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
    if (isOurs) mark.close();
  }
}

const ended = (child) =>
  new Promise((resolve) => ((child.exitCode ?? child.signalCode) !== null ? resolve() : child.once('exit', resolve)));

async function endProcess(child) {
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 15000);
  await ended(child);
  clearTimeout(late);
}

export class Rig {
  // `cameras`: YAML of what stands below `cameras:`, `more`: of the rest of the file.
  static async start({cameras, more = ''}) {
    const rig = new Rig();
    rig.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-web-'));
    const port = await freePort();
    rig.base = `http://127.0.0.1:${port}`;
    fs.writeFileSync(
      path.join(rig.folder, 'rig.yaml'),
      `http_address: "127.0.0.1:${port}"\nrtsp_address: "127.0.0.1:${await freePort()}"\n${more}\ncameras:\n${cameras}`,
    );
    rig.log = '';
    rig.child = spawn(process.env.CAMPIPE_PROGRAM, ['--config', 'rig.yaml'], {
      cwd: rig.folder,
      env: {...process.env, STATE_DIRECTORY: path.join(rig.folder, 'state'), XDG_RUNTIME_DIR: ''},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [rig.child.stdout, rig.child.stderr])
      stream.on('data', (text) => {
        rig.log += text;
      });
    try {
      await eventually('the rig gives its status', async () => {
        if (rig.child.exitCode !== null) throw new Error(`campipe ended:\n${rig.log}`);
        return rig.#newestStatus();
      });
    } catch (error) {
      await rig.stop();
      throw new Error(`${error.message}\n${rig.log}`);
    }
    return rig;
  }

  // False: there is none just now.
  async #newestStatus() {
    try {
      const token = fs.readFileSync(path.join(this.folder, 'state', `token-${new URL(this.base).port}`), 'utf8');
      const headers = {Authorization: `Bearer ${token}`}; // without it processes have no ids
      const answer = await fetch(`${this.base}/api/v1/status`, {headers, signal: AbortSignal.timeout(longTime)});
      return answer.ok && (await answer.json());
    } catch {
      return false;
    }
  }

  // Of the process that answers, which may just have begun.
  status() {
    return eventually('the rig gives its status', () => this.#newestStatus());
  }

  async processOf(role) {
    return (await this.status()).processes.find((process) => process.role === role);
  }

  // Kills what runs in that role, and waits for the process in its place.
  async kill(role) {
    const pid = await eventually(`${role} runs`, async () => (await this.processOf(role))?.pid);
    process.kill(pid, 'SIGKILL');
    await eventually(`another ${role}`, async () => ![pid, undefined].includes((await this.processOf(role))?.pid));
  }

  // Of a camera, the newest first.
  async recordings(camera) {
    return (await (await fetch(`${this.base}/api/v1/recordings?camera=${camera}`)).json()).recordings;
  }

  // Until the file that is being written has grown again and again, and so has frames of a second at least.
  async records(camera) {
    let file;
    const sizes = new Set();
    await eventually(`${camera} is recorded`, async () => {
      const {id, bytes} = (await this.recordings(camera)).find(({writing}) => writing) ?? {};
      if (id !== file) sizes.clear();
      file = id;
      sizes.add(bytes);
      return sizes.size > 3;
    });
  }

  // Of a camera that is recorded no more: until each of its files can be played to its end.
  recorded(camera) {
    return eventually(`the recordings of ${camera} are complete`, async () => {
      const recordings = await this.recordings(camera);
      return recordings.length > 0 && recordings.every(({writing}) => !writing) && recordings;
    });
  }

  end() {
    return endProcess(this.child);
  }

  async stop() {
    await this.end();
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}

// One member, on free ports of this machine. Null: there is no etcd here.
export class Etcd {
  static async start() {
    const etcd = new Etcd();
    const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
    etcd.url = client;
    etcd.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-etcd-'));
    const urls = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer];
    etcd.child = spawn(
      'etcd',
      [...urls, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`, '--data-dir', etcd.folder],
      {stdio: 'ignore'},
    );
    let missing = false;
    etcd.child.on('error', () => {
      missing = true;
    });
    await eventually('etcd answers', async () => {
      if (missing) return true;
      if (etcd.child.exitCode !== null) throw new Error('etcd ended');
      try {
        return (await fetch(`${client}/health`, {signal: AbortSignal.timeout(longTime)})).ok;
      } catch {
        return false; // it is not there yet
      }
    });
    return missing ? null : etcd;
  }

  async stop() {
    if (this.child.exitCode === null) await endProcess(this.child);
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}

// tools/testcam: a camera by RTSP that can be taken away and comes back under the same address. GStreamer may end it by
// an assertion of its own (gst_rtsp_media_get_rates): then it comes back, too.
export class TestCamera {
  #isAway = false;

  // `more`: arguments of tools/testcam.
  static async start(port, more = []) {
    const camera = new TestCamera();
    camera.port = port;
    camera.more = more;
    await camera.#spawn();
    return camera;
  }

  get url() {
    return `rtsp://127.0.0.1:${this.port}/cam`;
  }

  async #spawn(codec = 'h264') {
    const program = path.resolve(import.meta.dirname, '../../tools/testcam');
    const size = ['--width', '320', '--height', '240', '--rate', '15', '--gop', '15'];
    const options = ['--port', String(this.port), ...size, ...this.more];
    this.child = spawn('/usr/bin/python3', [program, ...options, '--codec', codec], {stdio: ['pipe', 'pipe', 'inherit']});
    const lines = readline.createInterface({input: this.child.stdout});
    await new Promise((resolve, reject) => {
      lines.on('line', (line) => line.includes('ready') && resolve());
      this.child.once('exit', (status, signal) => {
        if (signal === 'SIGABRT' && !this.#isAway) resolve(this.#spawn(codec));
        else reject(new Error(`testcam ended with ${status ?? signal}`));
      });
    });
  }

  stop() {
    this.#isAway = true;
    return endProcess(this.child);
  }

  // A line of its standard input (tools/testcam --help).
  command(line) {
    this.child.stdin.write(`${line}\n`);
  }

  // What it sends may be another codec than before.
  back(codec) {
    this.#isAway = false;
    return this.#spawn(codec);
  }
}
