/** Long lists that hold only what is seen. */

import { useLayoutEffect, useState, type RefObject } from "react";
import { seeRows, type Window } from "../lib/window";

const AT_FIRST = 800;

/** Return the rows to draw, as the element is scrolled. */
export function useWindow(scroller: RefObject<HTMLElement | null>, count: number, height: number): Window {
  const [window, setWindow] = useState<Window>(() => seeRows(count, height, 0, AT_FIRST));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const look = () => {
      const next = seeRows(count, height, element.scrollTop, element.clientHeight || AT_FIRST);
      setWindow((old) => (old.first === next.first && old.end === next.end ? old : next));
    };
    look();
    element.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, [scroller, count, height]);
  return { first: Math.min(window.first, count), end: Math.min(window.end, count) };
}
