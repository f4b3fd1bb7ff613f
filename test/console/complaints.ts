import type { BrowserContext, Request } from "playwright-core";

const bindingName = "reportComplaint";

/**
 * Reports the text of every red toast and problem box, even if it disappears a moment later, and each dialog that opens with the
 * focus on "Close". Runs in the page.
 */
const watchPage = `(() => {
  const reported = new WeakMap();
  const report = (box) => {
    const text = box?.textContent ?? "";
    if (text === "" || reported.get(box) === text) return;
    reported.set(box, text);
    window.${bindingName}("a problem box: " + text);
  };
  const checkFocus = (dialog) => {
    if (dialog.open && document.activeElement?.matches("dialog > header > button"))
      window.${bindingName}("a dialog that starts on Close: " + dialog.querySelector("h2")?.textContent);
  };
  new MutationObserver((records) => {
    for (const { target, addedNodes, attributeName } of records) {
      report((target instanceof Element ? target : target.parentElement)?.closest(".problem"));
      if (attributeName === "open" && target instanceof HTMLDialogElement) checkFocus(target);
      for (const node of addedNodes)
        if (node instanceof Element)
          for (const box of [node, ...node.querySelectorAll(".problem")]) if (box.matches(".problem")) report(box);
    }
  }).observe(document, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["class", "open"],
  });
})()`;

/**
 * Complaints collects all problems of a browser context, in any of its pages: errors and warnings in the browser's console, uncaught
 * exceptions, unhandled rejections, red toasts and problem boxes, dialogs that start on "Close", and requests to servers other than the
 * tested one.
 */
export class Complaints {
  #texts: string[] = [];
  #host = "";
  readonly #origins = new Set<string>();
  readonly #unanswered = new Set<Request>();

  static async watch(context: BrowserContext): Promise<Complaints> {
    const complaints = new Complaints();
    const add = (text: string) => complaints.#texts.push(text);
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") add(message.text());
    });
    context.on("weberror", (webError) => add(String(webError.error())));
    context.on("request", (request) => {
      complaints.#note(request.url());
      complaints.#unanswered.add(request);
    });
    const answered = (request: Request) => void complaints.#unanswered.delete(request);
    context.on("requestfinished", answered);
    context.on("requestfailed", answered);
    await context.exposeBinding(bindingName, (_, text: string) => add(text));
    await context.addInitScript(watchPage);
    return complaints;
  }

  /** Origins that were requested since `begin`. */
  get origins(): ReadonlySet<string> {
    return this.#origins;
  }

  /** Requests that have no whole answer yet. */
  get unanswered(): string[] {
    return [...this.#unanswered].map((request) => `${request.method()} ${request.url()}`);
  }

  /** begin starts a new list for a test of the server at `url`, and returns it. */
  begin(url: string): readonly string[] {
    this.#origins.clear();
    this.#unanswered.clear();
    this.#host = new URL(url).host;
    this.#texts = [];
    return this.#texts;
  }

  #note(address: string): void {
    if (!/^(https?|wss?):/.test(address)) return;
    const { host, origin } = new URL(address);
    this.#origins.add(origin);
    if (host !== this.#host) this.#texts.push(`a request to ${address}`);
  }
}
