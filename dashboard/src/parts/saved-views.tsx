/** The saved views of a page: chosen, saved under a name, removed, and sent to somebody as an address. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Bookmark, BookmarkPlus, Link2, Trash2 } from "lucide-react";
import { useId, useState } from "react";
import { useLocation, useNavigate } from "react-router";

import { removeView, savedViews, saveView, type ViewedPage } from "@/api/saved-views";
import { say } from "@/language/say";
import { useToast } from "@/shell/toasts";

import { Action } from "./action";
import { quoted } from "./copy";

import "./saved-views.css";

export function SavedViews({ page }: { page: ViewedPage }) {
  const { search } = useLocation();
  const navigate = useNavigate();
  const { data } = useQuery(savedViews);
  const own = data?.saved_views.filter((each) => each.page === page) ?? [];
  const query = search.slice(1);
  const chosen = own.find((each) => each.query === query);
  return (
    <div className="saved-views" role="group" aria-label={say("Saved views")}>
      {own.length > 0 && (
        <span className="saved-views-choice">
          <Bookmark aria-hidden />
          <select
            aria-label={say("Saved view")}
            value={chosen?.name ?? ""}
            onChange={(event) => {
              const view = own.find((each) => each.name === event.target.value);
              if (view !== undefined) void navigate(`/${page}?${view.query}`);
            }}
          >
            <option value="">{say("Views")}</option>
            {own.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </span>
      )}
      <SaveView page={page} query={query} />
      {chosen !== undefined && <RemoveView name={chosen.name} />}
      <ShareView />
    </div>
  );
}

function SaveView({ page, query }: { page: ViewedPage; query: string }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const field = useId();
  return (
    <Action
      label={say("Save this view")}
      icon={BookmarkPlus}
      needs="steer"
      small
      bare
      title={say("Save this view")}
      confirm={say("Save it")}
      command={`taskyard saved-views save ${quoted(name || "NAME")} ${page} ${quoted(query)}`}
      ready={name.trim() !== ""}
      onOpen={() => setName("")}
      run={async (via) => {
        await saveView(via, name.trim(), page, query);
        await client.invalidateQueries(savedViews);
      }}
      done={() => say("{name} is saved", { name: name.trim() })}
    >
      <p>{say("What is filtered, how it is sorted and which columns there are, for everybody in this workspace.")}</p>
      <div className="field">
        <label htmlFor={field}>{say("Name")}</label>
        <input id={field} value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
      </div>
    </Action>
  );
}

function RemoveView({ name }: { name: string }) {
  const client = useQueryClient();
  return (
    <Action
      label={say("Remove the view {name}", { name })}
      icon={Trash2}
      needs="steer"
      small
      bare
      danger
      title={say("Remove the view {name}", { name })}
      confirm={say("Remove")}
      command={`taskyard saved-views rm ${quoted(name)}`}
      run={async (via) => {
        await removeView(via, name);
        await client.invalidateQueries(savedViews);
      }}
      done={say("{name} is removed", { name })}
    >
      <p>{say("Nobody finds it under this name any more. Tasks stay as they are.")}</p>
    </Action>
  );
}

function ShareView() {
  const tell = useToast();
  return (
    <button
      type="button"
      className="button small square plain"
      aria-label={say("Copy the address of this view")}
      title={say("Copy the address of this view")}
      onClick={async () => {
        await navigator.clipboard.writeText(location.href);
        tell("good", say("The address is copied: whoever may see this yard sees the same list there"));
      }}
    >
      <Link2 aria-hidden />
    </button>
  );
}
