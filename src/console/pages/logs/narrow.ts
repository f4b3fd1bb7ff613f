import { useEffect, useState } from "preact/hooks";

const narrow = matchMedia("(max-width: 760px)");

/** Whether the page is as narrow as on a phone. */
export function useNarrow(): boolean {
  const [is, setIs] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => setIs(narrow.matches);
    narrow.addEventListener("change", changed);
    return () => narrow.removeEventListener("change", changed);
  }, []);
  return is;
}
