import { inBrowser, openConsole, testNode } from "./browser.ts";

inBrowser("an update of which nothing more can be heard is told as such, and not waited for", async () => {
  await using node = await testNode({ top: 'release_url = "http://127.0.0.1:9/"\n' });
  await using tab = await openConsole(node, {
    at: "/update",
    expected: /Failed to load|ERR_|WebSocket|was not updated to v99/,
  });
  const { page } = tab;
  // A proxy that blocks WebSockets and times out slow answers.
  await page.routeWebSocket("**/jsonrpc", (socket) => socket.close());
  await page.route("**/jsonrpc", (route) =>
    route.request().postData()?.includes("self_update") ? route.abort() : route.continue(),
  );
  await page.getByLabel("Tag of the release").fill("v99.0.0");
  await page.getByRole("button", { name: "Update" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Update" }).click();
  await page.getByText(/The connection was lost/).waitFor();
});
