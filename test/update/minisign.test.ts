import { expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newKeyPair, publicKeyOf, readSecretKey, type SecretKey, signFile } from "../../scripts/minisign.ts";
import { Fault } from "../../src/base/fault.ts";
import { parsePublicKeys, verifyMinisign } from "../../src/base/minisign.ts";
import { tempFolder } from "../support/node.ts";
import { findTool } from "../support/tools.ts";

const name = "node-server-linux-x86_64-gnu";
const release = randomBytes(5000);
const digestOf = (bytes: Uint8Array) => createHash("blake2b512").update(bytes).digest();

/** A release in a folder, and what it takes to sign it. */
async function openRelease() {
  const folder = await tempFolder();
  const path = join(folder.path, name);
  await writeFile(path, release);
  return {
    path,
    async newKey(): Promise<{ secret: SecretKey; line: string; file: string }> {
      const pair = newKeyPair();
      await writeFile(join(folder.path, "release.key"), pair.secret);
      const secret = readSecretKey(join(folder.path, "release.key"));
      return { secret, line: publicKeyOf(secret), file: pair.public };
    },
    sign: (secret: SecretKey) => signFile(path, name, "v1.2.3", secret),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Why it was refused; fails when it was not. */
function refusal(work: () => unknown): Fault {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

test("what minisign signs is accepted, with the words of its trusted comment", async () => {
  await using minisign = await findTool("verifying what minisign signs", "minisign");
  if (minisign === undefined) return;
  await writeFile(join(minisign.home, name), release);
  await minisign.does(["-G", "-W", "-p", "release.pub", "-s", "release.key"]);
  await minisign.does(["-S", "-s", "release.key", "-m", name, "-t", `file:${name} version:v1.2.3`]);
  const keys = parsePublicKeys(await readFile(join(minisign.home, "release.pub"), "utf8"));
  const signature = await readFile(join(minisign.home, `${name}.minisig`), "utf8");
  const words = verifyMinisign(signature, digestOf(release), keys);
  expect(Object.fromEntries(words)).toEqual({ file: name, version: "v1.2.3" });
  expect(verifyMinisign(signature.replaceAll("\n", "\r\n"), digestOf(release), keys)).toEqual(words);
});

test("the old kind of signature, which minisign makes when told to, is refused with words", async () => {
  await using minisign = await findTool("the old kind of signature", "minisign");
  if (minisign === undefined) return;
  await writeFile(join(minisign.home, name), release);
  await minisign.does(["-G", "-W", "-p", "release.pub", "-s", "release.key"]);
  await minisign.does(["-S", "-l", "-s", "release.key", "-m", name]);
  const keys = parsePublicKeys(await readFile(join(minisign.home, "release.pub"), "utf8"));
  const signature = await readFile(join(minisign.home, `${name}.minisig`), "utf8");
  const { kind, detail } = refusal(() => verifyMinisign(signature, digestOf(release), keys));
  expect([kind, detail]).toEqual(["IoError", expect.stringContaining("old format")]);
});

test("minisign accepts what the release script signs, and the keys that it makes", async () => {
  await using minisign = await findTool("minisign on signatures of the release script", "minisign");
  if (minisign === undefined) return;
  await using made = await openRelease();
  const { secret, file, line } = await made.newKey();
  await writeFile(join(minisign.home, "release.pub"), file);
  await writeFile(`${made.path}.minisig`, await made.sign(secret));
  const told = await minisign.does(["-V", "-p", "release.pub", "-m", made.path]);
  expect(told).toContain("Signature and comment signature verified");
  expect(told).toContain(`file:${name}\tversion:v1.2.3`);
  expect(await minisign.does(["-V", "-P", line, "-m", made.path])).toContain("verified");
  await writeFile(made.path, Buffer.concat([release, Buffer.from("x")]));
  expect((await minisign.run(["-V", "-p", "release.pub", "-m", made.path])).code).not.toBe(0);
});

test("minisign signs with a key of ours, and its key without password signs for our script", async () => {
  await using minisign = await findTool("minisign with keys of the release script", "minisign");
  if (minisign === undefined) return;
  const pair = newKeyPair();
  const file = join(minisign.home, name);
  await writeFile(join(minisign.home, "ours.key"), pair.secret);
  await writeFile(file, release);
  await minisign.does(["-S", "-s", "ours.key", "-m", name, "-t", `file:${name} version:v1.2.3`]);
  const signature = await readFile(`${file}.minisig`, "utf8");
  const words = verifyMinisign(signature, digestOf(release), parsePublicKeys(pair.public));
  expect(words.get("version")).toBe("v1.2.3");

  await minisign.does(["-G", "-W", "-p", "theirs.pub", "-s", "theirs.key"]);
  const secret = readSecretKey(join(minisign.home, "theirs.key"));
  expect(await readFile(join(minisign.home, "theirs.pub"), "utf8")).toContain(publicKeyOf(secret));
  await writeFile(`${file}.minisig`, await signFile(file, name, "v1.2.3", secret));
  expect(await minisign.does(["-V", "-p", "theirs.pub", "-m", name])).toContain("verified");
});

test("a secret key with a password, or none at all, is refused by the release script with words", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "a.key");
  const [comment, text = ""] = newKeyPair().secret.split("\n");
  const locked = Buffer.from(text, "base64");
  locked.write("Sc", 2);
  await writeFile(path, `${comment}\n${locked.toString("base64")}\n`);
  expect(() => readSecretKey(path)).toThrow("has a password; make a key without one: minisign -G -W");
  for (const garbage of ["", "\n", "untrusted comment: x\nRWQ=\n", text]) {
    await writeFile(path, garbage);
    expect(() => readSecretKey(path)).toThrow("is no minisign secret key");
  }
});

test("a key is read with its comment or without, and several in any usual form", async () => {
  await using made = await openRelease();
  const [one, two] = [await made.newKey(), await made.newKey()];
  const ids = [one, two].map(({ secret }) => secret.id.toString("hex"));
  const idsOf = (text: string) => parsePublicKeys(text).map(({ id }) => id);
  for (const form of [one.line, ` ${one.line}\n`, one.file, one.file.replaceAll("\n", "\r\n")])
    expect(idsOf(form)).toEqual(ids.slice(0, 1));
  for (const between of ["\n", " ", ",", ", ", "\r\n\r\n"])
    expect(idsOf(one.line + between + two.line)).toEqual(ids);
  expect(idsOf(one.file + two.file)).toEqual(ids);
});

test("with several keys a signature by any of them counts, and by no other", async () => {
  await using made = await openRelease();
  const [one, two, stranger] = [await made.newKey(), await made.newKey(), await made.newKey()];
  const keys = parsePublicKeys(`${one.line} ${two.line}`);
  for (const { secret } of [one, two]) {
    const words = verifyMinisign(await made.sign(secret), digestOf(release), keys);
    expect([words.get("file"), words.get("version")]).toEqual([name, "v1.2.3"]);
  }
  const foreign = await made.sign(stranger.secret);
  expect(refusal(() => verifyMinisign(foreign, digestOf(release), keys)).detail).toContain("another key");
  // A stranger may write any id into his signature.
  const posing = await made.sign({ id: one.secret.id, seed: stranger.secret.seed });
  expect(refusal(() => verifyMinisign(posing, digestOf(release), keys)).detail).toContain(
    "does not belong to the file",
  );
});

test("what is no public key is refused with words that name the setting", async () => {
  await using made = await openRelease();
  const { line, file, secret } = await made.newKey();
  const other = Buffer.from(line, "base64");
  other.write("XX");
  const garbage = [
    "",
    " \n ",
    "untrusted comment: minisign public key",
    "hello",
    line.slice(0, -4),
    `${line}AAAA`,
    `${line}\nhello`,
    other.toString("base64"),
    newKeyPair().secret,
    file.replace("\n", " "),
    // A key with a slip of the finger in it is not the key that was meant.
    `${line.slice(0, 20)}!${line.slice(20)}`,
    `${line}=`,
  ];
  const accepted = garbage.filter((text) => {
    try {
      return parsePublicKeys(text).length >= 0;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      expect([error.kind, error.data]).toEqual(["InvalidInput", { field: "release_public_key" }]);
      expect(error.detail).toContain("must be a minisign public key");
      expect(error.detail).not.toContain(secret.seed.toString("base64").slice(0, 10));
      return false;
    }
  });
  expect(accepted).toEqual([]);
});

test("another file, another comment or another signature is refused, each with its reason", async () => {
  await using made = await openRelease();
  const { secret, line } = await made.newKey();
  const signature = await made.sign(secret);
  const keys = parsePublicKeys(line);
  const against = (text: string, file: Uint8Array = release) =>
    refusal(() => verifyMinisign(text, digestOf(file), keys)).detail;
  expect(against(signature, Buffer.concat([release, Buffer.from([0])]))).toContain(
    "does not belong to the file",
  );
  expect(against(signature.replace("version:v1.2.3", "version:v9.9.9"))).toBe(
    "the release's signature has a comment that was changed; nothing was changed",
  );
  const older = (await signFile(made.path, name, "v1.0.0", secret)).split("\n");
  const [head, blob, comment, seal] = signature.split("\n");
  // Ed25519 signs the same bytes the same way, so only the comment's seal tells the two apart.
  expect(against([head, blob, older[2], seal].join("\n"))).toContain("comment that was changed");
  const unreadable = [
    "",
    "404 Not Found",
    [head, blob].join("\n"),
    [head, blob, comment].join("\n"),
    [head, blob, comment, ""].join("\n"),
    [head, "", comment, seal].join("\n"),
    [head, blob, comment?.replace("trusted", "rusted"), seal].join("\n"),
    [head, `${blob}AAAA`, comment, seal].join("\n"),
    [head, blob, comment, `${seal?.slice(0, 40)}`].join("\n"),
    "\n".repeat(10_000),
  ];
  for (const text of unreadable) expect(against(text)).toContain("cannot be read");
});

test("no bit of a signature file, after its untrusted first line, may be another", async () => {
  await using made = await openRelease();
  const { secret, line } = await made.newKey();
  const keys = parsePublicKeys(line);
  const bytes = Buffer.from((await made.sign(secret)).trimEnd());
  const accepts = (changed: Buffer) => {
    try {
      return verifyMinisign(changed.toString(), digestOf(release), keys).size > 0;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  };
  expect(accepts(bytes)).toBe(true);
  const start = bytes.indexOf("\n");
  const accepted = Array.from({ length: (bytes.length - start) * 8 }, (_, bit) => start * 8 + bit)
    .filter((bit) => {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return accepts(changed);
    })
    .map((bit) => `bit ${bit & 7} of byte ${bit >> 3} (${bytes.subarray((bit >> 3) - 4, (bit >> 3) + 1)})`);
  expect(accepted).toEqual([]);
});
