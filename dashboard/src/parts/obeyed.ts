// Made by scripts/generate_docs.py from visible_text.py: change that, then run `make docs`.
export const OBEYED =
  /[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{ad}-\u{ad}\u{61c}-\u{61c}\u{180e}-\u{180e}\u{200b}-\u{200b}\u{200e}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{feff}-\u{feff}\u{fff9}-\u{fffb}\u{d800}-\u{dfff}\u{e0000}-\u{e007f}]/gu;
