import { CopyPlus } from "lucide-react";
import { Link } from "react-router";

import { say } from "@/language/say";

/** Another task like this one: opens it as a draft, to be changed before it is put in. */
export function AgainLike({ id, small = false }: { id: string; small?: boolean }) {
  return (
    <Link to={`/tasks/new?like=${id}`} className={`button${small ? " small" : ""}`}>
      <CopyPlus aria-hidden /> {say("Again like this one")}
    </Link>
  );
}
