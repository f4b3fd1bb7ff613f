import { useState } from "preact/hooks";
import { t } from "../../text/text.ts";
import { IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { typed } from "../../ui/form.tsx";
import { levelOf, levels, withLevel } from "./level-filter.ts";
import { type RangeName, ranges } from "./time-range.ts";

export interface LevelBarProps {
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
  const level = levelOf(filter);
  return (
    <div class="logs-levels">
      <fieldset class="segments">
        <legend class="unseen">{t.logs.level}</legend>
        {levels.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={level === one}
            title={t.logs.levelTitles[one]}
            onClick={() => onFilter(withLevel(filter, one))}
          >
            {t.logs.levels[one]}
          </button>
        ))}
      </fieldset>
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
