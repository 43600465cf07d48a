import { CircleAlert, MapPinOff } from "lucide-react";
import { Link, useRouteError } from "react-router";

import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";

/** A page that failed: says so, and leaves the rest of the dashboard standing. */
export function Crash() {
  const error = useRouteError();
  return (
    <div className="empty" role="alert">
      <CircleAlert aria-hidden />
      <h2>{say("This page broke")}</h2>
      <p>{wordsOf(error)}</p>
      <button type="button" className="button" onClick={() => location.reload()}>
        {say("Load it again")}
      </button>
    </div>
  );
}

export function NotHere() {
  return (
    <div className="empty">
      <MapPinOff aria-hidden />
      <h2>{say("There is no such page")}</h2>
      <p>
        <Link to="/">{say("Go to the overview")}</Link>
      </p>
    </div>
  );
}
