import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { number } from "../../format.ts";
import { t } from "../../text/text.ts";
import { IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Field, Form, Segments, typed } from "../../ui/form.tsx";
import {
  type FilterError,
  levelOf,
  levels,
  type RangeName,
  ranges,
  unknownNames,
  withLevel,
} from "./model.ts";

interface FilterBoxProps {
  readonly filter: string;
  readonly filterError: FilterError | undefined;
  readonly onApply: (filter: string) => void;
}

/** Pause in typing after which the filter is applied: long enough to continue after a comma. */
const applyDelayMs = 900;

/** Filter to use when the address names none. */
export const defaultFilter = "info";

/** Input of the server's filter. It is applied by Enter or after a pause. */
export function FilterBox({ filter, filterError, onApply }: FilterBoxProps) {
  const [text, setText] = useState(filter);
  // Before the next paint: later it would replace what was typed since.
  useLayoutEffect(() => setText(filter), [filter]);
  useEffect(() => {
    // An empty input is about to be filled.
    if (text === filter || text.trim() === "") return;
    const timer = setTimeout(() => onApply(text), applyDelayMs);
    return () => clearTimeout(timer);
  }, [text, filter]);
  const apply = () => {
    const wanted = text.trim() === "" ? defaultFilter : text;
    setText(wanted);
    onApply(wanted);
  };
  const changed = text !== filter;
  // No hint while typing: half of a name is unknown too.
  const hint = changed || filterError !== undefined ? undefined : unknownNames(filter);
  return (
    <Form class="logs-filter" onSubmit={apply}>
      <Field label={t.logs.filter} hint={hint} error={changed ? undefined : filterError?.why}>
        <input
          type="text"
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder="info,db=trace"
          title={t.logs.filterTitle}
          onInput={(event: Event) => setText(typed(event))}
        />
      </Field>
      {!changed && filterError !== undefined && (
        <p class="logs-filter-place">
          <code>
            {filterError.before}
            <mark>{filterError.wrong === "" ? " " : filterError.wrong}</mark>
            {filterError.after}
          </code>
        </p>
      )}
    </Form>
  );
}

interface SearchBoxProps {
  readonly text: string;
  readonly only: boolean;
  readonly found: number;
  /** Ordinal of the current match, from 1; 0 for none. */
  readonly at: number;
  readonly onText: (text: string) => void;
  readonly onOnly: (only: boolean) => void;
  readonly onStep: (by: -1 | 1) => void;
}

/** Search in the listed entries. */
export function SearchBox({ text, only, found, at, onText, onOnly, onStep }: SearchBoxProps) {
  return (
    <search class="logs-search">
      <Field label={t.logs.search}>
        <input
          type="search"
          value={text}
          spellcheck={false}
          autocomplete="off"
          placeholder={t.logs.searchHint}
          onInput={(event: Event) => onText(typed(event))}
          onKeyDown={(event: KeyboardEvent) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            onStep(event.shiftKey ? -1 : 1);
          }}
        />
      </Field>
      {text !== "" && (
        <div class="logs-search-steps">
          <IconButton
            icon="up"
            label={t.logs.previousMatch}
            disabled={found === 0}
            onClick={() => onStep(-1)}
          />
          <IconButton icon="down" label={t.logs.nextMatch} disabled={found === 0} onClick={() => onStep(1)} />
          <output aria-label={t.logs.matches}>{matchText(found, at)}</output>
          <Check label={t.logs.onlyMatches} checked={only} onChange={onOnly} />
        </div>
      )}
    </search>
  );
}

function matchText(found: number, at: number): string {
  const all = number(found);
  if (at > 0) return t.logs.matchOf(number(at), all);
  return t.logs.countMatches(found);
}

interface LevelBarProps {
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  readonly range: RangeName;
  /** Values of `datetime-local` inputs. */
  readonly from: string;
  readonly to: string;
  readonly onRange: (change: Readonly<Record<"range" | "from" | "to", string>>) => void;
}

/** Buttons for the level, and the time range of what is listed. */
export function LevelBar({ filter, onFilter, range, from, to, onRange }: LevelBarProps) {
  const [explains, setExplains] = useState(false);
  return (
    <div class="logs-levels">
      <Segments
        label={t.logs.level}
        options={levels.map((value) => ({
          value,
          title: t.logs.levels[value],
          tip: t.logs.levelTitles[value],
        }))}
        value={levelOf(filter)}
        onChange={(level) => onFilter(withLevel(filter, level))}
      />
      <IconButton icon="help" label={t.logs.grammar} onClick={() => setExplains(true)} />
      <select
        aria-label={t.logs.timeRange}
        value={range}
        onChange={(event: Event) => onRange({ range: typed(event), from, to })}
      >
        {ranges.map((one) => (
          <option key={one} value={one}>
            {t.logs.ranges[one]}
          </option>
        ))}
      </select>
      {range === "custom" && (
        <div class="logs-times">
          <input
            type="datetime-local"
            step={1}
            aria-label={t.logs.from}
            title={t.logs.from}
            value={from}
            onInput={(event: Event) => onRange({ range, from: typed(event), to })}
          />
          <span aria-hidden="true">–</span>
          <input
            type="datetime-local"
            step={1}
            aria-label={t.logs.to}
            title={t.logs.to}
            value={to}
            onInput={(event: Event) => onRange({ range, from, to: typed(event) })}
          />
        </div>
      )}
      {explains && <GrammarDialog onClose={() => setExplains(false)} onPick={onFilter} />}
    </div>
  );
}

const examples = ["info", "warn,token=debug", "off,rpc=trace", "info,audit=off"] as const;

/** How a filter is written, with examples that can be tried. */
function GrammarDialog({
  onClose,
  onPick,
}: {
  readonly onClose: () => void;
  readonly onPick: (filter: string) => void;
}) {
  return (
    <Dialog title={t.logs.grammar} onClose={onClose} closesOnBackdrop>
      <p>{t.logs.grammarText}</p>
      <p>{t.logs.grammarDb}</p>
      <dl class="facts logs-grammar">
        {examples.map((filter) => (
          <Example
            key={filter}
            filter={filter}
            onPick={() => {
              onPick(filter);
              onClose();
            }}
          />
        ))}
      </dl>
    </Dialog>
  );
}

function Example({
  filter,
  onPick,
}: {
  readonly filter: (typeof examples)[number];
  readonly onPick: () => void;
}) {
  return (
    <>
      <dt>
        <button type="button" class="button" onClick={onPick}>
          <code>{filter}</code>
        </button>
      </dt>
      <dd>{t.logs.examples[filter]}</dd>
    </>
  );
}
