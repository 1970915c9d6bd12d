/** What stands where there is nothing to show: yet, at all, by failure, or because it is not allowed. */

import type { ReactNode } from "react";
import { OmniGraphError, Unreachable } from "../api/session";

export function Loading({ what }: { what: string }) {
  return (
    <div className="state" role="status">
      <span className="spinner" aria-hidden="true" />
      <p>Loading {what} …</p>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <h3>{title}</h3>
      {children && <div className="quiet">{children}</div>}
    </div>
  );
}

/** An error where it belongs, with its code, and a way on. */
export function Failure({ error, again, what = "Try again" }: { error: unknown; again?: () => void; what?: string }) {
  const told = error instanceof OmniGraphError ? error : null;
  const isForbidden = told?.status === 403;
  const title = isForbidden ? "You may not see or do this" : told ? (told.status >= 500 ? "The server failed" : "The server refused") : error instanceof Unreachable ? "The server cannot be reached" : "This could not be done";
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div className={`notice ${isForbidden ? "forbidden" : "failed"}`} role="alert">
      <strong>{title}</strong>
      <pre className="message">
        <bdi>{text.slice(0, 4000)}</bdi>
      </pre>
      <p className="quiet">
        {told && <code>{told.code}</code>}
        {again && !isForbidden && (
          <button className="link" onClick={again}>
            {what}
          </button>
        )}
      </p>
    </div>
  );
}

/** Exactly one of loading, failed, or what is there. */
export function When<T>({ asked, what, children }: { asked: { value: T | undefined; error: unknown; isLoading: boolean; again: () => void }; what: string; children: (value: T) => ReactNode }) {
  if (asked.value !== undefined) return <>{children(asked.value)}</>;
  if (asked.error !== undefined) return <Failure error={asked.error} again={asked.again} />;
  return asked.isLoading ? <Loading what={what} /> : null;
}
