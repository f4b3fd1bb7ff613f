import { useEffect, useState } from "preact/hooks";
import type { NodeServerClient } from "../../../client/index.ts";
import type { Mark } from "../../editor/props.ts";
import { problemsOf } from "./problems.ts";

export interface Checked {
  /** What is told below is about an older text. */
  readonly checking: boolean;
  /** There was no answer yet. */
  readonly isFirst: boolean;
  readonly problems: readonly Mark[];
  /** The check itself failed. */
  readonly error: unknown;
}

/** Somebody who types is left alone. */
const pauseMs = 300;

const nothing: readonly Mark[] = [];
const unknown: Checked = { checking: true, isFirst: true, problems: nothing, error: undefined };

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
): Promise<Pick<Checked, "problems" | "error">> {
  try {
    await client.call("node-server_check_config", { config_string: text }, { signal });
    return { problems: nothing, error: undefined };
  } catch (error) {
    const problems = problemsOf(error);
    return problems === undefined ? { problems: nothing, error } : { problems, error: undefined };
  }
}
