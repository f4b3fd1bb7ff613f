import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

const asides = signal<readonly ComponentType[]>([]);

/** Shows something beside every page from now on: a word about work that goes on when its page is left. */
export function showAside(aside: ComponentType): void {
  asides.value = [...asides.value, aside];
}

export function Asides() {
  return asides.value.map((Aside, at) => <Aside key={at} />);
}
