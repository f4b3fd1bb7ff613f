import { render } from "preact";
import { App } from "./app.tsx";
import { resume } from "./session.ts";
import { guardStrayDrops } from "./stray-drops.ts";

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no place for the console");
guardStrayDrops();
void resume();
render(<App />, root);
