// What host.py is for Python: commands come in as lines of JSON, answers go out the same way.
// node host.cjs MODULE PLACE RECORDS
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");

const IN_FLIGHT = 16;
const AT_ONCE = 1000;
const TEXT = "x".repeat(170);

const [module_, place, records] = process.argv.slice(2);
const peer = require(path.join(__dirname, module_))(place);
const file = fs.openSync(records, "a");

const payload = (number) => ({ number, text: TEXT });
const cpu = () => Object.values(process.cpuUsage()).reduce((sum, each) => sum + each) / 1e6;
const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
const numbers = (first, number) => Array.from({ length: number }, (_, each) => first + each);
let used = 0;

function done(number) {
  const moment = String(process.hrtime.bigint());
  fs.writeSync(file, `${String(number).padStart(9)} ${moment.padStart(19)}\n`);
}

const ways = {
  async one(all) {
    for (const number of all) await peer.put(payload(number));
  },
  async flight(all) {
    const parts = numbers(0, IN_FLIGHT).map((start) => all.filter((_, each) => each % IN_FLIGHT === start));
    await Promise.all(parts.map(ways.one));
  },
  async bulk(all) {
    for (let start = 0; start < all.length; start += AT_ONCE) {
      await peer.putMany(all.slice(start, start + AT_ONCE).map(payload));
    }
  },
};

const commands = {
  async prepare() {
    await peer.prepare();
    return {};
  },
  async open() {
    await peer.open();
    return {};
  },
  async put({ how, first, number }) {
    const all = numbers(first, number);
    const before = cpu();
    const began = process.hrtime.bigint();
    await ways[how](all);
    return { seconds: Number(process.hrtime.bigint() - began) / 1e9, cpu: cpu() - before };
  },
  async pace({ first, number, pause }) {
    const moments = [];
    for (const each of numbers(first, number)) {
      await wait(pause);
      moments.push(process.hrtime.bigint());
      await peer.put(payload(each));
    }
    return { moments: moments.map(Number) };
  },
  async work() {
    used = cpu();
    await peer.work(done);
    return {};
  },
  async used() {
    return { cpu: cpu() - used };
  },
  async left() {
    return { left: await peer.left() };
  },
};

async function serve() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: name, ...given } = JSON.parse(line);
    process.stdout.write(JSON.stringify(await commands[name](given)) + "\n");
  }
  await peer.close();
  process.exit(0);
}

serve().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
