-- What is counted every minute: tasks that wait, by their state. Plain tasks are never among them.
-- min_reader: 1
-- min_writer: 1

create index task_waiting on task (workspace, status) where status in ('pending', 'validating', 'retrying');
