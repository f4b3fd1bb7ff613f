import { useEffect } from "preact/hooks";

/** Calls `reload` regularly while the tab is visible, and at once when it becomes visible again after a longer time. */
export function usePolling(reload: () => void, everyMs: number): void {
  useEffect(() => {
    let lastAt = performance.now();
    const reloadIfDue = () => {
      // Timers fire a little early at times.
      if (document.hidden || performance.now() - lastAt < everyMs * 0.9) return;
      lastAt = performance.now();
      reload();
    };
    const timer = setInterval(reloadIfDue, everyMs);
    document.addEventListener("visibilitychange", reloadIfDue);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", reloadIfDue);
    };
  }, [reload, everyMs]);
}
