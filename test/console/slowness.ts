import type { BrowserContext, Page } from "playwright-core";
import { timeFactor } from "../support/tier.ts";

/** How much slower scripts run than they could: `SLOW_BROWSER=8` finds stories that look at a page before it has drawn. */
const cpuRate = Number(process.env.SLOW_BROWSER ?? 1);
/** Longest random delay of an answer, in milliseconds: `SLOW_ANSWERS=150` finds stories that rely on an order of answers. */
const maxDelayMs = Number(process.env.SLOW_ANSWERS ?? 0);

/** slowness is how much longer a story may take than without what the environment asks for. */
export const slowness = timeFactor * cpuRate * (maxDelayMs > 0 ? 3 : 1);

/** The patience of waits in a page. They end before the story does, so that the failure names what it waits for. */
export const patienceMs = 15_000 * slowness;

/** Calls, lists of folders, and code that is fetched when it is needed. */
const delayed = /\/jsonrpc$|\/node\/static-webdav\/.*\/$|\/node\/console\/assets\/.*\.js$/;

/** Delays the answers to all pages of a context, if the environment asks for that. */
export async function delayAnswers(context: BrowserContext): Promise<void> {
  if (maxDelayMs === 0) return;
  await context.route(delayed, async (route) => {
    await Bun.sleep(Math.random() * maxDelayMs);
    // The page may have gone meanwhile.
    await route.continue().catch(() => {});
  });
}

/** Slows the process of a page down, if the environment asks for that. */
export async function slowDown(page: Page): Promise<void> {
  if (cpuRate === 1) return;
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: cpuRate });
}
