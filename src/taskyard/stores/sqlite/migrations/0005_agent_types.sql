-- The type of the agent that holds a task, which money and granted slots are counted under.
-- min_reader: 1
-- min_writer: 5

alter table task add column agent_type text; -- null: no claim yet, or by a release that knew only ids
alter table task add column type_slot integer not null default 0; -- 1: the claim took one of the type's slots
alter table attempt add column agent_type text;
