/** Asking the server from a component: what was asked, whether it is there, and asking again. */

import { useCallback, useEffect, useRef, useState } from "react";

export interface Asked<T> {
  value: T | undefined;
  error: unknown;
  isLoading: boolean;
  again: () => void;
}

interface Kept<T> {
  key: string | null;
  value?: T;
  error?: unknown;
}

const AGAIN = "omnigraph-ask-again";

/** Ask for everything that is shown once more. */
export function askAllAgain(): void {
  dispatchEvent(new Event(AGAIN));
}

/** Ask whenever `key` changes; null asks nothing. While it is asked again, the last answer to the same key stays. */
export function useAsk<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [kept, setKept] = useState<Kept<T>>({ key: null });
  const [round, setRound] = useState(0);
  const asking = useRef(ask);
  asking.current = ask;
  useEffect(() => {
    if (key === null) return undefined;
    const control = new AbortController();
    asking.current(control.signal).then(
      (value) => {
        if (!control.signal.aborted) setKept({ key, value });
      },
      (error: unknown) => {
        if (!control.signal.aborted) setKept({ key, error });
      },
    );
    return () => control.abort();
  }, [key, round]);
  const again = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    addEventListener(AGAIN, again);
    return () => removeEventListener(AGAIN, again);
  }, [again]);
  const isKnown = kept.key === key;
  return {
    value: isKnown ? kept.value : undefined,
    error: isKnown ? kept.error : undefined,
    isLoading: key !== null && !isKnown,
    again,
  };
}

export interface Doing {
  isBusy: boolean;
  /** The same at this moment, for keys that are pressed before the page is drawn again. */
  isRunning: { readonly current: boolean };
  error: unknown;
  run: (work: () => Promise<void>) => void;
  clear: () => void;
}

/** Do one thing at a time, and keep why the last has failed. */
export function useDoing(): Doing {
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: undefined });
  const begun = useRef(0);
  const isRunning = useRef(false);
  const run = useCallback((work: () => Promise<void>) => {
    begun.current += 1;
    isRunning.current = true;
    const mine = begun.current;
    const end = (error: unknown) => {
      if (mine !== begun.current) return;
      isRunning.current = false;
      setState({ isBusy: false, error });
    };
    setState({ isBusy: true, error: undefined });
    work().then(() => end(undefined), end);
  }, []);
  const clear = useCallback(() => setState({ isBusy: false, error: undefined }), []);
  return { ...state, isRunning, run, clear };
}

/** Do work for many things, a few at a time. */
export async function forEachFew<T>(items: T[], few: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const runner = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(few, items.length) }, runner));
}
