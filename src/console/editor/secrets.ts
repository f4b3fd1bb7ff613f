import type { Extension } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

const secret = Decoration.mark({ class: "cm-secret" });

/** Shows what a pattern finds as dots; it stays text that can be edited and copied. */
export function dotted(pattern: RegExp): Extension {
  const finder = new MatchDecorator({ regexp: pattern, decoration: secret });
  return ViewPlugin.define<{ found: DecorationSet; update(update: ViewUpdate): void }>(
    (view) => ({
      found: finder.createDeco(view),
      update(update) {
        this.found = finder.updateDeco(update, this.found);
      },
    }),
    { decorations: ({ found }) => found },
  );
}
