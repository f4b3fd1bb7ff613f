import { version } from "../brand.tsx";
import { linkTo } from "../route.ts";
import { t } from "../text/text.ts";
import { Dialog } from "../ui/dialog.tsx";
import { rich } from "../ui/rich.tsx";
import { type KeyboardDialogProps, paletteKey } from "./dialogs.ts";

/** Help about the page, where its documentation is, and the shortcuts. */
export function Help({ current, onClose }: KeyboardDialogProps) {
  return (
    <Dialog title={t.help.title} onClose={onClose} closesOnBackdrop>
      {current !== undefined && (
        <section class="form" aria-label={current.title()}>
          <h3>{current.title()}</h3>
          <p>{t.help.pages[current.path]}</p>
          <p class="muted">
            {rich(t.help.documentation, {
              file: (
                <a href={linkTo("docs", [current.docs])} onClick={onClose}>
                  {current.docs}
                </a>
              ),
              version: version.value,
            })}
          </p>
        </section>
      )}
      <section class="form" aria-label={t.help.shortcuts}>
        <h3>{t.help.shortcuts}</h3>
        <dl class="facts">
          {keys().map(([key, text]) => (
            <div key={key} class="shortcut">
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </section>
    </Dialog>
  );
}

function keys(): ReadonlyArray<readonly [string, string]> {
  return [
    [paletteKey, t.help.keyPalette],
    ["/", t.help.keySearch],
    ["?", t.help.keyHelp],
    ["Esc", t.help.keyEscape],
    ["↑ ↓", t.help.keyArrows],
    ["F2", t.help.keyRename],
    ["Ctrl+S", t.help.keySave],
    ["Ctrl+Enter", t.help.keyRun],
  ];
}
