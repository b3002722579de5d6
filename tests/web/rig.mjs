// A real rig in a folder of its own, on free ports, and the cameras that it watches. Ends with stop().
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

export const longTime = 60000; // for any machine

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

export async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
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
      await eventually('the rig is ready', async () => {
        if (rig.child.exitCode !== null) throw new Error(`campipe ended:\n${rig.log}`);
        return rig.answers('/login');
      });
    } catch (error) {
      await rig.stop();
      throw new Error(`${error.message}\n${rig.log}`);
    }
    return rig;
  }

  async answers(address) {
    try {
      return (await fetch(this.base + address, {signal: AbortSignal.timeout(5000)})).ok;
    } catch {
      return false; // it is not there yet
    }
  }

  async status() {
    const token = fs.readFileSync(path.join(this.folder, 'state', `token-${new URL(this.base).port}`), 'utf8');
    const headers = {Authorization: `Bearer ${token}`}; // without it processes have no ids
    return (await fetch(`${this.base}/api/v1/status`, {headers, signal: AbortSignal.timeout(5000)})).json();
  }

  // Undefined: it does not run.
  async processOf(role) {
    try {
      return (await this.status()).processes.find((process) => process.role === role);
    } catch {
      return undefined; // nobody answers just now
    }
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
        return (await fetch(`${client}/health`, {signal: AbortSignal.timeout(5000)})).ok;
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
        if (signal === 'SIGABRT') resolve(this.#spawn(codec));
        else reject(new Error(`testcam ended with ${status ?? signal}`));
      });
    });
  }

  stop() {
    return endProcess(this.child);
  }

  // A line of its standard input (tools/testcam --help).
  command(line) {
    this.child.stdin.write(`${line}\n`);
  }

  // What it sends may be another codec than before.
  back(codec) {
    return this.#spawn(codec);
  }
}
