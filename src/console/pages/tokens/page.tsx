import { useMemo, useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { ago, number, time } from "../../format.ts";
import { changeQuery, closeTo, go, linkTo, type Route, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useCall, useNow, WhenLoaded } from "../../ui/call.tsx";
import { type Column, DataTable, useTableView } from "../../ui/data-table.tsx";
import { Search, Segments } from "../../ui/form.tsx";
import { type MenuItem, MoreMenu } from "../../ui/more-menu.tsx";
import { Page } from "../../ui/page.tsx";
import { rich } from "../../ui/rich.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { Account } from "./account.tsx";
import {
  deleteToken,
  deleteTokens,
  ExplainDialog,
  ExplainForm,
  NewSecretDialog,
  PasswordDialog,
  rotateSecret,
  S3KeysDialog,
} from "./actions.tsx";
import { parsePurpose } from "./draft.ts";
import { limitSummary } from "./limits.ts";
import { displayName, isIn, type ListedToken, sortValues, states, toListed, validityOf } from "./model.ts";
import { CreateForm, EditForm } from "./token-form.tsx";
import "./tokens.css";

export default function TokensPage() {
  const { rights } = useSession();
  return (
    <>
      {route.value.query.has("own") ? (
        <OwnToken />
      ) : rights.may("token_list_all_tokens") ? (
        <AllTokens />
      ) : rights.may("token_create") ? (
        <OnlyCreate />
      ) : (
        <OwnToken />
      )}
      <NewSecretDialog />
    </>
  );
}

/** Page for the Super Token: list, create and edit. */
function AllTokens() {
  const list = useCall("token_list_all_tokens", {});
  const back = () => closeTo({}, isList);
  const done = () => {
    back();
    list.reload();
  };
  const editing = route.value.query.get("edit");
  if (route.value.query.has("preset"))
    return (
      <Page key="new" title={t.tokens.newToken}>
        <CreateForm
          key={JSON.stringify(requestedToken())}
          {...requestedToken()}
          onDone={done}
          onCancel={back}
        />
      </Page>
    );
  if (editing !== null)
    return (
      <Page key="edit" title={t.tokens.editAToken}>
        <WhenLoaded of={list} rows={5}>
          {({ tokens }) => (
            <EditView key={editing} token={editable(tokens, editing)} onDone={done} onCancel={back} />
          )}
        </WhenLoaded>
      </Page>
    );
  return (
    <Page
      key="list"
      tall
      title={t.frame.tokens}
      actions={
        <Button icon="plus" kind="primary" onClick={() => go(linkTo("tokens", [], { preset: "webdav" }))}>
          {t.tokens.newToken}
        </Button>
      }
    >
      <WhenLoaded of={list} rows={5}>
        {({ tokens }) => <TokenList tokens={tokens} onChanged={list.reload} />}
      </WhenLoaded>
    </Page>
  );
}

interface TokenListProps {
  /** Tokens in the server's order: the Super Token has the lowest id and is first. */
  readonly tokens: readonly Token[];
  readonly onChanged: () => void;
}

/** Every token of the server: search, filter, sort, and actions on one or several. */
function TokenList({ tokens, onChanged }: TokenListProps) {
  const session = useSession();
  const [opened, setOpened] = useState<{
    readonly dialog: "password" | "explain" | "s3";
    readonly token: Token;
  }>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const now = useNow();
  const everything = t.tokens.everything;
  const all = useMemo(() => toListed(tokens, everything), [tokens, everything]);
  const state = states.find((one) => one === route.value.query.get("state")) ?? "all";
  const inState = useMemo(() => all.filter((listed) => isIn(listed, state, now)), [all, state, now]);
  const actionsOf = ({ token, isSuper }: ListedToken): MenuItem[] => [
    ...(isSuper
      ? []
      : [{ label: t.tokens.edit, icon: "edit" as const, onSelect: () => go(linkToEdit(token)) }]),
    {
      label: t.tokens.whatMayItDo,
      icon: "help",
      onSelect: () => setOpened({ dialog: "explain", token }),
    },
    { label: t.tokens.rotate, icon: "retry", onSelect: () => rotateSecret(session, token) },
    ...(token.token_key === session.me.token_key
      ? [
          {
            label: t.tokens.showS3Keys,
            icon: "lock" as const,
            onSelect: () => setOpened({ dialog: "s3", token }),
          },
        ]
      : []),
    ...(token.username === null
      ? []
      : [
          {
            label: t.tokens.changePassword,
            icon: "lock" as const,
            onSelect: () => setOpened({ dialog: "password", token }),
          },
        ]),
    ...(isSuper
      ? []
      : [
          {
            label: t.frame.delete,
            icon: "trash" as const,
            danger: true,
            onSelect: () => deleteToken(session, token, onChanged),
          },
        ]),
  ];
  const columns = columnsOf(now, session.me, actionsOf);
  const view = useTableView(inState, { columns, text: ({ text }) => text });
  const { shown } = view;
  // Only what is shown can be deleted: nobody should lose a token that a search hides.
  const marked = shown.filter(({ token }) => chosen.has(token.token_key)).map(({ token }) => token);
  const close = () => setOpened(undefined);
  return (
    <>
      <div class="table-bar">
        <Search
          label={t.tokens.find}
          placeholder={t.tokens.findToken}
          tip={t.tokens.findHint}
          value={view.find}
          onChange={view.onFind}
        />
        <Segments
          label={t.tokens.showWhich}
          options={states.map((value) => ({
            value,
            title: [
              `${t.tokens.states[value]} `,
              <small key="count">{number(all.filter((listed) => isIn(listed, value, now)).length)}</small>,
            ],
          }))}
          value={state}
          onChange={(next) => changeQuery({ state: next === "all" ? "" : next })}
        />
      </div>
      <div class="table-count">
        <span class="muted" role="status">
          {marked.length > 0
            ? t.tokens.chosen(t.tokens.countTokens(marked.length))
            : shown.length === all.length
              ? t.tokens.countTokens(all.length)
              : t.tokens.foundOf(shown.length, t.tokens.countTokens(all.length))}
        </span>
        {marked.length > 0 && (
          <>
            <Button
              icon="trash"
              kind="danger"
              onClick={async () => {
                if (!(await deleteTokens(session, marked))) return;
                setChosen(new Set());
                onChanged();
              }}
            >
              {t.tokens.deleteMany(t.tokens.countTokens(marked.length))}
            </Button>
            <Button kind="quiet" onClick={() => setChosen(new Set())}>
              {t.tokens.chooseNone}
            </Button>
          </>
        )}
      </div>
      {shown.length === 0 ? (
        <p class="empty">{t.tokens.noMatch}</p>
      ) : (
        <DataTable
          {...view}
          label={t.frame.tokens}
          class="tokens-table"
          columns={columns}
          rows={shown}
          keyOf={({ token }) => token.token_key}
          nameOf={({ token }) => displayName(token)}
          rowHeight={48}
          height="page"
          selection={{
            chosen,
            onChoose: (keys, on) =>
              setChosen((before) => (on ? before.union(new Set(keys)) : before.difference(new Set(keys)))),
            isFixed: ({ isSuper }) => isSuper,
            labelAll: t.tokens.chooseAll,
            labelOf: ({ token }) => t.tokens.choose(displayName(token)),
          }}
        />
      )}
      {opened?.dialog === "password" && <PasswordDialog token={opened.token} onClose={close} />}
      {opened?.dialog === "explain" && <ExplainDialog token={opened.token} onClose={close} />}
      {opened?.dialog === "s3" && <S3KeysDialog onClose={close} />}
    </>
  );
}

const linkToEdit = ({ token_key }: Token) => linkTo("tokens", [], { edit: token_key });

/** Columns of the list at the time `now`, for the token `me`. */
function columnsOf(
  now: number,
  me: Pick<Token, "token_key">,
  actionsOf: (listed: ListedToken) => readonly MenuItem[],
): ReadonlyArray<Column<ListedToken>> {
  const titles = t.tokens.columns;
  return [
    {
      id: "name",
      title: titles.name,
      sort: sortValues.name,
      tip: ({ token }) => visibleText(token.name ?? displayName(token)),
      cell: (listed) => <Name listed={listed} isOwn={listed.token.token_key === me.token_key} />,
    },
    {
      id: "username",
      title: titles.username,
      from: "wide",
      width: "9%",
      sort: sortValues.username,
      tip: ({ token }) => token.username ?? undefined,
      cell: ({ token }) => token.username ?? none,
    },
    {
      id: "key",
      title: titles.key,
      from: "wide",
      width: "11rem",
      sort: sortValues.key,
      cell: ({ token }) => <code>{token.token_key}</code>,
    },
    {
      id: "rights",
      title: titles.rights,
      from: "medium",
      sort: sortValues.rights,
      tip: ({ rights }) => rights.join("\n"),
      cell: ({ rights }) => rights.join(t.tokens.betweenFamilies),
    },
    {
      id: "created",
      title: titles.created,
      from: "medium",
      width: "8.2rem",
      sort: sortValues.created,
      startsDown: true,
      cell: ({ token: { created_at, created_by } }) => [
        created_at === null ? none : <Time key="at" at={created_at} now={now} />,
        created_by !== null && (
          <small key="by" title={created_by}>
            {t.tokens.createdBy(created_by)}
          </small>
        ),
      ],
    },
    {
      id: "used",
      title: titles.used,
      from: "medium",
      width: "8.2rem",
      sort: sortValues.used,
      startsDown: true,
      cell: ({ token: { last_used_at: used } }) =>
        used === null ? <span class="muted">{t.tokens.neverUsed}</span> : <Time at={used} now={now} />,
    },
    {
      id: "expires",
      title: titles.expires,
      width: "clamp(9rem, 30cqw, 10.2rem)",
      sort: sortValues.expires,
      cell: ({ token }) => <Expiry token={token} now={now} />,
    },
    {
      id: "actions",
      title: t.tokens.actions,
      kind: "actions",
      cell: (listed) => (
        <MoreMenu label={t.tokens.actionsFor(displayName(listed.token))} items={actionsOf(listed)} />
      ),
    },
  ];
}

const none = <span class="muted">–</span>;

function Name({
  listed: { token, isSuper },
  isOwn,
}: {
  readonly listed: ListedToken;
  readonly isOwn: boolean;
}) {
  const title = visibleText(token.name ?? displayName(token));
  return (
    <>
      <div class="tokens-title">
        {isSuper ? <strong>{title}</strong> : <a href={linkToEdit(token)}>{title}</a>}
        {isSuper && <span class="badge accent">{t.frame.superToken}</span>}
        {isOwn && <span class="badge good">{t.tokens.you}</span>}
      </div>
      <small class="below-wide">
        {[token.name === null ? null : token.username, token.token_key]
          .filter((part) => part !== null)
          .join(" · ")}
      </small>
    </>
  );
}

function Time({ at, now }: { readonly at: number; readonly now: number }) {
  return <span title={time(at)}>{ago(at, now)}</span>;
}

const expiryClasses = { expired: "badge bad", early: "badge warn", valid: undefined };

function Expiry({ token, now }: { readonly token: Token; readonly now: number }) {
  const { state, text, short } = validityOf(token, now);
  const isEndless = state === "valid" && token.timestamp_to === null;
  return (
    <span class={isEndless ? "muted" : expiryClasses[state]} title={text}>
      {short}
    </span>
  );
}

interface EditedProps {
  /** Undefined when the token does not exist or cannot be edited. */
  readonly token: Token | undefined;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function EditView({ token, onDone, onCancel }: EditedProps) {
  if (token !== undefined) return <EditForm token={token} onDone={onDone} onCancel={onCancel} />;
  return <p>{rich(t.tokens.notEditable, { link: <a href="#/tokens">{t.tokens.toAllTokens}</a> })}</p>;
}

/** Token with this key. The Super Token cannot be edited. */
function editable(tokens: readonly Token[], key: string): Token | undefined {
  return tokens.find((token) => token.token_key === key && token.super !== true);
}

/** Whether a route shows the list and no form. */
function isList({ query }: Route): boolean {
  return !query.has("preset") && !query.has("edit") && !query.has("own");
}

/** Page about the own token: what it may do, and the sign-in of its person. */
function OwnToken() {
  const { me, rights } = useSession();
  const [showsS3, setShowsS3] = useState(false);
  return (
    <Page
      title={t.tokens.yourToken}
      actions={
        <Button icon="lock" kind="quiet" onClick={() => setShowsS3(true)}>
          {t.tokens.showS3Keys}
        </Button>
      }
    >
      {showsS3 && <S3KeysDialog onClose={() => setShowsS3(false)} />}
      {rights.may("token_list_all_tokens") && <p>{<a href="#/tokens">{t.tokens.toAllTokens}</a>}</p>}
      <Account />
      <section class="card form" aria-label={t.tokens.rights}>
        <h2>{t.tokens.whatItMay}</h2>
        <ul class="tokens-summary">
          {(rights.isSuper ? [t.tokens.everything] : limitSummary(me.token_limit)).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <p class="muted">{sentence(validityOf(me, Date.now()).text)}</p>
      </section>
      <section class="card form" aria-label={t.tokens.whatMayItDo}>
        <h2>{t.tokens.whatMayItDo}</h2>
        <ExplainForm token={me} />
      </section>
    </Page>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Page for a token that may only create others. */
function OnlyCreate() {
  const { me } = useSession();
  const [explaining, setExplaining] = useState(false);
  return (
    <Page
      title={t.tokens.newToken}
      actions={
        <Button icon="help" kind="quiet" onClick={() => setExplaining(true)}>
          {t.tokens.whatMayMine}
        </Button>
      }
    >
      {explaining && <ExplainDialog token={me} onClose={() => setExplaining(false)} />}
      <p>{t.tokens.onlyCreate}</p>
      <CreateForm
        key={JSON.stringify(requestedToken())}
        {...requestedToken()}
        onDone={() => replaceQuery({})}
      />
    </Page>
  );
}

/** Purpose and bucket of the new token, from the address. */
function requestedToken() {
  const { query } = route.value;
  return {
    purpose: parsePurpose(query.get("preset")) ?? "webdav",
    bucket: query.get("bucket") ?? "",
  } as const;
}
