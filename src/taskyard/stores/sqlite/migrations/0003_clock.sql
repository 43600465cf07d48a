-- When the clock was last found to have gone back, by its own time afterwards, and how far in microseconds.
-- min_reader: 1
-- min_writer: 1

alter table meta add column jumped_at integer not null default 0;
alter table meta add column jumped_by integer not null default 0;
