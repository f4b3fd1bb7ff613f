import { useEffect, useState } from "preact/hooks";
import type { NodeServerClient } from "../../../client/index.ts";
import { untilReachable } from "../../connection.ts";
import { type Finding, findingsIn, problemsOf } from "./problems.ts";

export interface Checked {
  /** What is told below is about an older text. */
  readonly checking: boolean;
  /** There was no answer yet. */
  readonly isFirst: boolean;
  readonly problems: readonly Finding[];
  /** The server takes the text all the same. */
  readonly warnings: readonly Finding[];
  /** The check itself failed. */
  readonly error: unknown;
}

/** Somebody who types is left alone. */
const pauseMs = 300;

const clean = { problems: [], warnings: [], error: undefined } as const;
const unknown: Checked = { checking: true, isFirst: true, ...clean };

/** What the server has against a text, asked whenever it has not changed for a moment; older answers are dropped. */
export function useCheck(client: NodeServerClient, text: string | undefined): Checked {
  const [checked, setChecked] = useState<Checked>(unknown);
  useEffect(() => {
    if (text === undefined) return;
    setChecked((before) => ({ ...before, checking: true }));
    const leave = new AbortController();
    const check = async () => {
      const next = await checkText(client, text, leave.signal);
      if (!leave.signal.aborted) setChecked({ checking: false, isFirst: false, ...next });
    };
    const timer = setTimeout(check, pauseMs);
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [client, text]);
  return checked;
}

export async function checkText(
  client: NodeServerClient,
  text: string,
  signal?: AbortSignal,
): Promise<Pick<Checked, "problems" | "warnings" | "error">> {
  try {
    const { warnings } = await untilReachable(
      () => client.call("node-server_check_config", { config_string: text }, { signal }),
      signal,
    );
    return { ...clean, warnings: findingsIn(warnings) };
  } catch (error) {
    const problems = problemsOf(error);
    return problems === undefined ? { ...clean, error } : { ...clean, problems };
  }
}
