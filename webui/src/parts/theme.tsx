/** Light or dark: what the system says, unless somebody has chosen. */

import { useEffect, useState } from "react";

const KEPT = "omnigraph.theme";

export function applyTheme(): void {
  const kept = localStorage.getItem(KEPT);
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Whether it is dark now; components that draw by themselves follow it. */
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const look = () => setDark(isDark());
    const media = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(look);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    media.addEventListener("change", look);
    return () => {
      observer.disconnect();
      media.removeEventListener("change", look);
    };
  }, []);
  return dark;
}

export function ThemeButton() {
  const dark = useDark();
  return (
    <button
      className="plain icon"
      aria-label={dark ? "Use light colours" : "Use dark colours"}
      title={dark ? "Light" : "Dark"}
      onClick={() => {
        const next = dark ? "light" : "dark";
        document.documentElement.dataset.theme = next;
        localStorage.setItem(KEPT, next);
      }}
    >
      <span aria-hidden="true">{dark ? "☀" : "☾"}</span>
    </button>
  );
}
