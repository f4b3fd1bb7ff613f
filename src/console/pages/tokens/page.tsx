import type { Token } from "../../../client/index.ts";
import { closeTo, go, linkTo, type Route, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { CreateForm } from "./create-form.tsx";
import { EditForm } from "./edit-form.tsx";
import { MadeDialog } from "./made-dialog.tsx";
import { purposeNamed } from "./purposes.ts";
import { TokenList } from "./token-list.tsx";

export default function TokensPage() {
  const { rights } = useSession();
  return (
    <>
      {rights.isSuper ? <AllTokens /> : <OnlyCreate />}
      <MadeDialog />
    </>
  );
}

/** What the Super Token sees. */
function AllTokens() {
  const { client } = useSession();
  const { value, error, reload } = useLoad(
    async (signal) => (await client.call("token_list_all_tokens", {}, { signal })).tokens,
    [client],
  );
  const back = () => closeTo({}, isList);
  const done = () => {
    back();
    reload();
  };
  const editing = route.value.query.get("edit");
  if (route.value.query.has("preset"))
    return (
      <Page key="new" title="New token">
        <CreateForm key={JSON.stringify(asked())} {...asked()} onDone={done} onCancel={back} />
      </Page>
    );
  if (editing !== null)
    return (
      <Page key="edit" title="Edit a token">
        {error !== undefined && <Problem error={error} retry={reload} />}
        {value === undefined && error === undefined && <p class="loading">Loading…</p>}
        {value !== undefined && (
          <Edited key={editing} token={editable(value, editing)} onDone={done} onCancel={back} />
        )}
      </Page>
    );
  return (
    <Page
      key="list"
      title="Tokens"
      actions={
        <Button icon="plus" kind="primary" onClick={() => go(linkTo("tokens", [], { preset: "webdav" }))}>
          New token
        </Button>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && (
        <TokenList
          tokens={value}
          onEdit={({ token_key }) => go(linkTo("tokens", [], { edit: token_key }))}
          onChanged={reload}
        />
      )}
    </Page>
  );
}

interface EditedProps {
  /** Undefined when there is none to edit. */
  readonly token: Token | undefined;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function Edited({ token, onDone, onCancel }: EditedProps) {
  if (token !== undefined) return <EditForm token={token} onDone={onDone} onCancel={onCancel} />;
  return (
    <p>
      No token with this key can be edited. It may have been deleted. <a href="#/tokens">Go to all tokens.</a>
    </p>
  );
}

/** The Super Token is the first of the list, and cannot be edited. */
function editable(tokens: readonly Token[], key: string): Token | undefined {
  return tokens.slice(1).find(({ token_key }) => token_key === key);
}

/** Neither form is open there. */
function isList({ query }: Route): boolean {
  return !query.has("preset") && !query.has("edit");
}

/** What a token sees that may make others, and nothing more. */
function OnlyCreate() {
  return (
    <Page title="New token">
      <p>
        Your token can make others, with permissions that it holds itself. The list of all tokens is for the
        Super Token alone.
      </p>
      <CreateForm key={JSON.stringify(asked())} {...asked()} onDone={() => replaceQuery({})} />
    </Page>
  );
}

/** What the address says of the token to make. */
function asked() {
  const { query } = route.value;
  return {
    purpose: purposeNamed(query.get("preset")) ?? "webdav",
    bucket: query.get("bucket") ?? "",
  } as const;
}
