import { Fault } from "../../base/fault.ts";

/** Asks on the terminal without echoing the answer. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY)
    throw new Fault(
      "Other",
      "a token is needed: set NODE_SERVER_TOKEN, or run this on a terminal to be asked",
    );
  // The echo is off before the question is shown: an answer pasted at once would be visible otherwise.
  stdin.setRawMode(true);
  try {
    stderr.write(question);
    let typed = "";
    for await (const chunk of stdin) {
      for (const key of String(chunk)) {
        if (key === "\r" || key === "\n") return typed;
        if (key === "\u0003") throw new Fault("Other", "interrupted");
        typed = key === "\u007f" || key === "\b" ? typed.slice(0, -1) : typed + key;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}
