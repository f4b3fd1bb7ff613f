import { replaceQuery, route } from "../../route.ts";
import { t } from "../../text/text.ts";
import { Sparkline } from "../../ui/sparkline.tsx";
import { type Samples, thinned } from "./history.ts";
import { formatValue, tileValue, tileValues } from "./measure-values.ts";
import { type Measure, measures } from "./measures.ts";

const sparklinePoints = 60;

interface TilesProps {
  /** The last hour. */
  readonly hour: Samples;
  readonly chosen: Measure;
}

/** What the server does now, with the last hour as a small line. A tile chooses the chart below. */
export function Tiles({ hour, chosen }: TilesProps) {
  return (
    <fieldset class="tiles overview-tiles">
      <legend class="unseen">{t.overview.tiles}</legend>
      {measures.map((measure) => (
        <Tile key={measure.id} measure={measure} hour={hour} isChosen={measure === chosen} />
      ))}
    </fieldset>
  );
}

interface TileProps {
  readonly measure: Measure;
  readonly hour: Samples;
  readonly isChosen: boolean;
}

function Tile({ measure, hour, isChosen }: TileProps) {
  const title = t.overview.measures[measure.id];
  const value = tileValue(hour, measure);
  const values = thinned(tileValues(hour, measure), sparklinePoints);
  const known = values.filter((one) => one !== undefined);
  const label =
    known.length === 0
      ? t.overview.notMeasured
      : t.overview.lastHour(
          formatValue(Math.min(...known), measure.unit),
          formatValue(Math.max(...known), measure.unit),
        );
  const isBad = measure.id === "errors" && (value ?? 0) > 0;
  return (
    <button type="button" class="tile" aria-pressed={isChosen} onClick={() => choose(measure)}>
      <span class="tile-title">{title}</span>
      <span class={isBad ? "tile-value bad" : "tile-value"}>
        {value === undefined ? "–" : formatValue(value, measure.unit)}
      </span>
      <Sparkline values={values} label={label} />
    </button>
  );
}

function choose({ id }: Measure): void {
  replaceQuery({ ...Object.fromEntries(route.value.query), chart: id });
}
