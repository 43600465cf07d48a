/** The rows that are in sight, of a list in which all are equally high: however many there are, this costs the same. */
import { useEffect, useState, type RefObject } from "react";

const BEYOND = 8; // rows above and below that are there already when they come into sight

interface Sight {
  first: number;
  end: number; // the one after the last
  slots: number; // how many are there at a time: rows that leave make room for those that come
}

interface Windowed extends Sight {
  /** Scroll just so far that this row is in sight. */
  show: (index: number) => void;
}

export function useWindow(frame: RefObject<HTMLElement | null>, count: number, height: number, head: number): Windowed {
  const [sight, setSight] = useState({ first: 0, slots: 40 });
  const isThere = count > 0; // an empty list may not be on the page

  useEffect(() => {
    const scrolling = frame.current;
    if (scrolling === null) return;
    const look = () => {
      const first = Math.max(Math.floor(scrolling.scrollTop / height) - BEYOND, 0);
      const slots = Math.ceil(scrolling.clientHeight / height) + 2 * BEYOND;
      setSight((before) => (before.first === first && before.slots === slots ? before : { first, slots }));
    };
    look();
    scrolling.addEventListener("scroll", look, { passive: true });
    const watching = new ResizeObserver(look);
    watching.observe(scrolling);
    return () => {
      scrolling.removeEventListener("scroll", look);
      watching.disconnect();
    };
  }, [frame, height, isThere]);

  function show(index: number) {
    const scrolling = frame.current;
    if (scrolling === null) return;
    const top = index * height;
    const lowest = top + height + head - scrolling.clientHeight;
    if (top < scrolling.scrollTop) scrolling.scrollTo({ top });
    else if (lowest > scrolling.scrollTop) scrolling.scrollTo({ top: lowest });
  }

  const first = Math.min(sight.first, Math.max(count - 1, 0));
  return { first, end: Math.min(first + sight.slots, count), slots: sight.slots, show };
}
