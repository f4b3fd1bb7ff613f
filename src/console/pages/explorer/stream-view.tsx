import { useEffect, useRef, useState } from "preact/hooks";
import type { ParamsOf, SubscriptionName } from "../../../client/index.ts";
import { sentences } from "../../format.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Code, errorText } from "./answer.tsx";

/** Count of latest events to keep. */
const maxEvents = 200;

interface StreamEvent {
  readonly id: number;
  readonly text: string;
}

export interface StreamViewProps {
  readonly method: string;
  /** Undefined while the form has problems. */
  readonly params: Readonly<Record<string, unknown>> | undefined;
}

/** Runs a subscription over its own WebSocket until it is stopped or the page is left. */
export function StreamView({ method, params }: StreamViewProps) {
  const { client } = useSession();
  const stop = useRef<AbortController>(undefined);
  const [state, setState] = useState<"stopped" | "connecting" | "running" | "broken">("stopped");
  const [events, setEvents] = useState<readonly StreamEvent[]>([]);
  const [count, setCount] = useState(0);
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    stop.current = controller;
    setEvents([]);
    setCount(0);
    setFailure(undefined);
    setState("connecting");
    let received = 0;
    try {
      const stream = client.subscribe(method as SubscriptionName, params as ParamsOf<SubscriptionName>, {
        signal: controller.signal,
        onConnect: () => setState("running"),
        onBreak: () => setState("broken"),
      });
      for await (const event of stream) {
        received += 1;
        const one = { id: received, text: JSON.stringify(event, null, 2) };
        setCount(received);
        setEvents((before) => [one, ...before.slice(0, maxEvents - 1)]);
      }
    } catch (error) {
      setFailure(error);
    }
    setState("stopped");
  };
  return (
    <section class="form" aria-label={t.api.events}>
      <div class="row">
        {state === "stopped" ? (
          <Button icon="play" kind="primary" disabled={params === undefined} onClick={() => void start()}>
            {t.api.start}
          </Button>
        ) : (
          <Button icon="pause" onClick={() => stop.current?.abort()}>
            {t.api.stop}
          </Button>
        )}
        <span class="muted" role="status">
          {sentences(
            stateLabels[state],
            t.api.countEvents(count),
            count > maxEvents && t.api.lastShown(maxEvents),
          )}
        </span>
      </div>
      {failure !== undefined && <Problem error={new Error(errorText(failure))} />}
      <ol class="explorer-events">
        {events.map(({ id, text }) => (
          <li key={id}>
            <Code label={t.api.event(id)} text={text} />
          </li>
        ))}
      </ol>
    </section>
  );
}

const stateLabels = {
  get stopped() {
    return t.api.notRunning;
  },
  get connecting() {
    return t.api.connecting;
  },
  get running() {
    return t.api.running;
  },
  get broken() {
    return t.api.broke;
  },
};
