import { linkTo } from "../../route.ts";
import { t } from "../../text/text.ts";
import { IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icons.tsx";
import { LevelBadge } from "./list.tsx";
import type { Row } from "./model.ts";
import { fieldText, lineText, methodOf, preciseTime } from "./model.ts";

interface DetailsProps {
  readonly row: Row;
  readonly onMove: (by: -1 | 1) => void;
  readonly onClose: () => void;
}

/** All of one entry. Screen readers announce it when another one is selected. */
export function Details({ row, onMove, onClose }: DetailsProps) {
  return (
    <section class="card logs-details" aria-label={t.logs.selected}>
      <header>
        <h2>{t.logs.entry}</h2>
        <IconButton icon="up" label={t.logs.previousEntry} onClick={() => onMove(-1)} />
        <IconButton icon="down" label={t.logs.nextEntry} onClick={() => onMove(1)} />
        <IconButton icon="close" label={t.logs.closeEntry} onClick={onClose} />
      </header>
      <section class="logs-details-text" aria-live="polite" tabIndex={0} aria-label={t.logs.entryContent}>
        {row.kind === "entry" ? <Entry row={row} /> : <p>{lineText(row)}.</p>}
      </section>
    </section>
  );
}

function Entry({ row }: { readonly row: Extract<Row, { kind: "entry" }> }) {
  const { timestamp, level, target, message, fields, spans } = row.entry;
  const named = Object.entries(fields);
  const method = methodOf(row.entry);
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
          <h3>{t.logs.fields}</h3>
          <dl class="facts">
            {named.map(([name, value]) => (
              <Fact key={name} name={name} value={pretty(value)} />
            ))}
          </dl>
        </>
      )}
      {spans.length > 0 && (
        <>
          <h3>{t.logs.spans}</h3>
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
        {method !== undefined && (
          <a class="button" href={linkTo("api", [method])}>
            <Icon name="api" />
            <span>{t.logs.toMethod(method)}</span>
          </a>
        )}
        <CopyButton text={JSON.stringify(row.entry)} label={t.logs.copyJson} />
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
