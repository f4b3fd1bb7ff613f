/** Member is what the records of a ZIP archive say of one file or folder. A folder's name ends in a slash. */
export interface Member {
  /** UTF-8. */
  readonly name: Buffer;
  readonly kind: "file" | "folder";
  readonly modifiedMs: number;
  readonly method: "stored" | "deflated";
  /** Whether sizes and CRC follow the content, because they are not known before it. */
  readonly hasDescriptor: boolean;
  /** Whether the sizes may need 64 bits. Known before the content, because it decides the form of the records around it. */
  readonly isLarge: boolean;
}

/** Content is what is known of a member once its content was read. */
export interface Content {
  readonly crc: number;
  readonly compressed: number;
  readonly size: number;
}

/** maxNameBytes is the longest name that a record can hold. */
export const maxNameBytes = 0xffff;
/** maxSize32 is the first number that takes 64 bits: this one means that another field has the number. */
export const maxSize32 = 0xffff_ffff;
const maxCount16 = 0xffff;

/** 4.5 of the specification (APPNOTE): the version with ZIP64. */
const version = 45;
const madeByUnix = 3 << 8;
const methods = { stored: 0, deflated: 8 } as const;
const hasDescriptorFlag = 1 << 3;
const utf8Flag = 1 << 11;
/** Permissions of Unix in the upper half, MS-DOS's mark of a folder in the lower one. */
const attributes = { file: 0o100644 * 0x1_0000, folder: 0o040755 * 0x1_0000 + 0x10 } as const;
const unknownContent: Content = { crc: 0, compressed: 0, size: 0 };

/** localHeader comes before the content: APPNOTE §4.3.7. */
export function localHeader(member: Member, known: Content = unknownContent): Buffer {
  const { name, isLarge } = member;
  const sizes = isLarge ? sizesField([known.size, known.compressed]) : Buffer.alloc(0);
  const extra = Buffer.concat([sizes, timeField(member)]);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x0403_4b50, 0);
  writeCommon(header, 4, member);
  header.writeUInt32LE(known.crc, 14);
  header.writeUInt32LE(isLarge ? maxSize32 : known.compressed, 18);
  header.writeUInt32LE(isLarge ? maxSize32 : known.size, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

/** descriptor comes after a content whose sizes were not known before: APPNOTE §4.3.9. */
export function descriptor({ isLarge }: Member, { crc, compressed, size }: Content): Buffer {
  const record = Buffer.alloc(isLarge ? 24 : 16);
  record.writeUInt32LE(0x0807_4b50, 0);
  record.writeUInt32LE(crc, 4);
  if (isLarge) {
    record.writeBigUInt64LE(BigInt(compressed), 8);
    record.writeBigUInt64LE(BigInt(size), 16);
  } else {
    record.writeUInt32LE(compressed, 8);
    record.writeUInt32LE(size, 12);
  }
  return record;
}

/** centralHeader is the member's record in the directory at the end; `offset` is that of its local header. APPNOTE §4.3.12. */
export function centralHeader(
  member: Member,
  { crc, compressed, size }: Content,
  { offset }: { readonly offset: number },
): Buffer {
  // Only what does not fit is in the field, in this order: APPNOTE §4.5.3.
  const large = [size, compressed, offset].filter((value) => value >= maxSize32);
  const sizes = large.length === 0 ? Buffer.alloc(0) : sizesField(large);
  const extra = Buffer.concat([sizes, timeField(member)]);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x0201_4b50, 0);
  header.writeUInt16LE(madeByUnix | version, 4);
  writeCommon(header, 6, member);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(Math.min(compressed, maxSize32), 20);
  header.writeUInt32LE(Math.min(size, maxSize32), 24);
  header.writeUInt16LE(member.name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(attributes[member.kind], 38);
  header.writeUInt32LE(Math.min(offset, maxSize32), 42);
  return Buffer.concat([header, member.name, extra]);
}

/** Directory is where the records of all members are. */
export interface Directory {
  readonly count: number;
  readonly bytes: number;
  readonly offset: number;
}

/** endOfArchive is all that follows the directory: APPNOTE §4.3.14 to §4.3.16. */
export function endOfArchive({ count, bytes, offset }: Directory): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  end.writeUInt16LE(Math.min(count, maxCount16), 8);
  end.writeUInt16LE(Math.min(count, maxCount16), 10);
  end.writeUInt32LE(Math.min(bytes, maxSize32), 12);
  end.writeUInt32LE(Math.min(offset, maxSize32), 16);
  if (count < maxCount16 && bytes < maxSize32 && offset < maxSize32) return end;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x0606_4b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeUInt16LE(madeByUnix | version, 12);
  end64.writeUInt16LE(version, 14);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(bytes), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x0706_4b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + bytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([end64, locator, end]);
}

/** Version, flags, method and time, which both records of a member have in this order. */
function writeCommon(header: Buffer, at: number, { hasDescriptor, method, modifiedMs }: Member): void {
  header.writeUInt16LE(version, at);
  header.writeUInt16LE(utf8Flag | (hasDescriptor ? hasDescriptorFlag : 0), at + 2);
  header.writeUInt16LE(methods[method], at + 4);
  header.writeUInt32LE(dosTime(modifiedMs), at + 6);
}

/** The field of ZIP64: numbers of 64 bits. */
function sizesField(values: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * values.length);
  field.writeUInt16LE(0x0001, 0);
  field.writeUInt16LE(8 * values.length, 2);
  for (const [at, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), 4 + 8 * at);
  return field;
}

/** The time in seconds of Unix, which does not depend on a time zone as that of MS-DOS does ("UT", of Info-ZIP). */
function timeField({ modifiedMs }: Member): Buffer {
  const seconds = Math.floor(modifiedMs / 1000);
  if (seconds < -0x8000_0000 || seconds > 0x7fff_ffff) return Buffer.alloc(0);
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x5455, 0);
  field.writeUInt16LE(5, 2);
  field[4] = 1;
  field.writeInt32LE(seconds, 5);
  return field;
}

/** Two seconds in a unit, from 1980 to 2107, in UTC. */
function dosTime(milliseconds: number): number {
  const earliest = Date.UTC(1980, 0, 1);
  const latest = Date.UTC(2107, 11, 31, 23, 59, 58);
  const at = new Date(Math.min(Math.max(milliseconds, earliest), latest));
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}
