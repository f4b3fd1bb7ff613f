import { render } from "preact";
import { App } from "./app.tsx";
import { loadVersion } from "./brand.tsx";
import { importCode } from "./connection.ts";
import { resume } from "./session/session.ts";
import { guardStrayDrops } from "./stray-drops.ts";
import { startLanguage } from "./text/language-picker.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no element with the id app");
guardStrayDrops();
await importCode(startLanguage);
// The name is enough without it; an outage has a banner of its own.
loadVersion().catch(() => {});
void resume();
render(<App />, root);
