/**
 * The console's other tabs in this browser. Pages of buckets share the origin and can listen and write here too: nothing that is
 * secret is sent, and all that a forged message can do is to sign out, or to reload a tab that waits for a sign-in and holds nothing unsaved.
 */
const channel = new BroadcastChannel(`node-server ${location.pathname}`);
const signedOut = "signed out";
const signedIn = "signed in";

export function tellSignedOut(): void {
  channel.postMessage(signedOut);
}

/** To be called when the browser keeps the token, so that other tabs can resume with it. */
export function tellSignedIn(): void {
  channel.postMessage(signedIn);
}

export function onSignedOutElsewhere(listen: () => void): void {
  on(signedOut, listen);
}

export function onSignedInElsewhere(listen: () => void): void {
  on(signedIn, listen);
}

function on(message: string, listen: () => void): void {
  channel.addEventListener("message", ({ data }) => {
    if (data === message) listen();
  });
}
