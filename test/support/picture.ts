/** A picture of noise, so that no format makes it much smaller. */
export function picture(width: number, height: number): Bun.Image {
  return new Bun.Image(bitmap(width, height));
}

/** The same as a BMP, which needs no encoder. */
export function bitmap(width: number, height: number): Buffer<ArrayBuffer> {
  const row = Math.ceil((width * 3) / 4) * 4;
  const file = Buffer.alloc(54 + row * height);
  file.write("BM");
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  let noise = 1;
  for (let at = 54; at < file.length; at += 1) {
    noise = (noise * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    file[at] = noise >> 16;
  }
  return file;
}
