import { useEffect, useState } from "preact/hooks";
import type { NodeServerClient } from "../../../client/index.ts";
import { untilReachable } from "../../connection.ts";
import type { Position } from "../../editor/props.ts";
import { t } from "../../text/text.ts";
import { Problem } from "../../ui/problem.tsx";
import { type Finding, findingsIn, problemsOf } from "./problems.ts";

interface CheckResult {
  /** Whether a check is running; the other fields are about an older text. */
  readonly checking: boolean;
  /** Whether there was no answer yet. */
  readonly isFirst: boolean;
  readonly problems: readonly Finding[];
  /** Findings that do not prevent saving. */
  readonly warnings: readonly Finding[];
  /** Error of the check itself. */
  readonly error: unknown;
}

/** Pause in typing before the text is checked. */
const checkDelayMs = 300;

const clean = { problems: [], warnings: [], error: undefined } as const;
const initial: CheckResult = { checking: true, isFirst: true, ...clean };

/** Checks a text on the server after each pause in typing. Results of older texts are dropped. */
export function useCheck(client: NodeServerClient, text: string | undefined): CheckResult {
  const [checked, setChecked] = useState<CheckResult>(initial);
  useEffect(() => {
    if (text === undefined) return;
    setChecked((before) => ({ ...before, checking: true }));
    const abort = new AbortController();
    const check = async () => {
      const next = await checkText(client, text, abort.signal);
      if (!abort.signal.aborted) setChecked({ checking: false, isFirst: false, ...next });
    };
    const timer = setTimeout(check, checkDelayMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [client, text]);
  return checked;
}

export async function checkText(
  client: NodeServerClient,
  text: string,
  signal?: AbortSignal,
): Promise<Pick<CheckResult, "problems" | "warnings" | "error">> {
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

interface ProblemListProps {
  readonly checked: CheckResult;
  /** Whether saving this text was refused. */
  readonly isRefused: boolean;
  readonly onGoTo: (position: Position) => void;
}

/** Problems and warnings of the text. */
export function ProblemList({ checked, isRefused, onGoTo }: ProblemListProps) {
  const { checking, isFirst, problems, warnings, error } = checked;
  const isClean = error === undefined && problems.length === 0 && warnings.length === 0;
  return (
    <section class="config-check" aria-label={t.config.check} aria-busy={checking}>
      {error !== undefined && <Problem error={error} />}
      <div aria-live="polite">
        {isRefused && problems.length > 0 && (
          <p class="fault">
            <strong>{t.config.refused}</strong>
          </p>
        )}
        {isClean && <p class="muted">{isFirst ? t.config.checking : t.config.nothingWrong}</p>}
        <Sentences findings={problems} class="fault" onGoTo={onGoTo} />
        <Warnings warnings={warnings} onGoTo={onGoTo} />
      </div>
    </section>
  );
}

interface WarningsProps {
  readonly warnings: readonly Finding[];
  /** Called to go to a position. Without it positions are shown as text. */
  readonly onGoTo?: ProblemListProps["onGoTo"];
}

/** Warnings, which do not prevent saving. */
export function Warnings({ warnings, onGoTo }: WarningsProps) {
  if (warnings.length === 0) return null;
  return (
    <div class="notice config-warnings">
      <div>
        <strong>{t.config.countWarnings(warnings.length)}</strong>
        <Sentences findings={warnings} {...(onGoTo === undefined ? {} : { onGoTo })} />
      </div>
    </div>
  );
}

interface SentencesProps {
  readonly findings: readonly Finding[];
  readonly class?: string;
  readonly onGoTo?: ProblemListProps["onGoTo"];
}

function Sentences({ findings, class: className, onGoTo }: SentencesProps) {
  return findings.map(({ message, line, column }) => (
    <p key={`${line} ${column} ${message}`} class={className}>
      {message}{" "}
      {line !== undefined &&
        column !== undefined &&
        (onGoTo === undefined ? (
          t.config.position(line, column)
        ) : (
          <button type="button" class="config-position" onClick={() => onGoTo({ line, column })}>
            {t.config.goTo(line, column)}
          </button>
        ))}
    </p>
  ));
}
