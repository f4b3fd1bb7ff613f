/**
 * The console's other tabs in this browser. Pages of buckets share the origin and can listen and write here too: nothing that is
 * secret is sent, and all that a forged message can do is to sign out.
 */
const channel = new BroadcastChannel(`node-server ${location.pathname}`);
const signedOut = "signed out";

export function tellSignedOut(): void {
  channel.postMessage(signedOut);
}

export function onSignedOutElsewhere(listen: () => void): void {
  channel.addEventListener("message", ({ data }) => {
    if (data === signedOut) listen();
  });
}
