import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, LogIn } from "lucide-react";
import { useId, useState, type SyntheticEvent } from "react";
import { useNavigate, useSearchParams } from "react-router";

import { isRefusal, wordsOf } from "@/api/problem";
import { session, signInWays, startSession } from "@/api/session";
import { say } from "@/language/say";
import { Command } from "@/parts/copy";
import { Logo } from "@/shell/logo";

import "./login.css";

/** Why the provider's way did not lead in, by what the server says in the address. */
const REFUSALS: Record<string, string> = {
  expired: say("That sign-in took too long, or another one took its place. Begin again."),
  refused: say("The provider did not say who you are. Begin again, or ask whoever runs the server."),
  provider: say("The provider cannot be asked now. Try again in a while."),
  no_role: say(
    "You are signed in there, but none of your groups has a role in this yard. Whoever runs the server gives one.",
  ),
};

export function Login() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asked] = useSearchParams();
  const [token, setToken] = useState("");
  const [refusal, setRefusal] = useState<string | null>(REFUSALS[asked.get("refused") ?? ""] ?? null);
  const { data: ways } = useQuery(signInWays);
  const [busy, setBusy] = useState(false);
  const field = useId();

  async function logIn(event: SyntheticEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      const who = await startSession(token.trim());
      client.clear(); // what is kept from before may be of another workspace, and of somebody who saw more
      client.setQueryData(session.queryKey, who);
      await navigate(within(asked.get("next")), { replace: true });
    } catch (error) {
      setRefusal(isRefusal(error, 401) ? say("This token is not known, has expired, or was revoked.") : wordsOf(error));
      setBusy(false);
    }
  }

  return (
    <main className="login">
      <form className="login-card" onSubmit={logIn}>
        <Logo />
        <h1>{say("Sign in to the yard")}</h1>
        {ways?.oidc != null && (
          <>
            <a className="button primary" href={`${ways.oidc}?next=${encodeURIComponent(within(asked.get("next")))}`}>
              <LogIn aria-hidden /> {say("Sign in with {name}", { name: ways.name })}
            </a>
            <p className="login-or quiet">{say("or with a token")}</p>
          </>
        )}
        <label htmlFor={field}>{say("Token")}</label>
        <input
          id={field}
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          placeholder="ty_…"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
          aria-invalid={refusal !== null}
          aria-describedby={`${field}-words`}
        />
        <p id={`${field}-words`} className="login-refusal" role="alert">
          {refusal}
        </p>
        <button className={ways?.oidc == null ? "button primary" : "button"} disabled={busy || token.trim() === ""}>
          <KeyRound aria-hidden /> {say("Sign in")}
        </button>
        <p className="quiet">{say("No token yet? Whoever runs the server makes one:")}</p>
        <Command text="taskyard token create YOUR-NAME --role operator" />
      </form>
    </main>
  );
}

/** Where to go on: only ever a page of this site. */
function within(next: string | null): string {
  if (next === null || !next.startsWith("/")) return "/";
  const target = new URL(next, location.origin);
  return target.origin === location.origin ? target.pathname + target.search : "/";
}
