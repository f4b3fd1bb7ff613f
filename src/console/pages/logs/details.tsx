import { IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { LevelBadge } from "./level-badge.tsx";
import { fieldText, lineText, preciseTime } from "./line.ts";
import type { Row } from "./rows.ts";

export interface DetailsProps {
  readonly row: Row;
  readonly onMove: (by: -1 | 1) => void;
  readonly onClose: () => void;
}

/** All of one entry. Screen readers announce it when another one is selected. */
export function Details({ row, onMove, onClose }: DetailsProps) {
  return (
    <section class="card logs-details" aria-label="Selected entry">
      <header>
        <h2>Entry</h2>
        <IconButton icon="up" label="Previous entry" onClick={() => onMove(-1)} />
        <IconButton icon="down" label="Next entry" onClick={() => onMove(1)} />
        <IconButton icon="close" label="Close the entry" onClick={onClose} />
      </header>
      <section class="logs-details-text" aria-live="polite" tabIndex={0} aria-label="Content of the entry">
        {row.kind === "entry" ? <Entry row={row} /> : <p>{lineText(row)}.</p>}
      </section>
    </section>
  );
}

function Entry({ row }: { readonly row: Extract<Row, { kind: "entry" }> }) {
  const { timestamp, level, target, message, fields, spans } = row.entry;
  const named = Object.entries(fields);
  return (
    <>
      <p class="row">
        <LevelBadge level={level} />
        <code>{target}</code>
        <time class="muted" dateTime={timestamp}>
          {preciseTime(timestamp)}
        </time>
      </p>
      <p class="logs-details-message">{message}</p>
      {named.length > 0 && (
        <>
          <h3>Fields</h3>
          <dl class="facts">
            {named.map(([name, value]) => (
              <Fact key={name} name={name} value={pretty(value)} />
            ))}
          </dl>
        </>
      )}
      {spans.length > 0 && (
        <>
          <h3>Spans, outermost first</h3>
          <ol class="logs-spans">
            {spans.map(({ name, fields: text }, at) => (
              <li key={at}>
                <code>{name}</code> <code class="muted">{text}</code>
              </li>
            ))}
          </ol>
        </>
      )}
      <div class="row">
        <CopyButton text={JSON.stringify(row.entry)} label="Copy as JSON" />
      </div>
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>
        <code>{name}</code>
      </dt>
      <dd>
        <code>{value}</code>
      </dd>
    </>
  );
}

function pretty(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : fieldText(value);
}
