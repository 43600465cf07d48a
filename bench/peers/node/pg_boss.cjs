// pg-boss: PostgreSQL, in batches, woken by notifications. Finished jobs are kept.
"use strict";
const { PgBoss } = require("pg-boss");

const BATCH = 500;
const LEFT = "select count(*)::int as left from pgboss.job where state < 'completed'";

module.exports = (connectionString) => {
  const boss = new PgBoss({ connectionString, max: 20, useListenNotify: true, supervise: false, schedule: false });
  boss.on("error", (error) => process.stderr.write(`${error.stack}\n`));
  return {
    async prepare() {
      await boss.start();
      await boss.createQueue("noop", { notify: true });
    },
    open: () => boss.start(),
    put: (payload) => boss.send("noop", payload),
    putMany: (payloads) => boss.insert("noop", payloads.map((data) => ({ data }))),
    async work(done) {
      const options = { batchSize: BATCH, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
      await boss.work("noop", options, async (jobs) => jobs.forEach(({ data }) => done(data.number)));
    },
    left: async () => (await boss.getDb().executeSql(LEFT)).rows[0].left,
    close: () => boss.stop({ graceful: false }),
  };
};
