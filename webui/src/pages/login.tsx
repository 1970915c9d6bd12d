/** Logging in with a token, which stays in this tab. */

import { useState } from "react";
import { Mark } from "../parts/shell";
import { ThemeButton } from "../parts/theme";

export function Login({ isWrong, enter }: { isWrong: boolean; enter: (token: string) => void }) {
  const [token, setToken] = useState("");
  return (
    <main className="alone login">
      <div className="corner">
        <ThemeButton />
      </div>
      <h1 className="brand">
        <Mark /> OmniGraph
      </h1>
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (token) enter(token);
        }}
      >
        <label htmlFor="token">Token</label>
        <input id="token" type="password" autoComplete="off" autoFocus value={token} onChange={(event) => setToken(event.target.value.trim())} aria-describedby="about-token" aria-invalid={isWrong} />
        {isWrong && (
          <p className="error" role="alert">
            The server does not know this token.
          </p>
        )}
        <button className="primary" type="submit" disabled={!token}>
          Log in
        </button>
        <p id="about-token" className="quiet">
          It is kept in this tab until you close it.
        </p>
      </form>
    </main>
  );
}
