// Runs in the page, before its own scripts: reads the pixels of videos. The code in the test pattern is that of
// core/test_pattern.h: 16 x 8 cells in the top left quarter by third, number, time and CRC-32.
{
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', {willReadFrequently: true});

  function crc32(bytes) {
    let crc = 0xffffffff;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc >>> 0;
  }

  function draw(video, width, height) {
    if (!video || video.readyState < 2) return false;
    canvas.width = width;
    canvas.height = height;
    context.drawImage(video, 0, 0, width, height);
    return true;
  }

  window.pictureHash = (selector) => {
    if (!draw(document.querySelector(selector), 64, 48)) return null;
    return crc32(context.getImageData(0, 0, 64, 48).data);
  };

  // {number, utcMs}; null: it cannot be read.
  window.readPattern = (video) => {
    const {videoWidth: width, videoHeight: height} = video;
    if (!draw(video, width, height)) return null;
    const {data, width: stride} = context.getImageData(0, 0, Math.ceil(width / 2), Math.ceil(height / 3));
    const message = new Uint8Array(16);
    for (let cell = 0; cell < 128; ++cell) {
      const x = Math.floor((((cell % 16) + 0.5) * width) / 32);
      const y = Math.floor(((Math.floor(cell / 16) + 0.5) * height) / 24);
      if (data[(y * stride + x) * 4 + 1] > 127) message[cell >> 3] |= 0x80 >> (cell % 8);
    }
    const view = new DataView(message.buffer);
    if (view.getUint32(12) !== crc32(message.subarray(0, 12))) return null;
    return {number: view.getUint32(0), utcMs: Number(view.getBigUint64(4)) / 1000};
  };

  // Reads every frame that a video shows: {first: ms after the page began, ages: ms from the pattern to here,
  // numbers: of the frames, unread}.
  window.watchPattern = (selector) => {
    const seen = {first: null, ages: [], numbers: [], unread: 0};
    window.patternSeen = seen;
    const begin = () => {
      const video = document.querySelector(selector);
      if (!video) return requestAnimationFrame(begin);
      const read = () => {
        const code = window.readPattern(video);
        seen.first ??= performance.now();
        if (code) {
          seen.ages.push(performance.timeOrigin + performance.now() - code.utcMs);
          seen.numbers.push(code.number);
        } else {
          ++seen.unread;
        }
        video.requestVideoFrameCallback(read);
      };
      video.requestVideoFrameCallback(read);
    };
    begin();
  };
}
