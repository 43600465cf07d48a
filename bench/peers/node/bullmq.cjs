// BullMQ: Redis, the fastest there. Finished jobs are kept.
"use strict";
const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const CONCURRENCY = 100;

module.exports = (place) => {
  const connect = () => new Redis(place, { maxRetriesPerRequest: null });
  const connection = connect();
  const queue = new Queue("noop", { connection });
  return {
    prepare: () => queue.waitUntilReady(),
    open: () => queue.waitUntilReady(),
    put: (payload) => queue.add("noop", payload),
    putMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "noop", data }))),
    async work(done) {
      const worker = new Worker("noop", async ({ data }) => done(data.number), {
        connection: connect(),
        concurrency: CONCURRENCY,
      });
      await worker.waitUntilReady();
    },
    async left() {
      const counts = await queue.getJobCounts("waiting", "active", "delayed", "prioritized");
      return Object.values(counts).reduce((sum, each) => sum + each, 0);
    },
    async close() {
      await queue.close();
      connection.disconnect();
    },
  };
};
