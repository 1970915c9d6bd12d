/** Logging in with a token, which stays in this tab; and again, when it is not known any more. */

import { useEffect, useRef, useState } from "react";
import { leave } from "../api/session";
import { Mark } from "../parts/shell";
import { ThemeButton } from "../parts/theme";

interface Given {
  enter: (token: string) => void;
}

export function Login({ isWrong, enter }: Given & { isWrong: boolean }) {
  return (
    <main className="alone login">
      <div className="corner">
        <ThemeButton />
      </div>
      <h1 className="brand">
        <Mark /> OmniGraph
      </h1>
      <div className="panel">
        <TokenForm problem={isWrong ? "The server does not know this token." : null} enter={enter} />
      </div>
    </main>
  );
}

/** Over the page, which stays as it is with all that was written there. */
export function LoginAgain({ enter }: Given) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="panel login" aria-labelledby="login-again" onCancel={(event) => event.preventDefault()}>
      <h2 id="login-again">Log in again</h2>
      <TokenForm problem="The server does not know your token any more. What you have written is still here." enter={enter} />
      <button className="link" onClick={leave}>
        Log out
      </button>
    </dialog>
  );
}

function TokenForm({ problem, enter }: Given & { problem: string | null }) {
  const [token, setToken] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (token) enter(token);
      }}
    >
      <label htmlFor="token">Token</label>
      <input id="token" type="password" autoComplete="off" autoFocus value={token} onChange={(event) => setToken(event.target.value.trim())} aria-describedby="about-token" aria-invalid={problem !== null} />
      {problem !== null && (
        <p className="error" role="alert">
          {problem}
        </p>
      )}
      <button className="primary" type="submit" disabled={!token}>
        Log in
      </button>
      <p id="about-token" className="quiet">
        It is kept in this tab until you close it.
      </p>
    </form>
  );
}
