import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { testNode } from "../support/node.ts";
import { Consumer, eachRuntime } from "./consumer.ts";

const readme = await Bun.file(new URL("../../src/client/README.md", import.meta.url)).text();
const [setUp = "", ...examples] = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = ""]) => code);

/** What the comments behind `console.log` promise, in order. */
function promised(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\/\/ (.+)$/gm)].map(([, words = ""]) => words);
}

test("the README has an example of everything that the package does", () => {
  const words = [
    "call(",
    "batch(",
    "subscribe(",
    "followLog(",
    "upload(",
    "download(",
    "list(",
    "onProgress",
  ];
  for (const word of [...words, "ifMatch", "instanceof"])
    expect(examples.some((code) => code.includes(word))).toBe(true);
  expect(examples.every((code) => promised(code).length > 0)).toBe(true);
});

for (const [i, code] of examples.entries()) {
  eachRuntime(`example ${i + 1} of the README prints what it promises`, async (runtime) => {
    await using node = await testNode();
    await using consumer = await Consumer.open();
    await writeFile(consumer.file("cat.jpg"), "cat");
    const whole = `${setUp}\n${code}`
      .replace("https://node.example.com", node.url)
      .replaceAll("<key>:<secret>", node.superToken);
    await writeFile(consumer.file("example.js"), whole);
    const talk = setInterval(() => node.node.hub.logger("task").info("still here"), 20);
    try {
      expect(await consumer.startFile(runtime, "example.js").lines()).toEqual(promised(code));
    } finally {
      clearInterval(talk);
    }
  });
}
