import { renderToStaticMarkup } from "react-dom/server";
import { Link, MemoryRouter } from "react-router";
import { expect, test } from "vitest";

const OBEYED = "a\u202eb";
const SEEN = "a\\u202eb";

test("whatever is shown in an element is made visible", () => {
  expect(renderToStaticMarkup(<p>{OBEYED}</p>)).toBe(`<p>${SEEN}</p>`);
  expect(renderToStaticMarkup(<p>one {OBEYED} two</p>)).toBe(`<p>one ${SEEN} two</p>`);
  expect(renderToStaticMarkup(<p>{["x", OBEYED].map((each) => each)}</p>)).toBe(`<p>x${SEEN}</p>`);
  expect(renderToStaticMarkup(<p title={OBEYED} aria-label={OBEYED} />)).toBe(
    `<p title="${SEEN}" aria-label="${SEEN}"></p>`,
  );
});

test("also in what others have made", () => {
  const link = (
    <MemoryRouter>
      <Link to="/">{OBEYED}</Link>
    </MemoryRouter>
  );
  expect(renderToStaticMarkup(link)).toContain(`>${SEEN}<`);
});

test("what is filled in or called by stays as it is", () => {
  expect(renderToStaticMarkup(<input defaultValue={OBEYED} />)).toContain(OBEYED);
  expect(renderToStaticMarkup(<a href={`/${OBEYED}`}>x</a>)).toContain(`/${OBEYED}`);
});
