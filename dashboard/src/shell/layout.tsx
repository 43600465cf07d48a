import { LogOut, Menu, Moon, Search, Sun } from "lucide-react";
import { Suspense, useEffect, useRef, useState } from "react";
import { Link, Outlet, useLocation, useNavigate } from "react-router";

import { say } from "@/language/say";
import { Loading } from "@/parts/empty";
import { useLogOut, useSession } from "@/session/session";

import { useCommands } from "./commands";
import { LiveSwitch } from "./live-switch";
import { Logo } from "./logo";
import { Navigation, NavigationKeys } from "./navigation";
import { Palette } from "./palette";
import { Settings, SettingsButton } from "./settings";
import { KeysButton, useShortcut } from "./shortcuts";
import { useTheme } from "./theme";

import "./layout.css";

/** What is around every page: where one is, where one can go, and whether what is shown is alive. */
export function Layout() {
  const [menu, setMenu] = useState(false);
  const [settings, setSettings] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // Another page begins at its top, and a screen reader begins there too.
  useEffect(() => {
    main.current?.scrollTo(0, 0); // no arrow without braces: newer browsers answer it with a promise
  }, [pathname]);
  return (
    <div className={`layout${menu ? " menu-open" : ""}`}>
      <a className="skip" href="#main">
        {say("Skip to the page")}
      </a>
      <NavigationKeys />
      <header className="topbar">
        <button
          type="button"
          className="button plain square menu-button"
          aria-label={say("Menu")}
          aria-expanded={menu}
          onClick={() => setMenu(!menu)}
        >
          <Menu aria-hidden />
        </button>
        <Link to="/" className="logo-link" aria-label={say("Taskyard: overview")}>
          <Logo />
        </Link>
        <Finder />
        <Palette commands={useCommands(() => setSettings(true))} />
        <LiveSwitch />
        <ThemeButton />
      </header>
      <div className="sidebar">
        <Navigation onGo={() => setMenu(false)} />
        <Whoami onSettings={() => setSettings(true)} />
      </div>
      {menu && (
        <button
          type="button"
          className="sidebar-veil"
          aria-label={say("Close the menu")}
          onClick={() => setMenu(false)}
        />
      )}
      <Settings open={settings} onClose={() => setSettings(false)} />
      <main id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  );
}

/** One box for both: an id goes straight to its page, anything else searches titles, prompts and payloads. */
function Finder() {
  const navigate = useNavigate();
  const box = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  useShortcut("/", say("Search, or go to an id"), () => box.current?.focus());
  return (
    <search className="finder">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") void navigate(placeOf(text.trim()));
          setText("");
          box.current?.blur();
        }}
      >
        <Search aria-hidden />
        <input
          ref={box}
          type="search"
          aria-label={say("Search tasks, or go to an id")}
          placeholder={say("Search tasks or go to an id")}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <kbd aria-hidden>/</kbd>
      </form>
    </search>
  );
}

function placeOf(text: string): string {
  if (/^task_\w{26}$/.test(text)) return `/tasks/${text}`;
  if (/^dag_\w{26}$/.test(text)) return `/dags/${text}`;
  return `/tasks?q=${encodeURIComponent(text)}`;
}

function ThemeButton() {
  const [theme, choose] = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      className="button plain square"
      aria-label={other === "dark" ? say("Use the dark theme") : say("Use the light theme")}
      onClick={() => choose(other)}
    >
      {theme === "dark" ? <Sun aria-hidden /> : <Moon aria-hidden />}
    </button>
  );
}

function Whoami({ onSettings }: { onSettings: () => void }) {
  const { name, role, workspace, signed_in_by } = useSession();
  const logOut = useLogOut();
  return (
    <footer className="whoami">
      <div className="clip">
        <strong className="clip">{workspace}</strong>
        <span className="quiet clip">
          {name} · {role}
        </span>
      </div>
      <SettingsButton onOpen={onSettings} />
      <KeysButton />
      {(signed_in_by === "token" || signed_in_by === "oidc") && (
        <button type="button" className="button plain square" aria-label={say("Sign out")} onClick={logOut}>
          <LogOut aria-hidden />
        </button>
      )}
    </footer>
  );
}
