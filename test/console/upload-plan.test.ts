import { expect, test } from "bun:test";
import { Unreachable } from "../../src/client/index.ts";
import { planUpload } from "../../src/console/pages/buckets/files/model.ts";
import {
  contentsOf,
  type DroppedEntry,
  droppedFolders,
  walk,
} from "../../src/console/pages/buckets/uploads/drop.ts";
import {
  Rate,
  type Sending,
  UploadQueue,
  type UploadRequest,
} from "../../src/console/pages/buckets/uploads/queue.ts";
import "./texts.ts";

/** Entry like a browser's: a reader returns two entries at a time, then none. */
function dropped(name: string, content: string | readonly DroppedEntry[]): DroppedEntry {
  if (typeof content === "string")
    return {
      name,
      isFile: true,
      isDirectory: false,
      file: (done: (file: string) => void) => done(content),
    } as DroppedEntry;
  return {
    name,
    isFile: false,
    isDirectory: true,
    createReader: () => {
      let at = 0;
      return {
        readEntries: (done: (entries: readonly DroppedEntry[]) => void) => {
          done(content.slice(at, at + 2));
          at += 2;
        },
      };
    },
  } as DroppedEntry;
}

test("a dropped folder brings every file in it, however many and deep, and its empty folders", async () => {
  const many = Array.from({ length: 5 }, (_, index) => dropped(`${index}.txt`, "x"));
  const tree = [
    dropped("top", [...many, dropped("deep", [dropped("er", [dropped("file", "y")])]), dropped("none", [])]),
  ];
  const { files, emptyFolders } = await walk<string>([...tree, dropped("alone", "z")]);
  expect(files.map(({ path, file }) => `${path}=${file}`).sort()).toEqual([
    "alone=z",
    "top/0.txt=x",
    "top/1.txt=x",
    "top/2.txt=x",
    "top/3.txt=x",
    "top/4.txt=x",
    "top/deep/er/file=y",
  ]);
  expect(emptyFolders).toEqual(["top/none"]);
});

test("an upload is planned with one look into each folder that exists, and none into those that do not", async () => {
  const there: Record<string, { name: string; folder: boolean }[]> = {
    in: [
      { name: "a", folder: true },
      { name: "re\u0301sume\u0301.txt", folder: false },
    ],
    "in/a": [{ name: "one", folder: false }],
  };
  const looks: string[] = [];
  const paths = ["résumé.txt", "new.txt", "a/one", "a/two", "b/c/three", "b/c/four"];
  const plan = await planUpload(
    "in",
    paths.map((path) => ({ path, file: path })),
    ["empty/er"],
    async (path) => {
      looks.push(path);
      return there[path] ?? [];
    },
  );
  expect(looks.sort()).toEqual(["in", "in/a"]);
  expect(plan.replacing.map(({ path }) => path)).toEqual(["in/résumé.txt", "in/a/one"]);
  expect(plan.fresh.map(({ path }) => path)).toEqual([
    "in/new.txt",
    "in/a/two",
    "in/b/c/three",
    "in/b/c/four",
  ]);
  expect([...plan.missing]).toEqual(["in/b", "in/b/c", "in/empty", "in/empty/er"]);
});

test("uploads run some at a time, a failed one can be retried, and a cancelled one is dropped", async () => {
  const queue = new UploadQueue(2);
  const sending = new Map<string, { finish: () => void; fail: (error: Error) => void }>();
  const request = (path: string): UploadRequest => ({
    bucket: "b",
    path,
    size: 10,
    send: ({ onProgress, signal }) =>
      new Promise<void>((resolve, reject) => {
        onProgress(4);
        sending.set(path, { finish: resolve, fail: reject });
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  const states = () => queue.all.map(({ state }) => state).join(" ");
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  queue.add(["a", "b", "c", "d"].map(request));
  expect(states()).toBe("running running waiting waiting");
  expect(queue.totals()).toMatchObject({ bytes: 40, sent: 8 });
  sending.get("a")?.fail(new Error("no"));
  await settled();
  expect(states()).toBe("failed running running waiting");
  const [, b, , d] = queue.all;
  if (b !== undefined) queue.cancel(b);
  if (d !== undefined) queue.cancel(d);
  await settled();
  expect(states()).toBe("failed cancelled running cancelled");
  sending.get("c")?.finish();
  await settled();
  expect(queue.busy).toBe(false);
  queue.retry();
  sending.get("a")?.finish();
  await settled();
  expect(states()).toBe("done cancelled done cancelled");
  expect(queue.totals()).toMatchObject({ bytes: 20, sent: 20 });
  expect(queue.arrived.value).toBe(2);
  queue.clear();
  expect(queue.all).toHaveLength(0);
});

test("the rate of an upload does not reach back to what was sent before it", () => {
  let now = 0;
  const rate = new Rate(4000, () => now);
  rate.add(10);
  now = 3000;
  rate.restart();
  now = 3100;
  rate.add(100);
  expect(rate.perSecond()).toBe(0);
  now = 3500;
  rate.add(900);
  expect(rate.perSecond()).toBe(2000);
});

test("a cancelled upload is sent once more, and its first sending changes nothing any more", async () => {
  const queue = new UploadQueue(2);
  const sendings: { readonly finish: () => void; readonly tell: (bytes: number) => void }[] = [];
  queue.add([
    {
      bucket: "b",
      path: "a",
      size: 10,
      send: ({ onProgress: tell }) => new Promise<void>((finish) => sendings.push({ finish, tell })),
    },
  ]);
  const [upload] = queue.all;
  if (upload === undefined) throw new Error("nothing was added");
  queue.cancel(upload);
  queue.retry();
  expect(upload.state).toBe("cancelled");
  queue.retry(upload);
  expect(sendings).toHaveLength(2);
  sendings[0]?.tell(9);
  sendings[0]?.finish();
  await Promise.resolve();
  expect([upload.state, upload.sent]).toEqual(["running", 0]);
  sendings[1]?.finish();
  while (queue.busy) await Promise.resolve();
  expect([upload.state, upload.sent]).toEqual(["done", 10]);
});

test("what an earlier attempt has sent counts as sent, and not for the rate", async () => {
  const queue = new UploadQueue(2);
  const sendings: Sending[] = [];
  const send = (sending: Sending) => {
    sendings.push(sending);
    return new Promise(() => {});
  };
  queue.add(["a", "b"].map((path) => ({ bucket: "b", path, size: 1_000_000, send })));
  const [first, second] = sendings;
  first?.onResumed(900_000);
  expect(queue.totals()).toMatchObject({ sent: 900_000, nextTry: undefined });
  // The rate is 0 before a quarter of a second has passed.
  await Bun.sleep(300);
  first?.onProgress(900_000);
  expect(queue.totals()).toMatchObject({ rate: 0, leftMs: undefined });
  first?.onProgress(900_100);
  expect(queue.totals().rate).toBeLessThan(1000);

  // Only when all wait is that said of the whole.
  const error = new Unreachable("away");
  first?.onRetry({ error, pauseMs: 9000 });
  expect(queue.totals().nextTry).toBeUndefined();
  second?.onRetry({ error, pauseMs: 4000 });
  const { nextTry } = queue.totals();
  expect([nextTry?.error, nextTry?.at]).toEqual([error, queue.all[1]?.nextTry?.at]);
  second?.onProgress(10);
  expect(queue.totals().nextTry).toBeUndefined();
  queue.cancelAll();
  expect(queue.all.map(({ nextTry }) => nextTry)).toEqual([undefined, undefined]);
});

test("the content of dropped folders is what they contain, and the files beside them", () => {
  const of = (...paths: string[]) => ({
    files: paths.map((path) => ({ path, file: path })),
    emptyFolders: ["site/none", "empty"],
  });
  const pathsOf = (...paths: string[]) => contentsOf(of(...paths))?.files.map(({ path }) => path);
  expect(droppedFolders(of("site/index.html", "site/img/a.png", "b.png"))).toEqual(["site"]);
  expect(droppedFolders(of("site/index.html", "other/a.png"))).toEqual(["site", "other"]);
  expect(droppedFolders({ ...of("a.png"), emptyFolders: ["empty"] })).toEqual([]);
  expect(pathsOf("site/img/a.png", "b.png", "other/c")).toEqual(["img/a.png", "b.png", "c"]);
  expect(contentsOf(of("site/a"))?.emptyFolders).toEqual(["none"]);
  // Two files cannot have the same path.
  expect(pathsOf("site/a", "other/a")).toBeUndefined();
  expect(pathsOf("site/a", "a")).toBeUndefined();
});

test("the rate is that of the last seconds", () => {
  let now = 0;
  const rate = new Rate(4000, () => now);
  rate.add(1000);
  now = 1000;
  rate.add(1000);
  expect(rate.perSecond()).toBe(2000);
  now = 4500;
  expect(rate.perSecond()).toBe(250);
  now = 60_000;
  expect(rate.perSecond()).toBe(0);
});
