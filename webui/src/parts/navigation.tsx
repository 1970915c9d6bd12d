/** Moving through the page without loading it again. */

import { createContext, useContext, useEffect, useMemo, useState, type AnchorHTMLAttributes, type ReactNode } from "react";
import { readPlace, writePlace, type Place } from "../lib/place";

interface Navigation {
  place: Place;
  go: (address: string, replace?: boolean) => void;
}

const Current = createContext<Navigation | null>(null);

export function NavigationProvider({ children }: { children: ReactNode }) {
  const [place, setPlace] = useState(() => readPlace(location.pathname, location.search));
  useEffect(() => {
    const read = () => setPlace(readPlace(location.pathname, location.search));
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);
  const navigation = useMemo<Navigation>(
    () => ({
      place,
      go: (address, replace = false) => {
        if (replace) history.replaceState(null, "", address);
        else history.pushState(null, "", address);
        const next = readPlace(location.pathname, location.search);
        setPlace(next);
        if (!replace && (next.page !== place.page || next.graph !== place.graph)) scrollTo(0, 0);
      },
    }),
    [place],
  );
  return <Current.Provider value={navigation}>{children}</Current.Provider>;
}

export function useNavigation(): Navigation {
  const found = useContext(Current);
  if (!found) throw new Error("no navigation");
  return found;
}

type Given = AnchorHTMLAttributes<HTMLAnchorElement> & {
  page: string;
  params?: Record<string, string | null | undefined>;
  graph?: string;
};

/** A link to a page of the graph. */
export function Link({ page, params, graph, children, ...rest }: Given) {
  const { place, go } = useNavigation();
  const address = writePlace({ graph: graph ?? place.graph, page, params });
  return (
    <a
      {...rest}
      href={address}
      onClick={(event) => {
        rest.onClick?.(event);
        if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(address);
      }}
    >
      {children}
    </a>
  );
}
