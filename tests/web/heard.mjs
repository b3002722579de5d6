// Clips with sound, and what a page plays of them.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export class SoundClips {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'campipe-clips-'));

  // Its sound may end before its frames do.
  make(name, seconds, heard) {
    const file = path.join(this.#folder, name);
    const video = ['-f', 'lavfi', '-i', `testsrc2=size=320x240:rate=15:duration=${seconds}`];
    const sound = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${heard}`];
    const encode = ['-c:v', 'libx264', '-g', '15', '-bf', '0', '-c:a', 'aac'];
    execFileSync('ffmpeg', ['-v', 'error', ...video, ...sound, ...encode, file]);
    return file;
  }

  remove() {
    fs.rmSync(this.#folder, {recursive: true});
  }
}

// The page's elements that make sound are in no document. To be called before the page is opened.
export const watchAudio = (page) =>
  page.addInitScript(() => {
    window.sounds = [];
    const {Audio} = window;
    window.Audio = function () {
      const audio = new Audio();
      window.sounds.push(audio);
      return audio;
    };
  });

export const heardBytes = (page) => page.evaluate(() => window.sounds.at(-1)?.webkitAudioDecodedByteCount ?? 0);
