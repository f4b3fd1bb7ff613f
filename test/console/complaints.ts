import type { BrowserContext } from "playwright-core";

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
 * Collects all problems of a browser context, in any of its pages: errors and warnings in the browser's console, uncaught exceptions,
 * unhandled rejections, red toasts and problem boxes, dialogs that start on "Close", and requests to servers other than `origin`.
 */
export async function collectComplaints(context: BrowserContext, origin: string): Promise<string[]> {
  const complaints: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  context.on("weberror", (webError) => complaints.push(String(webError.error())));
  context.on("request", (request) => {
    const url = request.url();
    if (/^(https?|wss?):/.test(url) && new URL(url).host !== new URL(origin).host)
      complaints.push(`a request to ${url}`);
  });
  await context.exposeBinding(bindingName, (_, text: string) => complaints.push(text));
  await context.addInitScript(watchPage);
  return complaints;
}
