-- Half of what a task cost the database was keeping indexes, so those go that little was read by. The default workspace,
-- which is nearly always the only one or the largest, is read in the order of numbers; the others have indexes of their
-- own. What a runtime holds is looked for among all that is held.
-- min_reader: 1
-- min_writer: 1

drop index yard.task_runtime;

drop index yard.event_workspace;
create index event_workspace on yard.event (workspace, seq) where workspace <> 'default';

drop index yard.definition_workspace;
create index definition_workspace on yard.definition (workspace, seq) where workspace <> 'default';
