-- What lists are read by: records in pages, in an order that is the same whatever the database collates by, and the
-- signals that somebody waits for.
-- min_reader: 1
-- min_writer: 1

create index record_page on yard.record (kind, workspace, id collate "C");
create index blocker_signal on yard.blocker (task_id) where left(name, 7) = 'signal:';
