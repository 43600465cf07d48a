-- What models read from and put into a provider's cache. Null: none, as with most attempts.
-- min_reader: 7
-- min_writer: 9

alter table yard.held add column tokens_cached text;
alter table yard.attempt add column tokens_cached text;
comment on column yard.held.tokens_cached is 'JSON [read, written]: the attempt''s totals so far.';
comment on column yard.attempt.tokens_cached is 'JSON [read, written]';
