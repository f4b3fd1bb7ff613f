import type { Reading } from "./reading.ts";

/** Whether entries come, in a word. */
export function Status({ reading }: { readonly reading: Reading }) {
  const [kind, word, more] = inWords(reading);
  return (
    <span role="status" class={`badge ${kind}`} title={more}>
      {word}
    </span>
  );
}

function inWords(reading: Reading): readonly [kind: string, word: string, more: string] {
  const now = reading.standing.value;
  if (now.state === "failed") return ["bad", "Stopped", "Nothing comes any more"];
  if (now.state === "broken") return ["warn", "Reconnecting…", now.why];
  if (now.state === "connecting")
    return reading.refusal.value === undefined
      ? ["", "Connecting…", "The log is being asked for"]
      : ["bad", "Stopped", "The filter is not readable"];
  return reading.paused.value
    ? ["accent", "Paused", "New entries wait until you go on"]
    : ["good", "Live", "New entries appear as they are written"];
}
