import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { endOfArchive, padding, readTar, type TarEntry, tarHeader } from "../../src/backup/tar.ts";
import { findTool } from "../support/tools.ts";

const entries: TarEntry[] = [
  { name: "short.txt", kind: "file", size: 5, mode: 0o600, modifiedMs: 1_700_000_000_000 },
  { name: `${"folder/".repeat(20)}name-in-the-prefix`, kind: "file", size: 0, mode: 0o644, modifiedMs: 0 },
  {
    name: `files/${"long".repeat(60)}/`,
    kind: "folder",
    size: 0,
    mode: 0o755,
    modifiedMs: 1_700_000_000_500,
  },
  {
    name: "files/ü/日本 \u{1f600} é.txt",
    kind: "file",
    size: 513,
    mode: 0o640,
    modifiedMs: 1_600_000_000_125,
  },
  {
    name: "files/object",
    kind: "file",
    size: 1,
    mode: 0o640,
    modifiedMs: 0,
    record: Buffer.from([0, 10, 255, 61]),
  },
];
const contentOf = ({ size }: TarEntry) => Buffer.alloc(size, "x");
const archive = (members: readonly TarEntry[]) =>
  Buffer.concat([
    ...members.flatMap((entry) => [tarHeader(entry), contentOf(entry), padding(entry.size)]),
    endOfArchive,
  ]);

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(bytes: Uint8Array, pieceBytes: number): Promise<(TarEntry & { text: string })[]> {
  const found: (TarEntry & { text: string })[] = [];
  for await (const { content, ...entry } of readTar(inPieces(bytes, pieceBytes))) {
    const parts = await Array.fromAsync(content(), (part) => Buffer.from(part));
    found.push({ ...entry, text: Buffer.concat(parts).toString("latin1") });
  }
  return found;
}

test("what is written is read again, whatever the pieces are", async () => {
  for (const size of [1, 511, 512, 700, 100_000])
    expect(await readAll(archive(entries), size)).toEqual(
      entries.map((entry) => ({ ...entry, text: contentOf(entry).toString("latin1") })),
    );
});

test("any name, size and time survives", async () => {
  const entry = fc.record({
    name: fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 300 })
      .map((name) => name.replaceAll("\0", "_")),
    size: fc.integer({ min: 0, max: 1200 }),
    mode: fc.integer({ min: 0, max: 0o777 }),
    modifiedMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 4 }), async (given) => {
      const members = given.map((one) => ({ ...one, kind: "file" as const }));
      const read = await readAll(archive(members), 1000);
      expect(read.map(({ text, ...rest }) => rest)).toEqual(members);
    }),
    { numRuns: 100 },
  );
});

test("GNU tar lists and unpacks it with names, sizes, modes and times", async () => {
  await using tar = await findTool("reading our tar", "tar");
  if (tar === undefined) return;
  await writeFile(join(tar.home, "a.tar"), archive(entries));
  const listed = await tar.does(["--list", "--verbose", "--full-time", "--utc", "--file", "a.tar"], {
    env: { LC_ALL: "C.UTF-8" },
  });
  const lines = listed.trim().split("\n");
  expect(lines.map((line) => line.split(/\s+/).slice(5).join(" "))).toEqual(entries.map(({ name }) => name));
  expect(lines[0]).toMatch(/^-rw------- \S+ +5 2023-11-14 22:13:20 short\.txt$/);
  expect(lines[2]).toContain("2023-11-14 22:13:20.5");
  expect(lines[3]).toMatch(/^-rw-r----- \S+ +513 2020-09-13 12:26:40\.125 /);
  await tar.does(["--extract", "--file", "a.tar"]);
  expect(await Bun.file(join(tar.home, "files/ü/日本 \u{1f600} é.txt")).text()).toBe("x".repeat(513));
});

test("an archive that GNU tar made of files is read, and one with a link is refused", async () => {
  await using tar = await findTool("reading a tar of GNU tar", "tar");
  if (tar === undefined) return;
  await writeFile(join(tar.home, "a.txt"), "content");
  await tar.does(["--create", "--format=ustar", "--file", "a.tar", "a.txt"]);
  const bytes = async () => new Uint8Array(await Bun.file(join(tar.home, "a.tar")).arrayBuffer());
  expect(await readAll(await bytes(), 1000)).toMatchObject([{ name: "a.txt", text: "content" }]);
  await Bun.$`ln -s a.txt link`.cwd(tar.home).quiet();
  await tar.does(["--create", "--format=ustar", "--file", "a.tar", "a.txt", "link"]);
  await expect(readAll(await bytes(), 1000)).rejects.toThrow(/not a file or a folder/);
});

const file = (name: string, text = "hello") => {
  const entry: TarEntry = { name, kind: "file", size: Buffer.byteLength(text), mode: 0o600, modifiedMs: 0 };
  return Buffer.concat([tarHeader(entry), Buffer.from(text), padding(entry.size)]);
};
/** A member with other bytes at a place of its header, whose checksum is right. */
const edited = (member: Buffer, at: number, bytes: string) => {
  const changed = Buffer.from(member);
  changed.write(bytes, at, "latin1");
  changed.write("        ", 148, "latin1");
  const sum = changed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return changed;
};
/** An extended header; of the type `g` it would count for all members that follow. */
const extended = (records: string, type = "x") => edited(file("pax", records), 156, type);
const [member, end, half] = [file("a"), endOfArchive, endOfArchive.subarray(512)];

/** Archives that other readers accept, so that they would not agree with us about what is in a backup. */
const hostile: Record<string, readonly Uint8Array[]> = {
  "no end": [member],
  "half an end": [member, half],
  "a member after the end": [member, end, member, end],
  "a member between the halves of the end": [member, half, member, end],
  "a record of zeros too many": [member, end, Buffer.alloc(10_241)],
  "rubbish after the end": [member, end, Buffer.from("x")],
  "a size with letters": [edited(member, 124, "5zz\0"), end],
  "a size in base 256": [edited(member, 124, `\x80${"\0".repeat(10)}\x05`), end],
  "a mode of letters": [edited(member, 100, "zzzzzzz\0"), end],
  "a header of GNU tar": [edited(member, 257, "ustar  \0"), end],
  "a long name of GNU tar": [edited(file("name", "b\0"), 156, "L"), member, end],
  "a member of the oldest type": [edited(member, 156, "\0"), end],
  "a hard link": [edited(member, 156, "1"), end],
  "an extended header for all": [extended("10 path=b\n", "g"), member, end],
  "two extended headers": [extended("10 path=b\n"), extended("10 path=c\n"), member, end],
  "an extended header alone": [extended("10 path=b\n"), end],
  "an extended header with another key": [extended("14 linkpath=x\n"), member, end],
  "an extended header that is too long": [extended(`600000 path=${"b".repeat(599_987)}\n`), member, end],
  "a record that is cut": [extended("99 path=b\n"), member, end],
  "a record without a length": [extended("path=b\n"), member, end],
  "an extended size with letters": [extended("14 size=5abc\n"), member, end],
};

for (const [what, parts] of Object.entries(hostile))
  test(`an archive with ${what} is refused`, async () => {
    await expect(readAll(Buffer.concat(parts), 700)).rejects.toThrow(/the backup is damaged/);
  });

test("the hostile archives differ from good ones in one thing alone", async () => {
  expect(await readAll(Buffer.concat([member, end, Buffer.alloc(10_240)]), 700)).toHaveLength(1);
  expect(await readAll(Buffer.concat([edited(member, 100, "0000600\0"), end]), 700)).toHaveLength(1);
  const renamed = Buffer.concat([extended("10 path=b\n"), member, end]);
  expect(await readAll(renamed, 700)).toMatchObject([{ name: "b", text: "hello" }]);
});
