import { useEffect, useRef, useState } from "preact/hooks";
import type { ParamsOf, SubscriptionName } from "../../../client/index.ts";
import { plural } from "../../format.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { errorWords } from "./answer.ts";
import { Code } from "./code.tsx";

/** So many of the last events are kept. */
const mostKept = 200;

interface Heard {
  readonly id: number;
  readonly text: string;
}

export interface StreamViewProps {
  readonly method: string;
  /** Undefined while something in the form cannot be sent. */
  readonly params: Readonly<Record<string, unknown>> | undefined;
}

/** A subscription, over a WebSocket of its own, until it is stopped or the page is left. */
export function StreamView({ method, params }: StreamViewProps) {
  const { client } = useSession();
  const stop = useRef<AbortController>(undefined);
  const [state, setState] = useState<"stopped" | "connecting" | "running" | "broken">("stopped");
  const [events, setEvents] = useState<readonly Heard[]>([]);
  const [count, setCount] = useState(0);
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    const own = new AbortController();
    stop.current = own;
    setEvents([]);
    setCount(0);
    setFailure(undefined);
    setState("connecting");
    let heard = 0;
    try {
      const stream = client.subscribe(method as SubscriptionName, params as ParamsOf<SubscriptionName>, {
        signal: own.signal,
        onConnect: () => setState("running"),
        onBreak: () => setState("broken"),
      });
      for await (const event of stream) {
        heard += 1;
        const one = { id: heard, text: JSON.stringify(event, null, 2) };
        setCount(heard);
        setEvents((before) => [one, ...before.slice(0, mostKept - 1)]);
      }
    } catch (error) {
      setFailure(error);
    }
    setState("stopped");
  };
  return (
    <section class="form" aria-label="Events">
      <div class="row">
        {state === "stopped" ? (
          <Button icon="play" kind="primary" disabled={params === undefined} onClick={() => void start()}>
            Start
          </Button>
        ) : (
          <Button icon="pause" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        )}
        <span class="muted" role="status">
          {stateWords[state]} {plural(count, "event")}
          {count > mostKept && `, the last ${mostKept} are shown`}.
        </span>
      </div>
      {failure !== undefined && <Problem error={new Error(errorWords(failure))} />}
      <ol class="explorer-events">
        {events.map(({ id, text }) => (
          <li key={id}>
            <Code label={`Event ${id}`} text={text} />
          </li>
        ))}
      </ol>
    </section>
  );
}

const stateWords = {
  stopped: "Not running.",
  connecting: "Connecting…",
  running: "Running.",
  broken: "The connection broke; it is made again.",
};
