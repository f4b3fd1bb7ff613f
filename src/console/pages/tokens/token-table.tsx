import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { ago, time } from "../../format.ts";
import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Icon } from "../../ui/icons.tsx";
import { type MenuItem, MoreMenu } from "../../ui/more-menu.tsx";
import { useVirtualWindow } from "../../ui/virtual-rows.tsx";
import { visibleText } from "../../ui/visible-text.tsx";
import { displayName } from "./token-actions.ts";
import { type Column, columns, type ListedToken } from "./token-order.ts";
import { validityOf } from "./validity.ts";

/** Height of a row and of the head in pixels, as in table.css. */
const rowHeight = 48;

export interface TokenTableProps {
  readonly tokens: readonly ListedToken[];
  readonly now: number;
  readonly column: Column | undefined;
  readonly isDescending: boolean;
  readonly onSort: (column: Column) => void;
  /** Keys of the chosen tokens. */
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (keys: readonly string[], on: boolean) => void;
  readonly actionsOf: (token: ListedToken) => readonly MenuItem[];
}

/** Table of tokens. Only the rows in view are in the DOM. */
export function TokenTable(props: TokenTableProps) {
  const { tokens, chosen, onChoose, column, isDescending } = props;
  const box = useRef<HTMLDivElement>(null);
  const { first, end, update } = useVirtualWindow(box, tokens.length, rowHeight);
  // Scroll to the top when the order changes.
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = 0;
  }, [column, isDescending]);
  const keys = useMemo(
    () => tokens.filter(({ isSuper }) => !isSuper).map(({ token }) => token.token_key),
    [tokens],
  );
  const hasAll = keys.length > 0 && keys.every((key) => chosen.has(key));
  return (
    <div ref={box} class="table-box tokens-box" onScroll={update}>
      <table class="table tokens-table" aria-label={t.frame.tokens} aria-rowcount={tokens.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th class="tokens-choice">
              <input
                type="checkbox"
                aria-label={t.tokens.chooseAll}
                checked={hasAll}
                disabled={keys.length === 0}
                onChange={() => onChoose(keys, !hasAll)}
              />
            </th>
            {columns.map((column) => (
              <Head key={column} {...props} of={column} />
            ))}
            <th class="tokens-menu">
              <span class="unseen">{t.tokens.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <Spacer rows={first} />
          {tokens.slice(first, end).map((one, at) => (
            <Row
              key={one.token.token_key}
              index={first + at + 2}
              listed={one}
              now={props.now}
              isChosen={chosen.has(one.token.token_key)}
              onChoose={onChoose}
              actionsOf={props.actionsOf}
            />
          ))}
          <Spacer rows={tokens.length - end} />
        </tbody>
      </table>
    </div>
  );
}

/** Space of rows that are not rendered. */
function Spacer({ rows }: { readonly rows: number }) {
  return rows > 0 ? <tr class="spacer" style={{ height: `${rows * rowHeight}px` }} /> : null;
}

interface HeadProps extends Pick<TokenTableProps, "column" | "isDescending" | "onSort"> {
  readonly of: Column;
}

function Head({ of, column, isDescending, onSort }: HeadProps) {
  const isSorted = column === of;
  return (
    <th
      scope="col"
      class={`tokens-${of}`}
      aria-sort={isSorted ? (isDescending ? "descending" : "ascending") : "none"}
    >
      <button type="button" onClick={() => onSort(of)}>
        {t.tokens.columns[of]}
        {isSorted && <Icon name={isDescending ? "sortDown" : "sortUp"} />}
      </button>
    </th>
  );
}

interface RowProps extends Pick<TokenTableProps, "now" | "onChoose" | "actionsOf"> {
  readonly listed: ListedToken;
  /** Position in the whole table, for screen readers. */
  readonly index: number;
  readonly isChosen: boolean;
}

/** It is not rendered again while the table is scrolled, because its props stay the same (see `t`). */
function Row({ listed, index, now, isChosen, onChoose, actionsOf }: RowProps) {
  const { token, isSuper, rights } = listed;
  const { me } = useSession();
  const name = displayName(token);
  const title = visibleText(token.name ?? name);
  return (
    <tr aria-label={name} aria-rowindex={index} class={isChosen ? "chosen" : undefined}>
      <td class="tokens-choice">
        {!isSuper && (
          <input
            type="checkbox"
            aria-label={t.tokens.choose(name)}
            checked={isChosen}
            onChange={() => onChoose([token.token_key], !isChosen)}
          />
        )}
      </td>
      <td class="tokens-name" title={title}>
        <div class="tokens-title">
          {isSuper ? (
            <strong>{title}</strong>
          ) : (
            <a href={linkTo("tokens", [], { edit: token.token_key })}>{title}</a>
          )}
          {isSuper && <span class="badge accent">{t.frame.superToken}</span>}
          {token.token_key === me.token_key && <span class="badge good">{t.tokens.you}</span>}
        </div>
        <small class="tokens-narrow">
          {[token.name === null ? null : token.username, token.token_key]
            .filter((part) => part !== null)
            .join(" · ")}
        </small>
      </td>
      <td class="tokens-username" title={token.username ?? undefined}>
        {token.username ?? none()}
      </td>
      <td class="tokens-key">
        <code>{token.token_key}</code>
      </td>
      <td class="tokens-rights" title={rights.join("\n")}>
        {rights.join(t.tokens.betweenFamilies)}
      </td>
      <td class="tokens-created">
        {token.created_at === null ? none() : <Time at={token.created_at} now={now} />}
        {token.created_by !== null && (
          <small title={token.created_by}>{t.tokens.createdBy(token.created_by)}</small>
        )}
      </td>
      <td class="tokens-used">
        {token.last_used_at === null ? (
          <span class="muted">{t.tokens.neverUsed}</span>
        ) : (
          <Time at={token.last_used_at} now={now} />
        )}
      </td>
      <td class="tokens-expires">
        <Expiry listed={listed} now={now} />
      </td>
      <td class="row-actions tokens-menu">
        <MoreMenu label={t.tokens.actionsFor(name)} items={actionsOf(listed)} />
      </td>
    </tr>
  );
}

function none() {
  return <span class="muted">–</span>;
}

function Time({ at, now }: { readonly at: number; readonly now: number }) {
  return <span title={time(at)}>{ago(at, now)}</span>;
}

const badges = { expired: "badge bad", early: "badge warn" };

function Expiry({ listed: { token }, now }: { readonly listed: ListedToken; readonly now: number }) {
  const { state, text, short } = validityOf(token, now);
  if (state !== "valid")
    return (
      <span class={badges[state]} title={text}>
        {short}
      </span>
    );
  return (
    <span class={token.timestamp_to === null ? "muted" : undefined} title={text}>
      {short}
    </span>
  );
}
