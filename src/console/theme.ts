import { effect, signal } from "@preact/signals";
import { inBrowser } from "./storage.ts";

type Theme = "light" | "dark";

const storageKey = "node-server.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal<Theme | undefined>(readChoice());
const systemDark = signal(system.matches);
system.addEventListener("change", ({ matches }) => {
  systemDark.value = matches;
});

/** The colours in use: those of the system until the person chooses. */
export const theme = {
  get value(): Theme {
    return chosen.value ?? (systemDark.value ? "dark" : "light");
  },
};

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function toggleTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  inBrowser.write(storageKey, chosen.value);
}

function readChoice(): Theme | undefined {
  const kept = inBrowser.read(storageKey);
  return kept === "light" || kept === "dark" ? kept : undefined;
}
