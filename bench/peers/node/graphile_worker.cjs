// graphile-worker: PostgreSQL, the fastest of all. Finished jobs are deleted.
"use strict";
const { Logger, makeWorkerUtils, run, runMigrations } = require("graphile-worker");
const { Pool } = require("pg");

const LEFT = "select count(*)::int as left from graphile_worker._private_jobs";

module.exports = (connectionString) => {
  const pool = new Pool({ connectionString, max: 20 });
  const logger = new Logger(() => () => {});
  const preset = {
    worker: {
      concurrentJobs: 100,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  };
  let utils;
  return {
    prepare: () => runMigrations({ pgPool: pool, logger }),
    async open() {
      utils = await makeWorkerUtils({ pgPool: pool, logger });
    },
    put: (payload) => utils.addJob("noop", payload),
    putMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: "noop", payload }))),
    async work(done) {
      const taskList = { noop: async ({ number }) => done(number) };
      await run({ pgPool: pool, taskList, preset, logger, noHandleSignals: true });
    },
    left: async () => (await pool.query(LEFT)).rows[0].left,
    async close() {
      await utils?.release();
      await pool.end();
    },
  };
};
