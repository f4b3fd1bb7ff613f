/** Like the patience of a page's locators. */
const timeoutMs = 30_000;
/** Each question to a page costs processor time in three processes. */
const pauseMs = 40;

/** eventually asks until the answer is true, for what a page's locators cannot wait for, and fails after 30 s. */
export async function eventually(what: string, ask: () => unknown): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while ((await ask()) !== true) {
    if (Date.now() > deadline) throw new Error(`waited 30 s, and still not: ${what}`);
    await Bun.sleep(pauseMs);
  }
}
